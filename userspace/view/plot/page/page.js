// Draws the data of the page: plots, expectations, tables. No network, no storage.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const main = document.querySelector("main");
  const colours = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f7f7f", "#8c564b"];
  const manyCurves = 16;

  // An element; children are elements or text.
  function make(name, attributes = {}, ...children) {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) element[key] = value;
    element.append(...children);
    return element;
  }

  // "12.5M"; prefixes below 1 for seconds only: "3µ".
  function si(value, unit = "") {
    if (value === null || value === undefined || Number.isNaN(value)) return "-";
    const size = Math.abs(value);
    if (size === 0) return "0";
    if (size < 1 && unit !== "s") return size < 1e-3 ? value.toExponential(2) : String(+value.toPrecision(4));
    for (const [scale, prefix] of [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""], [1e-3, "m"], [1e-6, "µ"], [1e-9, "n"]])
      if (size >= scale * 0.9999999) return String(+(value / scale).toPrecision(4)) + prefix;
    return value.toExponential(2);
  }

  function unpack(text) {
    const bytes = Uint8Array.from(atob(text), c => c.charCodeAt(0));
    return new Float32Array(bytes.buffer);
  }
  // uPlot takes null where there is no value.
  const gaps = values => Array.from(values, value => (Number.isNaN(value) ? null : value));

  const colour = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  // Head
  const theme = make("button", { className: "theme", textContent: "dark / light" });
  const root = document.documentElement;
  if (matchMedia("(prefers-color-scheme: dark)").matches) root.classList.add("dark");
  theme.onclick = () => {
    root.classList.toggle("dark");
    for (const plot of plots) plot.redraw(false, true);
  };
  main.append(theme, make("h1", {}, data.name), make("span", { className: "verdict " + data.verdict }, data.verdict));
  for (const line of data.facts) main.append(make("div", { className: "facts" }, line));
  for (const why of data.why_void) main.append(make("p", { className: "void" }, "void: " + why));

  // Expectations
  const either = value => (typeof value === "string" ? value : si(value));
  if (data.checks.length) {
    const table = make("table", { className: "checks" });
    table.append(make("tr", {}, ...["expectation", "", "value", "bound", "decided by", "at"].map(text => make("th", {}, text))));
    for (const check of data.checks)
      table.append(make("tr", {}, make("td", { className: "text" }, check.text),
        make("td", { className: check.outcome.split(" ")[0] }, check.outcome), make("td", {}, either(check.value)),
        make("td", {}, either(check.bound)),
        make("td", { className: "text" }, [check.row, check.frame].filter(Boolean).join(", ") || check.why),
        make("td", {}, check.t_s === null ? "" : si(check.t_s, "s") + "s")));
    main.append(make("h2", {}, "Expectations"), table);
  }

  // Prediction
  const facts = Object.entries(data.prediction).filter(([key, value]) => value !== null && value !== "" && key !== "why" && key !== "applies");
  if (data.prediction.applies !== "none" && facts.length)
    main.append(make("h2", {}, "Prediction (" + data.prediction.applies + ")"),
      make("p", {}, facts.map(([key, value]) => key + " " + (typeof value === "number" ? si(value) : value)).join(" · ")));

  // Plots
  const plots = [];
  window.plots = plots;
  let zooming = false;
  function zoomTogether(plot) {
    if (zooming || !plot.time) return;
    zooming = true;
    const { min, max } = plot.scales.x;
    for (const other of plots)
      if (other !== plot && other.time) other.setScale("x", { min, max });
    zooming = false;
  }

  function drawBands(plot, bands) {
    const context = plot.ctx;
    bands.forEach((band, index) => {
      if (!band || !plot.series[index + 1].show) return;
      context.save();
      context.globalAlpha = 0.14;
      context.fillStyle = plot.series[index + 1].stroke();
      context.beginPath();
      let from = null;
      const close = to => {
        if (from === null) return;
        for (let i = to; i >= from; i--) context.lineTo(plot.valToPos(plot.data[0][i], "x", true), plot.valToPos(band.low[i], "y", true));
        context.closePath();
        from = null;
      };
      for (let i = 0; i < band.low.length; i++) {
        if (Number.isNaN(band.low[i])) { close(i - 1); continue; }
        const x = plot.valToPos(plot.data[0][i], "x", true), y = plot.valToPos(band.high[i], "y", true);
        if (from === null) { context.moveTo(x, y); from = i; } else context.lineTo(x, y);
      }
      close(band.low.length - 1);
      context.rect(0, 0, 0, 0);
      context.fill();
      context.restore();
    });
  }

  function drawLevels(plot, figure) {
    const context = plot.ctx, { left, top, width, height } = plot.bbox;
    context.save();
    context.beginPath();
    context.rect(left, top, width, height);
    context.clip();
    context.strokeStyle = context.fillStyle = colour("--faint");
    context.setLineDash([6, 4]);
    context.font = 11 * devicePixelRatio + "px sans-serif";
    context.textAlign = "right";
    for (const level of figure.levels) {
      const y = plot.valToPos(level.y, "y", true);
      context.beginPath();
      context.moveTo(left, y);
      context.lineTo(left + width, y);
      context.stroke();
      context.fillText(level.name, left + width - 4, y - 4);
    }
    if (figure.time) {
      context.textAlign = "left";
      data.moments.forEach((moment, index) => {
        const x = plot.valToPos(moment.t_s, "x", true);
        context.beginPath();
        context.moveTo(x, top);
        context.lineTo(x, top + height);
        context.stroke();
        context.fillText(moment.text, x + 4, top + (12 + index % 4 * 13) * devicePixelRatio);
      });
    }
    context.restore();
  }

  // Each curve has x values of its own (distributions), or all have the figure's.
  function table(figure) {
    const own = figure.curves.some(curve => curve.x);
    if (!own) return [unpack(figure.x), ...figure.curves.map(curve => gaps(unpack(curve.y)))];
    return uPlot.join(figure.curves.map(curve => {
      const x = unpack(curve.x), y = unpack(curve.y), last = new Map();
      x.forEach((value, i) => last.set(value, y[i]));
      return [Array.from(last.keys()), Array.from(last.values())];
    }));
  }

  function draw(figure) {
    const place = make("div"), legend = make("div", { className: "legend" }), tools = make("div", { className: "tools" });
    main.append(make("section", { className: "figure", id: figure.id }, make("h2", {}, figure.title), place, tools, legend));
    const bands = figure.curves.map(curve => (curve.low ? { low: unpack(curve.low), high: unpack(curve.high) } : null));
    const paint = i => colours[i % colours.length];
    const highest = Math.max(0, ...figure.levels.map(level => level.y));
    const axis = (unit, size) => ({
      stroke: () => colour("--faint"), grid: { stroke: () => colour("--line"), width: 1 }, ticks: { stroke: () => colour("--line") },
      values: (_, values) => values.map(value => si(value, unit)), label: unit, labelSize: 18, size,
    });
    const plot = new uPlot({
      width: Math.max(320, main.clientWidth - 40), height: 300,
      cursor: { sync: figure.time ? { key: "time" } : undefined, drag: { x: true, y: false } },
      scales: {
        x: { time: false },
        y: { range: (_, low, high) => { const top = Math.max(high ?? 0, highest); return [Math.min(0, low ?? 0), top > 0 ? top * 1.05 : 1]; } },
      },
      axes: [axis(figure.x_unit, 36), axis(figure.y_unit, 64)],
      series: [{}, ...figure.curves.map((curve, i) => ({
        label: curve.name, show: curve.shown, stroke: () => paint(i), width: 1.5, spanGaps: !figure.time, points: { show: false },
        paths: figure.time ? undefined : uPlot.paths.stepped({ align: 1 }),
      }))],
      hooks: {
        drawAxes: [self => drawBands(self, bands)],
        draw: [self => drawLevels(self, figure)],
        setScale: [(self, key) => key === "x" && zoomTogether(self)],
        setCursor: [self => showValues(self)],
      },
    }, table(figure), place);
    plot.time = figure.time;
    plots.push(plot);

    const items = figure.curves.map((curve, i) => {
      const box = make("input", { type: "checkbox", checked: curve.shown }), value = make("span", { className: "value" });
      const swatch = make("i");
      swatch.style.background = paint(i);
      box.onchange = () => plot.setSeries(i + 1, { show: box.checked });
      const label = make("label", {}, box, swatch, curve.name, " ", value);
      legend.append(label);
      return { curve, box, value, label };
    });
    function showValues(self) {
      if (!items) return;
      const at = self.cursor.idx;
      items.forEach((item, i) => {
        if (item.box.checked) item.value.textContent = at === null || at === undefined ? "" : si(self.data[i + 1][at], figure.y_unit);
      });
    }
    function showAll(show) {
      plot.batch(() => items.forEach((item, i) => {
        if (item.label.hidden || item.box.checked === show) return;
        item.box.checked = show;
        plot.setSeries(i + 1, { show });
      }));
    }
    if (figure.curves.length > manyCurves) {
      const filter = make("input", { type: "search", placeholder: "filter by name" });
      filter.oninput = () => items.forEach(item => { item.label.hidden = !item.curve.name.includes(filter.value); });
      tools.append(filter, make("button", { textContent: "all", onclick: () => showAll(true) }),
        make("button", { textContent: "none", onclick: () => showAll(false) }), `${figure.curves.length} curves`);
    }
    tools.append("drag to zoom, double click to see everything");
  }
  for (const figure of data.figures) draw(figure);
  addEventListener("resize", () => plots.forEach(plot => plot.setSize({ width: Math.max(320, main.clientWidth - 40), height: 300 })));

  // Tables, sorted by a click on a column
  function show(rows) {
    if (!rows.rows.length) return;
    const body = make("tbody"), element = make("table");
    let by = -1, up = false;
    const fill = () => body.replaceChildren(...rows.rows.map(row => make("tr", {}, ...row.map((cell, column) =>
      make("td", {}, typeof cell === "number" ? (Number.isInteger(cell) && Math.abs(cell) < 1e5 ? String(cell) : si(cell, rows.columns[column].endsWith(" s") ? "s" : "")) : cell ?? "")))));
    element.append(make("thead", {}, make("tr", {}, ...rows.columns.map((name, column) => make("th", {
      textContent: name,
      onclick: () => {
        up = by === column && !up;
        by = column;
        rows.rows.sort((a, b) => (a[column] > b[column] ? 1 : a[column] < b[column] ? -1 : 0) * (up ? 1 : -1));
        fill();
      },
    })))), body);
    fill();
    main.append(make("h2", {}, rows.title), make("div", { className: "scroll" }, element));
    if (rows.total > rows.rows.length)
      main.append(make("p", { className: "facts" }, `the first ${rows.rows.length} of ${rows.total}; the JSON file beside this one has all`));
  }
  data.tables.forEach(show);
  if (data.moments.length)
    show({ title: "Schedule", columns: ["event", "at s"], rows: data.moments.map(moment => [moment.text, moment.t_s]), total: data.moments.length });
  if (data.file) main.append(make("details", {}, make("summary", {}, "the experiment's file"), make("pre", {}, data.file)));
})();
