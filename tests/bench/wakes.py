#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Wake-ups of a command's processes, counted by the kernel's scheduler events (ftrace).

Needs root and tracefs. Works in an instance of its own with filters on the names of our processes, so
that it neither sees nor disturbs other users of ftrace. mpirun and everything it forks is followed.
"""
import glob
import os
import re
import subprocess
import tempfile
import time

NAMES = ("mpirun", "orterun", "mpiexec", "prterun", "ksweep", "ksweep-warden", "ksweep-worker")
LINE = re.compile(r"^\s*(.+)-(\d+)\s+(?:\(.*?\)\s+)?\[\d+\]\s+\S+\s+(\d+)\.(\d+): (\w+): (.*)$")
FIELD = re.compile(r"(\w+)=(.*?)(?= \w+=|$)")


class Unavailable(Exception):
    pass


def find_tracefs():
    """Directory of a mounted tracefs, and whether it has to be unmounted."""
    for where in ("/sys/kernel/tracing", "/sys/kernel/debug/tracing"):
        if os.path.exists(where + "/instances"):
            return where, False
    where = tempfile.mkdtemp(prefix="ksweep-tracefs-")
    if subprocess.run(["mount", "-t", "tracefs", "nodev", where], stderr=subprocess.DEVNULL).returncode:
        os.rmdir(where)
        raise Unavailable("tracefs cannot be mounted")
    return where, True


class Trace:
    """with Trace() as t: run something;   t.events: [(seconds of CLOCK_MONOTONIC, name, fields, task)]"""

    def __enter__(self):
        self.root, self.is_mounted = find_tracefs()
        self.dir = f"{self.root}/instances/ksweep-{os.getpid()}"
        try:
            os.mkdir(self.dir)
            self.put("trace_clock", "mono")
            self.put("buffer_size_kb", "32768")
            for event, keys in (("sched_wakeup", ("comm",)), ("sched_process_fork", ("parent_comm",)),
                                ("sched_switch", ("prev_comm", "next_comm"))):
                rule = " || ".join(f'{k} == "{n}"' for k in keys for n in NAMES)
                self.put(f"events/sched/{event}/filter", rule)
                self.put(f"events/sched/{event}/enable", "1")
        except OSError as e:
            self.close()
            raise Unavailable(str(e))
        return self

    def put(self, name, text):
        with open(f"{self.dir}/{name}", "w") as f:
            f.write(text)

    def __exit__(self, *ignored):
        self.put("tracing_on", "0")
        self.events, self.n_lost = [], 0
        with open(self.dir + "/trace", errors="replace") as f:
            for line in f:
                m = LINE.match(line)
                if m:
                    self.events.append((int(m[3]) + int(m[4]) * 10.0 ** -len(m[4]), m[5],
                                        dict(FIELD.findall(m[6])), int(m[2])))
        for name in glob.glob(self.dir + "/per_cpu/cpu*/stats"):
            with open(name) as f:
                self.n_lost += sum(int(l.split()[-1]) for l in f if l.startswith(("overrun", "dropped")))
        self.events.sort(key=lambda e: e[0])
        self.close()

    def close(self):
        if os.path.isdir(self.dir):
            os.rmdir(self.dir)
        if self.is_mounted:
            subprocess.run(["umount", self.root])
            os.rmdir(self.root)


def roles(events, launcher):
    """{tid: (kind, pid of the rank's main thread or 0)} of the descendants of process `launcher`; kind: mpirun,
    rank, thread (of a rank, any but the first), warden, worker."""
    of = {launcher: ("mpirun", 0)}
    for _, event, f, _ in events:
        # Names first: a rank forks its warden at once, and the fork may be the first event with its name.
        for pid, comm in ((f.get("pid"), f.get("comm")), (f.get("next_pid"), f.get("next_comm")),
                          (f.get("prev_pid"), f.get("prev_comm"))):
            if pid and int(pid) in of:
                pid = int(pid)
                kind, rank = of[pid]
                if comm == "ksweep-warden":
                    of[pid] = ("warden", rank)
                elif comm == "ksweep-worker":
                    of[pid] = ("worker", rank)
                elif comm == "ksweep" and kind == "mpirun":
                    of[pid] = ("rank", pid)
                elif comm == "ksweep" and kind == "rank" and rank != pid:
                    of[pid] = ("thread", rank)
        if event == "sched_process_fork" and int(f["pid"]) in of:
            of[int(f["child_pid"])] = of[int(f["pid"])]
    return of


def merge(spans):
    out = []
    for a, b in sorted(spans):
        if out and a <= out[-1][1]:
            out[-1][1] = max(out[-1][1], b)
        else:
            out.append([a, b])
    return out


def count_in(times, spans):
    """How many of the sorted times lie in the merged spans."""
    n = i = 0
    for t in times:
        while i < len(spans) and spans[i][1] < t:
            i += 1
        n += i < len(spans) and spans[i][0] <= t
    return n
