#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Sweeps of bad and good kernels for so many minutes while everything around them is broken.

usage: soak.py --bin DIR --out DIR --minutes M [--seed S] [--report FILE] [--only PART,...]
               [--small]

Parts: scale (256 ranks, 200,000 cells), long (one sweep through the whole time, whose rank 0 is
watched), zoo (one machine), hosts (network namespaces), slurm (a real limit kill), emulator (every
instance of the GPU families against the reference, without faults). After every sweep
of zoo and hosts: the audit of its journal, `ksweep check`, and a count of the rows of results.h5 of
its own. Exit 1 when a cell was lost, duplicated or wrong, when a process survived or when rank 0
grew; the directory of such a sweep is kept.
"""
import argparse
import collections
import os
import random
import shutil
import signal
import subprocess
import sys
import time
import traceback

import chaos
import soak_count
import soak_faults
import soak_hosts
import soak_long
from soak_place import Place

PARTS = ("scale", "long", "zoo", "hosts", "slurm", "emulator")
FAULTS_A_SWEEP = (4, 9)
FINISH_S = 900


class Sweep(chaos.Sweep):
    """A sweep whose directory lies on a file system that can break."""

    def __init__(self, args, job, place):
        super().__init__(args, job)
        self.place, self.orphans = place, []
        self.out = os.path.join(place.path, "sweep")

    def environment(self):
        return dict(super().environment(), **self.place.environment())

    def close(self):
        if self.proc:
            self.clear()


class Tally:
    def __init__(self):
        self.faults = collections.Counter()
        self.missed = collections.Counter()
        self.sums = collections.Counter()
        self.findings = []

    def add(self, where, count):
        """One sweep's count (soak_count.count)."""
        self.sums["sweeps"] += 1
        for key, value in count["sums"].items():
            self.sums[key] += value
        self.findings += [f"{where}: {x}" for x in count["findings"]]

    def is_good(self):
        return not self.findings


def say(text):
    print(time.strftime("%H:%M:%S ") + text, flush=True)


def choose(table, end):
    names = [row for row in table for _ in range(row[1])]
    while time.time() < end:
        yield random.choice(names)


def break_and_finish(sweep, table, tally, end):
    """Faults until there are enough, or too little is left to break; then resumes to the end."""
    left = random.randint(*FAULTS_A_SWEEP)
    for name, _, fault in choose(table, end):
        if left == 0 or sweep.acked() >= 0.8 * sweep.cells:
            break
        hit = fault(sweep, sweep.place, random)
        (tally.faults if hit else tally.missed)[name] += 1
        say(f"  {name}: {'done' if hit else 'missed'}, {sweep.acked()} of {sweep.cells} "
            "acknowledged")
        left -= hit
    if sweep.proc:
        sweep.orphans += sweep.clear()
    return chaos.finish(sweep, sweep.args, FINISH_S)


def episode(args, tally, number, kind):
    """One sweep from its first cell to its audit."""
    base = os.path.join(args.top, f"{kind}-{number}")
    os.makedirs(base)
    args = argparse.Namespace(**dict(vars(args), out=base))
    place = Place(base)
    table = soak_faults.ZOO if kind == "zoo" else soak_hosts.FAULTS
    make = Sweep if kind == "zoo" else soak_hosts.sweep_class(Sweep)
    before = len(tally.findings)
    sweep = None
    try:
        # A host that is thawed continues a kernel that has stopped itself: rightly `ok`, then.
        without = () if kind == "zoo" else ("stop",)
        sweep = make(args, soak_count.write_job(base, random, args.small, without), place)
        say(f"{kind} {number}: {sweep.cells} cells on {place.kind}: {sweep.job['faults']}")
        is_whole = break_and_finish(sweep, table, tally, args.end)
        tally.add(f"{kind}-{number}", soak_count.count(sweep, is_whole, FINISH_S))
    except Exception as error:  # a fault of the soak itself is a finding, not the end
        tally.findings.append(f"{kind}-{number}: {error!r}")
        traceback.print_exc()
    finally:
        if sweep:
            sweep.close()
            sweep.log.close()
        is_bad = len(tally.findings) > before
        if is_bad and os.path.isdir(os.path.join(place.path, "sweep")):
            shutil.copytree(os.path.join(place.path, "sweep"), os.path.join(base, "kept"))
        place.close()
    if is_bad:
        say(f"  kept in {base}: {tally.findings[before:]}")
    else:
        shutil.rmtree(base)


def run_kinds(args, tally, notes):
    """zoo and hosts, until the time is over."""
    reason = soak_hosts.unable()
    if reason and "hosts" in args.only:
        say(f"no faults of hosts: {reason}")
        notes["hosts"] = f"Not tried: {reason}."
    kinds = ["zoo"] * (2 * ("zoo" in args.only))
    if "hosts" in args.only and not reason:
        kinds.append("hosts")
    number = 0
    while kinds and time.time() < args.end:
        episode(args, tally, number + 1, kinds[number % len(kinds)])
        number += 1
    while time.time() < args.end:
        time.sleep(1)


def run_parts(args, tally):
    notes = {}
    if "scale" in args.only:
        notes["scale"] = soak_long.scale(args, tally, say)
    args.end = time.time() + args.minutes * 60
    sweep = soak_long.start(args, say) if "long" in args.only else None
    try:
        run_kinds(args, tally, notes)
        if sweep:
            notes["long"] = soak_long.finish(sweep, args, tally, say)
    finally:
        if sweep:
            sweep.clear()
    if "slurm" in args.only:
        notes["slurm"] = slurm_parts(args, tally)
    if "emulator" in args.only:
        notes["emulator"] = emulator(args, tally)
    return notes


def emulator(args, tally):
    script = os.path.join(chaos.HERE, "..", "kernels.sh")
    res = subprocess.run(["bash", script, "--build", os.path.dirname(args.bin), "gpu"],
                         capture_output=True, text=True)
    print(res.stdout, res.stderr)
    if res.returncode != 0:
        tally.findings.append("emulator: " + res.stdout.strip().replace("\n", "; "))
    return "`tests/kernels.sh gpu`:\n\n" + "".join(
        f"    {line}\n" for line in res.stdout.splitlines() if not line.startswith(" "))


def slurm_parts(args, tally):
    script = os.path.join(chaos.HERE, "..", "slurm.sh")
    if not os.path.exists(script):
        return "Not tried: there is no tests/slurm.sh."
    res = subprocess.run(["bash", script, "starts", "limit-kill"], capture_output=True, text=True,
                         env=dict(os.environ, KSWEEP_BIN=args.bin))
    print(res.stdout, res.stderr)
    if res.returncode == 77:
        return "Not tried: " + (res.stdout + res.stderr).strip().splitlines()[-1]
    if res.returncode != 0:
        tally.findings.append("slurm: starts or limit-kill failed")
    return f"`tests/slurm.sh starts limit-kill`: {'passed' if res.returncode == 0 else 'failed'}."


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--bin", required=True)
    p.add_argument("--out", required=True)
    p.add_argument("--minutes", type=float, required=True)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--np", type=int, default=4)
    p.add_argument("--report")
    p.add_argument("--small", action="store_true", help="few cells a sweep, none that takes long")
    p.add_argument("--only", default=",".join(PARTS), type=lambda text: text.split(","))
    args = p.parse_args()
    args.bin, args.top = os.path.abspath(args.bin), os.path.abspath(args.out)
    random.seed(args.seed)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    os.makedirs(args.top, exist_ok=True)
    tally = Tally()
    notes = run_parts(args, tally)
    text = soak_count.report(args, tally, notes)
    print(text)
    if args.report:
        with open(args.report, "w") as f:
            f.write(text)
    return 0 if tally.is_good() else 1


if __name__ == "__main__":
    sys.exit(main())
