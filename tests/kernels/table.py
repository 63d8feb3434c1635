#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""table.py [--nics] RESULTS [PAGE [--keep]] [--made WORDS]: results of run.sh as a Markdown table, feature x (kernel, libxdp), on
standard output, or with --nics those of nics.sh, feature x (kernel, driver); with PAGE, between its two marker comments, with a checksum. A cell is `yes` where every check of the
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
NICS = {
    "attach, count, detach leaves nothing": ["attach_empty"],
    "skb mode": ["attach_skb"],
    "rules": ["rules"],
    "`bridge` with a veth": ["bridge"],
    "`wire` with a veth": ["wire"],
    "`capture`": ["capture_attached"],
    "`capture -j adapter_unsynced`": ["hardware_time"],
    "`send`, frames copied": ["send_copy"],
    "`send --zero-copy`": ["send_zero_copy"],
    "`send --engine live`": ["send_live"],
    "`respond`, frames copied": ["respond_copy"],
    "`respond --zero-copy`": ["respond_zero_copy"],
    "`respond` on all queues, by RSS": ["rss"],
    "`respond --steer`": ["steer"],
    "`attach --follow --latency`": ["follow_pairs"],
    "`ethtool -L` while attached": ["channels"],
    "the port goes down and up, and renegotiates, while attached": ["reset"],
    "another MTU while attached": ["mtu_change"],
    "MTU 9000": ["jumbo"],
    "the port goes down while it sends": ["carrier_loss"],
    "VLAN tags, after `doctor --fix`": ["vlan"],
    "PFC frames reach XDP": ["pfc"],
    "`doctor --try`": ["doctor"],
}
TABLES = {"kernels": ("libxdp", FEATURES), "nics": ("driver", NICS)}


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


def columns_of(runs, made, features):
    """(kernel, libxdp) -> feature -> (word, reason)"""
    columns = {}
    named = {check for checks in features.values() for check in checks}
    for column, results in runs.items():
        columns[column] = {feature: cell(results, checks) for feature, checks in features.items()}
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


def table(columns, absent, second, features):
    if not columns:
        return "No kernel was run.\n"
    order = sorted(columns, key=lambda column: [[int(n) for n in re.findall(r"\d+", part)] for part in column])
    notes, lines = [], []
    lines.append(f"| kernel, {second} | " + " | ".join(f"{kernel}, {libxdp}" for kernel, libxdp in order) + " |")
    lines.append("| --- |" + " --- |" * len(order))
    for feature in [MADE, *features, OTHERS]:
        if feature == OTHERS and not any(OTHERS in column for column in columns.values()):
            continue
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


def begin(name):
    return f"<!-- {name}: made by tools/test {name} --write-table -->\n"


def sealed(text, name):
    return f"{text}<!-- {name}: sha256 {hashlib.sha256(text.encode()).hexdigest()} -->\n<!-- {name}: end -->"


def parts(page, name):
    """The text before the table, the table, the text after it, and whether the table is as sealed() left it."""
    with open(page, encoding="utf-8") as file:
        before, rest = file.read().split(begin(name), 1)
    end = f"<!-- {name}: end -->"
    text, after = rest.split(end, 1)
    content = "".join(text.splitlines(True)[:-1])
    return before, content, after, text + end == sealed(content, name)


def edited(name):
    return f"the table of {name} was edited by hand: make it with `tests/kernels/{'run' if name == 'kernels' else name}.sh --all --write-table`"


parser = argparse.ArgumentParser()
parser.add_argument("results", nargs="?")
parser.add_argument("page", nargs="?")
parser.add_argument("--nics", dest="name", action="store_const", const="nics", default="kernels")
parser.add_argument("--keep", action="store_true")
parser.add_argument("--made", default="unknown")
parser.add_argument("--check", metavar="PAGE")
options = parser.parse_args()
if options.check:
    with open(options.check, encoding="utf-8") as file:
        text = file.read()
    there = [name for name in TABLES if begin(name) in text]
    bad = [edited(name) for name in there if not parts(options.check, name)[3]]
    sys.exit(f"{options.check}: {bad[0]}" if bad else None)
if not options.results:
    parser.error("RESULTS are missing")

runs, absent = read(options.results)
second, features = TABLES[options.name]
columns = columns_of(runs, options.made, features)
if not options.page:
    sys.stdout.write(table(columns, absent, second, features))
else:
    before, text, after, untouched = parts(options.page, options.name)
    if options.keep:
        if not untouched:
            sys.exit(f"{options.page}: {edited(options.name)}")
        run = {kernel for kernel, _ in columns} | {kernel for kernel, _ in absent}
        old, old_absent = columns_in(text)
        # Drivers are run one by one, versions of libxdp are not.
        columns |= {column: words for column, words in old.items() if column not in columns and (options.name == "nics" or column[0] not in run)}
        absent += [(kernel, reason) for kernel, reason in old_absent if kernel not in run]
    with open(options.page, "w", encoding="utf-8") as file:
        file.write(before + begin(options.name) + sealed(table(columns, absent, second, features), options.name) + after)
