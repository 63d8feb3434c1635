#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""looked_at.py STAMPS FOLDER... [--changed FILE...]: the source files below FOLDERs that have not passed, two lines each: the file
in the folder STAMPS that says so once there is one, and the source. A stamp's name is made of the file, the project's headers that it
includes, and .clang-tidy. With --changed only those that are, or include, a FILE.
looked_at.py --compile BUILD SOURCE: compiles the file by itself, as BUILD does, and writes nothing."""
import hashlib
import json
import pathlib
import re
import shlex
import subprocess
import sys

root = pathlib.Path(__file__).resolve().parent.parent
headers = {}  # as it is included -> path
for path in [*(root / "userspace").rglob("*.h"), *(root / "include").rglob("*.h"), *(root / "tests").rglob("*.h")]:
    headers[f"{path.parent.name}/{path.name}"] = path
    if path.is_relative_to(root / "tests"):
        headers.setdefault(path.name, path)
texts = {}


def text_of(path):
    if path not in texts:
        texts[path] = path.read_text()
    return texts[path]


def included(path, seen):
    """The file and all headers of the project that it includes."""
    if path not in seen:
        seen.add(path)
        for name in re.findall(r'^#include "([^"]+)"', text_of(path), re.M):
            other = headers.get(name)
            if other:
                included(other, seen)
    return seen


def compile_alone(build, source):
    for entry in json.loads((pathlib.Path(build) / "compile_commands.json").read_text()):
        if pathlib.Path(entry["file"]) == (root / source):
            words = shlex.split(entry["command"])
            at = words.index("-o")
            return subprocess.run(words[:at] + words[at + 2:] + ["-fsyntax-only"], cwd=entry["directory"], check=False).returncode
    print(f"{source}: error: {build} does not compile it")
    return 1


def main():
    words = sys.argv[1:]
    if words[0] == "--compile":
        sys.exit(compile_alone(*words[1:]))
    cut = words.index("--changed") if "--changed" in words else len(words)
    stamps, folders, changed = pathlib.Path(words[0]), words[1:cut], {root / file for file in words[cut + 1:]}
    everything = not changed or root / ".clang-tidy" in changed
    for path in sorted(one for folder in folders for one in (root / folder).rglob("*.cpp")):
        all_of = included(path, set())
        if not everything and not all_of & changed:
            continue
        digest = hashlib.sha256(text_of(root / ".clang-tidy").encode())
        for one in sorted(all_of):
            digest.update(f"{one.relative_to(root)}\n{text_of(one)}".encode())
        stamp = stamps / digest.hexdigest()[:32]
        if not stamp.exists():
            print(f"{stamp}\n{path.relative_to(root)}")


main()
