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
  // dygraphs takes labels as HTML.
  const escaped = text => make("i", { textContent: text }).innerHTML;

  const colour = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const lines = () => ({ gridLineColor: colour("--line"), axisLineColor: colour("--line") });

  // Head
  const theme = make("button", { className: "theme", textContent: "dark / light" });
  const root = document.documentElement;
  if (matchMedia("(prefers-color-scheme: dark)").matches) root.classList.add("dark");
  theme.onclick = () => {
    root.classList.toggle("dark");
    for (const plot of plots) plot.updateOptions(lines());
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
  const together = plot => (plot.time ? plots.filter(other => other.time) : [plot]);
  const zoomed = plot => (plot.isZoomed("x") ? plot.xAxisRange() : null);

  function zoomTogether(plot) {
    for (const other of together(plot))
      if (String(zoomed(other)) !== String(zoomed(plot))) other.updateOptions({ dateWindow: zoomed(plot) });
  }

  function pointTogether(plot, row) {
    for (const other of together(plot)) other.pointAt(other === plot || row < 0 ? row : other.findClosestRow(other.toDomXCoord(plot.getValue(row, 0))));
  }

  function drawLevels(plot, figure, context) {
    const { x: left, y: top, w: width, h: height } = plot.getArea();
    context.save();
    context.strokeStyle = context.fillStyle = colour("--faint");
    context.setLineDash([6, 4]);
    context.font = "11px sans-serif";
    context.textAlign = "right";
    for (const level of figure.levels) {
      const y = plot.toDomYCoord(level.y);
      context.beginPath();
      context.moveTo(left, y);
      context.lineTo(left + width, y);
      context.stroke();
      context.fillText(level.name, left + width - 4, y - 4);
    }
    if (figure.time) {
      context.textAlign = "left";
      data.moments.forEach((moment, index) => {
        const x = plot.toDomXCoord(moment.t_s);
        context.beginPath();
        context.moveTo(x, top);
        context.lineTo(x, top + height);
        context.stroke();
        context.fillText(moment.text, x + 4, top + 12 + index % 4 * 13);
      });
    }
    context.restore();
  }

  // Rows of x and a value of each curve, [low, value, high] if some curve has a band: NaN is a gap, null no point. The curves
  // have the figure's x values or their own. Over time all figures begin and end together. A distribution has a value
  // everywhere: 0 before its first, the last one after it.
  function table(figure, bands) {
    const rows = new Map();
    const rowsOf = x => Array.from(x, at => {
      if (!rows.has(at)) rows.set(at, [at, ...Array(figure.curves.length).fill(null)]);
      return rows.get(at);
    });
    if (figure.time) rowsOf([0, data.duration_s]);
    const common = rowsOf(unpack(figure.x));
    figure.curves.forEach((curve, i) => {
      const y = unpack(curve.y), [low, high] = curve.low ? [unpack(curve.low), unpack(curve.high)] : [y, y];
      (curve.x ? rowsOf(unpack(curve.x)) : common).forEach((row, k) => { row[i + 1] = bands ? [low[k], y[k], high[k]] : y[k]; });
    });
    const sorted = [...rows.values()].sort((a, b) => a[0] - b[0]);
    if (!figure.time)
      figure.curves.forEach((curve, i) => {
        let last = 0;
        for (const row of sorted) row[i + 1] = last = row[i + 1] ?? last;
      });
    return sorted;
  }

  // A finger moves the page.
  const { touchstart, touchmove, touchend, ...mouse } = Dygraph.defaultInteractionModel;

  function draw(figure) {
    const place = make("div", { className: "plot" }), legend = make("div", { className: "legend" }), tools = make("div", { className: "tools" });
    main.append(make("section", { className: "figure", id: figure.id }, make("h2", {}, figure.title), place, tools, legend));
    const bands = figure.curves.some(curve => curve.low), { CustomBarsHandler, DefaultHandler } = Dygraph.DataHandlers;
    const highest = Math.max(0, ...figure.levels.map(level => level.y));
    // The levels are in sight too; a band is where it fits, as the largest of a thousand flows would hide their mean.
    class Handler extends (bands ? CustomBarsHandler : DefaultHandler) {
      getExtremeYValues(series) {
        const [low, high] = DefaultHandler.prototype.getExtremeYValues(series);
        return [low, Math.max(high, highest)];
      }
    }
    const axis = (unit, axisLabelWidth, pixelsPerLabel) => ({ axisLabelFormatter: value => si(value, unit), axisLabelWidth, pixelsPerLabel });
    const rows = table(figure, bands);
    const plot = new Dygraph(place, rows, {
      labels: ["x", ...figure.curves.keys()].map(String), visibility: figure.curves.map(curve => curve.shown), legend: "never",
      colors: colours, strokeWidth: 1.5, stepPlot: !figure.time, xRangePad: figure.time ? 0 : 8, connectSeparatedPoints: true,
      customBars: bands, dataHandler: Handler, includeZero: true,
      axes: { x: axis(figure.x_unit, 60, 60), y: axis(figure.y_unit, 64, 30) }, axisLabelFontSize: 12, axisTickSize: 5, gridLineWidth: 1, ...lines(),
      xlabel: escaped(figure.x_unit), ylabel: escaped(figure.y_unit), xLabelHeight: 15, yLabelWidth: 15,
      interactionModel: mouse,
      plugins: [{ activate: () => ({ didDrawChart: event => drawLevels(event.dygraph, figure, event.drawingContext) }) }],
      drawCallback: (self, first) => first || zoomTogether(self),
      highlightCallback: (event, x, points, row) => pointTogether(plot, row),
      unhighlightCallback: () => pointTogether(plot, -1),
    });
    plot.time = figure.time;
    plots.push(plot);

    const cursor = place.appendChild(make("div", { className: "cursor", hidden: true }));
    const items = figure.curves.map((curve, i) => {
      const box = make("input", { type: "checkbox", checked: curve.shown }), value = make("span", { className: "value" });
      const swatch = make("i");
      swatch.style.background = colours[i % colours.length];
      box.onchange = () => plot.setVisibility(i, box.checked);
      const label = make("label", {}, box, swatch, curve.name, " ", value);
      legend.append(label);
      return { curve, box, value, label };
    });
    // The values of a row of the table beside the names, and a line through it; -1: of none.
    plot.pointAt = row => {
      plot.setSelection(row);
      cursor.hidden = row < 0;
      if (row >= 0) Object.assign(cursor.style, { left: plot.toDomXCoord(rows[row][0]) + "px", height: plot.getArea().h + "px" });
      items.forEach((item, i) => {
        const cell = row < 0 ? null : rows[row][i + 1];
        if (item.box.checked) item.value.textContent = row < 0 ? "" : si(bands && cell ? cell[1] : cell, figure.y_unit);
      });
    };
    function showAll(show) {
      items.forEach(item => { if (!item.label.hidden) item.box.checked = show; });
      plot.setVisibility(items.map(item => item.box.checked));
    }
    if (figure.curves.length > manyCurves) {
      const filter = make("input", { type: "search", placeholder: "filter by name" });
      filter.oninput = () => items.forEach(item => { item.label.hidden = !item.curve.name.includes(filter.value); });
      tools.append(filter, make("button", { textContent: "all", onclick: () => showAll(true) }),
        make("button", { textContent: "none", onclick: () => showAll(false) }), make("span", {}, `${figure.curves.length} curves`));
    }
    tools.append("drag to zoom, with shift to move, double click to see everything");
  }
  for (const figure of data.figures) draw(figure);

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
