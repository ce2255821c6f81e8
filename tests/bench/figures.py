#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Numbers of a bench run.

usage: figures.py sweep DIR [LAUNCHED_NS]  "key value" lines of one sweep: where its workers' time went
       figures.py table RAW                the table, from lines "bench run key value"

LAUNCHED_NS: realtime at which the sweep was started; adds the times to its first cell and sample.
"""
import json
import statistics
import sys

from results import renamed

NS = 1e-9


def summaries(events):
    """{key: sum over ranks} of the rank_summary events; n_ranks how many there are."""
    total = {"n_ranks": 0}
    for row in events:
        if row["kind_text"] != b"rank_summary":
            continue
        total["n_ranks"] += 1
        for word in row["text"].decode().split():
            key, value = word.split("=")
            total[key] = total.get(key, 0) + int(value)
    return total


def sampled_ns(rows, samples):
    """Time inside samples, the verified ones included."""
    total = 0.0
    for r in rows:
        n, at, calls = int(r["n_samples"]), int(r["sample_offset"]), int(r["calls_per_sample"])
        if n:
            total += float(samples[at:at + n].sum(dtype="f8")) * calls
    return total


def sweep(directory, launched_ns):
    import h5py

    with h5py.File(directory + "/results.h5") as f:
        rows, samples, events = renamed(f["attempts"][:]), f["samples/time_ns"][:], f["events"][:]
        job = json.loads(f["runs"][0]["job"].decode())
        n_cells = len(f["measurements"])
        n_ok = int((f["measurements"]["outcome_text"] == b"ok").sum())
        n_code = len({c for c in f["kernels"]["code_id"] if c.strip(b"0")})
    total, sampled = summaries(events), sampled_ns(rows, samples)
    warm = rows["warmup_ns"].astype("f8")
    warm_limit = 1e6 * job["measure"]["warmup_ms"]
    ns = lambda name: float(rows[name].sum(dtype="f8"))
    worker, wanted = float(total["worker_ns"]), float(warm.clip(max=warm_limit).sum())
    # Checks stand between the samples; their time is in tolerance_check_ns, not in timing_ns.
    verification = ns("exact_check_ns") + ns("tolerance_check_ns") + ns("reference_ns")
    looked = rows["n_checked_launches"][(rows["outcome_text"] == b"ok") & (rows["n_checked_launches"] > 0)]
    out = {
        "cells": n_cells, "cells_ok": n_ok, "records": len(rows), "code_ids": n_code,
        "workers": total["workers"], "ranks": total["n_ranks"], "worker_s": worker * NS,
        "warmup_s": wanted * NS, "samples_s": sampled * NS, "verification_s": verification * NS,
        "inputs_s": ns("input_ns") * NS, "load_s": ns("load_ns") * NS,
        "warmup_beyond_s": (float(warm.sum()) - wanted) * NS,
        "sampling_loop_s": (ns("timing_ns") - sampled) * NS,
        "references_s": ns("reference_ns") * NS, "exact_s": ns("exact_check_ns") * NS,
        "checks_s": ns("tolerance_check_ns") * NS,
        "untrusted": int((rows["outcome_text"] == b"untrusted").sum()),
        "looked_median": float(statistics.median(looked.tolist())) if len(looked) else 0.0,
        "looked_least": int(looked.min()) if len(looked) else 0,
        "outside_cells_s": (worker - ns("wall_ns")) * NS,
        "other_s": (worker - wanted - sampled - verification) * NS,
        "harness_s": (worker - wanted - sampled - verification - ns("input_ns")) * NS,
        "wait_s": total["wait_ns"] * NS, "tail_s": total["tail_ns"] * NS,
        "median_call_us": float(statistics.median(rows["time_median_ns"].tolist())) / 1e3,
    }
    if launched_ns:
        out["to_first_cell_s"] = (float(rows["started_ns"].min()) - launched_ns) * NS
        sampled_at = sum(sign * rows[k].astype("i8") for k, sign in (
            ("started_ns", 1), ("wall_ns", 1), ("timing_ns", -1), ("tolerance_check_ns", -1)))
        out["to_first_sample_s"] = (float(sampled_at[rows["n_samples"] > 0].min()) - launched_ns) * NS
    for key, value in out.items():
        print(key, f"{value:.6g}" if isinstance(value, float) else value)


class Raw:
    """The raw lines of all benches: lists of numbers by bench and key."""

    def __init__(self, path):
        self.of = {}
        with open(path) as f:
            for line in f:
                w = line.split()
                if len(w) == 4 and not line.startswith("#"):
                    self.of.setdefault(w[0], {}).setdefault(w[2], []).append(float(w[3]))

    def __contains__(self, bench):
        return bench in self.of

    def all(self, bench, key):
        return self.of[bench][key]

    def mid(self, bench, key):
        return statistics.median(self.of[bench][key])

    def mid_of(self, bench, formula):
        """Median over the runs of formula(values of one run)."""
        keys = self.of[bench]
        n = min(len(v) for v in keys.values())
        return statistics.median(formula({k: v[i] for k, v in keys.items()}) for i in range(n))

    def n(self, bench, key):
        return len(self.of[bench].get(key, []))


def row(name, n, value, peer, ratio, goal, is_met):
    return [name, str(n), value, peer, ratio, goal, "met" if is_met else "MISSED"]


def rows_cold(raw, b):
    sweep_s, best = raw.mid(b, "sweep_s"), min(raw.all(b, "compile_s"))
    hello = raw.mid(b, "hello_s")
    ratio = sweep_s / (best + hello)
    yield row(b, raw.n(b, "sweep_s"), f"{sweep_s:.2f} s",
              f"best compile {best:.2f} s + hello {hello:.2f} s", f"{ratio:.2f}", "<= 1.35",
              ratio <= 1.35)


def rows_warm(raw, b):
    rate = raw.mid_of(b, lambda r: r["cells_ok"] / (r["sweep_s"] - r["hello_s"]))
    yield row(b, raw.n(b, "sweep_s"), f"{rate:.0f} cells/s",
              f"start-up: hello {raw.mid(b, 'hello_s'):.2f} s, first cell after "
              f"{raw.mid(b, 'to_first_cell_s'):.2f} s", f"{rate / 1000:.2f}", ">= 1000 cells/s",
              rate >= 1000)


def rows_harness(raw, b):
    cost = raw.mid_of(b, lambda r: 1e3 * r["harness_s"] / r["cells"])
    whole = raw.mid_of(b, lambda r: 1e3 * r["worker_s"] / r["cells"])
    yield row(b, raw.n(b, "cells"), f"{cost:.3f} ms/cell", f"worker wall {whole:.3f} ms/cell",
              f"{cost / 0.2:.2f}", "<= 0.2 ms", cost <= 0.2)


def rows_quickstart(raw, b):
    worker = f"of {raw.mid(b, 'worker_s'):.1f} s worker wall"
    part = lambda *keys: raw.mid_of(b, lambda r: sum(r[k] for k in keys) / r["worker_s"])
    for name, keys, goal, is_met in (
            ("other", ["other_s"], "<= 20 %", lambda x: x <= 0.20),
            ("verification", ["verification_s"], "<= 15 %", lambda x: x <= 0.15),
            ("samples", ["samples_s"], ">= 40 %", lambda x: x >= 0.40),
            ("waiting", ["wait_s"], "<= 1 %", lambda x: x <= 0.01)):
        x = part(*keys)
        yield row(f"{b}: {name}", raw.n(b, "worker_s"), f"{100 * x:.1f} %", worker, "", goal,
                  is_met(x))
    for name, key in (("warm-up", "warmup_s"), ("inputs", "inputs_s"), ("loading", "load_s"),
                      ("sampling loop", "sampling_loop_s"), ("warm-up beyond", "warmup_beyond_s"),
                      ("outside cells", "outside_cells_s"), ("end of the last lease", "tail_s")):
        yield [f"{b}: {name}", str(raw.n(b, "worker_s")), f"{100 * part(key):.1f} %", worker, "",
               "", ""]


def rows_startup(raw, b):
    first, init = raw.mid(b, "to_first_sample_s"), raw.mid(b, "init_s")
    beyond = raw.mid_of(b, lambda r: r["to_first_sample_s"] - r["init_s"])
    yield row(b, raw.n(b, "init_s"), f"{first:.2f} s", f"8 ranks through MPI_Init after {init:.2f} s",
              f"{first / init:.2f}", "<= 1 s beyond it", beyond <= 1)


def rows_journal(raw, b):
    rate = raw.mid(b, "records_per_s")
    yield row(b, 5, f"{rate:.0f} records/s",
              f"write + fdatasync of the same bytes {raw.mid(b, 'plain_per_s'):.0f}/s",
              f"{rate / raw.mid(b, 'plain_per_s'):.2f}", ">= 200000 /s", rate >= 200000)


def rows_sched(raw, b):
    get = lambda key: raw.mid(b, key)
    for name, key, goal in (("makespan / bound", "plain", 1.05),
                            ("with losses and slow devices", "faulty", 1.12)):
        yield row(f"{b}: {name}", 1, f"{get(key):.3f}", "20 problems a device and more, worst", "",
                  f"<= {goal}", get(key) <= goal)
    yield row(f"{b}: problems split", 1, f"{100 * get('split'):.1f} %",
              "100 problems a device, worst", "", "<= 5 %", get("split") <= 0.05)
    yield [f"{b}: few instances", "1", f"{get('few'):.3f}", "20 problems of 256 cells a device, worst",
           "", "", ""]
    yield [f"{b}: anchors", "1", f"{100 * get('anchors'):.2f} %", "of device time, likewise", "", "",
           ""]


def rows_race(raw, b):
    for noise in ("quiet", "typical", "drift", "tails", "throttling", "uneven", "contaminated",
                  "recorded", "recorded_top", "sweeps"):
        get = lambda key: raw.mid(b, f"{noise}.{key}")
        if not raw.n(b, f"{noise}.violations"):
            continue
        yield row(f"{b}: violations, {noise}", 1, f"{100 * get('violations'):.2f} %", "of the races",
                  "", "<= 5 %", get("violations") <= 0.05)
        goal = 0.12 if noise.startswith("recorded") else 0.35
        yield row(f"{b}: kernel time, {noise}", 1, f"{100 * get('share'):.1f} %",
                  "ten equal rounds for every instance", "", f"<= {100 * goal:.0f} %",
                  get("share") <= goal)
        yield [f"{b}: regret, {noise}", "1", f"{100 * get('regret_p90'):.2f} %", "P90", "", "", ""]


def rows_repeat(raw, b):
    get = lambda key: raw.mid(b, key)
    n = int(get("problems"))
    for which in ("median", "minimum"):
        p90, floor = get(f"{which}.regret.p90"), get(f"{which}.floor.p90")
        ends = (get(f"{which}.regret.p90_lo"), get(f"{which}.regret.p90_hi"))
        yield row(f"{b}: regret P90, by the {which}", n,
                  f"{100 * p90:.2f} % [{100 * ends[0]:.2f}, {100 * ends[1]:.2f}]",
                  f"floor {100 * floor:.2f} %", "", "<= 0.5 % at the upper end", ends[1] <= 0.005)
    yield row(f"{b}: winner or tie agrees", n, f"{100 * get('tied'):.1f} %",
              f"same winner {100 * get('same'):.1f} %", "", ">= 90 %", get("tied") >= 0.9)
    yield row(f"{b}: kernel time", n, f"{get('over_first'):.2f}", "round 0 alone", "", "<= 1.6",
              get("over_first") <= 1.6)
    yield row(f"{b}: kernel time", n, f"{100 * get('over_ten'):.0f} %", "ten equal rounds", "",
              "<= 35 %", get("over_ten") <= 0.35)
    for rounds in ("1", "2", "3-5", "6+"):
        if f"coverage.{rounds}.n" not in raw.of[b]:
            continue
        seen, promised = get(f"coverage.{rounds}.seen"), get(f"coverage.{rounds}.promised")
        yield row(f"{b}: coverage, {rounds} rounds", int(get(f"coverage.{rounds}.n")), f"{seen:.3f}",
                  f"promised {promised:.3f}", "", "within 0.05", abs(seen - promised) <= 0.05)
        if rounds != "1":
            width = get(f"coverage.{rounds}.half_width")
            yield row(f"{b}: half-width, {rounds} rounds", int(get(f"coverage.{rounds}.n")),
                      f"{100 * width:.2f} %", "", "", "<= 1 %", width <= 0.01)
    yield from rows_calibration(raw, b)


def rows_calibration(raw, b):
    get = lambda key: raw.mid(b, key)
    yield [f"{b}: Brier score", str(int(get("problems"))),
           f"{get('brier.best'):.4f} best, {get('brier.near'):.4f} near",
           f"regret expected {100 * get('expected_regret'):.2f} %, seen "
           f"{100 * get('least_regret'):.2f} to {100 * get('most_regret'):.2f} %",
           "", "", ""]


def rows_compare(raw, b):
    for kind in ("1-1", "2-2"):
        get = lambda key: raw.mid(b, f"{kind}.{key}")
        if f"{kind}.cells" not in raw.of[b]:
            continue
        yield row(f"{b}: the same thing, {kind}", int(get("cells")), f"{100 * get('changed'):.2f} %",
                  "of the cells are FASTER or SLOWER", "", "<= 1 %", get("changed") <= 0.01)
        if f"{kind}.called" in raw.of[b]:
            yield row(f"{b}: false calls, {kind}", int(get("called")), f"{100 * get('false'):.2f} %",
                      "of what is called where slowdowns were planted", "", "<= 5 %", get("false") <= 0.05)
        for size in (5, 10, 20, 40):
            which = "found_raced" if f"{kind}.found_raced.{size}" in raw.of[b] else "found"
            found = get(f"{which}.{size}")
            yield row(f"{b}: {size} % slower, {kind}", 1, f"{100 * found:.1f} %",
                      f"found of {'raced' if which == 'found_raced' else 'all'} cells; "
                      f"false {100 * get(f'false.{size}'):.1f} %", "", ">= 80 %", found >= 0.8)


def rows_variance(raw, b):
    spans = ("0.1 s", "1 s", "10 s", "100 s", "other buffers", "other worker", "other sweep")
    for kind in ("compute", "memory"):
        for i, span in enumerate(spans):
            values = [(s, raw.mid(b, f"{kind}.{s}.{i}")) for s in ("median", "low", "groups", "minimum")
                      if f"{kind}.{s}.{i}" in raw.of[b]]
            if values:
                yield [f"{b}: {kind}, {span}", "1",
                       ", ".join(f"{s} {100 * v:.2f} %" for s, v in values), "sd of one value, typical cell",
                       "", "", ""]


def rows_lazy(raw, b):
    n, cells = raw.n(b, "start_s"), f"{raw.mid(b, 'cells'):.3g} cells"
    memory, start = raw.mid(b, "memory_mib"), raw.mid(b, "start_s")
    yield row(f"{b}: memory", n, f"{memory:.0f} MiB", cells, "", "<= 256 MiB", memory <= 256)
    yield row(f"{b}: until the first worker", n, f"{start:.2f} s", cells, "", "<= 2 s", start <= 2)


def rows_gather(raw, b):
    part, rate = raw.mid(b, "of_raw"), raw.mid(b, "cells_per_s")
    yield row(f"{b}: bytes", 5, f"{raw.mid(b, 'gather_s'):.3f} s",
              f"H5Dwrite alone {raw.mid(b, 'raw_s'):.3f} s", f"{part:.2f}", ">= 0.4", part >= 0.4)
    yield row(f"{b}: cells", 5, f"{rate:.0f} cells/s", f"{raw.mid(b, 'cells'):.0f} cells",
              f"{rate / 60000:.2f}", ">= 60000 /s", rate >= 60000)


def rows_table(raw, b):
    get, n = lambda key: raw.mid(b, key), raw.n(b, "table_s")
    yield row(f"{b}: time", n, f"{get('table_s'):.2f} s",
              f"pandas {get('pandas_s'):.1f} s; {get('rows'):.0f} cells, {get('csv_mb'):.0f} MB",
              f"{get('table_s') / get('pandas_s'):.3f}", "<= 3 s", get("table_s") <= 3)
    yield row(f"{b}: memory", n, f"{get('table_mib'):.0f} MiB", f"pandas {get('pandas_mib'):.0f} MiB",
              f"{get('table_mib') / get('pandas_mib'):.3f}", "<= 300 MiB", get("table_mib") <= 300)
    does = "pandas" if get("pandas_parquet_written") else "pandas, joined only,"
    yield row(f"{b}: Parquet, time", n, f"{get('parquet_s'):.2f} s",
              f"{does} {get('pandas_parquet_s'):.1f} s; {get('parquet_mb'):.0f} MB",
              f"{get('parquet_s') / get('pandas_parquet_s'):.3f}", "<= 2 s", get("parquet_s") <= 2)
    yield row(f"{b}: Parquet, memory", n, f"{get('parquet_mib'):.0f} MiB",
              f"{does} {get('pandas_parquet_mib'):.0f} MiB",
              f"{get('parquet_mib') / get('pandas_parquet_mib'):.3f}", "<= 512 MiB",
              get("parquet_mib") <= 512)


def rows_page(raw, b):
    get, n = lambda key: raw.mid(b, key), raw.n(b, "usable_ms")
    yield row(f"{b}: size", 1, f"{get('mib'):.2f} MiB", "1,000 problems x 1,000 instances", "", "<= 10 MiB",
              get("mib") <= 10)
    yield [f"{b}: made in", str(raw.n(b, "make_s")), f"{get('make_s'):.2f} s",
           f"{get('make_cpu_s'):.2f} s of CPU, {get('make_mib'):.0f} MiB", "", "", ""]
    yield row(f"{b}: opened, sorted and drawn", n, f"{get('usable_ms') / 1e3:.2f} s",
              f"complete {get('ready_ms') / 1e3:.2f} s, first picture {get('paint_ms') / 1e3:.2f} s; "
              f"the slowest {max(raw.all(b, 'usable_ms')) / 1e3:.2f} s", "", "<= 2 s", get("usable_ms") <= 2000)


def rows_trace(raw, b):
    keys, get = raw.of[b], lambda key: raw.mid(b, key)
    analyze, size = get("analyze_s"), f"{get('mb'):.0f} MB"

    def beside(name, key, peer, title, most):
        if peer + "_s" not in keys:
            return [f"{b}: {name}", "1", f"{get(key + '_s'):.2f} s", f"{title}: not measured", "", f"<= {most}", ""]
        ratio = get(key + "_s") / get(peer + "_s")
        return row(f"{b}: {name}", 1, f"{get(key + '_s'):.2f} s",
                   f"{title} {get(peer + '_s'):.2f} s, {get(peer + '_mib'):.0f} MiB", f"{ratio:.3f}",
                   f"<= {most}", ratio <= most)

    yield beside(f"analyze, {size}", "analyze", "simdjson", "simdjson's sum", 1.6)
    yield beside("analyze", "analyze", "json", "json.load", 0.143)
    if "hta_s" in keys:
        yield [f"{b}: analyze", "1", f"{analyze:.2f} s", f"HTA, loading only {get('hta_s'):.1f} s, {get('hta_mib'):.0f} MiB",
               f"{analyze / get('hta_s'):.3f}", "", ""]
    yield row(f"{b}: memory", 1, f"{get('analyze_mib'):.0f} MiB", "", "", "<= 300 MiB", get("analyze_mib") <= 300)
    yield beside("augment", "augment", "simdjson", "simdjson's sum", 3.2)
    yield beside("diff with itself", "diff", "simdjson", "simdjson's sum", 3.2)
    yield beside("combine with a small one", "combine", "cp", "cp and sync", 3)
    linear = (analyze / get("mb")) / (get("half_s") / get("half_mb"))
    yield row(f"{b}: time per MB", 1, f"{1e3 * analyze / get('mb'):.2f} ms",
              f"of half as much {1e3 * get('half_s') / get('half_mb'):.2f} ms", f"{linear:.3f}", "<= 1.2",
              linear <= 1.2)
    yield [f"{b}: analyze, gzip", "1", f"{get('packed_s'):.2f} s", f"gzip -dc {get('gunzip_s'):.2f} s",
           f"{get('packed_s') / get('gunzip_s'):.3f}", "", ""]


def rows_selector(raw, b):
    get, n = lambda key: raw.mid(b, key), raw.n(b, "full_ns")
    for size, most, shown in (("full", 1e6, "1 ms"), ("budgeted", 2e4, "20 us"), ("distilled", 200, "200 ns")):
        yield row(f"{b}: {size}", n, f"{get(size + '_ns') / 1e3:.3f} us",
                  f"P90 {get(size + '_p90_ns') / 1e3:.3f} us; 100 candidates", "", f"<= {shown}",
                  get(size + "_ns") <= most)
    yield row(f"{b}: distilled, size", n, f"{get('distilled_bytes') / 1024:.1f} KiB", "code and data", "",
              "<= 64 KiB", get("distilled_bytes") <= 65536)


def rows_train(raw, b):
    get, n = lambda key: raw.mid(b, key), raw.n(b, "all_s")
    size = f"{get('rows'):.0f} rows x {get('columns'):.0f} features, {get('rounds'):.0f} trees"
    yield row(f"{b}: time", n, f"{get('all_s'):.1f} s", f"{size}; the model alone {get('model_s'):.1f} s", "",
              "<= 60 s", get("all_s") <= 60)
    yield row(f"{b}: memory", n, f"{get('mib'):.0f} MiB", size, "", "<= 1024 MiB", get("mib") <= 1024)


def rows_build(raw, b):
    n = lambda r: r["instances"]
    ours = raw.mid_of(b, lambda r: n(r) / r["build_s"])
    make = raw.mid_of(b, lambda r: n(r) / (r["objects_s"] + r["link_s"]))
    objects = raw.mid_of(b, lambda r: n(r) / r["objects_s"])
    ratio = raw.mid_of(b, lambda r: (r["objects_s"] + r["link_s"]) / r["build_s"])
    runs = raw.n(b, "build_s")
    yield row(b, runs, f"{ours:.1f} instances/s",
              f"make, one a file: {make:.1f}/s, without linking {objects:.1f}/s", f"{ratio:.2f}",
              ">= 1", ratio >= 1)
    busy = raw.mid(b, "busy")
    yield row(f"{b}: cores busy", runs, f"{100 * busy:.1f} %", "user and system time of all", "",
              ">= 95 %", busy >= 0.95)
    ranks = raw.mid_of(b, lambda r: r["build_s"] / r["ranks_s"])
    yield row(f"{b}: two ranks", runs, f"{raw.mid_of(b, lambda r: n(r) / r['ranks_s']):.1f} instances/s",
              f"one process {ours:.1f}/s", f"{ranks:.2f}", ">= 0.9", ranks >= 0.9)


def rows_oracle(raw, b):
    get = lambda key: raw.mid(b, key)
    limits = (("winners beyond ties", "winners", "{:.0f}", ">= 8", lambda x: x >= 8),
              ("median worst / best", "spread", "{:.2f}", ">= 1.5", lambda x: x >= 1.5),
              ("best fixed instance", "fixed", "{:.3f}", "<= 0.92 of the oracle",
               lambda x: x <= 0.92),
              ("distinct code_ids", "code_ids", "{:.0f}", ">= 24", lambda x: x >= 24))
    for name, key, form, goal, is_met in limits:
        yield row(f"{b}: {name}", 1, form.format(get(key)), f"{get('problems'):.0f} problems", "",
                  goal, is_met(get(key)))


def rows_verification(raw, b):
    get = lambda key: raw.mid(b, key)
    yield row(f"{b}: power", 1, f"{get('faults'):.0f} faults, {get('correct_cells'):.0f} correct cells",
              "a list of products, bounds in long double", "", "none missed, none wrongly refused",
              get("status") == 0 and get("correct_cells") >= 10000 and get("faults") >= 4000)
    share = get("verification_s") / get("worker_s")
    yield row(f"{b}: share of a default sweep", 1, f"{100 * share:.1f} %",
              f"of {get('worker_s'):.0f} s worker wall, {get('cells'):.0f} cells", "", "<= 15 %",
              share <= 0.15)
    parts = ", ".join(f"{what} {100 * get(key) / get('worker_s'):.1f} %" for what, key in (
        ("references", "references_s"), ("exact", "exact_s"), ("checks of samples", "checks_s")))
    yield [f"{b}: where it goes", "1", parts, "of the same wall", "", "", ""]
    yield row(f"{b}: launches looked at", 1, f"{get('looked_median'):.0f} a cell, at least "
              f"{get('looked_least'):.0f}", f"honest cells untrusted: {get('untrusted'):.0f}", "",
              "none untrusted", get("untrusted") == 0)
    yield row(f"{b}: times with checks / without", 1, f"{get('checks.median'):.4f}",
              f"{get('checks.cells'):.0f} cells, 80 % of them within {get('checks.p10'):.3f} to "
              f"{get('checks.p90'):.3f}; shortest samples {get('checks.shortest'):.4f}", "",
              "within 1 %", abs(get("checks.median") - 1) <= 0.01)


def rows_dispatch(raw, b):
    get, n = lambda key: raw.mid(b, key), raw.n(b, "cells_per_s")
    rate, peer = get("cells_per_s"), get("futures_per_s")
    yield row(f"{b}: rate", n, f"{rate:.0f} cells/s", f"mpi4py.futures {peer:.0f} tasks/s",
              f"{rate / peer:.1f}", ">= 150000 /s", rate >= 150000)
    limits = (("commit to acknowledgement, p99", "ack_p99_ms", 1, "ms", f"at {rate:.0f} cells/s", 50),
              ("rank 0, share of a core", "rank0_core", 100, "%",
               f"{get('offered_cells_per_s'):.0f} cells/s of 16000 offered", 30),
              ("an idle rank, share of a core", "idle_core", 100, "%", "no lease for more than 1 s", 1),
              ("waiting for a lease", "wait_share", 100, "%", "cells of 10 ms", 1))
    for name, key, scale, unit, beside, most in limits:
        value = scale * get(key)
        yield row(f"{b}: {name}", n, f"{value:.2f} {unit}", beside, "", f"<= {most} {unit}",
                  value <= most)


def rows_quiet(raw, b):
    get, keys = lambda key: raw.mid(b, key), raw.of[b]
    most = max(10, 2 * get("cells_per_s"))
    cells = f"{get('cells_per_s'):.1f} timed cells/s"
    for kind, name in (("rank", "rank {}: its loop"), ("thread", "rank {}: heartbeat and MPI threads"),
                       ("warden", "rank {}: its warden"), ("mpirun", "mpirun")):
        for key in sorted(k for k in keys if k.startswith(f"wakes_per_s_{kind}_")):
            value = get(key)
            yield row(f"{b}: wake-ups, " + name.format(key.rsplit("_", 1)[1]), 1, f"{value:.1f} /s", cells, "",
                      f"<= {most:.0f} /s", value <= most)
    for key in sorted(k for k in keys if k.startswith("own_wakes")):
        rank = key.rsplit("_", 1)[1]
        yield [f"{b}: rank {rank} by its own count", "1", f"{get(key):.1f} /s", "the loop; warden "
               f"{get('own_warden_wakes_per_s_' + rank):.1f}, voluntary switches "
               f"{get('own_switches_per_s_' + rank):.1f} /s", "", "", ""]
    yield [f"{b}: involuntary switches", "1", f"{get('switches_per_s'):.1f} /s", "of the workers, within samples",
           "", "", ""]
    yield [f"{b}: attempts per cell", "1", f"{get('attempts_per_cell'):.2f}",
           f"{get('contaminated_cells'):.0f} cells stay contaminated", "", "", ""]
    ratios = sorted(a / h for a, h in zip(raw.all(b, "ranks_s"), raw.all(b, "halves_s")))
    middle = statistics.median(ratios)
    yield row(f"{b}: wall of -n 2", len(ratios), f"{get('ranks_s'):.2f} s",
              f"two processes, half of the problems each: {get('halves_s'):.2f} s",
              f"{middle:.3f} ({ratios[0]:.3f} to {ratios[-1]:.3f})", "<= 1.05", middle <= 1.05)
    for kind in ("core", "memory"):
        for beside in ("core", "memory"):
            key = f"beside_{kind}_{beside}"
            yield [f"{b}: bound by {kind}, beside one bound by {beside}", "3", f"{get(key):.3f}",
                   f"of its time alone, median; largest {get(key + '_max'):.3f}", "", "", ""]


def rows_code(raw, b):
    """Hot loops of GPU kernels: nothing has grown since the figures that are kept."""
    for arch in sorted(key.split(".")[0] for key in raw.of[b] if key.endswith(".kernels")):
        get = lambda key: raw.mid(b, f"{arch}.{key}")
        yield row(f"{b}: {arch}", int(get("kernels")), f"{get('instr'):g} instructions a step, median",
                  f"at most {get('branch'):g} branches; {get('spilling'):.0f} kernels spill; "
                  f"{get('compared'):.0f} compared", f"{get('grown'):.0f} grown", "none grown", get("grown") == 0)


ONEDNN_GOALS = {"forward-fp32": 0.85, "forward-bf16": 0.70, "backward-data-fp32": 0.60,
                "backward-weight-fp32": 0.60}


def rows_onednn(raw, b):
    """Speed of ksweep's best instance / oneDNN's, geometric means over all problems and classes."""
    keys = raw.of[b]
    for name in sorted((k[:-6] for k in keys if k.endswith(".ratio")), key=lambda k: k != "all"):
        ratio = raw.mid(b, name + ".ratio")
        goal = ONEDNN_GOALS[b[len("onednn-"):]] if name == "all" else 0.40
        yield row(f"{b}: {name}", 1, f"least {raw.mid(b, name + '.least'):.2f}",
                  f"oneDNN, {raw.mid(b, name + '.n'):.0f} problems", f"{ratio:.3f}",
                  f">= {goal:.2f}", ratio >= goal)
    n = raw.mid(b, "without_instance")
    yield row(f"{b}: problems without an instance", 1, f"{n:.0f}", "", "", "0", n == 0)


TABLE = {"cold-tiny-gemm": rows_cold, "warm-20000": rows_warm, "harness-cost": rows_harness,
         "quickstart-breakdown": rows_quickstart, "startup": rows_startup, "dispatch": rows_dispatch,
         "sched": rows_sched, "race": rows_race, "repeat-n1": rows_repeat, "repeat-n2": rows_repeat,
         "calibration": rows_calibration, "compare-sim": rows_compare, "compare-recorded": rows_compare,
         "variance": rows_variance, "lazy": rows_lazy, "journal": rows_journal,
         "gather": rows_gather, "table": rows_table, "page": rows_page, "trace": rows_trace, "selector": rows_selector,
         "train": rows_train,
         "build-1000": rows_build, "build-shipped": rows_build, "build-gpu": rows_build,
         "oracle": rows_oracle, "verification": rows_verification, "quiet": rows_quiet, "code": rows_code}
TABLE.update({"onednn-" + which: rows_onednn for which in ONEDNN_GOALS})


def table(path):
    raw = Raw(path)
    lines = [["bench", "n", "value", "beside it, in the same run", "ratio", "goal", ""]]
    for bench, rows in TABLE.items():
        if bench in raw:
            lines += rows(raw, bench)
    width = [max(len(line[i]) for line in lines) for i in range(7)]
    for i, line in enumerate(lines):
        print("| " + " | ".join(cell.ljust(width[k]) for k, cell in enumerate(line)) + " |")
        if i == 0:
            print("|" + "|".join("-" * (w + 2) for w in width) + "|")
    return any(line[6] == "MISSED" for line in lines)


def main(argv):
    if len(argv) in (2, 3) and argv[0] == "sweep":
        sweep(argv[1], int(argv[2]) if len(argv) == 3 else 0)
        return 0
    if len(argv) == 2 and argv[0] == "table":
        return 1 if table(argv[1]) else 0
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
