# SPDX-License-Identifier: MIT
"""check_h5.py RESULTS.h5 TRAINING.csv - holds a results file against the table made of it, with h5py,
pandas, PyTables and h5dump, knowing nothing of the programs. Prints TAP."""
import csv
import re
import statistics
import subprocess
import sys

import h5py
import numpy as np
import pandas as pd
import tables

n_done = 0
n_failed = 0


def ok(passed, what, note=""):
    global n_done, n_failed
    n_done += 1
    n_failed += not passed
    print(f"{'ok' if passed else 'not ok'} {n_done} - {what}")
    if not passed and note != "":
        print(f"# {note}")


def first_difference(got, want):
    for i, (a, b) in enumerate(zip(got, want)):
        if a != b:
            return f"row {i}: {a!r} is not {b!r}"
    return f"{len(got)} rows, {len(want)} wanted"


def same(got, want, what):
    got, want = list(got), list(want)
    ok(got == want, what, "" if got == want else first_difference(got, want))


def text(v):
    return v.decode() if isinstance(v, bytes) else v


def fills(dataset):
    """Missing values of the columns that have one."""
    names = dataset.dtype.names
    found = {}
    for i, name in enumerate(names):
        value = dataset.attrs.get(f"FIELD_{i}_FILL")
        if value is not None:
            found[name] = value
    return found


h5_path, csv_path = sys.argv[1:3]
f = h5py.File(h5_path)
m = f["measurements"][:]
rows = list(csv.DictReader(open(csv_path, newline="")))

# --- the file by itself
all_datasets = []
f.visititems(lambda name, o: all_datasets.append(o) if isinstance(o, h5py.Dataset) else None)
for d in all_datasets:
    if d.dtype.names is None:
        continue
    kinds = {d.dtype[n].kind for n in d.dtype.names}
    good = (d.attrs["CLASS"] == b"TABLE" and d.attrs["n_rows"] == len(d) and kinds <= set("uifS")
            and [text(d.attrs[f"FIELD_{i}_NAME"]) for i in range(len(d.dtype.names))]
            == list(d.dtype.names))
    ok(good, f"{d.name} follows the Table convention, members are scalars and texts")
    ok(d.fletcher32 and d.shuffle and d.compression == "gzip" and d.compression_opts == 1
       and d.chunks is not None, f"{d.name} is chunked, compressed and checksummed")
    hidden = set(d.dtype.names) & set(dir(pd.DataFrame))
    ok(not hidden, f"{d.name}: no column is hidden by an attribute of a data frame", hidden)
    frame = pd.DataFrame(d[:])
    ok(len(frame) == len(d), f"pandas takes {d.name}")
    if len(d):
        again = pd.read_hdf(h5_path, d.name)
        ok(len(again) == len(d) and list(again.columns) == list(d.dtype.names),
           f"pandas.read_hdf takes {d.name}")
with tables.open_file(h5_path) as t:
    ok(t.root.measurements.nrows == len(m), "PyTables opens the table")

# --- one row per cell
key = list(zip(m["run"], m["problem_id"], m["instance_id"], m["condition_id"]))
ok(len(set(key)) == len(key), "one row per cell")
view = f["measurements"].attrs
ok(view["n_cells"] == len(m) + view["n_pending"], "n_cells = rows + n_pending")
runs = f["runs"][:]
ok(sum(runs["n_cells"]) == view["n_cells"], "n_cells is that of the runs")
names = dict(x.split("=") for x in text(view["outcome_values"]).split(","))
same([names[str(o)] for o in m["outcome"]], map(text, m["outcome_text"]), "outcomes have their text")

# --- attempts and samples
a = f["attempts"][:]
ns = f["samples/time_ns"][:]
ok(int(a["n_samples"].sum()) == len(ns), "every sample belongs to an attempt")
same(a["sample_offset"], np.concatenate([[0], np.cumsum(a["n_samples"])[:-1]]) if len(a) else [],
     "sample offsets are gapless")
for column in ("run", "problem_id", "instance_id", "condition_id", "outcome", "attempt", "started_ns"):
    same(a[column][m["attempt_row"]], m[column], f"attempt_row leads to the same {column}")
ok(bool((a["is_final"][m["attempt_row"]] == 1).all()) and a["is_final"].sum() == len(m),
   "is_final marks exactly the rows of /measurements")
one_round = [i for i in range(len(m)) if m["n_rounds"][i] == 1]
got, want = [], []
for i in one_round:
    row = a[m["attempt_row"][i]]
    x = ns[row["sample_offset"]:row["sample_offset"] + row["n_samples"]]
    if len(x) == 0:
        got.append([m[c][i] for c in ("time_median_ns", "time_min_ns", "time_max_ns")])
        want.append([-1.0] * 3)
        continue
    got.append([m["time_min_ns"][i], m["time_max_ns"][i]])
    want.append([x.min(), x.max()])
    middle = statistics.median(x.astype(float))
    got.append(bool(abs(m["time_median_ns"][i] - middle) <= 1e-6 * middle))
    want.append(True)
same(got, want, "median, min and max are those of the samples")
ok(bool((ns > 0).all()) and bool(np.isfinite(ns).all()), "samples are finite and positive")
for c in m.dtype.names:
    if m[c].dtype.kind == "f":
        ok(bool(np.isfinite(m[c]).all()), f"{c} is finite in every row")

# --- the table
hidden = set(rows[0] if rows else ()) & set(dir(pd.DataFrame))
ok(not hidden, "no column of the table is hidden by an attribute of a data frame", hidden)
same(len(rows) * [None], len(m) * [None], "the table has a row for every row of the view")
by_cell = {(text(runs["run_id"][r["run"]]), f"{r['problem_id']:016x}", f"{r['instance_id']:016x}",
            f"{r['condition_id']:016x}"): r for r in m}
mine = [by_cell[(r["run_id"], r["problem_id"], r["instance_id"], r["condition_id"])] for r in rows]
ok(all(v.lower() not in ("nan", "inf", "-inf") for r in rows for v in r.values()),
   "no cell of the table is NaN or infinite")
problems, kernels = f["problems"][:], f["kernels"][:]
devices, blocks = f["devices"][:], f["blocks"][:]
missing = fills(f["measurements"])


def numbers(column, field, convert=float):
    """The column as numbers; the field of the file, with None where it is missing."""
    got = [None if r[column] == "" else convert(r[column]) for r in rows]
    want = [None if field in missing and v[field] == missing[field] else v[field] for v in mine]
    return got, want


for column, field in [("time_median_ns", None), ("time_mad_ns", None), ("time_se_ns", None),
                      ("time_ci95_lo_ns", None), ("time_ci95_hi_ns", None),
                      ("time_min_ns", None), ("time_p10_ns", None), ("time_p90_ns", None),
                      ("time_max_ns", None), ("time_mean_ns", None), ("time_over_anchor", None),
                      ("anchor_open_ns", None), ("anchor_close_ns", None), ("max_error", None),
                      ("verified_sample_ns", None), ("clock_resolution_ns", None),
                      ("canary_ratio", None)]:
    same(*numbers(column, field or column, np.float32), f"{column} is exactly that of the file")
for column in ("attempt", "n_attempts", "n_rounds", "n_samples", "calls_per_sample", "position",
               "mpi_rank", "n_elements", "status_code", "started_ns", "peak_bytes", "is_confirmed"):
    same(*numbers(column, column, int), f"{column} is that of the file")
for column, field in (("outcome", "outcome_text"), ("reason", "reason")):
    same([r[column] for r in rows], [text(v[field]) for v in mine], f"{column} is that of the file")
same([r["problem_name"] for r in rows], [text(problems["problem_name"][v["problem"]]) for v in mine],
     "problem names follow the row number")
same([r["instance_name"] for r in rows], [text(kernels["instance_name"][v["kernel"]]) for v in mine],
     "instance names follow the row number")
same([r["code_id"] for r in rows], [text(kernels["code_id"][v["kernel"]]) for v in mine],
     "code_id is that of the build")
for column in ("block_id", "device_id", "representative_id"):
    same([r[column] for r in rows], [f"{v[column]:016x}" if v[column] else "" for v in mine],
         f"{column} is that of the file, in hex")
row_of = {(v["run"], v["problem_id"], v["instance_id"], v["condition_id"]): v for v in m}
code = [v if text(v["outcome_text"]) != "aliased" else
        row_of.get((v["run"], v["problem_id"], v["representative_id"], v["condition_id"]))
        for v in mine]
same([r["code_outcome"] for r in rows], [text(c["outcome_text"]) if c is not None else "" for c in code],
     "code_outcome is that of the row an alias points to")
for column, field in (("code_time_median_ns", "time_median_ns"), ("code_time_over_anchor", "time_over_anchor"),
                      ("code_rounds_time_ns", "rounds_time_ns")):
    same([r[column] and np.float32(r[column]) for r in rows],
         [c[field] if c is not None and c[field] != -1 else "" for c in code],
         f"{column} is {field} of the row an alias points to")
fixed = set(["problem_id", "operator", "direction", "dtype", "layout", "problem_name", "n_uses", "flops",
             "min_bytes", "reduction", "canonical"])
for dim in [n for n in problems.dtype.names if n not in fixed]:
    same([int(r[dim]) for r in rows], [problems[dim][v["problem"]] for v in mine],
         f"dimension {dim}")
same([r["host"] for r in rows],
     [text(devices["host"][v["device"]]) if v["device"] < len(devices) else "" for v in mine],
     "hosts are those of the devices")
long = f["kernel_traits/long"][:]
traits = {}
for t in long:
    traits.setdefault(int(t["instance_id"]), {})[text(t["key"])] = text(t["value"])
for c in [c for c in rows[0] if c.startswith("trait_")] if rows else []:
    same([r[c] for r in rows],
         [traits.get(int(v["instance_id"]), {}).get(c[6:], "") for v in mine], c)
for name, d in f["kernel_traits"].items():
    if name != "long":
        same([{k.removeprefix("trait_"): str(text(r[k])) for k in d.dtype.names[1:]} for r in d[:]],
             [traits[int(r["instance_id"])] for r in d[:]], f"{d.name} agrees with the long form")
speed = [None if r["gflops_per_s"] == "" else float(r["gflops_per_s"]) for r in rows]
want = [float(problems["flops"][v["problem"]]) / float(v["time_median_ns"])
        if v["outcome"] == 1 else None for v in mine]
ok(all((a is None) == (b is None) and (a is None or abs(a - b) <= 1e-12 * b)
       for a, b in zip(speed, want)), "gflops_per_s = flops / median, of ok rows only")
order = [(int(v["problem"]), int(kernels["i_instance"][v["kernel"]]), int(v["run"])) for v in mine]
ok(order == sorted(order), "rows stand in the order of problems, then instances, then runs")

# --- h5dump, another reader of values
if len(m):
    dump = subprocess.run(["h5dump", "-d", "/samples/time_ns", "-m", "%.9g", h5_path],
                          capture_output=True, text=True, check=True).stdout
    data = re.sub(r"\(\d+\):", "", dump[dump.index("DATA {") + 6:dump.index("}", dump.index("DATA {"))])
    seen = np.array([np.float32(x) for x in data.replace("\n", " ").split(",") if x.strip()])
    ok(np.array_equal(seen, ns), "h5dump prints the same samples")
print(f"1..{n_done}")
sys.exit(1 if n_failed else 0)
