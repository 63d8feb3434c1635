#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""watch_web.py URL COUNTERS.json STREAMS.json: opens the live page in headless Chromium, 400 and 2,560 pixels wide, light and dark, and prints what is
wrong with it: numbers that differ from these reports, what is wider than the window, errors of its script, requests to another place, plots without a
drawn pixel, keys and buttons without effect, files that do not parse."""
import csv, io, itertools, json, os, select, shutil, subprocess, sys, tempfile, time
import xml.etree.ElementTree as tree


class Browser:
    """Chromium by the pipe of its DevTools: messages that end with a zero byte."""

    def __init__(self, directory):
        to_browser, self.to = os.pipe()
        self.come, from_browser = os.pipe()

        def hand_over():
            os.dup2(to_browser, 13), os.dup2(from_browser, 14)
            os.dup2(13, 3), os.dup2(14, 4)

        self.process = subprocess.Popen(
            [shutil.which("chromium"), "--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", f"--user-data-dir={directory}/profile"],
            preexec_fn=hand_over, close_fds=False, env={**os.environ, "HOME": directory}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_browser), os.close(from_browser)
        self.numbers, self.rest, self.events = itertools.count(1), b"", []

    def receive(self, until):
        while b"\0" not in self.rest:
            if not select.select([self.come], [], [], max(0, until - time.monotonic()))[0]:
                raise TimeoutError("the browser does not answer")
            got = os.read(self.come, 1 << 20)
            if not got:
                raise EOFError("the browser ended")
            self.rest += got
        message, _, self.rest = self.rest.partition(b"\0")
        return json.loads(message)

    def call(self, method, session=None, **params):
        number = next(self.numbers)
        message = {"id": number, "method": method, "params": params, **({"sessionId": session} if session else {})}
        os.write(self.to, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + 60
        while True:
            got = self.receive(until)
            if got.get("id") == number:
                if "error" in got:
                    raise RuntimeError(f"{method}: {got['error']}")
                return got["result"]
            self.events.append(got)

    def close(self):
        self.process.terminate()
        self.process.wait()


class Page:
    def __init__(self, browser, url, width, scheme):
        self.browser = browser
        target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in "Page", "Runtime", "Network":
            self.call(domain + ".enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=1200, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.call("Page.addScriptToEvaluateOnNewDocument", source="""window.saved = []; const real = URL.createObjectURL;
            URL.createObjectURL = blob => (saved.push(blob), real(blob)); HTMLAnchorElement.prototype.click = () => {};""")
        self.call("Page.navigate", url=url)
        self.wait("document.readyState === 'complete' && location.protocol !== 'about:'")

    def call(self, method, **params):
        return self.browser.call(method, self.session, **params)

    def value(self, expression):
        got = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in got:
            raise RuntimeError(json.dumps(got["exceptionDetails"])[:500])
        return got["result"].get("value")

    def wait(self, expression, seconds=20):
        until = time.monotonic() + seconds
        while not self.value(expression):
            if time.monotonic() > until:
                raise TimeoutError(f"never true: {expression}; the page says: {self.value('document.body.innerText')[:500]}")
            time.sleep(0.1)

    def key(self, key):
        self.value(f"document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {{ key: {json.dumps(key)}, bubbles: true, cancelable: true }}))")

    def close(self):
        self.call("Page.navigate", url="about:blank")


def numbers(page, counters, streams):
    """What differs from the reports."""
    fact = {one["name"]: one["value"] for one in counters["summary"]["facts"]}
    expected = {"frames": counters["frames"]["total"], "lost": fact["lost"], "again": fact["sent_again"], "ce": counters["ecn"]["ce"],
                "cnps": counters["frames"]["cnp"], "pfc": counters["frames"]["pfc"], "naks": fact["naks"] + fact["rnr_naks"]}
    shown = page.value("Object.fromEntries([...document.querySelectorAll('#tiles b')].map(b => [b.dataset.key, b.dataset.value]))")
    for key, value in expected.items():
        if shown.get(key) != str(value):
            yield f"tile {key}: {shown.get(key)}, not {value}"
    if page.value("sentence.textContent") != counters["summary"]["text"]:
        yield f"the sentence is {page.value('sentence.textContent')}, not {counters['summary']['text']}"
    rows = page.value("[...document.querySelectorAll('#streams tbody tr')].map(row => Object.fromEntries([...row.cells].map(cell => [cell.dataset.key, cell.dataset.value])))")
    if len(rows) != min(50, len(streams["streams"])):
        yield f"{len(rows)} rows of {len(streams['streams'])} streams"
    for row, stream in zip(rows, streams["streams"]):
        for key, value in row.items():
            if key in stream and value != str("" if stream[key] is None else stream[key]):
                yield f"{row['src']} {row['dest_qp']} {key}: {value}, not {stream[key]}"


def checks(page, width, scheme, counters, streams):
    page.wait("state.textContent === 'live' && document.querySelectorAll('#streams tbody tr').length > 0 && tiles.querySelector('[data-key=packets_per_s]').dataset.value !== ''")
    yield from numbers(page, counters, streams)
    over = page.value("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    if over > 0:
        yield f"the page is {over} pixels wider than the window"
    back = page.value("getComputedStyle(document.body).backgroundColor")
    if (back == "rgb(255, 255, 255)") != (scheme == "light"):
        yield f"the background is {back}"
    page.wait("""(() => { const of = document.querySelector('#rate canvas'); return of.getContext('2d').getImageData(0, 0, of.width, of.height).data.some((byte, i) => i % 4 === 3 && byte); })()""")
    # Keys: a stream, its numbers, and back; counts from now on; the list of keys.
    packets = streams["streams"][0]["packets"]
    for key, expression, not_so in (
            ("ArrowDown", "document.activeElement.dataset.stream === document.querySelector('#streams tbody tr').dataset.stream", "go to the first stream"),
            ("Enter", f"!detail.hidden && detail.querySelector('[data-key=packets]').dataset.value === '{packets}'", "show the numbers of the stream"),
            ("Escape", "detail.hidden", "close the stream"),
            ("z", "tiles.querySelector('[data-key=frames]').dataset.value === '0'", "count from now on"),
            ("z", "tiles.querySelector('[data-key=frames]').dataset.value !== '0'", "count from the start again"),
            ("?", "keys.open", "list the keys"),
            ("p", "state.textContent === 'paused'", "pause"),
            ("p", "state.textContent !== 'paused'", "resume")):
        page.key(key)
        if page.value(expression) is not True:
            yield f"{key} does not {not_so}"
    outline = page.value("(pause.focus({ focusVisible: true }), getComputedStyle(pause).outlineStyle)")
    if outline == "none":
        yield "the focus is not visible"
    # Files.
    page.value("saved.length = 0; csv.click(); for (const b of document.querySelectorAll('#rate .tools button')) b.click()")
    page.wait("saved.length === 4")
    table, plot_csv, svg = page.value("Promise.all(saved.slice(0, 3).map(blob => blob.text()))")
    for name, text in ("streams", table), ("rate", plot_csv):
        rows = list(csv.reader(io.StringIO(text)))
        if len(rows) < 2 or any(len(row) != len(rows[0]) for row in rows):
            yield f"{name}.csv: {text[:200]}"
    tree.fromstring(svg)
    if page.value("saved[3].type") != "image/png" or page.value("saved[3].size") < 1000:
        yield "the PNG is none"


def main():
    url, counters, streams = sys.argv[1], *(json.load(open(name)) for name in sys.argv[2:4])
    wrong = []
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as directory:
        browser = Browser(directory)
        try:
            for width in 400, 2560:
                for scheme in "light", "dark":
                    page = Page(browser, url, width, scheme)
                    wrong += [f"{width} pixels, {scheme}: {line}" for line in checks(page, width, scheme, counters, streams)]
                    if len(sys.argv) > 4:
                        import base64
                        open(f"{sys.argv[4]}/{width}-{scheme}.png", "wb").write(base64.b64decode(page.call("Page.captureScreenshot")["data"]))
                    page.close()
        finally:
            browser.close()
        for event in browser.events:
            params = event.get("params", {})
            if event["method"] == "Runtime.exceptionThrown":
                wrong.append("error: " + json.dumps(params)[:500])
            if event["method"] == "Runtime.consoleAPICalled" and params["type"] == "error":
                wrong.append("console: " + json.dumps(params["args"])[:300])
            if event["method"] == "Network.requestWillBeSent" and not params["request"]["url"].startswith((url, "blob:", "data:", "about:")):
                wrong.append("a request to " + params["request"]["url"])
    print("\n".join(wrong))
    sys.exit(1 if wrong else 0)


main()
