# SPDX-License-Identifier: MIT
"""What a soak does to a running sweep. A fault is a function of (sweep, place, random); it returns
whether it was injected. Processes that had to be killed afterwards are added to sweep.orphans."""
import os
import signal
import subprocess
import time

import chaos

LOST_AFTER_S = 2


def settle(sweep, random, least=3, most=40):
    """A run is going on and has made some progress since the last fault."""
    if not sweep.proc or not sweep.alive():
        sweep.start()
    chaos.wait_for_cells(sweep, sweep.acked() + random.randint(least, most), 60)
    time.sleep(random.random() * 0.3)
    return sweep.alive() and sweep.acked() < sweep.cells


def killer(target, phase="timing"):
    def fault(sweep, place, random):
        counts, left = chaos.kill_once(sweep, target, phase)
        sweep.orphans += left
        return counts
    return fault


def pick(sweep, random, comm, is_rank0=None):
    hits = [pid for c, r, pid in sweep.processes()
            if c == comm and (is_rank0 is None or (r == 0) == is_rank0)]
    return random.choice(hits) if hits else None


def freezer(comm, low_s, high_s, is_rank0=None):
    def fault(sweep, place, random):
        pid = pick(sweep, random, comm, is_rank0) if settle(sweep, random) else None
        if not pid:
            return False
        try:
            os.kill(pid, signal.SIGSTOP)
            time.sleep(random.uniform(low_s, high_s))
            os.kill(pid, signal.SIGCONT)
        except ProcessLookupError:
            pass
        return True
    return fault


def signaller(signo):
    """As Slurm or a user ends it: rank 0 leaves in order; resumed later."""
    def fault(sweep, place, random):
        pid = pick(sweep, random, "ksweep", True) if settle(sweep, random) else None
        if not pid:
            return False
        try:
            os.kill(pid, signo)
        except ProcessLookupError:
            return False
        wait_end(sweep, 90)
        sweep.orphans += sweep.clear()
        return True
    return fault


def wait_end(sweep, seconds):
    try:
        sweep.proc.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        pass


def frozen_disk(low_s, high_s):
    def fault(sweep, place, random):
        return settle(sweep, random) and place.freeze(random.uniform(low_s, high_s))
    return fault


def full_disk(sweep, place, random):
    if not settle(sweep, random) or not place.fill():
        return False
    wait_end(sweep, 60)
    place.free()
    sweep.orphans += sweep.clear()
    return True


def second_owner(sweep, place, random):
    """Another run of the same directory beside the live one is refused."""
    if not settle(sweep, random) or not sweep.alive():
        return False
    res = subprocess.run(sweep.product([]), env=sweep.environment(), stdin=subprocess.DEVNULL,
                         stdout=sweep.log, stderr=sweep.log)
    return res.returncode == 3


def take_over(sweep, place, random):
    """Another run takes the directory; the old one notices and leaves."""
    if not settle(sweep, random):
        return False
    old, pid = sweep.proc, pick(sweep, random, "ksweep", True)
    if pid:
        os.kill(pid, signal.SIGSTOP)
    sweep.start(extra=["--take-over"])
    chaos.wait_for_cells(sweep, sweep.acked() + 10, 30)
    if pid:
        try:
            os.kill(pid, signal.SIGCONT)
        except ProcessLookupError:
            pass
    try:
        old.wait(timeout=60)
    except subprocess.TimeoutExpired:
        old.kill()
        old.wait()
    return pid is not None


# name, weight, fault
ZOO = [
    ("worker killed", 4, killer("worker")),
    ("warden killed", 2, killer("warden")),
    ("rank killed", 3, killer("rank")),
    ("idle rank killed", 1, killer("rank", "idle")),
    ("rank 0 killed", 2, killer("rank0")),
    ("rank 0 killed at a write", 1, killer("rank0", "write")),
    ("rank 0 killed at a sync", 1, killer("rank0", "fsync")),
    ("rank 0 killed before an acknowledgement", 1, killer("rank0", "ack")),
    ("rank 0 killed at the gather", 1, killer("rank0", "gather")),
    ("rank 0 killed at the status", 1, killer("rank0", "rename")),
    ("mpirun killed", 1, killer("mpirun")),
    ("worker frozen", 1, freezer("ksweep-worker", 0.2, 2)),
    ("warden frozen", 1, freezer("ksweep-warden", 0.2, 1)),
    ("rank frozen, shorter than --lost-after", 2, freezer("ksweep", 0.2, 1, False)),
    ("rank frozen, longer than --lost-after", 2,
     freezer("ksweep", LOST_AFTER_S + 1, LOST_AFTER_S + 4, False)),
    ("rank 0 frozen, shorter than --lost-after", 1, freezer("ksweep", 0.2, 1, True)),
    ("rank 0 frozen, longer than --lost-after", 1,
     freezer("ksweep", LOST_AFTER_S + 1, LOST_AFTER_S + 4, True)),
    ("SIGTERM", 1, signaller(signal.SIGTERM)),
    ("SIGUSR1", 1, signaller(signal.SIGUSR1)),
    ("SIGINT", 1, signaller(signal.SIGINT)),
    ("file system frozen, 1 to 5 s", 2, frozen_disk(1, 5)),
    ("file system frozen, 8 to 15 s", 1, frozen_disk(8, 15)),
    ("disk full", 2, full_disk),
    ("second owner refused", 1, second_owner),
    ("directory taken over from a frozen owner", 1, take_over),
]
