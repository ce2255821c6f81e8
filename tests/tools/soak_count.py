# SPDX-License-Identifier: MIT
"""The jobs of a soak, what their cells must come to, and the count of what they came to."""
import collections
import json
import os

import chaos

CONFIG = os.path.abspath(os.path.join(chaos.HERE, "..", "fake", "bad_kernels.json"))
PROBLEMS = os.path.abspath(os.path.join(chaos.HERE, "..", "data", "chaos.csv"))
KERNEL_TIMEOUT_S = 4
LAX = {"retries": 0, "switches_per_s": 1e6, "stolen": 1, "canary": 100}

# fault: (outcome, code), None = any code; as tests/e2e/50-faults.sh and 51-faults.sh have them
RIGHT = {
    "good": ("ok", None), "slow": ("ok", None), "children_outlive": ("ok", None),
    "kill_parent": ("ok", None), "print_megabytes": ("ok", None), "rounding_mode": ("ok", None),
    "flush_to_zero": ("ok", None), "unsupported_always": ("unsupported", None),
    "segfault": ("crashed", 11), "stack_overflow": ("crashed", 11), "abort": ("crashed", 6),
    "exit0": ("exited", 0), "exit3": ("exited", 3), "launch_fails": ("launch_failed", 7),
    "one_wrong": ("wrong_result", None), "unwritten_part": ("wrong_result", None),
    "read_outside": ("wrong_result", None), "write_before": ("out_of_bounds", None),
    "write_after": ("out_of_bounds", None), "nondeterministic": ("nondeterministic", None),
    "close_fds": ("worker_lost", None), "garbage_record_fd": ("worker_lost", None),
    "heap_overflow": ("crashed", None), "malloc_endless": ("out_of_memory", None),
    "malloc_segv": ("out_of_memory", None), "loop": ("timeout", None), "sleep": ("timeout", None),
    "stop": ("timeout", None), "fork_endless": ("timeout", None),
}
SLOW = ("loop", "sleep", "stop", "fork_endless")  # they take a kernel's whole time, several times
FAT = ("malloc_endless", "malloc_segv")
# A heap that somebody damaged is noticed by whoever uses it next, if anybody does.
ALSO_RIGHT = {("heap_overflow", "ok")}


def choose_faults(random, is_small, without=()):
    fast = [f for f in RIGHT if f != "good" and f not in SLOW + FAT]
    slow = [f for f in SLOW if f not in without]
    faults = random.sample(fast, 6)
    if is_small:
        return faults
    if random.random() < 0.4:
        faults.append(random.choice(slow))
    if random.random() < 0.3:
        faults.append(random.choice(FAT))
    return faults


def write_job(base, random, is_small=False, without=()):
    faults = choose_faults(random, is_small, without)
    n_good, n_problems = random.randint(12, 20), 4 if is_small else random.randint(8, 14)
    if set(faults) & set(SLOW):
        n_problems = min(n_problems, 9)
    which = " or ".join(f"fault == '{f}'" for f in faults)
    path = os.path.join(base, "soak.json")
    with open(path, "w") as f:
        json.dump({"name": "soak", "why": "faults of every kind", "operator": "grouped_conv",
                   "kernels": [{"config": CONFIG,
                                "filter": f"fault == 'good' and copy < {n_good} or {which}"}],
                   "problems": [{"file": PROBLEMS, "sample": n_problems,
                                 "seed": random.randint(1, 1000)}],
                   "device": {"backend": "host"},
                   "measure": {"warmup_ms": 1, "max_ms": random.choice([10, 30, 60]),
                               "max_samples": 1000, "target_rse": 0, "contention": LAX},
                   "isolate": {"kernel_timeout_s": KERNEL_TIMEOUT_S, "memory_mib": 512,
                               "batch": random.choice([5, 20])}}, f, indent=1)
    return {"path": path, "cells": n_problems * (n_good + len(faults)), "faults": " ".join(faults)}


# ---- counting

def text(value):
    return value.decode().rstrip("\0")


def rows(path):
    """(problem, instance, name, outcome, code, alias) of /measurements."""
    import h5py  # not at the top: what judges rows is tested where there is no h5py
    with h5py.File(path, "r") as f:
        names = [text(n) for n in f["kernels"]["instance_name"]]
        return [(int(r["problem_id"]), int(r["instance_id"]), names[r["kernel"]],
                 text(r["outcome_text"]), int(r["status_code"]), int(r["representative_id"]))
                for r in f["measurements"][:]]


def fault_of(name):
    return name.split("_", 1)[1].rsplit("_", 1)[0]


def is_right(row, by_cell):
    _, _, name, outcome, code, alias = row
    fault = fault_of(name)
    if outcome == "aliased":  # another name of the same code: as that one did
        target = by_cell.get((row[0], alias))
        return target is not None and target[3] != "aliased" and fault_of(target[2]) == fault
    want, want_code = RIGHT[fault]
    if (fault, outcome) in ALSO_RIGHT:
        return True
    return outcome == want and want_code in (None, code)


def wrong_rows(table):
    by_cell = {r[:2]: r for r in table}
    return [r for r in table if not is_right(r, by_cell)]


def given_up(table):
    """Cells that cost three ranks are final by design; what they would have come to shows a retry."""
    return [r for r in wrong_rows(table) if r[3] == "worker_lost"]


def retry_given_up(sweep, seconds):
    sweep.start(extra=["--retry", "worker_lost"])
    sweep.proc.wait(timeout=seconds)
    sweep.orphans += sweep.clear()


def audit_errors(report):
    kinds = collections.Counter(e.split(":")[0] for e in report["errors"])
    return kinds["duplicate"] + kinds["several outcomes"], kinds["acknowledged but not on disk"], \
        kinds["started again"]


def count(sweep, is_whole, seconds):
    """What came of every cell of a finished sweep: {"sums": ..., "findings": [text]}."""
    findings = [] if is_whole else ["it did not become complete"]
    results = os.path.join(sweep.out, "results.h5")
    table = rows(results)
    n_given_up = len(given_up(table))
    if n_given_up:
        retry_given_up(sweep, seconds)
        table = rows(results)
    report = chaos.audit_report(sweep)
    cells = {r[:2] for r in table}
    twice, forgotten, again = audit_errors(report)
    sums = {"cells": sweep.cells, "lost": sweep.cells - len(cells),
            "duplicated": len(table) - len(cells) + twice, "wrong": len(wrong_rows(table)),
            "acknowledged, then lost": forgotten, "acknowledged, then measured again": again,
            "orphans": len(sweep.orphans) + len(sweep.processes()), "given up": n_given_up,
            "records": report["records"], "torn tails": report["torn_tails"],
            "segments": report["segments"]}
    for key in ("lost", "duplicated", "acknowledged, then lost",
                "acknowledged, then measured again", "orphans"):
        if sums[key]:
            findings.append(f"{sums[key]} {key}")
    findings += [f"wrong: {r[2]} {r[3]} {r[4]}" for r in wrong_rows(table)]
    if sweep.orphans:
        findings.append(f"survivors: {sweep.orphans}")
    if report["rc"] != 0 or report["cells"] != len(cells):
        findings.append(f"audit: {report['cells']} cells, {report['errors']}")
    problems = chaos.check_findings(sweep, sweep.args)
    if problems:
        findings.append(f"check: {problems}")
    return {"sums": sums, "findings": findings}


# ---- the report

def table_of(head, body):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(str(x) for x in row) + " |" for row in body])


def cores():
    return f"{os.cpu_count()} cores"


def report(args, tally, notes):
    s = tally.sums
    total = sum(tally.faults.values())
    parts = ["<!-- SPDX-License-Identifier: MIT -->", "# Reliability, as measured", "",
             f"`tests/soak.sh {args.minutes:g} {args.seed}` on {cores()}: {s['sweeps']} sweeps of "
             f"bad and good kernels, {s['cells']} cells, {total} faults, {s['segments']} lives of "
             "rank 0. This file is written by `--report`.", "",
             table_of(("what must be 0", "count"),
                      [(k, s[key]) for k, key in (
                          ("cells lost", "lost"), ("cells duplicated", "duplicated"),
                          ("cells with a wrong outcome", "wrong"),
                          ("acknowledged records lost", "acknowledged, then lost"),
                          ("acknowledged records measured again",
                           "acknowledged, then measured again"),
                          ("orphans", "orphans"))]), "",
             f"{s['given up']} cells cost three ranks and were given up, as they should; "
             "`--retry worker_lost` then brought their outcome. "
             f"{s['torn tails']} segments ended in mid-frame.", "",
             table_of(("fault", "injected"), sorted(tally.faults.items()) +
                      [("**all**", total)]), ""]
    for key, title in (("long", "Rank 0 through a long sweep"), ("scale", "Many ranks"),
                       ("hosts", "Hosts"), ("slurm", "Limit kill by Slurm"),
                       ("emulator", "GPU kernels on the emulator")):
        if key in notes:
            parts += [f"## {title}", "", notes[key], ""]
    if tally.findings:
        parts += ["## Findings", ""] + [f"* {x}" for x in tally.findings] + [""]
    return "\n".join(parts)
