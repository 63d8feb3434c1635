// Draws the data of the page: plots, expectations, tables. No network, no storage.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const main = document.querySelector("main");
  const coloursOf = figure => (figure.cells ? ["#d55e00"] : figure.curves.map(curve => curve.colour));
  const manyCurves = 16;

  // An element; children are elements or text.
  function make(name, attributes = {}, ...children) {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) element[key] = value;
    element.append(...children);
    return element;
  }

  // A number with its unit, as one writes it: "117.7 ms", "20 Gbit/s", "18.51 kB" (of bytes), "0.25".
  const unitNames = { bytes: "B", s: "s", "bit/s": "bit/s" };
  function quantity(value, unit = "") {
    const text = si(value, unit), name = unitNames[unit] ?? "";
    if (text === "-" || !(unit in unitNames)) return text.replace(/(?<=\d)(?=[TGMkmµn]$)/, " ");
    return text.replace(/(?<=\d)([TGMkmµn]?)$/, ` $1${name}`);
  }

  // "12.5M"; prefixes below 1 for seconds only: "3µ".
  function si(value, unit = "") {
    if (value === null || value === undefined || Number.isNaN(value)) return "-";
    const size = Math.abs(value);
    if (size === 0) return "0";
    if (size < 1 && unit !== "s") return size < 1e-3 ? value.toExponential(2) : String(+value.toPrecision(4));
    for (const [scale, prefix] of [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""], [1e-3, "m"], [1e-6, "µ"], [1e-9, "n"]])
      if (size >= scale * 0.99995) return String(+(value / scale).toPrecision(4)) + prefix;
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
  if (data.headline) main.append(make("p", { className: "headline" }, data.headline));
  for (const line of data.facts) main.append(make("div", { className: "facts" }, line));
  for (const why of data.why_void) main.append(make("p", { className: "void" }, "void: " + why));

  // Columns of a grid by the page's width, which fill its rows.
  function inColumns(grid) {
    ["wide", "middle", "narrow"].forEach((width, i) => grid.style.setProperty("--" + width, data.grid_columns[i]));
    return grid;
  }
  if (data.tiles.length) {
    const grid = make("div", { className: "tiles" }, ...data.tiles.map(tile => make("div", { className: tile.alarm ? "tile alarm" : "tile" },
      make("div", {}, tile.name), make("b", {}, tile.value), make("small", {}, tile.about))));
    main.append(inColumns(grid));
  }

  // Topology, where network_layout.cpp places it; frames go down.
  const { namespaceURI } = make("div", { innerHTML: "<svg></svg>" }).firstChild;
  function drawing(tag, attributes, ...children) {
    const element = document.createElementNS(namespaceURI, tag);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.append(...children);
    return element;
  }
  function drawNetwork({ nodes, links, queue, width, height, longest }) {
    if (!nodes.length) return;
    const svg = drawing("svg", { viewBox: `0 0 ${width} ${height}`, class: "network", role: "img" });
    for (const { line: [x1, y1, x2, y2], about, bottleneck, rules } of links) {
      const at = share => [x1 + (x2 - x1) * share, y1 + (y2 - y1) * share];
      svg.append(drawing("line", { x1, y1, x2, y2, class: bottleneck ? "link bottleneck" : "link" }, drawing("title", {}, about)));
      if (rules.length) {
        const [x, y] = at(0.5);
        svg.append(drawing("path", { d: `M${x - 7},${y} l7,-7 l7,7 l-7,7 z`, class: "rule" }, drawing("title", {}, rules.join("\n"))));
      }
      if (bottleneck) {
        const [x, y] = at(0.1);
        for (let i = 0; i < 3; i++) svg.append(drawing("rect", { x: x - 13, y: y - 2 + i * 6, width: 26, height: 4, class: "queue" }));
      }
    }
    for (const { words, label: [x0, y0, x1, y1] } of links)
      words.forEach((text, i) => svg.append(drawing("text", { x: (x0 + x1) / 2, y: y0 + (y1 - y0) / words.length * i + 12, class: "about", "text-anchor": "middle" }, text)));
    for (const { name, host, box: [x0, y0, x1, y1] } of nodes)
      svg.append(drawing("rect", { x: x0, y: y0, width: x1 - x0, height: y1 - y0, rx: host ? 4 : 22, class: host ? "host" : "switch" }),
        drawing("text", { x: (x0 + x1) / 2, y: (y0 + y1) / 2 + 5, "text-anchor": "middle" }, name));
    main.append(make("h2", {}, "Topology"), svg, make("p", { className: "facts" },
      (longest ? `in colour: the longest queue, ${longest} · ` : "") + "queues of the switches: " + queue));
  }
  drawNetwork(data.network);
  for (const svg of data.drawings ?? [])
    main.append(make("h2", {}, "Ranks"), make("div", { className: "drawing", innerHTML: svg }));

  // Expectations
  const either = value => (typeof value === "string" ? value : quantity(value));
  if (data.checks.length) {
    const table = make("table", { className: "checks" });
    table.append(make("tr", {}, ...["expectation", "", "value", "bound", "decided by", "at"].map(text => make("th", { className: text === "decided by" ? "text" : "" }, text))));
    for (const check of data.checks)
      table.append(make("tr", {}, make("td", { className: "text" }, check.text),
        make("td", { className: check.outcome.split(" ")[0] }, check.outcome), make("td", {}, either(check.value)),
        make("td", {}, either(check.bound)),
        make("td", { className: "text" }, [check.row, check.frame].filter(Boolean).join(", ") || check.why),
        make("td", {}, check.t_s === null ? "" : quantity(check.t_s, "s"))));
    main.append(make("h2", {}, "Expectations"), make("div", { className: "scroll whole" }, table));
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

  // As wide in all plots over time: the same time is below itself.
  const marginRight = 130, timeNamed = data.figures.some(figure => figure.time && figure.levels.length);
  const momentRows = () => Math.min(data.moments.length, 4);

  // Names are beside the plot and above it, not on the curves; none over another. The canvas is clipped there: they are elements.
  function drawLevels(plot, figure, context, names) {
    const { x: left, y: top, w: width, h: height } = plot.getArea();
    const spans = [], line = (...ends) => {
      context.beginPath();
      context.moveTo(...ends.slice(0, 2));
      context.lineTo(...ends.slice(2));
      context.stroke();
    };
    const name = (text, x, y, room) => {
      const span = make("span", { textContent: text, title: text });
      Object.assign(span.style, { left: x + "px", top: y + "px", maxWidth: room + "px" });
      spans.push(span);
    };
    context.save();
    context.strokeStyle = colour("--faint");
    context.setLineDash([6, 4]);
    context.font = "12px sans-serif";
    const all = figure.levels.map(level => ({ ...level, at: plot.toDomYCoord(level.y) })), levels = all.filter(level => level.at >= top && level.at <= top + height);
    all.filter(level => level.at < top).forEach((level, i) => name(`${level.name} ${quantity(level.y, figure.y_unit)}, above`, left + width + 6, top + 14 * i, marginRight - 8));
    let free = Infinity;
    for (const level of levels.sort((a, b) => b.at - a.at)) {
      line(left, level.at, left + width, level.at);
      free = Math.min(level.at - 8, free - 14);
      name(level.name, left + width + 6, free, marginRight - 8);
    }
    const ends = Array(momentRows()).fill(-Infinity);
    for (const moment of figure.time ? data.moments : []) {
      const x = plot.toDomXCoord(moment.t_s), long = context.measureText(moment.text).width + 12;
      if (x < left || x > left + width) continue;
      line(x, top, x, top + height);
      const from = Math.min(x, left + width + (timeNamed ? marginRight : 12) - long), row = ends.findIndex(end => end < from);
      if (row < 0) continue; // the table of the schedule has them all
      name(moment.text, from, top - 17 - row * 14, long);
      ends[row] = from + long;
    }
    context.restore();
    names.replaceChildren(...spans);
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
    if (!figure.time && !data.sweep)
      figure.curves.forEach((curve, i) => {
        let last = 0;
        for (const row of sorted) row[i + 1] = last = row[i + 1] ?? last;
      });
    return sorted;
  }

  // Lines of a text whose words are broken at this width.
  function linesOf(text, width) {
    let lines = 1, used = 0;
    for (const word of text.split(/(?<=[ -])/)) {
      const long = word.length * 7;
      if (used && used + long > width) {
        lines++;
        used = 0;
      }
      used += long;
    }
    return lines;
  }

  // A finger moves the page.
  const { touchstart, touchmove, touchend, ...mouse } = Dygraph.defaultInteractionModel;

  for (const figure of data.figures) {
    figure.marks = figure.marks.map(of => ({ ...of, x: unpack(of.x), y: unpack(of.y) }));
    if (figure.cells) Object.assign(figure, { cells: { ...figure.cells, counts: unpack(figure.cells.counts) }, columns: unpack(figure.x) });
  }
  // One curve with its marks, of a figure that shows one at a time.
  const onlyCurve = (figure, at) => ({ ...figure, curves: [{ ...figure.curves[at], shown: true }], marks: figure.marks.filter(of => of.curve === at) });

  function draw(all) {
    let figure = all.choose ? onlyCurve(all, 0) : all;
    const named = figure.time ? timeNamed : figure.levels.length > 0, above = figure.time && data.moments.length;
    const place = make("div", { className: "plot" }), legend = make("div", { className: "legend" }), tools = make("div", { className: "tools" });
    figures.append(make("section", { className: "figure", id: figure.id }, make("h2", {}, figure.title), place, tools, legend));
    const bands = figure.curves.some(curve => curve.low), { CustomBarsHandler, DefaultHandler } = Dygraph.DataHandlers;
    // The levels are in sight too, without those far above the data, which would leave most of the plot empty; a band is where it fits, as the largest of a thousand flows would hide their mean.
    class Handler extends (bands ? CustomBarsHandler : DefaultHandler) {
      getExtremeYValues(series) {
        const [low, high] = DefaultHandler.prototype.getExtremeYValues(series);
        return [low, Math.max(high, ...figure.levels.map(level => level.y).filter(y => !(high > 0) || y <= 1.5 * high))];
      }
    }
    const axis = (unit, axisLabelWidth, pixelsPerLabel) => ({ axisLabelFormatter: value => quantity(value, unit), axisLabelWidth, pixelsPerLabel });
    const label = unit => (unit in unitNames ? "" : escaped(unit)); // others are beside each number
    let rows = table(figure, bands);
    const yText = value => {
      if (typeof value !== "number" || Number.isNaN(value)) return quantity(value, figure.y_unit);
      if (figure.cells) return quantity(shapes.boundAt(figure.cells.bounds, value), figure.y_unit);
      return figure.shape === "points" ? Math.round(value).toLocaleString("en-US") : quantity(value, figure.y_unit); // PSNs
    };
    const seriesColours = coloursOf(figure);
    const samples = Math.max(0, ...figure.curves.map(curve => unpack(curve.y).filter(value => !Number.isNaN(value)).length));
    if (figure.time && figure.id !== "episodes" && samples < 3 && !data.json)
      tools.before(make("p", { className: "facts few" }, `${samples} sample${samples === 1 ? "" : "s"} only: the experiment's \`sample:\` is too long for its duration`));
    const names = make("div", { className: "names" });
    const tickWidth = Math.max(30, Math.floor((place.clientWidth - 110) / Math.max(1, figure.names.length)));
    const plot = new Dygraph(place, rows, {
      labels: ["x", ...figure.curves.keys()].map(String), visibility: figure.curves.map(curve => curve.shown), legend: "never",
      colors: seriesColours, series: Object.fromEntries(figure.curves.map((curve, i) => [String(i), { strokePattern: curve.dash.length ? curve.dash : null }])), strokeWidth: 1.5, drawPoints: data.sweep || figure.shape === "points" || figure.cells || (figure.time && samples < 50), pointSize: data.sweep ? 3 : 2,
      ...(figure.shape === "bars" ? { plotter: shapes.bars } : {}), rightGap: named ? marginRight : 12,
      ...(above ? { title: "\u00a0", titleHeight: momentRows() * 14 + 6 } : {}), stepPlot: !figure.time && !data.sweep, xRangePad: figure.time ? 0 : 8, ...(figure.names.length ? { dateWindow: [0.5, figure.names.length + 0.5], xAxisHeight: 10 + 15 * Math.max(...figure.names.map(name => linesOf(name, tickWidth))) } : {}), connectSeparatedPoints: true,
      customBars: bands, dataHandler: Handler, includeZero: figure.shape !== "points",
      axes: { x: figure.names.length ? { ticker: () => figure.names.map((label, i) => ({ v: i + 1, label: escaped(label) })), axisLabelWidth: tickWidth } : axis(figure.x_unit, 70, 80), y: { ...axis(figure.y_unit, 76, 30), axisLabelFormatter: yText, ...(figure.cells ? { valueRange: [0, figure.cells.bounds.length - 1] } : {}) } }, axisLabelFontSize: 12, axisTickSize: 5, gridLineWidth: 1, ...lines(),
      xlabel: label(figure.x_unit), ylabel: label(figure.y_unit), xLabelHeight: 15, yLabelWidth: 15,
      interactionModel: mouse,
      plugins: [{ activate: () => ({
        willDrawChart: event => { if (figure.cells) shapes.drawCells(event.dygraph, figure.cells, figure.columns, event.drawingContext); },
        didDrawChart: event => {
          shapes.drawMarks(event.dygraph, figure.marks, event.drawingContext);
          drawLevels(event.dygraph, figure, event.drawingContext, names);
        },
      }) }],
      drawCallback: (self, first) => first || zoomTogether(self),
      highlightCallback: (event, x, points, row) => pointTogether(plot, row),
      unhighlightCallback: () => pointTogether(plot, -1),
    });
    plot.time = figure.time;
    plots.push(plot);

    place.append(names);
    const cursor = place.appendChild(make("div", { className: "cursor", hidden: true }));
    const items = figure.curves.map((curve, i) => {
      const box = make("input", { type: "checkbox", checked: curve.shown }), value = make("span", { className: "value" });
      const swatch = make("i");
      const dash = curve.dash.reduce((ends, length) => [...ends, (ends.at(-1) ?? 0) + length], []), line = seriesColours[i];
      swatch.style.background = !dash.length ? line
        : `repeating-linear-gradient(90deg, ${dash.map((end, k) => `${k % 2 ? "transparent" : line} ${dash[k - 1] ?? 0}px ${end}px`).join(", ")})`;
      box.onchange = () => plot.setVisibility(i, box.checked);
      const named = make("span", {}, curve.name), label = make("label", {}, box, swatch, named, " ", value);
      legend.append(label);
      return { curve, box, value, label, named };
    });
    // The values of a row of the table beside the names, and a line through it; -1: of none.
    plot.pointAt = row => {
      plot.setSelection(row);
      cursor.hidden = row < 0;
      if (row >= 0) Object.assign(cursor.style, { left: plot.toDomXCoord(rows[row][0]) + "px", height: plot.getArea().h + "px" });
      items.forEach((item, i) => {
        const cell = row < 0 ? null : rows[row][i + 1];
        if (item.box.checked) item.value.textContent = row < 0 ? "" : yText(bands && cell ? cell[1] : cell);
      });
    };
    function showAll(show) {
      items.forEach(item => { if (item.curve.name.includes(wanted)) item.box.checked = show; });
      plot.setVisibility(items.map(item => item.box.checked));
      listNames();
    }
    // Names of what is drawn, and a few of the others; with a filter those that match.
    let wanted = "";
    const more = legend.appendChild(make("span", { className: "more" }));
    function listNames() {
      let room = manyCurves, left = 0;
      for (const { box, curve, label } of items) {
        const matches = curve.name.includes(wanted);
        label.hidden = !(matches && (box.checked && !wanted || room-- > 0));
        left += matches && label.hidden;
      }
      more.textContent = left ? `and ${left} more: filter by name` : "";
    }
    listNames();
    if (figure.curves.length > manyCurves) {
      const filter = make("input", { type: "search", placeholder: "filter by name" });
      filter.oninput = () => { wanted = filter.value; listNames(); };
      tools.append(filter, make("button", { textContent: "all", onclick: () => showAll(true) }),
        make("button", { textContent: "none", onclick: () => showAll(false) }), make("span", {}, `${figure.curves.length} curves`));
    }
    const marks = legend.appendChild(make("span", { className: "marks" }));
    const nameMarks = () => marks.replaceChildren(...figure.marks.map(({ name, x }) => {
      const shape = make("b", { textContent: "\u25bc" });
      shape.style.color = shapes.markColour(name);
      return make("span", {}, shape, ` ${name}${x.length > 1 ? `: ${x.length}` : ""}`);
    }));
    nameMarks();
    if (all.choose && all.curves.length > 1) {
      const choice = make("select", {}, ...all.curves.map((curve, at) => make("option", { value: at, textContent: curve.name })));
      choice.onchange = () => {
        figure = onlyCurve(all, +choice.value);
        rows = table(figure, bands);
        items[0].named.textContent = figure.curves[0].name;
        nameMarks();
        plot.updateOptions({ file: rows });
      };
      tools.append(choice);
    }
    const shown = () => figure.curves.map(({ name, dash }, i) => ({ name, dash, colour: seriesColours[i], column: i + 1 })).filter((curve, i) => items[i].box.checked);
    tools.append(make("button", { textContent: "SVG", onclick: () => shapes.save(figure.id + ".svg", "image/svg+xml", shapes.svg({ ...figure, x: figure.columns }, plot, place, shown())) }),
      make("button", { textContent: "CSV", onclick: () => shapes.save(figure.id + ".csv", "text/csv", shapes.csv({ ...figure, x: figure.columns }, rows)) }));
    if (figure.cells) tools.append(`the darker, the more: ${figure.cells.counts.reduce((a, b) => Math.max(a, b), 0).toLocaleString("en-US")} in the darkest cell`);
    else if (!data.sweep) tools.append("drag to zoom, with shift to move, double click to see everything");
  }
  const figures = data.sweep ? main.appendChild(inColumns(make("div", { className: "small" }))) : main;
  for (const figure of data.figures) draw(figure);

  // Tables, sorted by a click on a column
  const unitOf = column => ["s", "bit/s", "bytes"].find(unit => column.endsWith(" " + unit)) ?? "";
  const withoutUnit = column => (unitOf(column) ? column.slice(0, -unitOf(column).length - 1) : column);
  function cellText(cell, column) {
    if (typeof cell !== "number") return cell ?? "";
    return unitOf(column) || !Number.isInteger(cell) ? quantity(cell, unitOf(column)) : cell.toLocaleString("en-US");
  }

  // Each row of a flow has its QP.
  const qps = new Map((data.tables[0]?.columns[1] === "QP" ? data.tables[0].rows : []).map(row => [row[0], row[1]]));
  function withQps(rows) {
    const flow = rows.columns.indexOf("FLOW");
    if (flow < 0) return rows;
    const insert = (row, cell) => [...row.slice(0, flow + 1), cell, ...row.slice(flow + 1)];
    return { ...rows, columns: insert(rows.columns, "QP"), rows: rows.rows.map(row => insert(row, qps.get(row[flow]) ?? /QP (0x[0-9a-f]+)/.exec(row[flow])?.[1] ?? null)) };
  }

  // Many rows that differ in numbers only are one row: how many, and the range of their numbers.
  const manyRows = 60, kindColumns = ["RULE", "FLOW", "QP", "DID", "CAUSE", "FINDING"];
  function grouped(rows) {
    const kinds = rows.columns.map((name, i) => i).filter(i => kindColumns.includes(rows.columns[i]));
    if (rows.rows.length <= manyRows || !kinds.length) return null;
    const groups = new Map();
    for (const row of rows.rows) {
      const key = kinds.map(i => row[i]).join("\t");
      groups.set(key, [...(groups.get(key) ?? []), row]);
    }
    if (groups.size > rows.rows.length / 2) return null;
    const numbers = rows.columns.map((name, i) => i).filter(i => unitOf(rows.columns[i]) && rows.rows.some(row => typeof row[i] === "number"));
    const range = (all, i) => {
      const values = all.map(row => row[i]).filter(value => typeof value === "number");
      if (!values.length) return null;
      const [low, high] = [values.reduce((a, b) => Math.min(a, b)), values.reduce((a, b) => Math.max(a, b))].map(value => quantity(value, unitOf(rows.columns[i])));
      return low === high ? low : `${low} to ${high}`;
    };
    return {
      title: rows.title, columns: [...kinds.map(i => rows.columns[i]), "ROWS", ...numbers.map(i => withoutUnit(rows.columns[i]))],
      rows: [...groups.values()].map(all => [...kinds.map(i => all[0][i]), all.length, ...numbers.map(i => range(all, i))]), total: groups.size,
    };
  }

  const printedRows = 30, mostShown = 1000;
  function tableOf(rows) {
    const body = make("tbody"), element = make("table"), links = new Map(rows.rows.map((row, i) => [row, rows.links?.[i]]));
    let by = -1, up = false;
    const isText = rows.columns.map((name, column) => rows.rows.some(row => typeof row[column] === "string" && row[column].length > 24));
    const fill = () => body.replaceChildren(...rows.rows.map((row, i) => make("tr", { className: i < printedRows ? "" : "beyond" }, ...row.map((cell, column) =>
      make("td", { className: isText[column] ? "text" : "" }, column === 0 && links.get(row) ? make("a", { href: links.get(row) }, cell) : cellText(cell, rows.columns[column]))))));
    element.append(make("thead", {}, make("tr", {}, ...rows.columns.map((name, column) => make("th", {
      textContent: withoutUnit(name),
      className: isText[column] ? "text" : "",
      onclick: () => {
        up = by === column && !up;
        by = column;
        rows.rows.sort((a, b) => (a[column] > b[column] ? 1 : a[column] < b[column] ? -1 : 0) * (up ? 1 : -1));
        fill();
      },
    })))), body);
    fill();
    return make("div", { className: "scroll" }, element);
  }
  function more(shown, total) {
    const lines = [];
    if (total > printedRows) lines.push(make("p", { className: "facts printed" }, `and ${total - printedRows} more in ${data.json ?? "result.json"}`));
    if (total > shown) lines.push(make("p", { className: "facts seen" }, `the first ${shown} of ${total}; the JSON file beside this one has all`));
    return lines;
  }
  // A column without any value would only take room.
  function withoutEmpty(rows) {
    const kept = rows.columns.map((name, i) => i).filter(i => rows.rows.some(row => row[i] !== null && row[i] !== ""));
    return { ...rows, columns: kept.map(i => rows.columns[i]), rows: rows.rows.map(row => kept.map(i => row[i])) };
  }
  function show(all) {
    if (!all.rows.length) return;
    const every = withoutEmpty(withQps(all)), groups = grouped(every), rows = { ...every, rows: every.rows.slice(0, mostShown) };
    main.append(make("h2", {}, rows.title));
    if (!groups) return main.append(tableOf(rows), ...more(rows.rows.length, rows.total));
    main.append(tableOf(groups), ...more(groups.rows.length, groups.total), ...(every.total > every.rows.length ? [`of the first ${every.rows.length} of ${every.total} rows`] : []),
      make("details", { className: "each" }, make("summary", {}, `each of the ${rows.total}`), tableOf(rows), ...more(rows.rows.length, rows.total)));
  }
  data.tables.forEach(show);
  if (data.moments.length)
    show({ title: "Schedule", columns: ["event", "at s"], rows: data.moments.map(moment => [moment.text, moment.t_s]), total: data.moments.length });
  if (data.provenance.length)
    main.append(make("h2", {}, "What ran, where and when"), make("div", { className: "scroll whole" }, make("table", { className: "provenance" },
      ...data.provenance.map(([name, value]) => make("tr", {}, make("td", {}, name), make("td", { className: "text" }, value))))));
  if (data.file) main.append(make("details", {}, make("summary", {}, "the experiment's file"), make("pre", {}, data.file)));
})();
