#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/mutants.py [--count N] [--seconds S] [--seed SEED] [--build DIR] [--match TEXT]

Do the unit tests notice a change? Makes random mutants of userspace/, one at a time, in a copy of
the tree below DIR. A mutant is killed when a unit program that links it fails. Each is compiled
alone, and only those programs are built and run, until one fails. None begins after S seconds. The
defaults are the environment's MUTANTS, MUTANTS_SECONDS and MUTANTS_SEED. Exit status 1: fewer than
90 % were killed.

A mutant that the compiler refuses does not count. One that survives needs a test, unless it does the
same as the original.
"""
import argparse
import os
import pathlib
import random
import re
import resource
import shutil
import subprocess
import sys
import time

AIM = 90
ROOT = pathlib.Path(__file__).resolve().parent.parent
# What needs a kernel, a port or a privilege is tested by bpf/ and e2e/.
ELSEWHERE = re.compile(
    r"userspace/(cli|experiments/(record|results)|kernel/datapath|view/terminal)/|userspace/kernel/afxdp/(?!chunks)|"
    r"userspace/ports/endpoint/(?!engine|match_again|wire_(direction|frame|rules))|"
    r"userspace/doctor/(trial|port)\.cpp|userspace/kernel/host/(link|netns|privilege|veth)\.cpp|"
    r"userspace/view/metrics/(exporter|process|server)\.cpp|userspace/foundation/base/clock\.cpp")

COMMENTS_AND_TEXTS = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<!\w)\'(?:\\.|[^\'\\\n])+\'|^#[^\n]*'
    r"|\bstatic_assert\(.*?\);", re.S | re.M)

# Binary operators have a space on each side, as clang-format writes them; templates have none.
SWAPS = {
    "boundary": {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="},
    "arithmetic": {"+": "-", "-": "+", "*": "/", "/": "*", "%": "*", "&": "|", "|": "&",
                   "&&": "||", "||": "&&", "+=": "-=", "-=": "+=", "|=": "&=", "&=": "|="},
}
OPERATOR = re.compile(r"(?<= )(<=|>=|==|!=|\+=|-=|\|=|&=|&&|\|\||[<>+\-*/%&|])(?= )")
NUMBER = re.compile(r"(?<![\w.'\"])(\d+)(?=[uU]?[lL]{0,2}(?![\w.']))|\b(true|false)\b")
CONDITION = re.compile(r"\bif \(")
# A call or an assignment on a line of its own; a declaration has a space before its name.
STATEMENT = re.compile(
    r"(?<=[;{}:]\n)( +)(?!return|break|continue|case|throw|using)"
    r"([\w.>\[\]()*:-]+(?: (?:=|\+=|-=|\|=|&=|\^=) [^\n;{}]*|\([^\n;{}]*\)|\+\+|--);)(?=\n)")


def blank(text):
    return COMMENTS_AND_TEXTS.sub(lambda m: re.sub(r"[^\n]", "_", m.group()), text)


def condition(text, start):
    """The part of `if (...)` to negate; None where it declares something."""
    depth, begin = 1, start
    for i in range(start, len(text)):
        if text[i] == "(":
            depth += 1
        elif text[i] == ")":
            depth -= 1
        elif text[i] == ";" and depth == 1:
            begin = i + 2
        if depth == 0:
            inside = text[begin:i]
            declares = re.match(r"(const )?[\w:<>]+ [&*]*\w+ = ", inside)
            return None if declares else (begin, i)
    return None


def sites(text):
    """(operator, begin, end, replacement) of each mutant."""
    code = blank(text)
    for m in OPERATOR.finditer(code):
        for kind, swaps in SWAPS.items():
            if m.group() in swaps:
                yield kind, m.start(), m.end(), swaps[m.group()]
    for m in NUMBER.finditer(code):
        other = {"true": "false", "false": "true"}.get(m.group()) or str(int(m.group()) + 1)
        yield "constant", m.start(), m.end(), other
    for m in CONDITION.finditer(code):
        if found := condition(code, m.end()):
            yield "negated condition", *found, f"!({text[found[0]:found[1]]})"
    for m in STATEMENT.finditer(code):
        yield "deleted statement", m.start(2), m.end(2), ";"


def draw(chosen, every):
    """Endlessly: an operator, then one of its sites."""
    kinds = sorted({site[1] for site in every})
    pools = {kind: [site for site in every if site[1] == kind] for kind in kinds}
    while any(pools.values()):
        pool = pools[chosen.choice([kind for kind in kinds if pools[kind]])]
        yield pool.pop(chosen.randrange(len(pool)))


def bound_memory():
    resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))  # a mutant may ask for all there is


class Copy:
    """The tree's copy, and its build."""

    def __init__(self, directory, deadline):
        # Where a clone has them: ccache knows what another clone has compiled.
        self.tree, self.build = directory / "tree", directory / "tree" / "build" / "release"
        self.deadline = deadline
        self.sound = {}  # program: seconds that it takes without a mutant
        self.jobs = str(os.cpu_count() or 1)
        self.environment = dict(os.environ, CCACHE_BASEDIR=str(self.tree), CCACHE_NOHASHDIR="1")
        wanted = set()
        for source in self.files(ROOT):
            wanted.add(source.relative_to(ROOT))
            target = self.tree / source.relative_to(ROOT)
            if not target.exists() or target.read_bytes() != source.read_bytes():
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(source, target)
        for stale in self.files(self.tree):
            if stale.relative_to(self.tree) not in wanted:
                stale.unlink()
        launcher = [f"-DCMAKE_{language}_COMPILER_LAUNCHER=ccache" for language in ("C", "CXX")]
        self.require("cmake", "-S", self.tree, "-B", self.build, "-G", "Ninja",
                     "-DCMAKE_BUILD_TYPE=RelWithDebInfo", "-DXDP_ROCE_TESTS=ON",
                     *(launcher if shutil.which("ccache") else []))

    @staticmethod
    def files(tree):
        for entry in sorted(tree.iterdir()) if tree.is_dir() else []:
            if entry.name not in (".git", "build"):
                yield from (p for p in ([entry] if entry.is_file() else sorted(entry.rglob("*")))
                            if p.is_file() and not p.is_symlink() and "__pycache__" not in p.parts)

    def run(self, *command, timeout=None):
        try:
            return subprocess.run([str(word) for word in command], env=self.environment,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True, errors="replace",
                                  timeout=timeout, preexec_fn=bound_memory)
        except subprocess.TimeoutExpired:
            return None  # it runs on and on

    def require(self, *command):
        done = self.run(*command)
        if done.returncode:
            sys.exit(f"mutants: {' '.join(map(str, command))}\n{done.stdout}")
        return done.stdout

    def ninja(self, target):
        return self.run("ninja", "-C", self.build, "-j", self.jobs, target)

    def programs(self, source):
        """The library of a source, and the unit programs that link it, the likeliest first."""
        folder = pathlib.Path(source).parent.name
        library = f"{pathlib.Path(source).parent}/libxr_{folder}.a"
        users = self.require("ninja", "-C", self.build, "-t", "query", library)
        programs = sorted(set(re.findall(r"^ +(tests/unit/\w+_test)$", users, re.M)))

        def distance(program):
            query = self.require("ninja", "-C", self.build, "-t", "query", program)
            files = re.findall(r"/(\w+)_test\.cpp\.o$", query, re.M)
            text = "".join((self.tree / f"tests/unit/{file}_test.cpp").read_text() for file in files)
            stem = pathlib.Path(source).stem
            return (not any(stem.startswith(file) for file in files),
                    f'"{folder}/{stem}.h"' not in text, f'"{folder}/' not in text, program)
        return library, sorted(programs, key=distance)

    def passes(self, program, timeout):
        done = self.run(self.build / program, "--gtest_fail_fast", "--gtest_brief=1",
                        timeout=timeout)
        return done is not None and done.returncode == 0

    def check_sound(self, program):
        """Builds and runs it once without a mutant."""
        if program in self.sound:
            return
        self.require("ninja", "-C", self.build, "-j", self.jobs, program)
        begin = time.monotonic()
        if not self.passes(program, None):
            sys.exit(f"mutants: {program} fails without a mutant")
        self.sound[program] = time.monotonic() - begin

    def judge(self, source, mutated):
        """"refused", "survived", or the program that killed it."""
        path = self.tree / source
        library, programs = self.programs(source)
        if not programs:
            return "survived"
        self.check_sound(programs[0])
        original = path.read_text()
        path.write_text(mutated)
        try:
            if self.ninja(library).returncode:
                return "refused"
            for program in programs:
                if program not in self.sound:
                    path.write_text(original)
                    self.check_sound(program)
                    path.write_text(mutated)
                # CMake lists a program's tests when it has linked it: a mutant may end even that.
                if self.ninja(program).returncode or \
                        not self.passes(program, 30 + 10 * self.sound[program]):
                    return program
            return "survived"
        finally:
            path.write_text(original)


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n\n")[1])
    options.add_argument("--count", type=int, default=int(os.environ.get("MUTANTS", 40)))
    options.add_argument("--seconds", type=float, default=float(os.environ.get("MUTANTS_SECONDS", 3600)))
    options.add_argument("--seed", type=int, default=int(os.environ.get("MUTANTS_SEED", time.time_ns() % 10**6)))
    options.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "mutants")
    options.add_argument("--match", default="", help="only of sources whose path has this text")
    asked = options.parse_args()

    begin = time.monotonic()
    copy = Copy(asked.build.resolve(), begin + asked.seconds)
    every = []
    # The loops are templates, and so in headers.
    for path in sorted(p for p in (copy.tree / "userspace").rglob("*")
                       if p.suffix == ".cpp" or p.name.endswith("_loop.h")):
        source = str(path.relative_to(copy.tree))
        if not ELSEWHERE.match(source) and asked.match in source:
            every += [(source, *site) for site in sites(path.read_text())]
    print(f"seed {asked.seed}: {asked.count} of {len(every)} mutants, none begins after {asked.seconds:.0f} s", flush=True)
    killed, survivors, refused = 0, [], 0
    for source, kind, start, end, replacement in draw(random.Random(asked.seed), every):
        if killed + len(survivors) == asked.count or time.monotonic() > copy.deadline:
            break
        text = (copy.tree / source).read_text()
        verdict = copy.judge(source, text[:start] + replacement + text[end:])
        line = text.count("\n", 0, start) + 1
        was = " ".join(text[start:end].split())
        said = f"{source}:{line}: {kind}: `{was}` -> `{' '.join(replacement.split())}`" \
               f" in `{text.splitlines()[line - 1].strip()}`"
        if verdict == "refused":
            refused += 1
        elif verdict == "survived":
            survivors.append(said)
        else:
            killed += 1
        print(f"{verdict if verdict in ('refused', 'survived') else 'killed by ' + verdict.split('/')[-1]}: {said}",
              flush=True)
    tried = killed + len(survivors)
    score = 100 * killed / tried if tried else 0
    for survivor in survivors:
        print("survivor:", survivor)
    print(f"mutants: seed {asked.seed}: {killed} of {tried} killed ({score:.0f} %; {AIM} % is the aim),"
          f" {refused} refused by the compiler, {time.monotonic() - begin:.0f} s")
    return 0 if tried and score >= AIM else 1


if __name__ == "__main__":
    sys.exit(main())
