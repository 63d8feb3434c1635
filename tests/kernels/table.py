#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""table.py RESULTS [PAGE [--keep]] [--made WORDS]: results of run.sh as a Markdown table, feature x (kernel, libxdp), on
standard output; with PAGE, between its two marker comments, with a checksum. A cell is `yes` where every check of the
feature passed. --keep: what PAGE has of kernels that are not in RESULTS stays. --made: version and date of the results.
table.py --check PAGE: fails if the table is not as it was written."""
import argparse
import csv
import hashlib
import re
import sys

# Feature: the checks that it needs.
FEATURES = {
    "attach, count, detach leaves nothing": ["attach_empty"],
    "the same without libxdp's dispatcher": ["attach_alone"],
    "skb mode": ["attach_skb"],
    "with all that any rule needs": ["attach_rules"],
    "called by libxdp's dispatcher": ["behind_dispatcher"],
    "shares the hook: joins another program": ["share_after"],
    "another program joins it": ["share_before"],
    "rules beside another program": ["share_with_rules"],
    "names a program that shares nothing": ["refuse_foreign"],
    "rules on a port that counts": ["rule_on_port"],
    "bridge": ["bridge_forwards", "bridge_rules"],
    "rules: drop": ["rule_drop", "rule_probability", "rule_exact", "rule_police"],
    "rules: CE, RED, DSCP": ["rule_ce", "rule_red", "rule_set"],
    "rules: corrupt, duplicate, CNP": ["rule_corrupt_icrc", "rule_corrupt_payload", "rule_duplicate", "rule_cnp"],
    "`capture`": ["capture_alone"],
    "`capture` of an attached port": ["capture_attached"],
    "`send`": ["send_open"],
    "`send --reliable`, `respond`": ["send_reliable"],
    "`respond` on an attached port": ["respond_attached"],
    "`attach --follow --latency`": ["follow_pairs"],
    "`doctor` says what attach does": ["doctor_words"],
    "zero-copy (virtio-net) leaves the host's traffic": ["send_beside_host_traffic", "reliable_beside_host_traffic"],
    "zero-copy counts losses as frames": ["respond_too_slow"],
    "zero-copy falls back to copy, and says so": ["jumbo", "fallback"],
}
BEGIN, END = "<!-- kernels: made by tools/test kernels --write-table -->", "<!-- kernels: end -->"


def read(path):
    """(kernel, libxdp) -> check -> (kind, reason), and the kernels that were not run."""
    runs, absent = {}, []
    with open(path, newline="", encoding="utf-8") as file:
        for kind, kernel, libxdp, scenario, check, _, reason in csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            if check == "boot":
                if kind != "pass":
                    absent.append((kernel, reason))
            else:
                runs.setdefault((kernel, libxdp), {})[check] = kind, reason  # the last one counts
    return runs, absent


def cell(results, checks):
    """A word and, but for `yes`, a reason."""
    got = [results.get(check) for check in checks]
    if None in got:
        return "not run", ""
    for kind, word in (("fail", "**fails**"), ("skip", "no")):
        reasons = [reason.strip() for k, reason in got if k == kind]
        if reasons:
            return word, reasons[0]
    return "yes", ""


MADE, OTHERS = "xdp-roce, date", "other checks that passed"


def columns_of(runs, made):
    """(kernel, libxdp) -> feature -> (word, reason)"""
    columns = {}
    named = {check for checks in FEATURES.values() for check in checks}
    for column, results in runs.items():
        columns[column] = {feature: cell(results, checks) for feature, checks in FEATURES.items()}
        kinds = [kind for check, (kind, _) in results.items() if check not in named]
        if kinds:
            columns[column][OTHERS] = f"{kinds.count('pass')} of {len(kinds)}", ""
        columns[column][MADE] = made, ""
    return columns


def columns_in(text):
    """The same from a table, and the kernels that it says were not run."""
    reasons = dict(re.findall(r"^\((\d+)\) (.*?) *$", text, re.M))
    rows = [[word.strip() for word in line.strip("|").split(" | ")] for line in text.splitlines() if line.startswith("|")]
    columns = {tuple(name.split(", ")): {} for name in rows[0][1:]}
    for feature, *words in rows[2:]:
        for column, word in zip(columns, words):
            note = re.fullmatch(r"(.*) \((\d+)\)", word)
            columns[column][feature] = (note[1], reasons[note[2]]) if note else (word, "")
    return columns, re.findall(r"^(\S+): not run: (.*?) *$", text, re.M)


def table(columns, absent):
    if not columns:
        return "No kernel was run.\n"
    order = sorted(columns, key=lambda column: [[int(n) for n in re.findall(r"\d+", part)] for part in column])
    notes, lines = [], []
    lines.append("| kernel, libxdp | " + " | ".join(f"{kernel}, {libxdp}" for kernel, libxdp in order) + " |")
    lines.append("| --- |" + " --- |" * len(order))
    for feature in [MADE, *FEATURES, OTHERS]:
        words = []
        for column in order:
            word, reason = columns[column].get(feature, ("unknown" if feature == MADE else "not run", ""))
            if reason and reason not in notes:
                notes.append(reason)
            words.append(f"{word} ({notes.index(reason) + 1})" if reason else word)
        lines.append(f"| {feature} | " + " | ".join(words) + " |")
    lines.append("")
    lines += [f"({number}) {reason}  " for number, reason in enumerate(notes, 1)]
    lines += [f"{kernel}: not run: {reason}  " for kernel, reason in absent]
    return "\n".join(lines).rstrip() + "\n"


def sealed(text):
    return f"{text}<!-- kernels: sha256 {hashlib.sha256(text.encode()).hexdigest()} -->\n"


def parts(page):
    """The text before the table, the table, the text after it, and whether the table is as sealed() left it."""
    with open(page, encoding="utf-8") as file:
        before, rest = file.read().split(BEGIN + "\n", 1)
    text, after = rest.split(END, 1)
    content = "".join(text.splitlines(True)[:-1])
    return before, content, after, text == sealed(content)


EDITED = "the table of kernels was edited by hand: make it with `tests/kernels/run.sh --all --write-table`"

parser = argparse.ArgumentParser()
parser.add_argument("results", nargs="?")
parser.add_argument("page", nargs="?")
parser.add_argument("--keep", action="store_true")
parser.add_argument("--made", default="unknown")
parser.add_argument("--check", metavar="PAGE")
options = parser.parse_args()
if options.check:
    sys.exit(None if parts(options.check)[3] else f"{options.check}: {EDITED}")
if not options.results:
    parser.error("RESULTS are missing")

runs, absent = read(options.results)
columns = columns_of(runs, options.made)
if not options.page:
    sys.stdout.write(table(columns, absent))
else:
    before, text, after, untouched = parts(options.page)
    if options.keep:
        if not untouched:
            sys.exit(f"{options.page}: {EDITED}")
        run = {kernel for kernel, _ in columns} | {kernel for kernel, _ in absent}
        old, old_absent = columns_in(text)
        columns |= {column: words for column, words in old.items() if column[0] not in run}
        absent += [(kernel, reason) for kernel, reason in old_absent if kernel not in run]
    with open(options.page, "w", encoding="utf-8") as file:
        file.write(f"{before}{BEGIN}\n{sealed(table(columns, absent))}{END}{after}")
