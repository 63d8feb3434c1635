#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""plain_english.py [FILE...]: finds words that a reader with another first language reads twice, in comments, messages and
pages: FILE:LINE: 'words': better ones. Without FILE, in all of them. Exit status 1 if there are any."""
import re
import subprocess
import sys

ANYWHERE = [
    # A host is behind a router; a clock is ahead of another or behind it: one string, the other "ahead of".
    (r"behind(?! a router|\")", "after, below, of; for a PSN: before, older than"),
    (r"stands?|stood", "is, are"),
    (r"tells?|telling|told", "reports, says, shows; 'can be told from': can be distinguished from"),
    (r"anew", "again; begin anew: reset, restart"),
    (r"former(?:ly)?", "previous, first"),
    (r"in hand", "current"),
    (r"(?:go|goes|going|went) on(?= (?:with|as|to|until|after|for|where|from|at|without|in|by)\b|\s*[.,:;)]|$)", "continue"),  # "goes on the wire" is right
    (r"whoever|for who", "name the caller, the user or the program"),
    (r"likewise", "say what is done, with the noun"),
    (r"is too much", "unexpected"),
    (r"wants an?", "needs"),
    (r"does not begin anything", "is only valid after"),
    (r"nobody asked for", "name the reason"),
]
AT_BEGIN = [
    (r"The same\b", "repeat the noun"),
    (r"Of\b", "begin with the subject"),
]
# Of C and C++ only, at the beginning of a comment in these folders.
CODE = re.compile(r"userspace/|include/|bpf/|tests/")
COMMENT_BEGIN = [
    (re.compile(r"(?:Those|That of|The one|As)\b"), "begin with the noun"),
]
# A line of its own; after code one word is a unit or a name.
ONE_WORD = re.compile(r"(?<!//)(?<=\n)[ \t]*// ?[\w'-]+[.:]?(?=\n(?![ \t]*//))")
# An identifier is no prose: next to '_', '(', a backtick or an operator.
WORDS = re.compile(r"\b(?<![.`$\-/>])(?<!\$\()(?:%s)(?![\w`(\[=/]|-\w|->)" %
                   "|".join(f"({words})" for words, _ in ANYWHERE).replace(" ", r"\s+"), re.I | re.M)
BEGINS = [(re.compile(words), better) for words, better in AT_BEGIN]

C = re.compile(r'''//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+\'''', re.S)
# Strings of scenarios are left out: most are programs of jq, awk and tshark.
SHELL_COMMENT = re.compile(r"(?:^|(?<=\s))#(?=\s)[^\n]*", re.M)
SHELL = re.compile(r'''(?:^|(?<=[\s;]))#[^\n]*|"(?:\\.|[^"\\])*"|'[^']*\'''', re.M)
PYTHON = re.compile(r"""(?:^|(?<=\s))#[^\n]*|'''.*?'''|\"\"\".*?\"\"\"|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""", re.S | re.M)
MARK = re.compile(r"^(\s*)(///?<?|/\*\*?|\*/?|#)(?=\s|\w|$)", re.M)


def prose(text, pattern):
    """The text with all but comments and strings blanked, and where a comment begins."""
    kept, at, begins, last_comment = [], 0, [], -1
    for match in pattern.finditer(text):
        between = text[at:match.start()]
        kept.append(re.sub(r"[^\n]", " ", between))
        part = match.group()
        if part[0] in "/#":
            begin = text.count("\n", 0, match.start())
            if begin != last_comment + 1 or between.strip():
                begins.append(match.start() + len(re.match(r"[/#*<!\s]*", part).group()))
            last_comment = begin + part.count("\n")
            part = MARK.sub(lambda mark: " " * len(mark.group()), part)
        kept.append(part)
        at = match.end()
    return "".join(kept), begins


def findings(path, text):
    whole = text
    if path.endswith((".c", ".h", ".cpp")):
        text, begins = prose(text, C)
    elif path.endswith(".py"):
        text, begins = prose(text, PYTHON)
    elif path.endswith((".md", ".md.in")):
        begins = []
    else:
        text, begins = prose(text, SHELL_COMMENT if path.startswith("tests/") else SHELL)
    found = [(match.start(), match.group(), ANYWHERE[match.lastindex - 1][1]) for match in WORDS.finditer(text)]
    for begin in begins:
        found += [(begin, match.group(), better) for words, better in BEGINS if (match := words.match(text, begin))]
    if CODE.match(path) and path.endswith((".c", ".h", ".cpp")):
        found += [(begin, match.group(), better) for begin in begins for words, better in COMMENT_BEGIN
                  if (match := words.match(whole, begin))]
        found += [(match.end(), match.group().strip(" /"), "a comment of one word: write what the thing is") for match in ONE_WORD.finditer(whole)
                  if not re.search(r"//[^\n]*\n$", whole[:match.start()]) and "NOLINT" not in match.group()]
    for at, words, better in sorted(found):
        yield f"{path}:{text.count(chr(10), 0, at) + 1}: '{' '.join(words.split())}': {better}"


def is_read(path, text):
    if path in ("CHANGELOG.md", "tests/plain_english.py"):  # released versions stay as they were
        return False
    if path.endswith((".c", ".h", ".cpp", ".py", ".md", ".md.in", ".sh", ".yaml", ".yml", ".cmake", "CMakeLists.txt")):
        return True
    return re.match(r"#!.*sh\b", text) is not None


def main():
    status = 0
    files = sys.argv[1:] or subprocess.run(["git", "ls-files"], check=True, capture_output=True, text=True).stdout.split("\n")
    for path in filter(None, files):
        try:
            with open(path, encoding="utf-8") as file:
                text = file.read()
        except (UnicodeDecodeError, FileNotFoundError, IsADirectoryError):
            continue
        if is_read(path, text):
            for finding in findings(path, text):
                print(finding)
                status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
