#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Does the auditor see what it is there to see? Journals are written here, with defects planted."""

import io
import json
import os
import re
import shutil
import struct
import tempfile
import time
import unittest
from contextlib import redirect_stderr, redirect_stdout

import journal_audit as audit

HERE = os.path.dirname(os.path.abspath(__file__))
FIXTURE = os.path.join(HERE, "..", "data", "journal-v1", "0001.ksj")
OK, UNSUPPORTED, ALIASED, CRASHED = 1, 5, 6, 13


def tag(number, value):
    if isinstance(value, int):
        width = next(w for w in (1, 2, 4, 8) if value < 1 << 8 * w)
        value = value.to_bytes(width, "little")
    return struct.pack("<HI", number, len(value)) + value


def frame(kind, body=b"", version=1):
    head = audit.SYNC + struct.pack("<HHI", kind, version, len(body))
    return head + struct.pack("<II", audit.crc32c(head), audit.crc32c(body)) + body


def cell(i, attempt=1, rnd=0, role=0):
    return tag(1, 0x1000) + tag(2, i) + tag(3, 7) + tag(4, attempt) + tag(5, rnd) + tag(6, role)


def done(i, attempt=1, rnd=0, role=0, outcome=OK, flags=0):
    body = cell(i, attempt, rnd, role) + tag(7, outcome) + tag(9, flags) + tag(41, bytes(8))
    return frame(10, body)


def alias(i, of, attempt=1):
    return frame(10, cell(i, attempt) + tag(7, ALIASED) + tag(13, of))


def start(*cells):
    return frame(9, tag(1, 5) + b"".join(tag(6, c) for c in cells))


def segment(number, fences=()):
    body = tag(1, b"\1" * 16) + tag(2, number)
    body += b"".join(tag(9, tag(1, s) + tag(2, n)) for s, n in fences)
    return frame(1, body)


class AuditTest(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.dir)
        os.mkdir(os.path.join(self.dir, "journal"))

    def write(self, number, *parts):
        data = b"".join(parts)
        with open(os.path.join(self.dir, "journal", "%04d.ksj" % number), "wb") as file:
            file.write(data)
        return len(data)

    def lines(self, name, lines):
        path = os.path.join(self.dir, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write("".join(line + "\n" for line in lines))
        return path

    def run_audit(self, *options):
        out = io.StringIO()
        with redirect_stdout(out):
            status = audit.main([self.dir, *options])
        result = json.loads(out.getvalue())
        self.assertEqual(status, 0 if result["ok"] else 1)
        return result

    def assert_fails(self, kind, *options):
        result = self.run_audit(*options)
        self.assertFalse(result["ok"])
        self.assertEqual(result["n_errors"], 1, result["errors"])
        self.assertTrue(result["errors"][0].startswith(kind + ": "), result["errors"])

    def grid(self, n):
        return ["--grid", self.lines("grid", ["%016x,%016x" % (0x1000, i) for i in range(n)])]

    def acked(self, *keys):
        rows = ["%016x %016x %016x %d %d" % (0x1000, i, 7, a, r) for i, a, r in keys]
        return ["--acked", self.lines("acked", rows)]

    # ---- the three planted defects, each beside its healthy twin ----

    def test_acknowledged_before_it_was_on_disk(self):
        whole = [segment(1), start(cell(0), cell(1)), done(0), done(1)]
        self.write(1, *whole)
        self.assertTrue(self.run_audit(*self.acked((0, 1, 0), (1, 1, 0)))["ok"])
        self.write(1, *whole[:-1])
        self.assert_fails("acknowledged but not on disk", *self.acked((0, 1, 0), (1, 1, 0)))
        self.write(1, *whole[:-1], whole[-1][:-1])  # torn in mid-frame
        self.assert_fails("acknowledged but not on disk", *self.acked((0, 1, 0), (1, 1, 0)))
        self.assertTrue(self.run_audit(*self.acked((0, 1, 0)))["ok"])

    def test_duplicate_record(self):
        size = self.write(1, segment(1), done(0), done(1))
        self.write(2, segment(2, [(1, size)]), done(2))
        self.assertTrue(self.run_audit(*self.grid(3))["ok"])
        self.write(2, segment(2, [(1, size)]), done(2), done(1, outcome=CRASHED))
        self.assert_fails("duplicate")

    def test_dropped_cell(self):
        self.write(1, segment(1), start(cell(0), cell(1), cell(2)), done(0), done(2), done(1))
        self.assertTrue(self.run_audit(*self.grid(3))["ok"])
        self.write(1, segment(1), start(cell(0), cell(1), cell(2)), done(0), done(2))
        self.assert_fails("no outcome", *self.grid(3))

    # ---- aliases ----

    def test_alias_of_something(self):
        self.write(1, segment(1), done(0), alias(1, 0), done(2, outcome=CRASHED), alias(3, 2))
        self.assertTrue(self.run_audit(*self.grid(4))["ok"])
        self.assertEqual(self.run_audit()["outcomes"], {"ok": 1, "aliased": 2, "crashed": 1})
        self.write(1, segment(1), done(0), alias(1, 0), done(1, 2))  # measured later, on request
        self.assertTrue(self.run_audit()["ok"])

    def test_alias_of_nothing(self):
        for first in (b"", done(0, outcome=UNSUPPORTED), done(2) + alias(0, 2), done(0, role=1)):
            self.write(1, segment(1), first, alias(1, 0))
            result = self.run_audit()
            self.assertFalse(result["ok"])
            self.assertTrue(result["errors"][-1].startswith("alias of nothing: "), result["errors"])
        self.write(1, segment(1), done(1), alias(1, 1, 2))
        self.assert_fails("alias of nothing")

    def test_alias_came_first(self):
        size = self.write(1, segment(1), alias(1, 0), done(0))
        self.assert_fails("alias before what it points to")
        self.write(1, segment(1), b"\0" * size, alias(1, 0), done(0))  # its record was there
        self.assertTrue(self.run_audit()["ok"])

    # ---- attempts, rounds, roles ----

    def test_started_again(self):
        self.write(1, segment(1), start(cell(0)), done(0))
        self.write(2, segment(2), start(cell(0)))
        self.assert_fails("started again")
        self.write(2, segment(2), start(cell(0, attempt=2)), start(cell(0, rnd=1)))
        self.assertTrue(self.run_audit()["ok"])
        self.write(2, segment(2), start(cell(0, role=1)))
        self.assertTrue(self.run_audit()["ok"])

    def test_started_again_without_a_record_is_legitimate(self):
        self.write(1, segment(1), start(cell(0)))
        self.write(2, segment(2), start(cell(0)), done(0))
        self.assertTrue(self.run_audit(*self.grid(1))["ok"])

    def test_anchors_and_rounds_are_no_duplicates(self):
        self.write(1, segment(1), done(0), done(0, role=1), done(0, role=1), done(0, rnd=1),
                   done(0, attempt=2))
        result = self.run_audit(*self.grid(1))
        self.assertTrue(result["ok"])
        self.assertEqual((result["records"], result["cells"]), (5, 1))

    def test_only_an_anchor_is_no_outcome(self):
        self.write(1, segment(1), done(0), done(1, role=1))
        self.assert_fails("no outcome", *self.grid(2))

    def test_void_records(self):
        self.write(1, segment(1), done(0, outcome=CRASHED), done(0, outcome=CRASHED, flags=1 << 9))
        self.assert_fails("no outcome", *self.grid(1))
        self.write(2, segment(2), start(cell(0, attempt=2)), done(0, attempt=2))
        result = self.run_audit(*self.grid(1))
        self.assertEqual(result["outcomes"], {"ok": 1})
        self.assertEqual(result["void"], 1)

    def test_the_last_attempt_counts(self):
        self.write(1, segment(1), done(0, attempt=2), done(0, outcome=CRASHED), done(1),
                   done(1, attempt=2, outcome=CRASHED))
        self.assertEqual(self.run_audit()["outcomes"], {"crashed": 1, "ok": 1})

    def test_cells_outside_the_grid(self):
        self.write(1, segment(1), done(0), done(1))
        self.assert_fails("outside the grid", *self.grid(1))

    def test_two_conditions(self):
        other = frame(10, tag(1, 0x1000) + tag(2, 0) + tag(3, 8) + tag(4, 1) + tag(7, 1))
        self.write(1, segment(1), done(0), other)
        self.assert_fails("several outcomes", *self.grid(1))

    # ---- the format ----

    def test_fenced_bytes_do_not_count(self):
        size = self.write(1, segment(1), done(0))
        self.write(1, segment(1), done(0), done(1))
        self.write(2, segment(2, [(1, size)]), done(1))
        result = self.run_audit(*self.grid(2))
        self.assertTrue(result["ok"])
        self.assertEqual(result["late_bytes"], len(done(1)))
        self.write(2, segment(2), done(1))
        self.assert_fails("duplicate")

    def test_a_copied_segment_does_not_count(self):
        whole = [segment(1), done(0), done(1)]
        size = self.write(1, *whole)
        self.write(2, *whole)
        self.write(3, segment(3, [(1, size), (2, size)]), done(2))
        result = self.run_audit(*self.grid(3))
        self.assertTrue(result["ok"])
        self.assertEqual((result["segments"], result["copies"], result["records"]), (2, 1, 3))
        self.assertEqual(result["damage"], [])
        self.write(2, frame(1, tag(1, b"\1" * 16) + tag(2, 1) + tag(8, 7)), done(1))
        self.assert_fails("duplicate")  # a header of its own: written elsewhere

    def test_outcomes_are_those_of_the_program(self):
        with open(os.path.join(HERE, "..", "..", "src", "record", "outcome.h")) as file:
            rows = re.findall(r'X\(KS_O_\w+, (\d+), "(\w+)"', file.read())
        self.assertEqual([(str(i), name) for i, name in enumerate(audit.OUTCOMES)][1:], rows)

    def test_a_flipped_bit_costs_one_frame(self):
        parts = [segment(1)] + [done(i) for i in range(6)]
        data = bytearray(b"".join(parts))
        ends = [sum(map(len, parts[:i + 1])) for i in range(len(parts))]
        for at in range(len(data)):
            data[at] ^= 1 << at % 8
            self.write(1, bytes(data))
            data[at] ^= 1 << at % 8
            result = self.run_audit()
            self.assertEqual(result["frames"], 6, at)
            damage = result["damage"]
            self.assertEqual(len(damage), 1)
            hit = next(i for i, end in enumerate(ends) if at < end)
            self.assertEqual(damage[0]["offset"], ends[hit] - len(parts[hit]))
            self.assertEqual(damage[0]["bytes"], len(parts[hit]))
            self.assertEqual(damage[0]["tail"], hit == len(parts) - 1)

    def test_a_huge_length_swallows_nothing(self):
        for length in (200, 1 << 20, 1 << 31):
            head = audit.SYNC + struct.pack("<HHI", 10, 1, length)
            head += struct.pack("<II", audit.crc32c(head), 0)
            self.write(1, segment(1), head, done(0), done(1))
            self.assertTrue(self.run_audit(*self.grid(2))["ok"])

    def test_unknown_types_versions_and_tags(self):
        later = frame(10, cell(0) + tag(7, 1), version=2)
        self.write(1, segment(1), frame(77, b"later"), later,
                   frame(10, tag(9000, b"later") + cell(1) + tag(7, 1)))
        self.assertEqual(self.run_audit()["records"], 1)

    def test_malformed_records(self):
        for body in (b"\1", tag(1, 1) + b"\2\0\xff\0\0\0", cell(0) + tag(7, 0),
                     cell(0) + tag(7, 99), cell(0, attempt=0) + tag(7, 1),
                     cell(0) + tag(7, b"\1\0\0")):
            self.write(1, segment(1), frame(10, body))
            self.assert_fails("malformed")

    def test_missing_segment_is_damage(self):
        self.write(1, segment(1), done(0))
        self.write(3, segment(3), done(1))
        result = self.run_audit()
        self.assertEqual(result["damaged_places"], 1)
        self.assertEqual(result["segments"], 2)

    def test_empty_journal(self):
        self.assert_fails("empty")

    def test_usage_errors(self):
        with redirect_stderr(io.StringIO()) as err:
            self.assertEqual(audit.main([self.dir + "/absent"]), 2)
            self.assertEqual(audit.main([self.dir, "--grid", self.lines("g", ["1,2,3"])]), 2)
            self.assertEqual(audit.main([self.dir, "--acked", self.lines("a", ["1 2 3 x 0"])]), 2)
        self.assertIn("a:1: not ids", err.getvalue())

    def test_a_journal_of_the_program_is_read(self):
        shutil.copy(FIXTURE, os.path.join(self.dir, "journal", "0001.ksj"))
        result = self.run_audit(*self.acked())
        self.assertEqual((result["frames"], result["starts"], result["records"]), (14, 1, 1))
        self.assertEqual(result["damage"], [])
        key = (0x1111, 0x2222, 7, 2, 1)
        path = self.lines("k", ["%x %x %x %d %d" % key, "%x %x %x %d %d" % (key[:4] + (0,))])
        self.assert_fails("acknowledged but not on disk", "--acked", path)

    def test_crc(self):
        self.assertEqual(audit.crc32c(b"123456789"), 0xE3069283)
        self.assertEqual(audit.crc32c(b""), 0)
        self.assertEqual(audit.crc32c(bytes(32)), 0x8A9136AA)  # RFC 3720, B.4

    def test_ten_thousand_frames_take_seconds(self):
        samples = tag(41, bytes(240)) + tag(25, bytes(16)) + tag(30, bytes(16))
        self.write(1, segment(1), *[frame(10, cell(i) + tag(7, 1) + samples) for i in range(10000)])
        begin = time.monotonic()
        result = self.run_audit(*self.grid(10000))
        seconds = time.monotonic() - begin
        self.assertTrue(result["ok"])
        self.assertEqual(result["cells"], 10000)
        self.assertLess(seconds, 30)


if __name__ == "__main__":
    unittest.main()
