// What plots have beyond lines: bars, heat maps, marks; and a plot as SVG and as CSV.
"use strict";
const shapes = (() => {
  const markColours = { loss: "#d62728", "go-back": "#9467bd", NAK: "#e69f00", "RNR NAK": "#8c564b" };
  const others = { 10: "#0072b2", 100: "#d55e00", 1000: "#009e73" }; // as the curves of these windows
  const markColour = name => markColours[name] ?? others[/any (\d+) us/.exec(name)?.[1]] ?? "#d62728";

  // dygraphs' plotter. The bars of several curves are side by side in their interval.
  function bars({ drawingContext: context, points, color, seriesIndex, seriesCount, dygraph }) {
    const gaps = points.slice(1).map((point, i) => point.canvasx - points[i].canvasx).filter(gap => gap > 0);
    const interval = gaps.length ? gaps.reduce((a, b) => Math.min(a, b)) : 8, width = Math.max(1, interval / seriesCount);
    const zero = dygraph.toDomYCoord(0);
    context.fillStyle = color;
    for (const { canvasx: x, canvasy: y, yval } of points)
      if (yval > 0) context.fillRect(x - interval / 2 + seriesIndex * width, Math.min(y, zero - 1), width, Math.max(1, zero - y));
  }

  // Cells with their place in the plot and how dark they are, of those that are in sight.
  function cellsOf(plot, { width, counts, bounds }, x) {
    const rows = bounds.length - 1, darkest = Math.log1p(counts.reduce((a, b) => Math.max(a, b), 1)), all = [];
    counts.forEach((count, i) => {
      if (!count) return;
      const at = x[Math.floor(i / rows)], row = i % rows;
      const left = plot.toDomXCoord(at - width / 2), right = plot.toDomXCoord(at + width / 2), top = plot.toDomYCoord(row + 1), bottom = plot.toDomYCoord(row);
      all.push({ left, top, width: Math.max(1, right - left), height: Math.max(1, bottom - top), dark: 0.15 + 0.85 * Math.log1p(count) / darkest });
    });
    return all;
  }
  function drawCells(plot, cells, x, context) {
    for (const { left, top, width, height, dark } of cellsOf(plot, cells, x)) {
      context.fillStyle = `rgba(0, 114, 178, ${dark})`;
      context.fillRect(left, top, width, height);
    }
  }
  // Between the bounds of the rows, which are of equal height.
  function boundAt(bounds, row) {
    const below = Math.max(0, Math.min(bounds.length - 1, Math.floor(row))), above = Math.min(bounds.length - 1, below + 1);
    return bounds[below] + (bounds[above] - bounds[below]) * (row - below);
  }

  // Places of marks; those on the same pixel are one. Marks without y are at the upper edge, a row for each name.
  function marksOf(plot, groups) {
    const { x: left, y: top, w: width, h: height } = plot.getArea(), all = [];
    groups.forEach(({ name, x, y }, row) => {
      const taken = new Set();
      x.forEach((at, i) => {
        const mark = { x: plot.toDomXCoord(at), y: y.length ? plot.toDomYCoord(y[i]) : top + 6 + 9 * row, colour: markColour(name) };
        const pixel = Math.round(mark.x) + "," + Math.round(mark.y);
        if (mark.x < left || mark.x > left + width || mark.y < top || mark.y > top + height || taken.has(pixel)) return;
        taken.add(pixel);
        all.push(mark);
      });
    });
    return all;
  }
  function drawMarks(plot, groups, context) {
    for (const { x, y, colour } of marksOf(plot, groups)) {
      context.fillStyle = colour;
      context.beginPath();
      context.moveTo(x - 4, y - 4);
      context.lineTo(x + 4, y - 4);
      context.lineTo(x, y + 4);
      context.fill();
    }
  }

  const escaped = text => String(text).replace(/[&<>"]/g, c => `&#${c.charCodeAt(0)};`);

  // What of the plot is in sight now. `curves`: name, colour and column of those that are shown.
  function svg(figure, plot, place, curves) {
    const area = plot.getArea(), width = place.clientWidth, head = 28, row = 16, height = place.clientHeight + head + row * (curves.length + figure.marks.length) + 8;
    const { namespaceURI: namespace } = Object.assign(document.createElement("div"), { innerHTML: "<svg></svg>" }).firstChild;
    const out = [`<svg xmlns="${namespace}" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="12">`,
      `<rect width="100%" height="100%" fill="white"/><text x="${area.x}" y="18" font-size="15" font-weight="bold">${escaped(figure.title)}</text><g transform="translate(0,${head})">`,
      `<rect x="${area.x}" y="${area.y}" width="${area.w}" height="${area.h}" fill="none" stroke="#555"/>`];
    const from = place.getBoundingClientRect();
    for (const label of place.querySelectorAll(".dygraph-axis-label, .dygraph-label, .names span")) {
      const box = label.getBoundingClientRect();
      out.push(`<text x="${(box.left + box.width / 2 - from.left).toFixed(1)}" y="${(box.top + box.height / 2 - from.top + 4).toFixed(1)}" text-anchor="middle">${escaped(label.textContent)}</text>`);
    }
    // An inner <svg> clips what is outside of it.
    out.push(`<svg x="${area.x}" y="${area.y}" width="${area.w}" height="${area.h}" viewBox="${area.x} ${area.y} ${area.w} ${area.h}">`);
    if (figure.cells)
      for (const { left, top, width: wide, height: high, dark } of cellsOf(plot, figure.cells, figure.x))
        out.push(`<rect x="${left.toFixed(1)}" y="${top.toFixed(1)}" width="${wide.toFixed(1)}" height="${high.toFixed(1)}" fill="#0072b2" fill-opacity="${dark.toFixed(3)}"/>`);
    for (const { colour, dash, column } of curves) {
      let path = "", drawing = false;
      for (let i = 0; i < plot.numRows(); i++) {
        let value = plot.getValue(i, column);
        if (Array.isArray(value)) value = value[1];
        if (value === null || value === undefined) continue;
        drawing = drawing && !Number.isNaN(value);
        if (Number.isNaN(value)) continue;
        const x = plot.toDomXCoord(plot.getValue(i, 0)).toFixed(1), y = plot.toDomYCoord(value).toFixed(1);
        path += figure.shape === "bars" ? (value > 0 ? `M${x},${plot.toDomYCoord(0).toFixed(1)}V${y}` : "") : (drawing ? "L" : "M") + x + "," + y;
        drawing = true;
      }
      out.push(`<path d="${path}" fill="none" stroke="${colour}" stroke-width="1.4" stroke-dasharray="${dash.join(" ")}"/>`);
    }
    for (const { x, y, colour } of marksOf(plot, figure.marks)) out.push(`<path d="M${(x - 4).toFixed(1)},${(y - 4).toFixed(1)}h8l-4,8z" fill="${colour}"/>`);
    out.push("</svg>");
    [...curves, ...figure.marks.map(({ name }) => ({ name, colour: markColour(name) }))].forEach(({ name, colour, dash }, i) => {
      const y = place.clientHeight + row * (i + 0.5);
      out.push(`<path d="M${area.x},${y - 3}h22" stroke="${colour}" stroke-width="4" stroke-dasharray="${(dash ?? []).join(" ")}"/><text x="${area.x + 28}" y="${y}">${escaped(name)}</text>`);
    });
    return out.join("\n") + "</g></svg>\n";
  }

  const cell = value => (value === null || value === undefined || Number.isNaN(value) ? "" : /[",\n]/.test(value) ? `"${String(value).replaceAll('"', '""')}"` : String(value));
  const axis = (name, unit) => (unit ? `${name} [${unit}]` : name);

  // All of the figure's data, as the files of --out have it. `rows`: of x and a value of each curve.
  function csv(figure, rows) {
    const lines = [], number = value => (Array.isArray(value) ? value[1] : value);
    if (figure.cells) {
      const { bounds, counts } = figure.cells, high = bounds.length - 1;
      lines.push([axis("x", figure.x_unit), axis("from", figure.y_unit), axis("to", figure.y_unit), "count"]);
      counts.forEach((count, i) => { if (count) lines.push([figure.x[Math.floor(i / high)], bounds[i % high], bounds[i % high + 1], count]); });
    } else if (figure.choose) {
      lines.push(["name", axis("x", figure.x_unit), axis("y", figure.y_unit), "mark"]);
      const [{ name }] = figure.curves;
      for (const [x, y] of rows) if (number(y) !== null) lines.push([name, x, number(y), ""]);
      for (const of of figure.marks) of.x.forEach((x, i) => lines.push([name, x, of.y[i], of.name]));
    } else {
      const marked = figure.marks.length > 0;
      lines.push([axis("x", figure.x_unit), ...figure.curves.map(curve => curve.name), ...(marked ? ["mark"] : [])]);
      for (const [x, ...values] of rows) lines.push([x, ...values.map(number), ...(marked ? [""] : [])]);
      for (const of of figure.marks) for (const x of of.x) lines.push([x, ...figure.curves.map(() => ""), of.name]);
    }
    return lines.map(line => line.map(cell).join(",") + "\r\n").join("");
  }

  function save(name, type, text) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type }));
    link.download = name;
    link.click();
  }

  return { bars, drawCells, boundAt, drawMarks, markColour, svg, csv, save };
})();
