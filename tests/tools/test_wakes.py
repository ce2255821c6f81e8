# SPDX-License-Identifier: MIT
"""wakes.py of the benches: which traced process is what."""
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "bench"))
import wakes  # noqa: E402


def fork(parent, comm, child):
    return (0.0, "sched_process_fork",
            {"comm": comm, "pid": str(parent), "child_comm": comm, "child_pid": str(child)}, parent)


def wake(pid, comm):
    return (0.0, "sched_wakeup", {"comm": comm, "pid": str(pid)}, 0)


class Roles(unittest.TestCase):
    def test_a_rank_that_forks_its_warden_at_once(self):
        events = [fork(1, "mpirun", 2), fork(2, "ksweep", 3), wake(3, "ksweep-warden"),
                  fork(3, "ksweep-warden", 4), wake(4, "ksweep-worker"), fork(2, "ksweep", 5), wake(5, "ksweep")]
        self.assertEqual(wakes.roles(events, 1), {1: ("mpirun", 0), 2: ("rank", 2), 3: ("warden", 2),
                                                  4: ("worker", 2), 5: ("thread", 2)})

    def test_a_rank_that_is_seen_first(self):
        events = [fork(1, "mpirun", 2), wake(2, "ksweep"), fork(2, "ksweep", 3), wake(3, "ksweep-warden"),
                  fork(9, "ksweep", 10), wake(10, "ksweep")]
        self.assertEqual(wakes.roles(events, 1), {1: ("mpirun", 0), 2: ("rank", 2), 3: ("warden", 2)})


if __name__ == "__main__":
    unittest.main()
