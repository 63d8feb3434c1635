#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# page_checks.py REPORT.html: opens the report of an experiment or a capture in headless Chromium, 1,280 and 800 pixels wide, light and dark, and prints
# what is wrong with it: buttons whose files do not parse, what is wider than the window, columns that are cut at 1,280 pixels, errors of its script, plots without a drawn pixel, series that the data does not have, a legend that does not switch or has no
# values at the mouse, plots that do not zoom, requests to a network.
import json, os, re, shutil, subprocess, sys, tempfile

CHECKS = """
<pre id="checks"></pre><script>
(async () => {
  const wrong = [];
  const data = JSON.parse(document.getElementById("data").textContent);
  if (errors.length) wrong.push(...errors);
  if (typeof plots === "undefined" || plots.length !== data.figures.length) wrong.push("plots are missing");
  const canvas = figure => document.querySelector(`#${figure.id} canvas`);
  const pixels = (of, x, y, width, height) => of.getContext("2d").getImageData(x, y, width, height).data;
  const drawn = of => pixels(of, 0, 0, of.width, of.height).some((byte, i) => i % 4 === 3 && byte);
  const coloured = (of, { x, y, w, h }, colour) => {
    const [red, green, blue] = [1, 3, 5].map(at => parseInt(colour.slice(at, at + 2), 16));
    const image = pixels(of, x, y, w, h);
    for (let i = 0; i < image.length; i += 4)
      if (image[i + 3] > 150 && Math.abs(image[i] - red) + Math.abs(image[i + 1] - green) + Math.abs(image[i + 2] - blue) < 40) return true;
    return false;
  };
  const mouse = (figure, kind, share) => {
    const of = document.querySelectorAll(`#${figure.id} canvas`)[1], { left, top, width, height } = of.getBoundingClientRect();
    of.dispatchEvent(new MouseEvent(kind, { bubbles: true, clientX: left + width * share, clientY: top + height / 2 }));
  };
  const values = figure => [...document.querySelectorAll(`#${figure.id} .value`)].map(value => value.textContent).join("");
  const soon = () => new Promise(done => setTimeout(done, 50));
  await soon();
  const wide = document.documentElement.scrollWidth - document.documentElement.clientWidth;
  if (wide > 0) wrong.push(`the page is ${wide} pixels wider than the window`);
  if (innerWidth >= 1200)
    for (const box of document.querySelectorAll(".scroll"))
      if (box.scrollWidth > box.clientWidth) wrong.push(`columns are cut: ${box.querySelector("tr").textContent}`);
  data.figures.forEach((figure, i) => {
    const plot = plots[i];
    if (plot.numColumns() !== (figure.choose ? 1 : figure.curves.length) + 1) wrong.push(`${figure.id}: ${plot.numColumns() - 1} series of ${figure.curves.length}`);
    if (!drawn(canvas(figure))) wrong.push(`${figure.id}: nothing is drawn`);
    // One may hide another that is equal to it.
    const shown = figure.choose ? [0] : [...figure.curves.keys()].filter(at => figure.curves[at].shown);
    const isDrawn = at => coloured(canvas(figure), plot.getArea(), plot.getPropertiesForSeries(String(at)).color);
    if (shown.length && !shown.some(isDrawn)) wrong.push(`${figure.id}: no curve is drawn`);
  });
  for (const [i, figure] of data.figures.entries()) {
    const box = document.querySelector(`#${figure.id} .legend input`), was = plots[i].visibility()[0];
    box.click();
    await soon();
    if (plots[i].visibility()[0] === was) wrong.push(`${figure.id}: the legend does not switch`);
    box.click();
    mouse(figure, "mousemove", 0.5);
    await soon();
    if (!values(figure)) wrong.push(`${figure.id}: no values at the mouse`);
    mouse(figure, "mouseout", 0.5);
    await soon();
    if (values(figure)) wrong.push(`${figure.id}: the values stay`);
  }
  const files = [];
  const { save } = shapes;
  shapes.save = (...file) => (files.push(file[2]), save(...file));
  HTMLAnchorElement.prototype.click = () => {};
  for (const figure of data.figures) {
    for (const button of document.querySelectorAll(`#${figure.id} .tools button`))
      if (["SVG", "CSV"].includes(button.textContent)) button.click();
    const [svg, csv] = files.splice(0);
    if (!svg || !csv) { wrong.push(`${figure.id}: its buttons give no file`); continue; }
    const root = new DOMParser().parseFromString(svg, "image/svg+xml");
    if (root.querySelector("parsererror") || !root.querySelector("path[d^=M]")) wrong.push(`${figure.id}: the SVG is none, or without a curve`);
    if (/NaN|Infinity/.test(svg)) wrong.push(`${figure.id}: the SVG has no place for something`);
    const cells = csv.trim().split("\\r\\n").map(line => line.replace(/"([^"]|"")*"/g, "").split(",").length);
    if (cells.length < 2 || cells.some(count => count !== cells[0])) wrong.push(`${figure.id}: the CSV has rows of ${[...new Set(cells)]} cells`);
    const choice = document.querySelector(`#${figure.id} select`), plot = plots[data.figures.indexOf(figure)];
    if (!figure.choose !== !choice && figure.curves.length > 1) wrong.push(`${figure.id}: no stream can be chosen`);
    if (!choice) continue;
    const before = plot.numRows() + String(plot.yAxisRange());
    choice.value = 1;
    choice.onchange();
    await soon();
    if (plot.numRows() + String(plot.yAxisRange()) === before || !drawn(canvas(figure))) wrong.push(`${figure.id}: the chosen stream is not drawn`);
  }
  const [zoomed, other] = data.figures.map((figure, i) => [figure, plots[i]]).filter(([figure]) => figure.time);
  if (other) {
    const ranges = () => [zoomed[1], other[1]].map(plot => plot.xAxisRange());
    const all = String(ranges());
    mouse(zoomed[0], "mousedown", 0.4);
    mouse(zoomed[0], "mousemove", 0.6);
    mouse(zoomed[0], "mouseup", 0.6);
    await soon();
    const [one, two] = ranges();
    if (one[1] - one[0] > data.duration_s / 2) wrong.push("dragging does not zoom");
    if (String(one) !== String(two)) wrong.push("plots do not zoom together");
    mouse(other[0], "dblclick", 0.5);
    await soon();
    if (String(ranges()) !== all) wrong.push("a double click does not show everything");
  }
  document.querySelector(".theme").click();
  await soon();
  if (errors.length) wrong.push(...errors);
  document.getElementById("checks").textContent = "done " + JSON.stringify(wrong);
})().catch(error => { document.getElementById("checks").textContent = "done " + JSON.stringify([String(error)]); });
</script>"""


def opened(browser, page, width, dark):
    watch = ("<script>const errors = []; addEventListener('error', event => errors.push('error: ' + event.message));"
             f"console.error = (...words) => errors.push('console: ' + words.join(' ')); matchMedia = () => ({{ matches: {dark} }});</script>")
    page = page.replace("<body>", "<body>" + watch, 1).replace("</body>", CHECKS + "</body>", 1)
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "page.html")
        with open(path, "w") as file:
            file.write(page)
        run = subprocess.run([browser, "--headless=new", "--no-sandbox", "--disable-gpu", f"--window-size={width},2000", f"--user-data-dir={directory}/profile",
                              "--virtual-time-budget=20000", "--timeout=60000", "--dump-dom", "file://" + path],
                             capture_output=True, text=True, timeout=120, env={**os.environ, "HOME": directory})
    found = re.search(r'<pre id="checks">done (.*?)</pre>', run.stdout, re.DOTALL)
    if not found:
        return ["the page did not finish: " + run.stderr[-500:]]
    return json.loads(found[1].replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))


def main():
    with open(sys.argv[1]) as file:
        page = file.read()
    wrong = []
    for found in re.finditer(r'(?:src|href)="(?!data:)([^"]*)"', page):
        wrong.append(f"the page loads {found[1]}")
    browser = shutil.which("chromium")
    if not browser:
        sys.exit("chromium is not installed: tools/setup --test")
    for width in 1280, 800:
        for dark in "false", "true":
            wrong += [f"{width} pixels, {'dark' if dark == 'true' else 'light'}: {line}" for line in opened(browser, page, width, dark)]
    for line in wrong:
        print(line)
    sys.exit(1 if wrong else 0)


main()
