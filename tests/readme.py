#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""readme.py ROOT: fails where a README names a file or a function that is not there, where a link of README.md or of a page
names no file or heading, and where a page compiles a plug-in in a way that fails in a clone."""
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

root = pathlib.Path(sys.argv[1])
PAGES = ["userspace/README.md", "include/roce/README.md", "bpf/README.md", "tests/README.md", "docs/frame.md",
         ".github/CONTRIBUTING.md"]
FOLDERS = ["include", "bpf", "userspace", "tests", "tools", "docs", ".ci"]
PLACEHOLDER = re.compile(r"NAME|FORMAT|FOLDER|\*|\$|^/|^build|^\.")
# What the build makes of what (tools/report_tables.py) and installs beside the pages.
MADE = {"docs/keys.md": "docs/keys.md.in", "docs/result.schema.json": "docs/report.schema.json",
        "docs/sweep.schema.json": "docs/report.schema.json"}
faults = []

files = [p for folder in FOLDERS for p in sorted((root / folder).rglob("*")) if p.is_file()]
paths = ["/" + str(p.relative_to(root)) for p in files] + ["/README.md", "/CMakeLists.txt", "/CMakePresets.json",
                                                         "/CHANGELOG.md", *("/" + made for made in MADE)]
code = "\n".join(p.read_text(errors="replace") for p in files
                 if p.suffix in (".h", ".c", ".cpp", ".py", ".sh", ".txt", "") and p.name != "readme.py")
names = set(re.findall(r"\w+", code)) | {p.stem for p in files}
sources = {"/" + str(p.relative_to(root)): p.read_text(errors="replace") for p in files if p.suffix in (".h", ".c", ".cpp")}

for page in PAGES:
    text = (root / page).read_text()
    blocks = re.sub(r"^    .*$", "", text, flags=re.M)  # commands and what they make
    for word in re.findall(r"`([\w./-]+\.(?:c|h|cpp|md|py|sh|txt|yaml))`", blocks):
        if not PLACEHOLDER.search(word) and not any(path.endswith("/" + word) for path in paths):
            faults.append(f"{page} names {word}, which is not there")
    for word in re.findall(r"`((?:\w+::)*[A-Za-z_]\w+)(?:\(\))?`", blocks):
        last = word.split("::")[-1]
        if ("::" in word or "_" in last or last != last.lower()) and not PLACEHOLDER.search(word) and last not in names:
            faults.append(f"{page} names {word}, which is in no source")
        elif "::" in word and not any(re.search(rf"\b{last}\b", one) and re.search(rf"\b{word.split('::')[-2]}\b", one) for one in sources.values()):
            faults.append(f"{page} names {word}, which no source has")
    for word, file in re.findall(r"`(?:\w+::)*(\w+)` \(`([\w./-]+\.(?:c|h|cpp))`", blocks):
        if not any(path.endswith("/" + file) and re.search(rf"\b{word}\b", one) for path, one in sources.items()):
            faults.append(f"{page} names {word} of {file}, which does not have it")


def anchors(page):
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in re.findall(r"^#+ (.*)$", page.read_text(), re.M)}


for page in [root / "README.md", *sorted((root / "docs").glob("*.md*")), *(root / page for page in PAGES)]:
    for link in re.findall(r"\]\(([^)]+)\)", page.read_text()):
        if not link.startswith("http"):
            path, _, anchor = link.partition("#")
            target = page.parent / path if path else page
            for made, source in MADE.items():
                if target.resolve() == (root / made).resolve():
                    target = root / source
            if not target.exists() or anchor and anchor not in anchors(target):
                faults.append(f"{page.relative_to(root)} has a link to {link}, which is not there")

# The line that installs a release is this version's.
version = re.search(r"^project\(xdp-roce VERSION ([\d.]+)", (root / "CMakeLists.txt").read_text(), re.M)[1]
for word in re.findall(r"xdp-roce-(\d[\d.]*\d|VERSION)\b", (root / "README.md").read_text()):
    if word != version:
        faults.append(f"README.md installs {word}, this is {version}")

# A counter of docs/limits.md is a key of a report.
keys = set(re.findall(r'^ *"(\w+)": \{', (root / "docs/report.schema.json").read_text(), re.M))
for row in re.findall(r"^\|.*\|$", (root / "docs/limits.md").read_text(), re.M):
    cells = row.split(" | ")
    faults += [f"docs/limits.md names {key}, which no report has" for key in re.findall(r"`(\w+)`", cells[2] if len(cells) > 3 else "") if key not in keys]

# A plug-in compiles in a clone as the pages say, and the package has the file that they name.
for page in [root / "README.md", *sorted((root / "docs").glob("*.md"))]:
    for line in re.findall(r"^    (gcc .*?)\s*(?:#.*)?$", page.read_text(), re.M):
        installed = re.search(r"/usr/share/doc/xdp-roce/(\S+)", line)
        if installed:
            if not (root / "tools" / installed[1]).exists():
                faults.append(f"{page.name}: there is no {installed[0]}: '{line}'")
            line = line.replace("gcc ", "gcc -I include ").replace(installed[0], f"tools/{installed[1]}")
        with tempfile.TemporaryDirectory() as clone:
            for folder in ("include", "tools"):
                (pathlib.Path(clone) / folder).symlink_to((root / folder).resolve())
            done = subprocess.run(shlex.split(line), cwd=clone, capture_output=True, text=True, check=False)
        if done.returncode:
            faults.append(f"{page.name}: {line}: {done.stderr.strip()}")

# A script that is run by its name: a clean clone has its bit.
for path in sorted([*(root / "tests").rglob("*.sh"), *(root / "tests").rglob("*.py"), *(root / "tools").iterdir()]):
    if path.is_file() and path.read_bytes()[:2] == b"#!" and not path.stat().st_mode & 0o100:
        faults.append(f"{path.relative_to(root)} has no run bit")

for fault in faults:
    print("readme:", fault, file=sys.stderr)
sys.exit(bool(faults))
