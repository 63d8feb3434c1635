#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""table.py RESULTS [README]: results of run.sh as a Markdown table, feature x (kernel, libxdp), on standard output; with
README, between its two marker comments. A cell is `yes` where every check of the feature passed."""
import csv
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
    "`doctor` says what attach does": ["doctor_words"],
    "zero-copy (virtio-net) leaves the host's traffic": ["send_beside_host_traffic", "reliable_beside_host_traffic"],
    "zero-copy counts losses as frames": ["respond_too_slow"],
    "zero-copy falls back to copy, and says so": ["jumbo", "fallback"],
}
BEGIN, END = "<!-- kernels: made by tools/test kernels --write-readme -->", "<!-- kernels: end -->"


def read(path):
    """(kernel, libxdp) -> check -> (kind, reason), and the kernels that were not run."""
    runs, absent = {}, []
    with open(path, newline="", encoding="utf-8") as file:
        for kind, kernel, libxdp, scenario, check, _, reason in csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            if check == "boot":
                if kind != "pass":
                    absent.append((kernel, reason))
            else:
                runs.setdefault((kernel, libxdp), {}).setdefault(check, (kind, reason))
    return runs, absent


def cell(results, checks, notes):
    got = [results.get(check) for check in checks]
    if None in got:
        return "not run"
    for kind, word in (("fail", "**fails**"), ("skip", "no")):
        reasons = [reason.strip() for k, reason in got if k == kind]
        if reasons:
            if reasons[0] not in notes:
                notes.append(reasons[0])
            return f"{word} ({notes.index(reasons[0]) + 1})"
    return "yes"


def table(path):
    runs, absent = read(path)
    if not runs:
        return "No kernel was run.\n"
    columns, notes, lines = list(runs), [], []
    lines.append("| kernel, libxdp | " + " | ".join(f"{kernel}, {libxdp}" for kernel, libxdp in columns) + " |")
    lines.append("| --- |" + " --- |" * len(columns))
    for feature, checks in FEATURES.items():
        lines.append(f"| {feature} | " + " | ".join(cell(runs[column], checks, notes) for column in columns) + " |")
    more = sorted({scenario_check for results in runs.values() for scenario_check in results} -
                  {check for checks in FEATURES.values() for check in checks})
    if more:
        counts = []
        for column in columns:
            kinds = [runs[column][check][0] for check in more if check in runs[column]]
            counts.append(f"{kinds.count('pass')} of {len(kinds)}" if kinds else "not run")
        lines.append("| other checks that passed | " + " | ".join(counts) + " |")
    lines.append("")
    lines += [f"({number}) {reason}  " for number, reason in enumerate(notes, 1)]
    lines += [f"{kernel}: not run: {reason}  " for kernel, reason in absent]
    return "\n".join(lines).rstrip() + "\n"


def replace(readme, text):
    with open(readme, encoding="utf-8") as file:
        before, rest = file.read().split(BEGIN + "\n", 1)
    after = rest.split(END, 1)[1]
    with open(readme, "w", encoding="utf-8") as file:
        file.write(f"{before}{BEGIN}\n{text}{END}{after}")


if len(sys.argv) > 2:
    replace(sys.argv[2], table(sys.argv[1]))
else:
    sys.stdout.write(table(sys.argv[1]))
