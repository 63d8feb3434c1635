// Draws what /events says, once a second: sentence, tiles, training job, plots, streams. No other network, no storage.
"use strict";
(() => {
  const { columns } = JSON.parse(document.getElementById("columns").textContent);
  const at = id => document.getElementById(id);
  const most = 3600, curvesShown = 6; // readings that are kept, one a second; streams in the plot
  const colours = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"];

  // An element; children are elements or text.
  function make(name, attributes = {}, ...children) {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) key.includes("-") ? element.setAttribute(key, value) : element[key] = value;
    element.append(...children);
    return element;
  }
  const fill = (element, text) => { if (element.textContent !== text) element.textContent = text; };

  // "12.5 Mbit/s"; prefixes below 1 for seconds only.
  function quantity(value, unit = "") {
    if (value === null || value === undefined || Number.isNaN(value)) return "-";
    const size = Math.abs(value), prefixes = [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""], [1e-3, "m"], [1e-6, "µ"], [1e-9, "n"]];
    const [scale, prefix] = (unit === "s" ? prefixes : prefixes.slice(0, 5)).find(([from]) => size >= from * 0.99995) ?? [1, ""];
    return `${+(value / scale).toPrecision(4)} ${prefix}${unit}`.trim();
  }
  const whole = value => (typeof value === "number" ? Math.round(value).toLocaleString("en-US") : "-");
  const secondsOf = report => Date.parse(report.time) / 1000;
  const clock = t => new Date(t * 1000).toLocaleTimeString([], { hourCycle: "h23" });

  // Dark or light as the system is.
  const dark = matchMedia("(prefers-color-scheme: dark)"), root = document.documentElement;
  const colour = name => getComputedStyle(root).getPropertyValue(name).trim();
  const lines = () => ({ gridLineColor: colour("--line"), axisLineColor: colour("--line") });
  root.classList.toggle("dark", dark.matches);
  dark.addEventListener("change", () => {
    root.classList.toggle("dark", dark.matches);
    for (const { plot } of figures) plot.updateOptions(lines());
  });

  // What is known of each port, by name: its reports, which become the points of the plots.
  const ports = new Map();
  let shown = null, paused = false, sort = { key: null, down: true }, selected = null;

  const fact = (report, name) => report.summary?.facts.find(one => one.name === name)?.value;
  const keyOf = stream => [stream.src, stream.dst, stream.dest_qp, stream.kind, stream.roce_version].join(" ");
  const nameOf = stream => `${stream.src} to ${stream.dst} QP 0x${stream.dest_qp.toString(16).padStart(6, "0")} ${stream.kind}`;

  // Counts that the tiles and plots are made of, since the port was attached.
  const counts = {
    frames: report => report.frames?.total, bytes: report => report.bytes?.total,
    lost: report => fact(report, "lost"), again: report => fact(report, "sent_again"),
    ce: report => report.ecn?.ce, cnps: report => report.frames?.cnp, pfc: report => report.frames?.pfc,
    naks: report => (report.summary ? fact(report, "naks") + fact(report, "rnr_naks") : undefined),
  };
  const countsOf = report => Object.fromEntries(Object.entries(counts).map(([name, of]) => [name, of(report)]));

  class Port {
    constructor(name) { Object.assign(this, { name, report: null, newest: null, points: [], base: null }); }
    add(report) {
      const t = secondsOf(report), before = this.points.at(-1), now = countsOf(report);
      this.newest = report;
      if (report.lost || !report.rates) {
        this.points.push({ t, now, rates: {}, streams: new Map() }); // a gap in the plots
      } else {
        const seconds = before ? t - before.t : 0, rates = {};
        for (const name of Object.keys(now))
          rates[name] = seconds > 0 && now[name] >= before.now[name] ? (now[name] - before.now[name]) / seconds : undefined;
        this.points.push({ t, now, rates, bits: report.rates.bits, rtt: report.rtt, backlog: report.queue?.backlog_bytes,
          streams: new Map(report.streams.map(stream => [keyOf(stream), stream.bits_per_s])) });
      }
      if (this.points.length > most) this.points.shift();
    }
    // Counts from now on, or all again.
    zero() {
      this.base = this.base || !this.report?.frames ? null : { t: secondsOf(this.report), counts: countsOf(this.report),
        streams: new Map(this.report.streams.map(stream => [keyOf(stream), stream])) };
    }
    count(name) {
      const now = counts[name](this.report);
      return typeof now === "number" && this.base ? Math.max(0, now - (this.base.counts[name] ?? 0)) : now;
    }
    stream(stream) {
      const base = this.base?.streams.get(keyOf(stream));
      if (!base) return stream;
      const since = { ...stream };
      for (const { key, format } of columns)
        if (format === "count" && typeof stream[key] === "number") since[key] = Math.max(0, stream[key] - (base[key] ?? 0));
      return since;
    }
  }

  // Tiles
  const perSecond = name => port => (port.points.at(-1)?.rates[name] === undefined ? "" : `${quantity(port.points.at(-1).rates[name])}/s`);
  const counted = (name, title, alarm) => ({ title, key: name, raw: port => port.count(name), text: whole, about: perSecond(name), alarm });
  const ns = value => (typeof value === "number" ? value / 1e9 : null);
  const tiles = [
    { title: "packets/s", key: "packets_per_s", raw: port => port.report.rates?.packets, text: value => quantity(value), about: port => `RoCEv2 ${quantity(port.report.rates?.rocev2_packets)}/s` },
    { title: "bit/s", key: "bits_per_s", raw: port => port.report.rates?.bits, text: value => quantity(value, "bit/s"), about: port => `${quantity(port.count("bytes"), "B")}` },
    counted("frames", "packets"), counted("lost", "lost before here", true), counted("again", "sent again"),
    counted("ce", "CE marks", true), counted("cnps", "CNPs", true), counted("naks", "NAKs", true), counted("pfc", "PFC, PAUSE frames"),
    { title: "round trip, p50", key: "rtt", when: port => port.report.rtt, raw: port => ns(port.report.rtt.p50_ns), text: value => quantity(value, "s"), about: port => `p99 ${quantity(ns(port.report.rtt.p99_ns), "s")}, ${whole(port.report.rtt.count)} in this second` },
    { title: "queue of the link", key: "backlog", when: port => port.report.queue, raw: port => port.report.queue.backlog_bytes, text: value => quantity(value, "B"), about: port => `largest ${quantity(port.report.queue.backlog_max_bytes, "B")}` },
  ];
  for (const tile of tiles) {
    tile.value = make("b", { "data-key": tile.key });
    tile.small = make("small");
    tile.box = at("tiles").appendChild(make("div", { className: "tile" }, make("div", {}, tile.title), tile.value, tile.small));
  }
  function showTiles(port) {
    for (const tile of tiles) {
      tile.box.hidden = !port.report.frames || (tile.when && !tile.when(port));
      if (tile.box.hidden) continue;
      const raw = tile.raw(port);
      tile.value.dataset.value = raw ?? "";
      fill(tile.value, tile.text(raw));
      fill(tile.small, tile.about(port) || "\u00a0");
      tile.box.classList.toggle("alarm", Boolean(tile.alarm && raw));
    }
  }

  // Plots
  const rate = (name, title) => ({ name: title, of: point => point.rates[name] });
  const fixed = curves => () => curves;
  const plots = [
    { id: "rate", title: "Rate of the port", unit: "bit/s", curves: fixed([{ name: "all frames", of: point => point.bits }]) },
    { id: "streams-rate", title: "Rate of the first streams", unit: "bit/s", curves: port => rows(port).slice(0, curvesShown).map(stream => ({ name: nameOf(stream), of: point => point.streams.get(keyOf(stream)) })) },
    { id: "losses", title: "Losses and packets sent again, per second", unit: "", curves: fixed([rate("lost", "lost before here"), rate("again", "sent again")]) },
    { id: "marks", title: "CE marks and CNPs, per second", unit: "", curves: fixed([rate("ce", "CE"), rate("cnps", "CNPs")]) },
    { id: "pauses", title: "PFC and PAUSE frames, per second", unit: "", curves: fixed([rate("pfc", "PFC, PAUSE")]) },
    { id: "round-trips", title: "Round trips of each second", unit: "s", when: port => port.report.rtt, curves: fixed([{ name: "p50", of: point => ns(point.rtt?.p50_ns) }, { name: "p99", of: point => ns(point.rtt?.p99_ns) }]) },
    { id: "backlog", title: "Queue of the link", unit: "bytes", when: port => port.report.queue, curves: fixed([{ name: "backlog", of: point => point.backlog }]) },
    { id: "stream", title: "Rate of the chosen stream", unit: "bit/s", when: () => selected, curves: () => [{ name: selected?.name ?? "", of: point => point.streams.get(selected?.key) }] },
  ];
  const figures = plots.map(makeFigure);
  const zoomed = plot => (plot.isZoomed("x") ? plot.xAxisRange() : null);

  function makeFigure(figure) {
    const place = make("div", { className: "plot", role: "img", "aria-label": figure.title }), legend = make("div", { className: "legend" });
    const button = (text, action) => make("button", { textContent: text, "aria-label": `${figure.title}: download ${text}`, onclick: action });
    const tools = make("div", { className: "tools" }, button("CSV", () => shapes.save(figure.id + ".csv", "text/csv", shapes.csv(described(), figure.rows))),
      button("SVG", () => shapes.save(figure.id + ".svg", "image/svg+xml", drawing())), button("PNG", savePng));
    figure.box = at("figures").appendChild(make("section", { className: "figure", id: figure.id }, make("h2", {}, figure.title), place, tools, legend));
    const unit = figure.unit === "bytes" ? "B" : figure.unit;
    figure.plot = new Dygraph(place, [[0, null]], {
      labels: ["x", "0"], legend: "never", includeZero: true, strokeWidth: 1.5, connectSeparatedPoints: false, rightGap: 12, axisLabelFontSize: 12, ...lines(),
      axes: { x: { axisLabelFormatter: clock, valueFormatter: clock, pixelsPerLabel: 80, axisLabelWidth: 70 }, y: { axisLabelFormatter: value => quantity(value, unit), axisLabelWidth: 80 } },
      drawCallback: (self, first) => first || zoomTogether(self),
      highlightCallback: (event, x, points) => values(points), unhighlightCallback: () => values([]),
    });
    new ResizeObserver(() => figure.box.hidden || figure.plot.resize()).observe(place); // also when a scroll bar comes
    figure.update = port => {
      const curves = figure.curves(port);
      figure.rows = port.points.map(point => [point.t, ...curves.map(curve => curve.of(point) ?? null)]);
      if (!curves.length) figure.rows = port.points.map(point => [point.t, null]);
      if (!figure.rows.length) figure.rows = [[0, null]];
      figure.named = curves;
      figure.plot.updateOptions({ file: figure.rows, labels: ["x", ...(curves.length ? curves : [null]).map((curve, i) => String(i))], colors: colours.slice(0, Math.max(1, curves.length)) });
      if (legend.dataset.names === String(curves.map(curve => curve.name))) return;
      legend.dataset.names = curves.map(curve => curve.name);
      legend.replaceChildren(...curves.map((curve, i) => {
        const swatch = make("i");
        swatch.style.background = colours[i];
        return make("span", {}, swatch, curve.name, " ", make("span", { className: "value" }));
      }));
    };
    function values(points) {
      legend.querySelectorAll(".value").forEach((value, i) => { const point = points.find(one => one.name === String(i)); value.textContent = point ? quantity(point.yval, unit) : ""; });
    }
    const described = () => ({ title: `${figure.title}, ${shown}`, x_unit: "s", y_unit: figure.unit, marks: [], curves: figure.named });
    const drawing = () => shapes.svg(described(), figure.plot, place, figure.named.map((curve, i) => ({ name: curve.name, colour: colours[i], dash: [], column: i + 1 })));
    function savePng() {
      const image = new Image();
      image.onload = () => {
        const canvas = make("canvas", { width: 2 * image.width, height: 2 * image.height });
        canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
        canvas.toBlob(blob => shapes.save(figure.id + ".png", "image/png", blob));
      };
      image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(drawing());
    }
    return figure;
  }
  // Plots zoom together.
  function zoomTogether(plot) {
    for (const { plot: other } of figures ?? [])
      if (String(zoomed(other)) !== String(zoomed(plot))) other.updateOptions({ dateWindow: zoomed(plot) });
  }

  // The training job: a bar a step, from 0; those of late steps have another colour.
  function showJob(port) {
    const { job } = port.report;
    at("job").hidden = !job;
    if (!job) return;
    fill(at("job-sentence"), job.sentence);
    at("job-steps").hidden = !job.step_ns.length;
    if (!job.step_ns.length) return;
    const times = job.step_ns, first = job.steps - times.length, largest = Math.max(...times, 1), late = new Set(job.late_steps.map(step => step.number));
    const sorted = [...times].sort((a, b) => a - b), seconds = value => quantity(ns(value), "s"), svg = "http://www.w3.org/2000/svg", height = 90;
    at("job-times").setAttribute("viewBox", `0 0 ${times.length} ${height}`);
    at("job-times").setAttribute("aria-label", `Times of the newest ${times.length} steps`);
    at("job-times").replaceChildren(...times.map((time, i) => {
      const bar = document.createElementNS(svg, "rect"), title = document.createElementNS(svg, "title"), size = (time / largest) * height;
      for (const [key, value] of Object.entries({ x: i + 0.1, width: 0.8, y: height - size, height: size, class: late.has(first + i) ? "late" : "" })) bar.setAttribute(key, value);
      title.textContent = `step ${whole(first + i)}: ${seconds(time)}`;
      bar.append(title);
      return bar;
    }));
    fill(at("job-facts"), `Step time, the newest ${times.length}: newest ${seconds(times.at(-1))}, median ${seconds(sorted[Math.floor(sorted.length / 2)])}, most ${seconds(sorted.at(-1))}` + (late.size ? "; orange: the late steps below" : "") +
      (job.missed ? `; ${whole(job.missed)} bursts were overwritten before they were read` : ""));
    at("late").hidden = !job.late_steps.length;
    at("late").tBodies[0].replaceChildren(...job.late_steps.map(({ number, step_ns, rank, late_ns }) => make("tr", {}, make("td", {}, whole(number)), make("td", {}, seconds(step_ns)),
      make("td", { className: "text" }, rank ?? "no rank is an outlier"), make("td", {}, seconds(late_ns)))));
  }

  // Streams
  function rows(port) {
    const all = (port.report.streams ?? []).map(stream => port.stream(stream));
    if (!sort.key) return all; // as they came: by the command's --sort
    const order = (a, b) => (typeof a === "number" && typeof b === "number" ? a - b : String(a ?? "").localeCompare(String(b ?? "")));
    return all.sort((a, b) => (sort.down ? -1 : 1) * order(a[sort.key], b[sort.key]));
  }
  function cellText({ key, format }, value) {
    if (value === null || value === undefined) return "-";
    switch (format) {
      case "qpn": return "0x" + value.toString(16).padStart(6, "0");
      case "count": return whole(value);
      case "scaled": return quantity(value);
      case "rate": return quantity(value);
      default: return String(value);
    }
  }
  const isText = ({ format }) => format === "text";
  const leading = ["src", "dst", "dest_qp", "bits_per_s", "packets_per_s"];
  const rank = ({ key }) => (leading.includes(key) ? leading.indexOf(key) : leading.length);
  const ordered = [...columns].sort((a, b) => rank(a) - rank(b));

  function showStreams(port) {
    const { report } = port, all = rows(port), body = at("streams").tBodies[0], head = at("streams").tHead;
    const visible = ordered.filter(({ key, hide_zero }) => all.some(stream => key in stream && (!hide_zero || stream[key])));
    const names = visible.map(({ key }) => key).join(" ") + sort.key + sort.down;
    if (head.dataset.names !== names) {
      const focused = document.activeElement?.dataset?.sort;
      head.dataset.names = names;
      head.replaceChildren(make("tr", {}, ...visible.map(column => {
        const button = make("button", { textContent: column.heading, "data-sort": column.key, onclick: () => sortBy(column) });
        return make("th", { className: isText(column) ? "text" : "", scope: "col", ...(sort.key === column.key ? { "aria-sort": sort.down ? "descending" : "ascending" } : {}) }, button);
      })));
      if (focused) head.querySelector(`[data-sort="${focused}"]`)?.focus();
    }
    all.forEach((stream, i) => {
      const row = body.rows[i] ?? body.appendChild(make("tr", { tabIndex: 0 }));
      row.dataset.stream = keyOf(stream);
      row.classList.toggle("chosen", selected?.key === row.dataset.stream);
      while (row.cells.length > visible.length) row.deleteCell(-1);
      visible.forEach((column, c) => {
        const cell = row.cells[c] ?? row.insertCell(), value = stream[column.key];
        fill(cell, cellText(column, value));
        cell.dataset.key = column.key;
        cell.dataset.value = value ?? "";
        cell.className = isText(column) ? "text" : column.alarm && value ? "alarm" : "";
      });
    });
    while (body.rows.length > all.length) body.deleteRow(-1);
    const total = fact(report, "streams") ?? all.length;
    fill(at("title"), report.tracked === false ? "Streams are not tracked: attached with --no-track" : `Streams: ${all.length}${total > all.length ? ` of at least ${total}` : ""}`);
  }
  function sortBy(column) {
    sort = sort.key === column.key ? { key: column.key, down: !sort.down } : { key: column.key, down: !isText(column) };
    show();
  }
  function choose(key) {
    const stream = ports.get(shown)?.report.streams?.find(one => keyOf(one) === key);
    selected = stream && selected?.key !== key ? { key, name: nameOf(stream), stream } : null;
    show();
  }
  function showDetail(port) {
    const now = port.report.streams?.find(stream => keyOf(stream) === selected?.key);
    at("detail").hidden = !selected;
    if (!selected) return;
    if (now) selected.stream = now;
    const stream = port.stream(selected.stream);
    at("detail").replaceChildren(make("h2", {}, selected.name), ...(now ? [] : [make("p", { className: "facts" }, "not among the streams of the last event: its last numbers")]),
      make("dl", {}, ...columns.filter(({ key }) => key in stream).map(column => make("div", {}, make("dt", {}, column.heading.replace(/-\n/g, "").replace(/\n/g, " ").toLowerCase()),
        make("dd", { "data-key": column.key, "data-value": stream[column.key] ?? "" }, cellText(column, stream[column.key]))))));
  }
  function saveStreams() {
    const port = ports.get(shown);
    if (!port?.report.streams) return;
    const keys = ordered.map(({ key }) => key).filter(key => port.report.streams.some(stream => key in stream));
    const cell = value => (/[",\n]/.test(value ?? "") ? `"${String(value).replaceAll('"', '""')}"` : String(value ?? ""));
    shapes.save(`streams-${shown}.csv`, "text/csv", [keys, ...rows(port).map(stream => keys.map(key => stream[key]))].map(line => line.map(cell).join(",") + "\r\n").join(""));
  }

  // All of it
  function show() {
    const port = ports.get(shown);
    if (!port) return;
    if (!paused || !port.report) port.report = port.newest;
    fill(at("sentence"), port.report.summary?.text || (port.report.frames ? "No packet has passed." : "No reading yet."));
    fill(at("zeroed"), port.base ? `counts since ${clock(port.base.t)}; the sentence is of all` : "");
    at("zero").setAttribute("aria-pressed", Boolean(port.base));
    showTiles(port);
    showJob(port);
    for (const figure of figures) {
      const hidden = !port.report.frames || Boolean(figure.when && !figure.when(port)), appears = figure.box.hidden && !hidden; // its size is 0 while it is hidden
      figure.box.hidden = hidden;
      if (hidden || (paused && !appears && figure.id !== "stream")) continue;
      figure.update(port);
      if (appears) figure.plot.resize();
    }
    showStreams(port);
    showDetail(port);
  }
  let connected = "connecting", last = 0;
  function showState() {
    const late = last && connected === "live" && Date.now() - last > 5000, lost = ports.get(shown)?.report?.lost;
    const text = connected !== "live" ? connected : late ? `no news for ${Math.round((Date.now() - last) / 1000)} s` : lost ? `${shown} is gone: ${lost}` : paused ? "paused" : "live";
    fill(at("state"), text);
    at("state").className = text === "live" ? "live" : connected === "connecting" || text === "paused" ? "" : "lost";
  }
  setInterval(showState, 1000);

  function receive(event) {
    last = Date.now();
    for (const report of JSON.parse(event.data).ports) {
      const { name } = report.source;
      if (!ports.has(name)) {
        ports.set(name, new Port(name));
        at("port").append(make("option", {}, name));
        at("choice").hidden = ports.size < 2;
      }
      ports.get(name).add(report);
    }
    shown ??= [...ports.keys()][0];
    showState();
    if (!paused) show();
  }
  function connect() {
    const source = new EventSource("events");
    source.onopen = () => { connected = "live"; showState(); };
    source.onmessage = receive;
    source.onerror = () => {
      connected = "the connection is lost; trying again";
      showState();
      if (source.readyState === EventSource.CLOSED) setTimeout(connect, 5000); // refused: the browser does not try again
    };
  }

  // Buttons and keys
  const actions = {
    pause() {
      paused = !paused;
      at("pause").setAttribute("aria-pressed", paused);
      fill(at("pause"), paused ? "continue" : "pause");
      showState();
      show();
    },
    zero() {
      ports.get(shown)?.zero();
      show();
    },
    whole() { for (const { plot } of figures) plot.resetZoom(); },
    csv: saveStreams,
  };
  for (const [name, action] of Object.entries(actions)) at(name).onclick = action;
  at("port").onchange = () => {
    shown = at("port").value;
    selected = null;
    showState();
    show();
  };
  at("streams").tBodies[0].onclick = event => choose(event.target.closest("tr").dataset.stream);
  function moveTo(step) {
    const all = [...at("streams").tBodies[0].rows], now = all.indexOf(document.activeElement);
    all[now < 0 ? 0 : Math.max(0, Math.min(all.length - 1, now + step))]?.focus();
  }
  addEventListener("keydown", event => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, select")) return;
    const row = event.target.closest?.("#streams tbody tr");
    const keys = { p: actions.pause, z: actions.zero, 0: actions.whole, d: actions.csv, "?": () => { at("keys").open = !at("keys").open; at("keys").scrollIntoView(); },
      ArrowDown: () => moveTo(1), ArrowUp: () => moveTo(-1), Escape: () => selected && choose(selected.key), ...(row ? { Enter: () => choose(row.dataset.stream) } : {}) };
    if (!Object.hasOwn(keys, event.key)) return;
    event.preventDefault();
    keys[event.key]();
  });
  connect();
})();
