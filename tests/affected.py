#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""affected.py BUILD FILE...: what the changed FILEs of the tree can affect, a line each: "programs", "bpf", "fuzz", "scenarios",
"parts" and the names after it. For `tools/test since`.
affected.py --near: the unit programs nearest to the files of standard input, at most six, a line each. For `tools/test quick`.

Programs: those with an object that was compiled from a changed file, by ninja's account of BUILD, which must be up to date.
Scenarios of tests/e2e: those that name a command whose code, or a library that it uses (graph.txt of the build), has changed;
those that have changed or source what has; those that name a changed file or its folder. Parts: by folder, the table below."""
import pathlib
import re
import subprocess
import sys

root = pathlib.Path(__file__).resolve().parent.parent
userspace, e2e = root / "userspace", root / "tests/e2e"

# What a change in these places concerns, besides programs and scenarios. kernels: other kernels than this one. static: what
# tools/release packs. No program need have been compiled from these.
PARTS = [
    (r"bpf/|include/roce/|userspace/kernel/|tests/kernels/|tools/archive\.sh", {"kernels"}),
    (r"tests/peer/|tests/kernels/(guest|client|prepare)|tools/archive\.sh|include/roce/|userspace/.*peer", {"peer"}),
    (r"(userspace|include|tests/(unit|bpf))/.*\.(h|cpp)$", {"single"}),
    (r"tools/(static|release|package|archive\.sh|install\.sh)|tests/release/|(.*/)?CMakeLists\.txt$|include/roce/env", {"static"}),
    (r"include/roce/|userspace/(captures|foundation|spec|lab|ports)/|tests/(unit|fuzz|data)/", {"sanitize", "thread", "fuzz"}),
    (r"(userspace|include)/.*\.(h|cpp)$|\.clang-tidy$", {"tidy"}),
]


def ninja(build, *words):
    return subprocess.run(["ninja", "-C", str(build), "-t", *words], check=True, capture_output=True, text=True).stdout


def objects_of(build, changed):
    """The objects that a compiler read a changed file for."""
    found, current = set(), None
    for line in ninja(build, "deps").splitlines():
        if not line.startswith(" "):
            current = line.partition(":")[0]
        elif line.strip():
            path = pathlib.Path(line.strip())
            path = (build / path).resolve()
            if path.is_relative_to(root) and str(path.relative_to(root)) in changed:
                found.add(current)
    return found


def programs_of(build, changed):
    """Executables of BUILD, by ninja's paths, with an affected object, or one made by a changed file that no compiler reads
    itself (the source of the BPF object)."""
    objects = objects_of(build, changed)
    of_bpf = any(re.match(r"bpf/|include/roce/", file) for file in changed)
    rules = dict(line.rsplit(": ", 1) for line in ninja(build, "targets", "all").splitlines() if ": " in line)
    found = set()
    for target, rule in rules.items():
        if not rule.startswith(("CXX_EXECUTABLE", "C_EXECUTABLE")) or "[" in target:
            continue
        inputs = set(ninja(build, "inputs", target).splitlines())
        if inputs & objects or (of_bpf and any(one.endswith(".skel.h") for one in inputs)):
            found.add(target)
    return found


def folders_used(build):
    """Folder of userspace -> all that it uses, itself too."""
    uses = {}
    for line in (build / "graph.txt").read_text().splitlines():
        path, *used = line.split()
        uses[path.rpartition("/")[2]] = set(used)

    def closure(folder, seen):
        if folder not in seen:
            seen.add(folder)
            for other in uses.get(folder, ()):
                closure(other, seen)
        return seen

    return {folder: closure(folder, set()) for folder in uses}


def commands(used):
    """Command -> (files of cli/, folders) that its code is made of."""
    cli = userspace / "cli"
    every = {"main", "app", "command_line", "options", "output", "interrupt", "help", "commands", "reading"}
    found = {}
    for name in re.findall(r"^void add_(\w+)\(", (cli / "commands.h").read_text(), re.M):
        stems, todo, folders = set(), [name, *every], set()
        while todo:
            stem = todo.pop()
            if stem in stems:
                continue
            stems.add(stem)
            for file in (cli / f"{stem}.h", cli / f"{stem}.cpp"):
                for folder, header in re.findall(r'^#include "(\w+)/(\w+)\.h"', file.read_text() if file.exists() else "", re.M):
                    if folder == "cli":
                        todo.append(header)
                    else:
                        folders |= used.get(folder, set())
        found[name] = stems, folders
    return found


def text_with_sources(script, seen=()):
    """The script's text, that of what it sources, and of the functions' bodies that come with it only where it calls them."""
    text = script.read_text()
    functions = {}
    for name in re.findall(r'^\. "[^"]*/(\w+\.sh)"', text, re.M):
        for function, body in re.findall(r"^(\w+)\(\) (\{.*?^\}|\{.*?\}$)", text_with_sources(e2e / name)[0], re.M | re.S):
            functions[function] = body
    called = "\n".join(functions.pop(word) for word in set(re.findall(r"\w+", text)) if word in functions)
    called += "\n".join(functions.pop(word) for word in set(re.findall(r"\w+", called)) if word in functions)
    sources = {script.name, *re.findall(r'[/"](\w+\.(?:sh|py))\b', text)}
    return text + "\n" + called, sources


def scenarios_of(build, changed):
    used = folders_used(build)
    all_commands = commands(used)
    folders = {pathlib.Path(file).parent.name for file in changed if re.match(r"userspace/(?!cli/).*\.(h|cpp|txt)$", file)}
    if any(re.match(r"include/roce/|bpf/", file) for file in changed):
        folders |= {"native", "datapath"}
    stems = {pathlib.Path(file).stem for file in changed if re.match(r"userspace/cli/.*\.(h|cpp)$", file)}
    touched = {name for name, (own, uses) in all_commands.items() if own & stems or uses & folders}
    names = {pathlib.Path(file).name for file in changed}
    named = {word for file in changed if not file.startswith(("userspace/", "include/", "bpf/", "tests/unit/", "tests/bpf/"))
             for word in (file, pathlib.Path(file).name, str(pathlib.Path(file).parent))
             if ("." in word[1:] or "/" in word) and word not in ("tests/e2e", "README.md", "CMakeLists.txt")}
    documents = any(file == "README.md" or file.startswith("docs/") for file in changed)
    found = set()
    for line in (e2e / "CMakeLists.txt").read_text().splitlines():
        match = re.match(r"\s*xr_e2e\((\S+) \d+ (\S+\.sh)", line)
        if not match or "$" in match[1]:
            continue
        found |= one_scenario(match[1], e2e / match[2], touched, names, named, documents)
    for group in re.findall(r"foreach\(name ([^)$]*)\)\s*\n\s*xr_e2e\(\$\{name\}", (e2e / "CMakeLists.txt").read_text()):
        for name in group.split():
            found |= one_scenario(name, e2e / f"{name}.sh", touched, names, named, documents)
    return found


def one_scenario(name, script, touched, names, named, documents):
    text, sources = text_with_sources(script)
    words = set(re.findall(r"[\w-]+", re.sub(r"^\s*#.*", "", text, flags=re.M)))
    hit = words & touched or sources & names or any(word in text for word in named)
    return {name} if hit or (documents and "docs_commands" in name) else set()


MOST_NEAR = 6


def near(changed):
    """Unit programs that name the library of a changed file or have a changed test, those with the fewest libraries first."""
    found = []
    for words in re.findall(r"^xr_unit_tests\(([^)]*)\)", (root / "tests/unit/CMakeLists.txt").read_text(), re.M):
        program, *rest = words.split()
        at = rest.index("LINKS") if "LINKS" in rest else len(rest)
        files, links = rest[rest.index("FILES") + 1:at], rest[at + 1:]
        own = {f"tests/unit/{name}_test.cpp" for name in files}
        included = "".join((root / file).read_text() for file in own)
        if (own & changed or (program == "roce_test" and any(file.startswith("include/roce/") for file in changed))
                or any(f"xr_{pathlib.Path(file).parent.name}" in links for file in changed if file.startswith("userspace/"))
                or any(f'"{pathlib.Path(file).name}"' in included for file in changed if re.match(r"tests/unit/\w+\.h$", file))):
            found.append((not own & changed, len(links), program))
    return [program for *_, program in sorted(found)]


def with_sources(changed):
    """A changed CMakeLists.txt changes how all below it is compiled."""
    below = {path for file in changed if pathlib.Path(file).name == "CMakeLists.txt" for path in (root / file).parent.rglob("*.cpp")}
    return changed | {str(path.relative_to(root)) for path in below if "build" not in path.relative_to(root).parts}


def main():
    if sys.argv[1] == "--near":
        programs = near(set(sys.stdin.read().split()))
        print(*programs[:MOST_NEAR], sep="\n", end="\n" if programs else "")
        if programs[MOST_NEAR:]:
            print("further programs, for tools/test since:", *programs[MOST_NEAR:], file=sys.stderr)
        return
    build, changed = pathlib.Path(sys.argv[1]).resolve(), with_sources(set(sys.argv[2:]))
    programs = programs_of(build, changed)
    unit = {pathlib.Path(one).name for one in programs if one.startswith("tests/unit/")}
    bpf = {pathlib.Path(one).name for one in programs if one.startswith("tests/bpf/")}
    if any(re.match(r"bpf/|include/roce/", file) for file in changed):
        bpf |= {pathlib.Path(one).name for one in programs if "clang-" in one}
    parts = set().union(*(names for pattern, names in PARTS if any(re.match(pattern, file) for file in changed)))
    for kind, names in (("programs", unit), ("bpf", bpf), ("scenarios", scenarios_of(build, changed)), ("parts", parts)):
        print(kind, *sorted(names))


main()
