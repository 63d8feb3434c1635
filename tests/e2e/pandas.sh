#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# docs/pandas.md: its command makes the tables, and its Python reads them.
. "$(dirname "$0")/lib.sh"
for module in pandas matplotlib; do
  /usr/bin/python3 -c "import $module" 2>/dev/null || skip "needs $module (Debian: python3-$module)"
done
PATH=$(dirname "$XDP_ROCE"):$PATH
page=$here/../../docs/pandas.md
cd "$scratch"

# The blocks of Python as files, in their order.
awk '/^```python$/ { inside = 1; number++; next } /^```$/ { inside = 0 } inside { print > "block-" number ".py" }' "$page"
sed -n 's/^    xdp-roce/xdp-roce/p' "$page" >make.sh
assert_eq 1 "$(wc -l <make.sh)" "commands of the page"
exits 0 bash -e make.sh
for block in 1 2 3; do
  exits 0 env MPLCONFIGDIR="$scratch" /usr/bin/python3 "block-$block.py"
  cp last.out "block-$block.out"
done
[[ $(head -c 4 queue.png) == $'\x89PNG' ]] || fail "no picture"
assert_eq "flows.1.poisson.load_share" "$(head -1 block-1.out)" "the key of the means"

# The numbers are those of the JSON.
cat >same.py <<'END'
import glob, json, math
import pandas as pd


def same(a, b):
    """pandas may round the last digit of a number."""
    return math.isclose(a, b, rel_tol=1e-12) if isinstance(b, float) else a == b


sweep, points = pd.read_csv("load/sweep.csv"), json.load(open("load/sweep.json"))["points"]
assert list(sweep["number"]) == [1, 2, 3, 4] and list(sweep["seed"]) == [1, 2, 1, 2]
assert list(sweep["flows.1.poisson.load_share"]) == [0.2, 0.2, 0.4, 0.4] and sweep["failure"].isna().all()
for row, point in zip(sweep.to_dict("records"), points):
    assert point["settings"] == {"flows.1.poisson.load": row["flows.1.poisson.load"], "seed": str(row["seed"])}
    for key in set(row) & set(point):
        assert same(row[key], point[key]), (key, row[key], point[key])
for point in glob.glob("load/0*"):
    result = json.load(open(point + "/result.json"))
    flows, queues, samples, bins = (pd.read_csv(f"{point}/{name}.csv") for name in ("flows", "queues", "samples", "fct_by_size"))
    assert list(flows.columns) == list(result["flows"][0]) and list(flows["fct_ns"].dropna()) == [f["fct_ns"] for f in result["flows"] if f["fct_ns"]]
    assert list(queues["backlog_bytes.max"]) == [queue["backlog_bytes"]["max"] for queue in result["queues"]]
    assert all(same(a[key], b[key]) for a, b in zip(bins.to_dict("records"), result["fct_by_size"], strict=True) for key in b)
    assert bins["flows"].sum() == flows["fct_ns"].count()
    assert bins["size_bytes"].is_monotonic_increasing and bins["flows"].max() - bins["flows"].min() <= 1
    series = pd.read_csv(point + "/series.csv")
    assert samples["t_ns"].is_unique and samples.drop(columns="t_ns").count().sum() == len(series)
    one = series[(series["name"] == "leaf-1:host-1") & (series["column"] == "backlog_bytes")]
    wide = samples[["t_ns", "queue:leaf-1:host-1:backlog_bytes"]].dropna()
    assert wide.values.tolist() == one[["t_ns", "value"]].values.tolist()
END
exits 0 env MPLCONFIGDIR="$scratch" /usr/bin/python3 same.py

# Merged shares have the table of the sweep. A point that failed has its reason, and no values.
rm -r load
sed 's/--out load/--out load --share 1\/2/' make.sh >first.sh
sed 's/--out load/--out other --share 2\/2/' make.sh >second.sh
exits 0 bash -e first.sh
exits 0 bash -e second.sh
exits 0 xdp-roce run merge load other --out merged
cut -d, -f1-8 merged/sweep.csv >merged.txt
broken=load/$(basename other/002-*)
touch "$broken"
exits 1 bash -e make.sh
grep -q '^2,20%,0.2,2,,*void,"\?cannot make' load/sweep.csv || fail "$(cat load/sweep.csv)"
rm "$broken"
exits 0 bash -e make.sh
cut -d, -f1-8 load/sweep.csv | diff - merged.txt || fail "the table of the merged shares"
