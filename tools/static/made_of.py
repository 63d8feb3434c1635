#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a static program was made of: an SPDX list and the licence texts.

Archives are those the linker took members of (static.map), headers those that the compiler read (ninja's own record). Each file is a
package of Debian's: in the root, by its list (root.sh), or on this machine, by dpkg."""
import argparse
import datetime
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys

arguments = argparse.ArgumentParser()
for name in ("packages", "root", "build", "version", "arch", "spdx", "licences"):
    arguments.add_argument("--" + name, required=True)
options = arguments.parse_args()
root = os.path.join(os.path.realpath(options.root), "root")


def archives():
    with open(os.path.join(options.build, "static.map"), encoding="utf-8") as lines:
        for line in lines:
            if line.startswith("Discarded input sections"):
                return
            found = re.match(r"(\S+\.a)\(", line)
            if found:
                yield os.path.realpath(os.path.join(options.build, found.group(1)))


def headers():
    said = subprocess.run(["ninja", "-C", options.build, "-t", "deps"], check=True, capture_output=True, text=True).stdout
    for path in set(re.findall(r"^    (\S+)$", said, re.M)):
        yield os.path.realpath(os.path.join(options.build, path))


in_root = {}
with open(options.packages, encoding="utf-8") as lines:
    for line in lines:
        path, *package = line.rstrip("\n").split("\t")
        in_root[path] = tuple(package)


def on_this_machine(paths):
    """(package, source, version) of each path, by dpkg; merged /usr is named either way."""
    names = {}
    for path in paths:
        names[path] = path
        if path.startswith("/usr/lib"):
            names[path[len("/usr"):]] = path
    said = subprocess.run(["dpkg", "-S", *names], capture_output=True, text=True, check=False).stdout
    owner = {}
    for line in said.splitlines():
        package, _, path = line.partition(": ")
        if path in names and not line.startswith("diversion"):
            owner[names[path]] = package.split(",")[0]
    known = {}
    for package in set(owner.values()):
        said = subprocess.run(["dpkg-query", "-W", "-f", "${Package}\t${source:Package}\t${source:Version}", package],
                              check=True, capture_output=True, text=True).stdout
        known[package] = tuple(said.split("\t"))
    return {path: known[package] for path, package in owner.items()}


def packages_of(paths):
    """Those of the files that are not ours."""
    ours = (os.path.realpath(options.build) + "/", os.getcwd() + "/include/", os.getcwd() + "/userspace/", os.getcwd() + "/bpf/")
    found, others = {}, set()
    for path in paths:
        if path.startswith(root + "/"):
            package = in_root.get(path[len(root) + 1:])
            if not package:
                sys.exit(f"release: {path} is of no package")
            found[package] = True
        elif not path.startswith(ours):
            others.add(path)
    by_dpkg = on_this_machine(sorted(others))
    for path in sorted(others):
        if path not in by_dpkg:
            sys.exit(f"release: {path} is of no package")
        found[by_dpkg[path]] = True
    return set(found)


linked = packages_of(set(archives()))
read = packages_of(set(headers())) | set(on_this_machine(["/usr/share/javascript/dygraphs/dygraph.min.js"]).values())
# The C library's headers declare what is linked; a package of the kernel's headers, of a compiler and so on are no part of the program.
read = {p for p in read - linked if p[1] not in {q[1] for q in linked} and not p[0].startswith("linux-libc-dev")}

shutil.rmtree(options.licences, ignore_errors=True)
os.makedirs(options.licences)
for package, source, _ in sorted(linked | read):
    places = [f"{root}/usr/share/doc/{package}/copyright", f"{options.root}/source/{source}/debian/copyright",
              f"{options.root}/source/{source}/COPYING", f"{options.root}/source/{source}/LICENSE", f"/usr/share/doc/{package}/copyright"]
    place = next((p for p in places if os.path.exists(p)), None)
    if not place:
        sys.exit(f"release: no licence text of {package}")
    with open(place, "rb") as text, open(os.path.join(options.licences, source), "wb") as copy:
        copy.write(text.read())

program = os.path.join(os.path.realpath(options.root), "stage/usr/bin/xdp-roce")
with open(program, "rb") as file:
    digest = hashlib.sha256(file.read()).hexdigest()
created = datetime.datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
architecture = {"x86_64": "amd64"}.get(options.arch, options.arch)


def spdx_id(name):
    return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", name)


def described(package):
    name, source, version = package
    return {
        "SPDXID": spdx_id(name), "name": name, "versionInfo": version, "supplier": "Organization: Debian",
        "downloadLocation": f"https://tracker.debian.org/pkg/{source}", "filesAnalyzed": False, "licenseConcluded": "NOASSERTION",
        "licenseDeclared": "NOASSERTION", "copyrightText": "NOASSERTION",
        "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                          "referenceLocator": f"pkg:deb/debian/{source}@{version.replace('+', '%2B').replace(':', '%3A')}?arch=source"}],
    }


document = {
    "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
    "name": f"xdp-roce-{options.version}-linux-{options.arch}",
    "documentNamespace": f"https://spdx.org/spdxdocs/xdp-roce-{options.version}-linux-{options.arch}-{digest}",
    "creationInfo": {"created": created, "creators": [f"Tool: xdp-roce-tools-release-{options.version}"]},
    "packages": [{
        "SPDXID": "SPDXRef-xdp-roce", "name": "xdp-roce", "versionInfo": options.version, "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False, "licenseConcluded": "Apache-2.0 AND GPL-2.0-only", "licenseDeclared": "Apache-2.0 AND GPL-2.0-only",
        "copyrightText": "2025-2026 the xdp-roce authors", "primaryPackagePurpose": "APPLICATION",
        "checksums": [{"algorithm": "SHA256", "checksumValue": digest}],
        "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                          "referenceLocator": f"pkg:generic/xdp-roce@{options.version}?arch={architecture}"}],
    }] + [described(package) for package in sorted(linked | read)],
    "relationships": [{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": "SPDXRef-xdp-roce"}] + [
        {"spdxElementId": "SPDXRef-xdp-roce", "relationshipType": kind, "relatedSpdxElement": spdx_id(package[0])}
        for kind, packages in (("STATIC_LINK", linked), ("CONTAINS", read)) for package in sorted(packages)],
}
with open(options.spdx, "w", encoding="utf-8") as file:
    json.dump(document, file, indent=1)
    file.write("\n")
print(f"{len(linked)} packages linked, {len(read)} more by their headers or texts")
