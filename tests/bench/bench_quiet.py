#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How quiet a sweep on all cores is, and what that is worth.

usage: bench_quiet.py KSWEEP DIR PAIRS    lines "key value"; DIR: an empty directory

Two cores are used, whatever there are, so that none is to spare:
  1. one sweep of `mpirun -n 2` is traced (wakes.py): wake-ups of each process within the workers' timed
     spans. Without ftrace, only what the ranks count themselves.
  2. PAIRS times, in alternating order: that sweep, and the same by two processes without MPI, one on each
     core with half of the problems. Every cell takes the same time, so both halves do.
  3. one worker alone, and beside another that measures on the other core: what is left of the neighbours'
     influence, when kernels are bound by the core, and when by memory.
"""
import json
import os
import statistics
import subprocess
import sys
import time

import wakes
from results import renamed

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CONFIG = ROOT + "/kernels/configs/host_forward_quick.json"
MEASURE = {"warmup_ms": 20, "max_ms": 300, "target_rse": 1e-9, "max_samples": 1000, "min_sample_us": 300}
FEW = [{"pipeline": "indirect", "vector_bytes": 64, "tile_m": 6, "tile_n": 4},
       {"pipeline": "direct", "vector_bytes": 64, "tile_m": 7, "tile_n": 4},
       {"pipeline": "pixels", "vector_bytes": 64, "tile_m": 12, "tile_n": 2}]
SHAPE = "grouped_conv,forward,fp32,nhwgc,2,1,1,{c},{k},1,{hw},{hw},1,{f},{f},1,1,1,1,1,1,0,{p},{p},0,{p},{p},1,{name}"
# Operands of 3 MB that are used 200 times each, and of 205 MB that are used once.
BOUND_BY = {"core": dict(c=256, k=256, hw=14, f=3, p=1, name="core"),
            "memory": dict(c=12544, k=4096, hw=1, f=1, p=0, name="memory")}
OTHER = {"core": "memory", "memory": "core"}


def two_cores():
    """One CPU of each of two physical cores."""
    said = subprocess.run(["lscpu", "--parse=CPU,CORE"], capture_output=True, text=True).stdout
    first = {}
    for line in said.splitlines():
        if not line.startswith("#"):
            cpu, core = line.split(",")
            if int(cpu) in os.sched_getaffinity(0):
                first.setdefault(core, int(cpu))
    if len(first) < 2:
        sys.exit("bench_quiet.py needs two cores")
    return sorted(first.values())[:2]


def write(path, text):
    with open(path, "w") as f:
        f.write(text)
    return path


class Bench:
    def __init__(self, ksweep, where, n_pairs):
        self.ksweep, self.dir, self.n_pairs = ksweep, where, n_pairs
        self.cpus = two_cores()
        self.cache = where + "/cache"
        with open(ROOT + "/jobs/problems/quickstart.csv") as f:
            self.header, *rows = f.read().splitlines()
        self.all = self.job("all", CONFIG, rows, MEASURE)
        self.halves = [self.job(f"half{i}", CONFIG, rows[i::2], MEASURE) for i in (0, 1)]
        config = {"family": ROOT + "/kernels/host/gconv_fwd.family.json", "why": "a few", "instances": FEW}
        few = write(where + "/few.json", json.dumps(config))
        self.bound = {k: self.job(k, few, [SHAPE.format(**v)], dict(MEASURE, max_ms=400, contention={
            "retries": 0, "switches_per_s": 1e9, "stolen": 1, "canary": 100})) for k, v in BOUND_BY.items()}
        for job in [self.all] + list(self.bound.values()):
            self.check(self.start(["build", job]))

    def job(self, name, config, rows, measure):
        write(f"{self.dir}/{name}.csv", "\n".join([self.header] + rows) + "\n")
        return write(f"{self.dir}/{name}.json", json.dumps({
            "name": name, "why": "two cores", "operator": "grouped_conv", "kernels": [{"config": config}],
            "problems": [{"file": f"{self.dir}/{name}.csv"}], "measure": measure,
            "isolate": {"batch": 20, "kernel_timeout_s": 30, "memory_mib": 8192}}))

    def start(self, args, cpus=None, ranks=0):
        """A ksweep command on these CPUs."""
        root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
        launch = ["mpirun", "-n", str(ranks), "--bind-to", "none", "--enable-recovery"] + root if ranks else []
        cpus = ",".join(map(str, cpus or self.cpus))
        return subprocess.Popen(["taskset", "-c", cpus] + launch + [self.ksweep] + args + ["--cache", self.cache],
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def sweep(self, job, name, cpus=None, ranks=0):
        subprocess.run(["rm", "-rf", f"{self.dir}/{name}"])
        return self.start(["run", job, "--out", f"{self.dir}/{name}"], cpus, ranks)

    def check(self, process):
        said = process.communicate()[0]
        if process.returncode > 1:
            sys.exit(said.decode())

    def rows(self, name):
        import h5py

        with h5py.File(f"{self.dir}/{name}/results.h5") as f:
            return [renamed(f[name][:]) for name in ("measurements", "attempts", "events")]

    # --- 1

    def count(self):
        offset = time.time_ns() - time.monotonic_ns()
        trace = None
        try:
            with wakes.Trace() as trace:
                process = self.sweep(self.all, "traced", ranks=2)
                self.check(process)
        except wakes.Unavailable as e:
            print(f"# no ftrace: {e}")
            self.check(self.sweep(self.all, "traced", ranks=2))
        cells, attempts, events = self.rows("traced")
        timed = attempts[attempts["n_samples"] > 0]
        span_s = float(timed["span_ns"].sum(dtype="f8")) * 1e-9
        print("cells_per_s", len(timed) / span_s)
        print("attempts_per_cell", float((timed["role"] == 0).sum()) / max(1, sum(cells["n_samples"] > 0)))
        print("contaminated_cells", int(((cells["outcome_flags"] & 1) != 0).sum()))
        print("switches_per_s", float(timed["involuntary_switches"].sum(dtype="f8")) / span_s)
        for e in events[events["kind_text"] == b"rank_summary"]:
            v = {k: int(n) for k, n in (w.split("=") for w in e["text"].decode().split())}
            for key in ("wakes", "switches", "warden_wakes"):
                print(f"own_{key}_per_s_{e['mpi_rank']}", v[key] / (v["timing_ns"] * 1e-9))
        if trace and trace.n_lost == 0:
            self.print_trace(trace, process.pid, timed, offset)

    def print_trace(self, trace, launcher, timed, offset):
        of = wakes.roles(trace.events, launcher)
        end_ns = timed["started_ns"].astype("i8") + timed["wall_ns"].astype("i8") - offset
        until = (end_ns - timed["tolerance_check_ns"].astype("i8")) * 1e-9
        since = until - timed["timing_ns"] * 1e-9
        spans = {int(r): wakes.merge(zip(since[timed["mpi_rank"] == r], until[timed["mpi_rank"] == r]))
                 for r in set(timed["mpi_rank"])}
        spans["all"] = wakes.merge(tuple(s) for r in list(spans) for s in spans[r])
        worker_of = {int(r["pid"]): int(r["mpi_rank"]) for r in timed}
        rank_of = {rank: worker_of[pid] for pid, (kind, rank) in of.items()
                   if kind == "worker" and pid in worker_of}
        n = {}
        for at, event, field, _ in trace.events:
            if event == "sched_wakeup" and int(field["pid"]) in of:
                kind, rank = of[int(field["pid"])]
                key = (kind, "all" if kind == "mpirun" else rank_of.get(rank))
                n.setdefault(key, []).append(at)
        for (kind, rank), times in sorted(n.items(), key=str):
            if kind != "worker" and rank in spans:
                whole = sum(b - a for a, b in spans[rank])
                print(f"wakes_per_s_{kind}_{rank}", wakes.count_in(times, spans[rank]) / whole)

    # --- 2

    def wall(self, what):
        start = time.monotonic()
        if what == "ranks":
            self.check(self.sweep(self.all, "ranks", ranks=2))
        else:
            both = [self.sweep(j, f"half{i}", [c]) for i, (j, c) in enumerate(zip(self.halves, self.cpus))]
            for process in both:
                self.check(process)
        return time.monotonic() - start

    def pair(self):
        for i in range(self.n_pairs):
            order = ["ranks", "halves"] if i % 2 else ["halves", "ranks"]
            took = {what: self.wall(what) for what in order}
            print("ranks_s", took["ranks"])
            print("halves_s", took["halves"])

    # --- 3

    def times(self, kind, beside):
        """{instance: median ns} on the first core, while `beside` (None: nothing) runs on the second."""
        other = None
        if beside:
            other = self.sweep(self.long[beside], "beside", [self.cpus[1]])
            while not os.path.exists(f"{self.dir}/beside/journal"):
                time.sleep(0.1)
            time.sleep(2.5)  # inputs and references: then it measures
        self.check(self.sweep(self.bound[kind], "alone", [self.cpus[0]]))
        if other:
            if other.poll() is not None:
                sys.exit("bench_quiet.py: the neighbour ended before: " + other.stdout.read().decode())
            other.terminate()
            other.communicate()
        cells = self.rows("alone")[0]
        return {int(c["instance_id"]): float(c["time_median_ns"]) for c in cells if c["n_samples"] > 0}

    def neighbours(self):
        self.long = {}
        for kind, shape in BOUND_BY.items():
            self.long[kind] = self.job("long_" + kind, self.dir + "/few.json", [SHAPE.format(**shape)],
                                       dict(MEASURE, max_ms=20000, max_samples=1000, min_sample_us=20000))
        ratios = {}
        for _ in range(3):
            for kind in BOUND_BY:
                alone = self.times(kind, None)
                for beside in (kind, OTHER[kind]):
                    got = self.times(kind, beside)
                    ratios.setdefault((kind, beside), []).extend(got[i] / alone[i] for i in got if i in alone)
        for (kind, beside), r in sorted(ratios.items()):
            print(f"beside_{kind}_{beside}", statistics.median(r))
            print(f"beside_{kind}_{beside}_max", max(r))


def main(argv):
    if len(argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    sys.stdout.reconfigure(line_buffering=True)
    bench = Bench(argv[0], argv[1], int(argv[2]))
    bench.count()
    bench.pair()
    bench.neighbours()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
