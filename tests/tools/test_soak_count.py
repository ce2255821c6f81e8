#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Does the soak's count see what it is there to see? Rows and audits with defects planted."""

import json
import random
import tempfile
import unittest

import soak_count


def row(name, outcome, code=-2147483648, problem=1, instance=1, alias=0):
    return (problem, instance, name, outcome, code, alias)


class FakeSweep:
    def __init__(self, cells):
        self.cells, self.orphans, self.out, self.args = cells, [], "/nowhere", None

    def processes(self):
        return []


def count_of(table, cells, errors=(), findings="", audit_cells=None):
    """soak_count.count with everything outside replaced."""
    report = {"rc": 1 if errors else 0, "errors": list(errors), "records": len(table),
              "cells": len({r[:2] for r in table}) if audit_cells is None else audit_cells,
              "torn_tails": 0, "segments": 1}
    real = soak_count.rows, soak_count.chaos.audit_report, soak_count.chaos.check_findings
    soak_count.rows = lambda path: table
    soak_count.chaos.audit_report = lambda sweep: report
    soak_count.chaos.check_findings = lambda sweep, args: findings
    try:
        return soak_count.count(FakeSweep(cells), True, 1)
    finally:
        soak_count.rows, soak_count.chaos.audit_report, soak_count.chaos.check_findings = real


class Outcomes(unittest.TestCase):
    def wrong(self, *table):
        return len(soak_count.wrong_rows(table))

    def test_right_ones(self):
        self.assertEqual(0, self.wrong(
            row("bad_good_3", "ok"), row("bad_segfault_0", "crashed", 11, instance=2),
            row("bad_exit3_0", "exited", 3, instance=3), row("bad_loop_0", "timeout", instance=4),
            row("bad_heap_overflow_0", "ok", instance=5),
            row("bad_unsupported_always_0", "unsupported", instance=6)))

    def test_another_outcome_or_code_is_wrong(self):
        self.assertEqual(1, self.wrong(row("bad_good_3", "timeout")))
        self.assertEqual(1, self.wrong(row("bad_segfault_0", "ok")))
        self.assertEqual(1, self.wrong(row("bad_segfault_0", "crashed", 9)))
        self.assertEqual(1, self.wrong(row("bad_one_wrong_0", "ok")))
        self.assertEqual(1, self.wrong(row("bad_heap_overflow_0", "timeout")))

    def test_an_alias_is_as_right_as_what_it_points_to(self):
        first = row("bad_good_0", "ok", instance=1)
        self.assertEqual(0, self.wrong(first, row("bad_good_1", "aliased", instance=2, alias=1)))
        self.assertEqual(1, self.wrong(first, row("bad_loop_0", "aliased", instance=2, alias=1)))
        self.assertEqual(1, self.wrong(first, row("bad_good_1", "aliased", instance=2, alias=9)))

    def test_every_fault_of_the_zoo_has_its_outcome(self):
        with open(soak_count.CONFIG.replace(".json", ".family.json")) as f:
            faults = next(t for t in json.load(f)["traits"] if t["name"] == "fault")["values"]
        self.assertEqual(set(faults), set(soak_count.RIGHT))


class Counts(unittest.TestCase):
    table = [row("bad_good_0", "ok", instance=i) for i in range(4)]

    def test_all_there(self):
        found = count_of(self.table, 4)
        self.assertEqual([], found["findings"])
        self.assertEqual((4, 0, 0, 0), tuple(found["sums"][k] for k in
                                             ("cells", "lost", "duplicated", "wrong")))

    def test_a_lost_cell(self):
        found = count_of(self.table, 5)
        self.assertEqual(1, found["sums"]["lost"])
        self.assertTrue(found["findings"])

    def test_a_row_twice(self):
        found = count_of(self.table + self.table[:1], 4)
        self.assertEqual(1, found["sums"]["duplicated"])
        self.assertTrue(found["findings"])

    def test_a_wrong_outcome(self):
        found = count_of(self.table[:3] + [row("bad_good_0", "crashed", 9, instance=3)], 4)
        self.assertEqual(1, found["sums"]["wrong"])
        self.assertTrue(found["findings"])

    def test_what_the_audit_says(self):
        for error, key in (("duplicate: x", "duplicated"),
                           ("acknowledged but not on disk: x", "acknowledged, then lost"),
                           ("started again: x", "acknowledged, then measured again")):
            found = count_of(self.table, 4, errors=[error])
            self.assertEqual(1, found["sums"][key])
            self.assertTrue(found["findings"])

    def test_what_the_check_says(self):
        self.assertTrue(count_of(self.table, 4, findings="finding: x\n")["findings"])

    def test_journal_and_file_must_agree(self):
        self.assertTrue(count_of(self.table, 4, audit_cells=3)["findings"])


class Jobs(unittest.TestCase):
    def test_the_seed_decides(self):
        with tempfile.TemporaryDirectory() as base:
            jobs = [soak_count.write_job(base, random.Random(seed)) for seed in (1, 1, 2)]
        self.assertEqual(jobs[0], jobs[1])
        self.assertNotEqual(jobs[0]["faults"], jobs[2]["faults"])


if __name__ == "__main__":
    unittest.main()
