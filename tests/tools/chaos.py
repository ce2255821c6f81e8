#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Kill parts of a sweep with SIGKILL at random moments until it is complete, then audit it.

usage: chaos.py --bin DIR --out DIR [--seed S] [--kills N] [--plan TARGET/PHASE,...] [--np N]
                [--problems N]

One sweep, many kills: after each kill that ends the run it is resumed. A kill counts only if its
target was alive and some cells were acknowledged and some not. Prints one line a kill (seed, target,
phase, acknowledged cells) and fails if a planned target or phase got none, if a cell is not there
exactly once at the end, or if an acknowledged record was measured again (journal_audit.py).
"""
import argparse
import collections
import json
import os
import random
import signal
import subprocess
import sys
import time
import uuid

HERE = os.path.dirname(os.path.abspath(__file__))
POINTS = {"write": "before_write", "fsync": "before_fsync", "ack": "before_ack",
          "gather": "gather", "rename": "rename"}
ALL = ["worker/timing", "warden/timing", "rank/timing", "rank/idle", "mpirun/timing",
       "rank0/timing", "rank0/write", "rank0/fsync", "rank0/ack", "rank0/gather", "rank0/rename"]


class Sweep:
    def __init__(self, args, job):
        self.args, self.job = args, job
        self.out = os.path.join(args.out, "sweep")
        self.acks = os.path.join(args.out, "acks")
        self.mark = "KSWEEP_MARK=" + uuid.uuid4().hex
        self.cells = job["cells"]
        self.log = open(os.path.join(args.out, "run.log"), "ab")
        self.proc = None

    def command(self, extra):
        cmd = ["mpirun", "-n", str(self.args.np), "--oversubscribe", "--bind-to", "none",
               "--enable-recovery"]
        if os.geteuid() == 0:
            cmd.append("--allow-run-as-root")
        return cmd + self.product(extra)

    def product(self, extra):
        cmd = [os.path.join(self.args.bin, "ksweep"), "run", self.job["path"], "--out", self.out,
               "--lost-after", "2s"]
        if os.path.isdir(self.out):
            cmd.append("--resume")
        return cmd + extra

    def environment(self):
        env = dict(os.environ)
        key, value = self.mark.split("=")
        env[key] = value
        env["KSWEEP_ACK_LOG"] = self.acks
        env["OMPI_MCA_rmaps_base_oversubscribe"] = "1"
        env.pop("KSWEEP_CHAOS", None)
        return env

    def start(self, chaos=None, extra=()):
        env = self.environment()
        if chaos:
            env["KSWEEP_CHAOS"] = chaos
        self.proc = subprocess.Popen(self.command(list(extra)), env=env, stdin=subprocess.DEVNULL,
                                     stdout=self.log, stderr=self.log)

    def processes(self):
        """(kind, rank, pid) of everything alive that this sweep started."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/environ", "rb") as f:
                    env = f.read().split(b"\0")
                with open(f"/proc/{pid}/stat") as f:
                    stat = f.read()
            except OSError:
                continue
            if self.mark.encode() not in env or stat.rsplit(")", 1)[1].split()[0] == "Z":
                continue
            comm = stat[stat.index("(") + 1:stat.rindex(")")]
            rank = next((int(e.split(b"=")[1]) for e in env
                         if e.startswith(b"OMPI_COMM_WORLD_RANK=")), -1)
            found.append((comm, rank, int(pid)))
        return found

    def acked(self):
        """Cells with an acknowledged record, whichever attempt."""
        try:
            with open(self.acks, "rb") as f:
                return len({tuple(line.split()[:3]) for line in f if line.endswith(b"\n")})
        except OSError:
            return 0

    def alive(self):
        return self.proc.poll() is None

    def clear(self):
        """End what is left of this incarnation; everything must die with its parents."""
        deadline = time.time() + 12
        if self.alive():
            self.proc.kill()
        while self.processes() and time.time() < deadline:
            time.sleep(0.05)
        left = self.processes()
        for _, _, pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass
        self.proc.wait()
        return left


def find_target(sweep, target, phase):
    procs = sweep.processes()
    if target == "mpirun":
        return sweep.proc.pid if sweep.alive() else None
    if target == "rank0":
        return next((p for c, r, p in procs if c == "ksweep" and r == 0), None)
    if target in ("worker", "warden"):
        hits = [p for c, r, p in procs if c == "ksweep-" + target]
        return random.choice(hits) if hits else None
    measuring = {r for c, r, p in procs if c == "ksweep-worker"}
    ranks = [(r, p) for c, r, p in procs if c == "ksweep" and r > 0]
    hits = [p for r, p in ranks if (r in measuring) == (phase == "timing")]
    return random.choice(hits) if hits else None


def wait_for_cells(sweep, least, seconds):
    deadline = time.time() + seconds
    while sweep.alive() and time.time() < deadline and sweep.acked() < least:
        time.sleep(0.01)


def kill_once(sweep, target, phase):
    """True when the kill counts."""
    before = sweep.acked()
    if phase in POINTS:
        n = 1 if phase in ("gather", "rename") else random.randint(3, 12)
        extra = ["--max-time", "1500ms"] if phase in ("gather", "rename") else []
        if sweep.proc and sweep.alive():  # goes on after the kill of a worker, warden or rank
            sweep.clear()
        sweep.start(f"{POINTS[phase]}:{n}@0", extra)
        seen = None
        deadline = time.time() + 30
        while time.time() < deadline and sweep.alive():
            pid = find_target(sweep, "rank0", "timing")
            if pid is None and seen is not None:
                break
            seen = pid or seen
            time.sleep(0.02)
        hit = seen is not None and find_target(sweep, "rank0", "timing") is None
        left = sweep.clear()
        return hit and 0 < sweep.acked() < sweep.cells, left
    if not sweep.proc or not sweep.alive():
        sweep.start()
    wait_for_cells(sweep, before + random.randint(5, 40), 20)
    time.sleep(random.random() * 0.2)
    pid = None
    for _ in range(100):
        pid = find_target(sweep, target, phase)
        if pid or not sweep.alive():
            break
        time.sleep(0.01)
    if not pid:
        return False, []
    acked = sweep.acked()
    try:
        os.kill(pid, signal.SIGKILL)
    except OSError:
        return False, []
    counts = 0 < acked < sweep.cells
    left = []
    if target in ("mpirun", "rank0"):
        time.sleep(random.random() * 0.1)
        left = sweep.clear()
    return counts, left


def audit_report(sweep):
    """What journal_audit.py says, with its exit status as "rc"."""
    cmd = [sys.executable, os.path.join(HERE, "journal_audit.py"), sweep.out, "--acked", sweep.acks]
    res = subprocess.run(cmd, capture_output=True, text=True)
    return dict(json.loads(res.stdout), rc=res.returncode)


def check_findings(sweep, args):
    """What `ksweep check` finds, "" when all is well."""
    check = subprocess.run([os.path.join(args.bin, "ksweep"), "check", sweep.out],
                           capture_output=True, text=True)
    return "" if check.returncode == 0 else check.stdout + check.stderr


def audit(sweep, args):
    report = audit_report(sweep)
    ok = report["rc"] == 0 and report["cells"] == sweep.cells
    if not ok:
        print(report)
    findings = check_findings(sweep, args)
    print(findings, end="")
    return ok and not findings


def finish(sweep, args, seconds=120):
    """Resumes until every cell has its outcome; True when that was reached. A run that hangs is
    given one more chance."""
    n_hangs = 0
    for _ in range(12):
        sweep.start()
        try:
            sweep.proc.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            print(f"not finished after {seconds} s")
            n_hangs += 1
        sweep.clear()
        code = subprocess.run([os.path.join(args.bin, "ksweep"), "status", sweep.out,
                               "--exit-code"]).returncode
        if code in (0, 1):
            return True
        if n_hangs == 2:
            return False
    return False


def write_job(args):
    job = os.path.join(args.out, "chaos.json")
    good, copies = (os.path.abspath(os.path.join(HERE, "..", "fake", name))
                    for name in ("bad_kernels.json", "alias.json"))
    problems = os.path.abspath(os.path.join(HERE, "..", "data", "chaos.csv"))
    with open(problems) as f:
        lines = f.readlines()
    n = min(args.problems, len(lines) - 1)
    with open(os.path.join(args.out, "problems.csv"), "w") as f:
        f.writelines(lines[:n + 1])
    with open(job, "w") as f:
        json.dump({"name": "chaos", "why": "kills at random moments", "operator": "grouped_conv",
                   "kernels": [{"config": good, "filter": "fault == 'good'"},
                               {"config": copies, "filter": "fault == 'none' and split_k == 1"}],
                   "problems": [{"file": "problems.csv"}],
                   "device": {"backend": "host"},
                   "measure": {"warmup_ms": 1, "max_ms": args.cell_ms, "max_samples": 1000,
                               "target_rse": 0, "alias_control": 0.1,
                               "contention": {"retries": 0, "switches_per_s": 1e6, "stolen": 1,
                                              "canary": 100}},
                   "isolate": {"kernel_timeout_s": 5}}, f)
    return {"path": job, "cells": n * (20 + 6)}  # four of the six are aliases


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--bin", required=True)
    p.add_argument("--out", required=True)
    p.add_argument("--seed", type=int, default=int(time.time()))
    p.add_argument("--kills", type=int, default=0)
    p.add_argument("--plan", default="")
    p.add_argument("--np", type=int, default=4)
    p.add_argument("--problems", type=int, default=50)
    p.add_argument("--cell-ms", type=int, default=8)
    args = p.parse_args()
    random.seed(args.seed)
    os.makedirs(args.out, exist_ok=True)
    plan = [x for x in args.plan.split(",") if x] or list(ALL)
    while len(plan) < args.kills:
        plan.append(random.choice(ALL))
    if args.kills:
        random.shuffle(plan)
    sweep = Sweep(args, write_job(args))
    counted = collections.Counter()
    failed = False
    sweeps = 1
    for i, step in enumerate(plan):
        target, phase = step.split("/")
        for attempt in range(6):
            counts, left = kill_once(sweep, target, phase)
            print(f"seed {args.seed} kill {i + 1} {target} {phase}: "
                  f"{'counted' if counts else 'missed'}, {sweep.acked()} of {sweep.cells} "
                  f"acknowledged", flush=True)
            if left:
                print(f"  survivors that had to be killed: {left}")
                failed = True
            if counts:
                counted[target] += 1
                counted[phase] += 1
                break
            if sweep.acked() >= 0.9 * sweep.cells:  # too little is left: audit it, begin another
                sweep.clear()
                failed |= not (finish(sweep, args) and audit(sweep, args))
                sweep.log.close()
                args.out = f"{args.out}+"
                os.makedirs(args.out, exist_ok=True)
                sweep = Sweep(args, write_job(args))
                sweeps += 1
    if sweep.proc:
        sweep.clear()
    ok = finish(sweep, args) and audit(sweep, args)
    missing = [x for step in plan for x in step.split("/") if not counted[x]]
    if missing:
        print("no kill counted for:", " ".join(sorted(set(missing))))
    if sweep.processes():
        print("left behind:", sweep.processes())
        failed = True
    print(json.dumps({"kills": sum(counted[t] for t in ("worker", "warden", "rank", "rank0",
                                                        "mpirun")),
                      "by": dict(counted), "sweeps": sweeps,
                      "ok": ok and not missing and not failed}))
    return 0 if ok and not missing and not failed else 1


if __name__ == "__main__":
    sys.exit(main())
