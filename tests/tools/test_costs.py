#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Is tests/bench/data/costs.csv what tests/tools/costs.py makes of the real find-dbs?"""

import glob
import os
import subprocess
import sys
import tempfile
import unittest

SOURCE = os.environ.get("KSWEEP_SOURCE_DIR", os.path.join(os.path.dirname(__file__), "..", ".."))
DATA = os.path.join(os.environ.get("KSWEEP_TEST_DATA", os.path.join(SOURCE, "..", "shared", "data")),
                    "miopen_fdb")
COSTS = os.path.join(SOURCE, "tests", "tools", "costs.py")
TABLE = os.path.join(SOURCE, "tests", "bench", "data", "costs.csv")


def costs(*paths):
    return subprocess.run([sys.executable, COSTS, *paths], capture_output=True, text=True)


class Costs(unittest.TestCase):
    def test_the_table_is_made_from_real_data(self):
        paths = [p for gpu in ("gfx90a", "gfx942") for p in glob.glob(f"{DATA}/{gpu}*.fdb.txt*")]
        if len(paths) != 2:
            self.skipTest("no test data miopen_fdb (KSWEEP_TEST_DATA)")
        with open(TABLE) as f:
            self.assertEqual(f.read(), costs(*paths).stdout)

    def test_quantiles_ascend_and_the_tail_is_heavy(self):
        with open(TABLE) as f:
            rows = [[float(x) for x in line.split(",")] for line in f if line[0].isdigit()]
        self.assertEqual([0.0, 9.0], [rows[0][0], rows[-1][0]])
        for a, b in zip(rows, rows[1:]):
            if a[0] == b[0]:
                self.assertTrue(a[1] < b[1] and a[2] <= b[2] and a[3] <= b[3] and a[4] <= b[4], b)
        self.assertGreater(rows[-1][2] / rows[0][2], 1e4)

    def test_lines_without_sense_are_counted_and_few_are_refused(self):
        with tempfile.NamedTemporaryFile("w", suffix=".fdb.txt") as f:
            f.write("nonsense\n3-8-8-1x1-4-8-8-2-0x0-1x1-1x1-0-NCHW-FP32-F=a:0.5,0,b;c:0.25,0,d\n")
            f.flush()
            done = costs(f.name)
        self.assertEqual((1, ""), (done.returncode, done.stdout))
        self.assertIn("1 problems, 1 lines left out", done.stderr)


if __name__ == "__main__":
    unittest.main()
