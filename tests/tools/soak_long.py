# SPDX-License-Identifier: MIT
"""Sweeps of the simulated device: one through the whole soak, whose rank 0 is watched while workers
die and ranks freeze, and one of 256 ranks."""
import collections
import json
import os
import random
import signal
import statistics
import threading
import time

import chaos
import soak_count
import soak_faults

SCALE_RANKS, SCALE_CELLS = 256, 200_000
COPIES = 40
LONG_RANKS = 4
CELLS_A_MINUTE = 12_000  # more than the ranks of the long sweep can measure
EVERY_S = 2
N_ENDS = 10                # samples that stand for the beginning and for the end
BYTES_A_CELL = 256         # what rank 0 may come to hold of a cell that has an outcome
BYTES_MORE = 16 << 20      # and what besides


def write_problems(path, n):
    with open(soak_count.PROBLEMS) as f:
        head = f.readline()
    with open(path, "w") as f:
        f.write(head)
        for i in range(n):
            c, h, w = 4 * (1 + i // 400), 4 + i // 20 % 20, 4 + i % 20
            f.write(f"grouped_conv,forward,fp32,nhwgc,2,1,1,{c},8,1,{h},{w},1,3,3,1,1,1,1,1,1,"
                    f"0,1,1,0,1,1,1,p {i}\n")


def write_job(base, cells, arch):
    path = os.path.join(base, "sim.json")
    with open(os.path.join(base, "copies.json"), "w") as f:
        json.dump({"family": soak_count.CONFIG.replace(".json", ".family.json"), "why": "copies",
                   "instances": [{"fault": "good", "copy": list(range(COPIES))}]}, f)
    write_problems(os.path.join(base, "problems.csv"), cells // COPIES)
    with open(path, "w") as f:
        json.dump({"name": "sim", "why": "a sweep that lasts", "operator": "grouped_conv",
                   "kernels": [{"config": os.path.join(base, "copies.json")}],
                   "problems": [{"file": os.path.join(base, "problems.csv")}],
                   "device": {"backend": "sim", "arch": arch},
                   "measure": {"warmup_ms": 0, "max_ms": 10, "min_samples": 5, "max_samples": 5,
                               "contention": soak_count.LAX},
                   "verify": {"exact": False, "elementwise": False}}, f)
    return {"path": path, "cells": cells // COPIES * COPIES}


class SimSweep(chaos.Sweep):
    """lost_after: MPI alone starts slowly with many ranks."""

    def __init__(self, args, job, lost_after):
        super().__init__(args, job)
        self.lost_after, self.orphans, self.samples, self.rank0 = lost_after, [], [], None

    def product(self, extra):
        cmd = super().product(extra)
        cmd[cmd.index("--lost-after") + 1] = self.lost_after
        return cmd

    def sample(self):
        """(seconds, descriptors, resident bytes) of rank 0."""
        if not self.rank0:
            self.rank0 = chaos.find_target(self, "rank0", "timing")
        try:
            n = len(os.listdir(f"/proc/{self.rank0}/fd"))
            with open(f"/proc/{self.rank0}/status") as f:
                rss = next(int(line.split()[1]) << 10 for line in f if line.startswith("VmRSS"))
            self.samples.append((time.time(), n, rss))
        except (OSError, StopIteration):
            pass

    def audit(self, tally, name):
        """The parts of a count that hold for a sweep that was ended before it was complete too."""
        report = chaos.audit_report(self)
        self.orphans += self.processes()
        for text in report["errors"] + [f"survivor {p}" for p in self.orphans]:
            tally.findings.append(f"{name}: {text}")
        twice, forgotten, again = soak_count.audit_errors(report)
        tally.sums.update({"duplicated": twice, "acknowledged, then lost": forgotten,
                           "acknowledged, then measured again": again,
                           "orphans": len(self.orphans)})
        wrong = sum(n for outcome, n in report["outcomes"].items() if outcome != "ok")
        tally.sums["wrong"] += wrong
        if wrong:
            tally.findings.append(f"{name}: {report['outcomes']}")
        problems = chaos.check_findings(self, self.args)
        if problems:
            tally.findings.append(f"{name}: {problems}")
        return report


def namespace(args, name, np):
    base = os.path.join(args.top, name)
    os.makedirs(base)
    return type(args)(**dict(vars(args), out=base, np=np))


# ---- 256 ranks

def scale(args, tally, say):
    args = namespace(args, "scale", SCALE_RANKS)
    job = write_job(args.out, SCALE_CELLS, "seed=1,ns=20000")
    sweep = SimSweep(args, job, "300s")
    began = time.time()
    sweep.start()
    try:
        while sweep.alive():
            sweep.sample()
            time.sleep(1)
        seconds = time.time() - began
    finally:
        sweep.orphans += sweep.clear()
    report = sweep.audit(tally, "scale")
    if report["cells"] != job["cells"]:
        tally.findings.append(f"scale: {report['cells']} of {job['cells']} cells")
        tally.sums["lost"] += job["cells"] - report["cells"]
    with open(os.path.join(sweep.out, "log")) as f:
        n_lines = sum(1 for _ in f)
    files = sum(len(names) for _, _, names in os.walk(sweep.out))
    say(f"scale: {report['cells']} cells by {SCALE_RANKS} ranks in {seconds:.0f} s")
    return (f"{report['cells']} of {job['cells']} cells by {SCALE_RANKS} ranks of the simulated "
            f"device on {soak_count.cores()} in {seconds:.0f} s from launch to results.h5; rank 0: "
            f"{max(s[1] for s in sweep.samples)} file descriptors, "
            f"{max(s[2] for s in sweep.samples) >> 20} MiB; {files} files in the run's directory, "
            f"{n_lines} lines in its log.")


# ---- one sweep through the whole time

# name, what the process is called, whether it is rank 0's (None: whatever), how it is hurt
FAULTS = [("worker killed beside a long sweep", "ksweep-worker", None, signal.SIGKILL),
          ("rank frozen beside a long sweep", "ksweep", False, signal.SIGSTOP)]


def hurt(pid, signo, dice):
    try:
        os.kill(pid, signo)
        if signo == signal.SIGSTOP:
            time.sleep(dice.uniform(0.2, 1.5))
            os.kill(pid, signal.SIGCONT)
    except ProcessLookupError:
        pass


def watch(sweep, counts):
    """Not `random` itself: what the other sweeps draw must follow from the seed alone."""
    dice, next_s = random.Random(1), time.time() + 5
    while sweep.alive() and not sweep.is_over.is_set():
        sweep.sample()
        if time.time() >= next_s:
            name, comm, is_rank0, signo = dice.choice(FAULTS)
            pid = soak_faults.pick(sweep, dice, comm, is_rank0)
            if pid:
                hurt(pid, signo, dice)
                counts[name] += 1
            next_s = time.time() + dice.uniform(5, 30)
        sweep.is_over.wait(EVERY_S)


def start(args, say):
    cells = int(max(1, args.minutes)) * CELLS_A_MINUTE
    args = namespace(args, "long", LONG_RANKS)
    sweep = SimSweep(args, write_job(args.out, cells, "seed=2,ns=20000,sleep_us=10000"), "60s")
    sweep.is_over, sweep.counts = threading.Event(), collections.Counter()
    sweep.start()
    sweep.thread = threading.Thread(target=watch, args=(sweep, sweep.counts), daemon=True)
    sweep.thread.start()
    say(f"long: a sweep of {cells} simulated cells begins")
    return sweep


def ends(samples, i):
    """Medians of the first samples (without the start itself) and of the last ones."""
    first, last = samples[N_ENDS:2 * N_ENDS], samples[-N_ENDS:]
    return (statistics.median_low([s[i] for s in first]),
            statistics.median_low([s[i] for s in last]))


def finish(sweep, args, tally, say):
    """It is told to end in order; then it is counted."""
    sweep.is_over.set()
    sweep.thread.join()
    n_acked = sweep.acked()
    if sweep.alive():
        soak_faults.signaller(signal.SIGTERM)(sweep, None, random)
    tally.faults.update(sweep.counts)
    report = sweep.audit(tally, "long")
    say(f"long: {n_acked} cells acknowledged")
    if len(sweep.samples) < 3 * N_ENDS:
        tally.findings.append(f"long: only {len(sweep.samples)} samples of rank 0")
        return "too few samples of rank 0"
    fds, rss = ends(sweep.samples, 1), ends(sweep.samples, 2)
    hours = (sweep.samples[-1][0] - sweep.samples[0][0]) / 3600
    if fds[1] > fds[0] + 1:
        tally.findings.append(f"long: rank 0 had {fds[0]} descriptors, has {fds[1]}")
    if rss[1] - rss[0] > BYTES_MORE + BYTES_A_CELL * report["cells"]:
        tally.findings.append(f"long: rank 0 had {rss[0]} bytes, has {rss[1]}")
    return soak_count.table_of(
        ("rank 0", "at the beginning", "at the end"),
        [("file descriptors", fds[0], fds[1]),
         ("resident memory, MiB", f"{rss[0] / 2**20:.1f}", f"{rss[1] / 2**20:.1f}")]) + (
        f"\n\nOver {hours:.2f} h, {report['cells']} cells of the simulated device and "
        f"{sum(sweep.counts.values())} faults; "
        f"{(rss[1] - rss[0]) / max(1, report['cells']):.0f} bytes a cell.")
