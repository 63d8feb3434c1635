#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""report_tables.py ROOT: checks docs/report.schema.json: a definition that is there twice, or not once in docs/keys.md.in, a key
without a description, a number without a unit, a count without a window.
report_tables.py --make FOLDER ROOT: writes keys.md, docs/keys.md.in with the tables that its `<!-- keys: NAME... -->` name, and
result.schema.json and sweep.schema.json, the schemas of one document each."""
import json
import pathlib
import re
import sys

PAGE = "docs/keys.md.in"
DOCUMENTS = ["result", "sweep"]
KINDS = {"string": "text", "object": "texts by key", "boolean": "true, false", "null": "null"}
faults = []


def only_once(pairs):
    """An object, whose keys must differ: of two definitions with one name JSON would keep the last."""
    for key in {key for key, _ in pairs if [k for k, _ in pairs].count(key) > 1}:
        faults.append(f"the schema has {key} twice in one object")
    return dict(pairs)


def list_of(words):
    return ", ".join(f"`{word}`" for word in words)


def kind_of(key):
    """A number has its unit, anything else its type; null where it may be unknown."""
    types = key["type"] if isinstance(key["type"], list) else [key["type"]]
    words = []
    for one in types:
        if one == "array":
            words.append(key["items"].get("x-unit") or key.get("x-unit", "texts"))
        elif one in ("integer", "number"):
            words.append("number" if key["x-unit"] == "-" else key["x-unit"])
        else:
            words.append(KINDS[one])
    return ", ".join(words)


def check(name, key, about, window):
    numbers = {"integer", "number"} & set(about["type"] if isinstance(about["type"], list) else [about["type"]])
    if not about.get("description"):
        faults.append(f"{name}.{key} has no description")
    if numbers and not about.get("x-unit"):
        faults.append(f"{name}.{key} is a number without a unit")
    elif numbers and about["x-unit"] != "-" and not about.get("x-window", window):
        faults.append(f"{name}.{key} has no window")


def table(definitions, name):
    one = definitions[name]
    if "properties" not in one:
        check("", name, one, None)
        return [f"`{name}` ({kind_of(one)}): {one['description']}.", ""]
    window = one.get("x-window", "-")
    lines, parts, others = [], [], {}
    for key, about in one["properties"].items():
        ref = re.search(r'"#/\$defs/(\w+)(/properties/\w+)?"', json.dumps(about))
        if ref and ref[2]:
            others.setdefault(ref[1], []).append(key)
        elif ref:
            parts.append((key, ref[1], "items" in about))
        else:
            check(name, key, about, one.get("x-window"))
            text = about["description"]
            if "enum" in about and len(about["enum"]) > 1:
                text = f"{list_of(about['enum'])}: {text}"
            if about.get("x-window", "-") != "-":
                text += f" ({about['x-window']})"
            if key not in one["required"]:
                key += " *"
            lines.append(f"| {'`' + key.replace(' *', '` *') if ' *' in key else '`' + key + '`'} | {kind_of(about)} | {text} |".replace("||", "\\|\\|"))
    head = f"**{one['title']}**" + (f" ({window})" if window != "-" else "")
    if parts:
        names = ", ".join(f"`{key}`" + ("" if key == of else f" (`{of}`)") + ("" if key in one["required"] else " *") for key, of, rows in parts)
        head += f" has {names}" + (", and:" if lines else "")
    out = [head, ""]
    if lines:
        out += ["| key | | |", "| --- | --- | --- |", *lines, ""]
    for other, keys in others.items():
        out += [f"{list_of(keys)}: as in `{other}`.", ""]
    return out


def schema_of(schema, name):
    """The schema of one document: its definition and those that it refers to."""
    needed, found = {}, [name]
    while found:
        one = found.pop()
        if one not in needed:
            needed[one] = schema["$defs"][one]
            found += re.findall(r'"#/\$defs/(\w+)', json.dumps(needed[one]))
    return {"$schema": schema["$schema"], "title": schema["$defs"][name]["title"].replace("`", ""),
            "description": f"Made from report.schema.json, of which it is #/$defs/{name}. {schema['description'].partition('. ')[2]}",
            "$ref": f"#/$defs/{name}", "$defs": {one: needed[one] for one in schema["$defs"] if one in needed}}


def main(root, folder):
    schema = json.loads((root / "docs/report.schema.json").read_text(), object_pairs_hook=only_once)
    definitions, placed = schema["$defs"], []

    def tables(match):
        names = match[1].split()
        placed.extend(names)
        unknown = [name for name in names if name not in definitions]
        faults.extend(f"{PAGE} names {name}, which the schema does not have" for name in unknown)
        return "\n".join(line for name in names if name not in unknown for line in table(definitions, name)).rstrip("\n")

    page = re.sub(r"<!-- keys: ([\w ]+) -->", tables, (root / PAGE).read_text())
    faults.extend(f"{name} of the schema is in {placed.count(name)} places of {PAGE}" for name in definitions if placed.count(name) != 1)
    for fault in faults:
        print("report_tables:", fault, file=sys.stderr)
    if folder and not faults:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "keys.md").write_text(page)
        for name in DOCUMENTS:
            (folder / f"{name}.schema.json").write_text(json.dumps(schema_of(schema, name), indent=2) + "\n")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[-1]), pathlib.Path(sys.argv[2]) if sys.argv[1] == "--make" else None))
