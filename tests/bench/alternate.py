#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Two builds beside each other: is the present tree slower than another one?

usage: alternate.py --against TREE [--build DIR] [--pairs N] [--out FILE] [BENCH...]

TREE      another checkout, built into TREE/build
--build   this tree's build directory; default build
--pairs   how often each of the two runs each bench; default 7, at least 6
--out     the table goes to FILE as well
BENCH     journal gather startup harness-cost warm-20000 cold-tiny-gemm dispatch; default all, ten minutes

Both builds run the jobs of this tree, smaller than those of tests/bench/run.sh, each from a kernel cache
of its own. They run in turn: old new, new old, old new, ... so that a machine that becomes slower or
busier slows both. The result of a bench is the median over the pairs of new / old, of costs: below 1 is
faster. Its interval is that of two order statistics, which holds the true median with a probability of at
least 95 % whatever the distribution (binomial). cpu_s: user + system time of all processes of a run.

Exit: 0 no bench is slower by more than 3 % (lower end of its interval), 1 one is, 2 wrong usage, 3 a
bench failed. Needed: both trees' programs, and the targets bench_journal bench_gather dispatch_worker.
"""
import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time

import bench_dispatch

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
LIMIT = 1.03
IDLE = 0.9  # of all cores, before a run
PROGRAMS = ["ksweep", "ksweep-worker", "bench_journal", "bench_gather", "dispatch_worker"]
LAUNCH = ["mpirun", "--bind-to", "none", "--enable-recovery"] + (
    ["--allow-run-as-root"] if os.geteuid() == 0 else [])


class Build:
    """One of the two: its programs, the tree they come from, a kernel cache."""

    def __init__(self, name, tree, build, scratch):
        self.name, self.tree = name, tree
        self.bin, self.scratch = os.path.join(build, "bin"), os.path.join(scratch, name)
        self.cache, self.out = self.scratch + "/cache", self.scratch + "/run"
        os.makedirs(self.scratch)
        missing = [n for n in PROGRAMS if not os.access(self.program(n), os.X_OK)]
        if missing:
            print(f"alternate.py: {self.bin} lacks {' '.join(missing)}: cmake --build {build} --target "
                  f"{' '.join(missing)}", file=sys.stderr)
            sys.exit(3)

    def program(self, name):
        return os.path.join(self.bin, name)


def run(argv, **more):
    """(stdout, cpu_s, wall_s) of a program and of all that it has waited for."""
    with tempfile.TemporaryFile("w+") as said:
        begin = time.monotonic()
        process = subprocess.Popen(argv, stdout=said, stderr=subprocess.STDOUT, **more)
        _, status, usage = os.wait4(process.pid, 0)
        wall, process.returncode = time.monotonic() - begin, status
        said.seek(0)
        text = said.read()
    if status:
        sys.stderr.write("\n".join(text.splitlines()[-20:]) + "\n")
        print(f"alternate.py: '{' '.join(argv)}' fails", file=sys.stderr)
        sys.exit(3)
    return text, usage.ru_utime + usage.ru_stime, wall


def pairs_of(text):
    """{key: number} of lines "key value"; other lines are left out."""
    words = (line.split() for line in text.splitlines() if not line.startswith("#"))
    return {w[0]: float(w[1]) for w in words if len(w) == 2}


def remove(path):
    subprocess.run(["rm", "-rf", path], check=True)


def sampled_job(build, name, n_problems):
    """The path of tests/bench/data/NAME.json with at most n_problems of its problems."""
    with open(f"{HERE}/data/{name}.json") as f:
        job = json.load(f)
    job["kernels"] = [{"config": os.path.normpath(f"{HERE}/data/{k['config']}")} for k in job["kernels"]]
    job["problems"] = [dict(p, file=f"{HERE}/data/{p['file']}") for p in job["problems"]]
    if n_problems:
        job["problems"] = [dict(p, sample=n_problems, seed=1) for p in job["problems"]]
    path = f"{build.scratch}/{name}.json"
    with open(path, "w") as f:
        json.dump(job, f)
    return path


def sweep(build, job, n_ranks, launch=(), more=()):
    """Figures of one sweep, with cpu_s and sweep_s."""
    remove(build.out)
    launched = time.time_ns()
    _, cpu, wall = run(LAUNCH + ["-n", str(n_ranks), *launch, build.program("ksweep"), "run", job, "--out",
                                 build.out, "--cache", build.cache, *more])
    said = run([sys.executable, f"{build.tree}/tests/bench/figures.py", "sweep", build.out, str(launched)])
    return dict(pairs_of(said[0]), cpu_s=cpu, sweep_s=wall)


def warm(build, name, n_problems):
    job = sampled_job(build, name, n_problems)
    if not os.path.exists(f"{build.scratch}/{name}.built"):
        run([build.program("ksweep"), "build", job, "--cache", build.cache])
        open(f"{build.scratch}/{name}.built", "w").close()
    return job


def bench_cold_tiny_gemm(build):
    remove(build.cache)
    f = sweep(build, sampled_job(build, "tiny_gemm_cold", 0), 2)
    return {"sweep_s": f["sweep_s"], "cpu_s": f["cpu_s"]}


def bench_warm_20000(build):
    f = sweep(build, warm(build, "tiny_gemm_warm", 31), 2)
    return {"sweep_s": f["sweep_s"], "cpu_s": f["cpu_s"]}


def bench_harness_cost(build):
    f = sweep(build, warm(build, "null", 30), 2)
    return {"harness_ms_per_cell": 1e3 * f["harness_s"] / f["cells"],
            "worker_ms_per_cell": 1e3 * f["worker_s"] / f["cells"], "cpu_s": f["cpu_s"]}


def bench_startup(build):
    f = sweep(build, warm(build, "startup", 16), 8, ["--oversubscribe"], ["--oversubscribe"])
    return {"first_sample_s": f["to_first_sample_s"], "cpu_s": f["cpu_s"]}


def bench_gather(build):
    remove(build.scratch + "/gather")
    text, cpu, _ = run([build.program("bench_gather"), build.scratch + "/gather", "100", "300", "30"])
    f = pairs_of(text)
    return {"gather_s": f["gather_s"], "H5Dwrite_alone_s": f["raw_s"], "cpu_s": cpu}


def bench_journal(build):
    directory = build.scratch + "/journal"
    remove(directory)
    os.makedirs(directory)
    text, cpu, _ = run([build.program("bench_journal"), directory])
    rate = lambda head: float(next(line for line in text.splitlines() if line.startswith(head))
                              .split(" /s")[0].split()[-1])
    return {"append_us": 1e6 / rate("journal: encode"), "read_decode_us": 1e6 / rate("read back and decode"),
            "plain_write_us": 1e6 / rate("plain write"), "cpu_s": cpu}


def bench_rate_of_dispatch(build):
    where = build.scratch + "/dispatch"
    remove(where)
    os.makedirs(where)
    job = bench_dispatch.make_job(where, "fast", 0, 150, 2000)
    _, cpu, _ = run(LAUNCH + ["-n", str(bench_dispatch.RANKS), "--oversubscribe", build.program("ksweep"),
                              "run", job, "--out", build.out + "-d", "--max-time", "60s"],
                    env=dict(os.environ, KSWEEP_WORKER=build.program("dispatch_worker")))
    n, seconds, total = bench_dispatch.results(build.out + "-d")
    remove(build.out + "-d")
    return {"us_per_cell": 1e6 * seconds / n, "ack_p99_ms": total["ack_p99_us"] / 1e3,
            "cpu_us_per_cell": 1e6 * cpu / n}


BENCHES = {"journal": bench_journal, "gather": bench_gather, "startup": bench_startup,
           "harness-cost": bench_harness_cost, "warm-20000": bench_warm_20000,
           "cold-tiny-gemm": bench_cold_tiny_gemm, "dispatch": bench_rate_of_dispatch}

# Shown without a verdict: the machine's own cost of the same, and the slowest 1 % of few events.
BESIDE = {"H5Dwrite_alone_s", "plain_write_us", "ack_p99_ms"}


def settle():
    """Waits until nothing else runs, for 10 s at most; whether it does."""
    def ticks():
        with open("/proc/stat") as f:
            t = [int(w) for w in f.readline().split()[1:9]]
        return t[3] + t[4], sum(t)
    for _ in range(25):
        idle, every = ticks()
        time.sleep(0.4)
        idle2, every2 = ticks()
        if idle2 - idle >= IDLE * (every2 - every):
            return True
    return False


def interval(values, coverage=0.95):
    """Ends of the narrowest symmetric pair of order statistics that holds the median with `coverage`."""
    v, n = sorted(values), len(values)
    outside, at = 0.0, 0
    for k in range(n // 2):
        outside += 2 * math.comb(n, k) * 0.5 ** n
        if outside > 1 - coverage:
            break
        at = k
    return v[at], v[n - 1 - at]


def verdict(metric, low, high):
    if metric in BESIDE:
        return ""
    return "SLOWER" if low > LIMIT else "not slower" if high <= LIMIT else "undecided"


def measure(name, old, new, n_pairs):
    """Rows of the table of one bench, and the runs before which the machine was busy."""
    got, busy = {"old": [], "new": []}, 0
    for i in range(n_pairs):
        for build in (old, new) if i % 2 == 0 else (new, old):
            busy += not settle()
            got[build.name].append(BENCHES[name](build))
    rows = []
    for metric in got["old"][0]:
        o, n = ([f[metric] for f in got[b]] for b in ("old", "new"))
        ratios = [b / a for a, b in zip(o, n)]
        low, high = interval(ratios)
        rows.append(f"| {name} | {metric} | {statistics.median(o):.4g} | {statistics.median(n):.4g} | "
                    f"{statistics.median(ratios):.3f} | {low:.3f} to {high:.3f} | "
                    f"{verdict(metric, low, high)} |")
    return rows, busy


def head(args, old, new):
    with open("/proc/cpuinfo") as f:
        cpu = next(line.split(": ")[1].strip() for line in f if line.startswith("model name"))
    git = lambda tree: subprocess.run(["git", "-C", tree, "describe", "--always", "--dirty"],
                                      capture_output=True, text=True).stdout.strip() or "no repository"
    yield f"# tests/bench/alternate.py: {args.pairs} pairs; {cpu}, {os.cpu_count()} cores"
    yield f"# old: {git(old.tree)}, new: {git(new.tree)}"
    yield "| bench | cost | old | new | new / old | 95 % | slower by more than 3 %? |"
    yield "|---|---|---|---|---|---|---|"


def arguments(argv):
    p = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1][7:])
    p.add_argument("--against", required=True)
    p.add_argument("--build", default=os.path.join(ROOT, "build"))
    p.add_argument("--pairs", type=int, default=7)
    p.add_argument("--out")
    p.add_argument("bench", nargs="*", default=list(BENCHES))
    args = p.parse_args(argv)
    unknown = [b for b in args.bench if b not in BENCHES]
    if unknown:
        p.error(f"no bench '{unknown[0]}'; there are {' '.join(BENCHES)}")
    if args.pairs < 6:
        p.error("fewer than 6 pairs have no interval of 95 %")
    return args


def say(lines, out):
    for file in (sys.stdout, out) if out else (sys.stdout,):
        print("\n".join(lines), file=file, flush=True)


def main(argv):
    args = arguments(argv)
    out = open(args.out, "w") if args.out else None
    with tempfile.TemporaryDirectory() as scratch:
        os.environ["TMPDIR"] = scratch
        old = Build("old", os.path.abspath(args.against), os.path.join(args.against, "build"), scratch)
        new = Build("new", ROOT, os.path.abspath(args.build), scratch)
        lines, busy = list(head(args, old, new)), 0
        say(lines, out)
        for name in args.bench:
            rows, n = measure(name, old, new, args.pairs)
            lines, busy = lines + rows, busy + n
            say(rows, out)
    say([f"# the machine was busy before {busy} of {2 * args.pairs * len(args.bench)} runs"], out)
    return int(any(line.endswith("SLOWER |") for line in lines))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
