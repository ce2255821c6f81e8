# SPDX-License-Identifier: MIT
"""Sweeps over hosts that are network namespaces (tests/tools/cluster), and what happens to hosts."""
import os
import subprocess
import time

import chaos
import soak_faults

CLUSTER = os.path.join(chaos.HERE, "cluster")
HOSTS = os.path.join(CLUSTER, "hosts.sh")
MPIRUN = os.path.join(CLUSTER, "mpirun_hosts.sh")
SLOTS = "h0:2,h1:1,h2:1"
N_HOSTS = 3


def unable():
    """Why there can be no hosts here; "" when there can."""
    if not os.path.exists(HOSTS):
        return "there is no tests/tools/cluster/hosts.sh"
    res = subprocess.run(["bash", HOSTS, "can"], capture_output=True, text=True)
    return "" if res.returncode == 0 else (res.stdout + res.stderr).strip()


def sweep_class(base):
    class HostSweep(base):
        """mpirun runs in host 0, the run's directory is the same for all."""

        def __init__(self, args, job, place):
            super().__init__(args, job, place)
            self.hosts_dir = os.path.join(args.out, "hosts")
            os.makedirs(self.hosts_dir)
            self.is_up = False

        def environment(self):
            return dict(super().environment(), KSWEEP_HOSTS_DIR=self.hosts_dir)

        def hosts(self, *words):
            """Without the sweep's mark: the hosts themselves are no part of it."""
            return subprocess.run(["bash", HOSTS, *words],
                                  env=dict(os.environ, KSWEEP_HOSTS_DIR=self.hosts_dir),
                                  stdin=subprocess.DEVNULL, stdout=self.log,
                                  stderr=self.log).returncode == 0

        def command(self, extra):
            return ["bash", MPIRUN, SLOTS] + self.product(extra)

        def start(self, chaos=None, extra=()):
            if not self.is_up:
                self.is_up = self.hosts("up", str(N_HOSTS))
                if not self.is_up:
                    raise RuntimeError("hosts.sh up failed")
            super().start(chaos, extra)

        def clear(self):
            """Launchers on a host that is cut off do not hear that mpirun died; the product must."""
            return [p for p in super().clear() if p[0].startswith("ksweep")]

        def rebuild(self):
            """After a host was lost: everything ends; the next start makes new hosts."""
            self.orphans += self.clear()
            self.hosts("down")
            self.is_up = False

        def close(self):
            super().close()
            self.hosts("down")

    return HostSweep


def other_host(random):
    return f"h{random.randint(1, N_HOSTS - 1)}"


def go_on(sweep, seconds):
    """The remaining ranks have so long to make some progress."""
    chaos.wait_for_cells(sweep, min(sweep.cells, sweep.acked() + 15), seconds)


def gone(verb):
    """The others go on for a while; then everything ends and begins anew."""
    def fault(sweep, place, random):
        if not soak_faults.settle(sweep, random) or not sweep.hosts(verb, other_host(random)):
            return False
        go_on(sweep, 20)
        sweep.rebuild()
        return True
    return fault


def first_host_killed(sweep, place, random):
    """With rank 0 and mpirun on it."""
    if not soak_faults.settle(sweep, random) or not sweep.hosts("kill", "h0"):
        return False
    sweep.rebuild()
    return True


def away(verb, back, low_s, high_s):
    """For so long."""
    def fault(sweep, place, random):
        host = other_host(random)
        if not soak_faults.settle(sweep, random) or not sweep.hosts(verb, host):
            return False
        time.sleep(random.uniform(low_s, high_s))
        sweep.hosts(back, host)
        return True
    return fault


FAULTS = [
    ("host killed", 3, gone("kill")),
    ("host of rank 0 killed", 1, first_host_killed),
    ("host cut off for less than --lost-after", 2, away("cut", "heal", 0.3, 1)),
    ("host cut off for longer, then back", 2, away("cut", "heal", 3, 6)),
    ("host cut off for good", 2, gone("cut")),
    ("host frozen for less than --lost-after", 2, away("freeze", "thaw", 0.3, 1)),
    ("host frozen for longer, then thawed", 2, away("freeze", "thaw", 3, 6)),
    ("rank on another host killed", 2, soak_faults.killer("rank")),
    ("worker on a host killed", 2, soak_faults.killer("worker")),
    ("file system frozen under hosts", 1, soak_faults.frozen_disk(1, 4)),
]
