#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# page_checks.py REPORT.html: opens the report of an experiment in headless Chromium and prints what is wrong with it: errors of its
# script, plots without a drawn pixel, series that the data does not have, a legend that does not switch, requests to a network.
import json, os, re, shutil, subprocess, sys, tempfile

CHECKS = """
<pre id="checks"></pre><script>
(async () => {
  const wrong = [];
  const data = JSON.parse(document.getElementById("data").textContent);
  if (errors.length) wrong.push(...errors);
  if (typeof plots === "undefined" || plots.length !== data.figures.length) wrong.push("plots are missing");
  const drawn = plot => plot.ctx.getImageData(0, 0, plot.ctx.canvas.width, plot.ctx.canvas.height).data.some((byte, i) => i % 4 === 3 && byte);
  const coloured = (plot, colour) => {
    const [red, green, blue] = [1, 3, 5].map(at => parseInt(colour.slice(at, at + 2), 16));
    const { left, top, width, height } = plot.bbox, image = plot.ctx.getImageData(left, top, width, height).data;
    for (let i = 0; i < image.length; i += 4)
      if (image[i + 3] > 150 && Math.abs(image[i] - red) + Math.abs(image[i + 1] - green) + Math.abs(image[i + 2] - blue) < 40) return true;
    return false;
  };
  const soon = () => new Promise(done => setTimeout(done, 50));
  await soon();
  data.figures.forEach((figure, i) => {
    const plot = plots[i];
    if (plot.series.length !== figure.curves.length + 1) wrong.push(`${figure.id}: ${plot.series.length - 1} series of ${figure.curves.length}`);
    if (!drawn(plot)) wrong.push(`${figure.id}: nothing is drawn`);
    const first = figure.curves.findIndex(curve => curve.shown);
    if (first >= 0 && !coloured(plot, plot.series[first + 1].stroke())) wrong.push(`${figure.id}: '${figure.curves[first].name}' is not drawn`);
  });
  for (const [i, figure] of data.figures.entries()) {
    const box = document.querySelector(`#${figure.id} .legend input`), was = plots[i].series[1].show;
    box.click();
    await soon();
    if (plots[i].series[1].show === was) wrong.push(`${figure.id}: the legend does not switch`);
    box.click();
  }
  const zoomed = plots.filter(plot => plot.time);
  if (zoomed.length > 1) {
    const [from, to] = [data.duration_s / 4, data.duration_s / 2];
    zoomed[0].setScale("x", { min: from, max: to });
    await soon();
    if (Math.abs(zoomed[1].scales.x.min - from) > data.duration_s / 100) wrong.push("plots do not zoom together");
  }
  document.querySelector(".theme").click();
  await soon();
  if (errors.length) wrong.push(...errors);
  document.getElementById("checks").textContent = "done " + JSON.stringify(wrong);
})().catch(error => { document.getElementById("checks").textContent = "done " + JSON.stringify([String(error)]); });
</script>"""


def main():
    with open(sys.argv[1]) as file:
        page = file.read()
    wrong = []
    for found in re.finditer(r'(?:src|href)="([^"]*)"', page):
        wrong.append(f"the page loads {found[1]}")
    browser = shutil.which("chromium")
    if not browser:
        sys.exit("chromium is not installed: tools/setup --test")
    watch = "<script>const errors = []; addEventListener('error', event => errors.push('error: ' + event.message));</script>"
    page = page.replace("<body>", "<body>" + watch, 1).replace("</body>", CHECKS + "</body>", 1)
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "page.html")
        with open(path, "w") as file:
            file.write(page)
        run = subprocess.run([browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1200,2000", f"--user-data-dir={directory}/profile",
                              "--virtual-time-budget=20000", "--timeout=60000", "--dump-dom", "file://" + path],
                             capture_output=True, text=True, timeout=120, env={**os.environ, "HOME": directory})
    found = re.search(r'<pre id="checks">done (.*?)</pre>', run.stdout, re.DOTALL)
    wrong += json.loads(found[1].replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")) if found else ["the page did not finish: " + run.stderr[-500:]]
    for line in wrong:
        print(line)
    sys.exit(1 if wrong else 0)


main()
