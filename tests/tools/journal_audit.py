#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Audit of a run's journal that shares no code with the program that wrote it.

    journal_audit.py DIR [--acked FILE] [--grid FILE]

Reads DIR/journal/NNNN.ksj and checks that
  - no (cell, attempt, round) has two records,
  - none is started again after its record,
  - with --acked, every line "problem instance condition attempt round" has its record,
  - with --grid, every line "problem,instance" has exactly one outcome and no other cell has one,
  - every cell whose outcome is aliased points to another cell of its problem that was measured, and
    (unless the journal is damaged) had its record first.
Ids are hexadecimal, attempt and round decimal; empty lines and lines with # are skipped. Prints one
JSON object. Exit status 0: all of it holds; 1: it does not; 2: usage.

The format, from src/record/frame.h, little-endian:

    frame  = sync(8) type(u16) version(u16) length(u32) header_crc(u32) body_crc(u32) body[length]
    body   = { tag(u16) length(u32) bytes }*      numbers in 1, 2, 4 or 8 bytes
    sync   = 89 4b 53 57 45 45 50 0a              CRC-32C; header_crc covers sync..length
    length is at most 2**20. Where something does not match, the search for the next sync word goes
    on one byte later; what no frame covers is damage, at the end of a file a torn tail.

    type 1 segment: 2 its number. The file of another number whose first frame is the same is a copy
           of it, which is not read. Tag 9, repeated, is a fence: a body with 1 = number of an older
           segment, 2 = the bytes of it that count; the rest is of an owner that had lost the journal
    type 9 start:   tag 6, repeated, is a cell: 1 problem, 2 instance, 3 condition, 4 attempt,
           5 round, 6 role (0 = a cell, others measure anchors and controls)
    type 10 done:   1 problem, 2 instance, 3 condition, 4 attempt, 5 round, 6 role, 7 outcome,
           9 flags (bit 5 aliased: measured all the same; bit 9 void: the attempt is taken back),
           13 the instance that an aliased one points to
    A number that is absent is 0. Version 1; frames of a higher one are not looked at.
"""

import argparse
import array
import json
import os
import re
import struct
import sys

SYNC = b"\x89KSWEEP\n"
HEADER = struct.Struct("<8sHHIII")
FIELD = struct.Struct("<HI")
BODY_MAX = 1 << 20
SEGMENT, START, DONE = 1, 9, 10
ROLE_CELL = 0
VOID = 1 << 9
ALIASED = 6
OUTCOMES = ("", "ok", "wrong_result", "out_of_bounds", "nondeterministic", "unsupported", "aliased",
            "build_failed", "build_timeout", "load_failed", "launch_failed", "out_of_memory",
            "timeout", "crashed", "exited", "device_lost", "worker_lost", "skipped", "untrusted")
NOT_MEASURED = (0, 5, ALIASED, 7, 8)  # no outcome, unsupported, aliased, build_...
MAX_LISTED = 20


def crc_tables():
    """CRC-32C (RFC 3720), reflected polynomial; one and two bytes a step."""
    one = []
    for i in range(256):
        for _ in range(8):
            i = (i >> 1) ^ (0x82F63B78 if i & 1 else 0)
        one.append(i)
    two = [0] * 65536
    for i in range(65536):
        c = one[i & 255] ^ (i >> 8)
        two[i] = one[c & 255] ^ (c >> 8)
    return one, two


CRC_ONE, CRC_TWO = crc_tables()


def crc32c(data):
    crc, two = 0xFFFFFFFF, CRC_TWO
    words = array.array("H", data[: len(data) & ~1])
    if sys.byteorder == "big":
        words.byteswap()
    for word in words:
        crc = two[(crc ^ word) & 0xFFFF] ^ (crc >> 16)
    if len(data) & 1:
        crc = CRC_ONE[(crc ^ data[-1]) & 255] ^ (crc >> 8)
    return crc ^ 0xFFFFFFFF


def frame_at(data, at):
    """(type, version, body, end) of the whole frame at `at`, or None."""
    if len(data) - at < HEADER.size:
        return None
    _, kind, version, length, header_crc, body_crc = HEADER.unpack_from(data, at)
    end = at + HEADER.size + length
    if length > BODY_MAX or end > len(data) or crc32c(data[at:at + 16]) != header_crc:
        return None
    body = data[at + HEADER.size:end]
    return (kind, version, body, end) if crc32c(body) == body_crc else None


def frames(data):
    """Yields (offset, type, version, body); damage is what lies between."""
    at = data.find(SYNC)
    while at >= 0:
        found = frame_at(data, at)
        if found:
            yield at, found[0], found[1], found[2]
        at = data.find(SYNC, found[3] if found else at + 1)


def fields(body):
    """Yields (tag, bytes); ValueError when they do not fill the body."""
    at = 0
    while at < len(body):
        if len(body) - at < FIELD.size:
            raise ValueError("field header is cut")
        tag, length = FIELD.unpack_from(body, at)
        at += FIELD.size
        if length > len(body) - at:
            raise ValueError("field %d is cut" % tag)
        yield tag, body[at:at + length]
        at += length


def numbers(body, wanted):
    """{tag: value} of the wanted tags, 0 where absent."""
    out = dict.fromkeys(wanted, 0)
    for tag, value in fields(body):
        if tag in out:
            if len(value) not in (1, 2, 4, 8):
                raise ValueError("field %d is not a number" % tag)
            out[tag] = int.from_bytes(value, "little")
    return out


def key_of(n):
    return (n[1], n[2], n[3], n[4], n[5])


def key_text(key):
    return "%016x %016x %016x attempt %d round %d" % key


class Journal:
    """All frames that count, in order, and what was damaged."""

    def __init__(self, directory):
        self.damage, self.late_bytes, self.n_bytes = [], 0, 0
        names = {}
        for name in os.listdir(directory):
            match = re.fullmatch(r"(\d{4,})\.ksj", name)
            if match and int(match.group(1)) > 0 and name == "%04d.ksj" % int(match.group(1)):
                names[int(match.group(1))] = os.path.join(directory, name)
        self.paths = names
        self.numbers = sorted(names)
        self.headers = {n: body for n in self.numbers if (body := self.header(n)) is not None}
        self.copies = {n: of for n in self.headers if (of := self.copy_of(n))}
        self.limits = self.find_limits()

    def header(self, number):
        """The body of the frame that a segment begins with, or None."""
        with open(self.paths[number], "rb") as file:
            head = file.read(HEADER.size + 65536)
        first = frame_at(head, 0) if head.startswith(SYNC) else None
        return first[2] if first and first[0] == SEGMENT else None

    def copy_of(self, number):
        """The number of the segment that this one is a copy of; 0: it is none."""
        of = numbers(self.headers[number], (2,))[2]
        return of if of != number and self.headers.get(of) == self.headers[number] else 0

    def find_limits(self):
        limits = {}
        for number in self.headers.keys() - self.copies.keys():
            for tag, value in fields(self.headers[number]):
                if tag == 9:
                    fence = numbers(value, (1, 2))
                    if fence[1] < number:
                        limits[fence[1]] = min(fence[2], limits.get(fence[1], fence[2]))
        return limits

    def note_gap(self, path, offset, end, is_tail):
        if end > offset:
            self.damage.append({"path": path, "offset": offset, "bytes": end - offset,
                                "tail": is_tail})

    def read(self):
        """Yields (type, body, "path:offset")."""
        expected = 1
        for number in self.numbers:
            path = self.paths[number]
            for missing in range(expected, number):
                self.damage.append({"path": "%04d.ksj" % missing, "offset": 0, "bytes": 0,
                                    "tail": False})
            expected = number + 1
            if number in self.copies:
                continue
            with open(path, "rb") as file:
                data = file.read()
            limit = min(self.limits.get(number, len(data)), len(data))
            self.late_bytes += len(data) - limit
            data = data[:limit]
            self.n_bytes += limit
            end = 0
            for at, kind, version, body in frames(data):
                self.note_gap(path, end, at, False)
                end = at + HEADER.size + len(body)
                if version <= 1:
                    yield kind, body, "%s:%d" % (path, at)
            self.note_gap(path, end, limit, True)


class Audit:
    def __init__(self):
        self.errors, self.n_frames, self.n_done, self.n_starts = [], 0, 0, 0
        self.done = {}      # (cell, attempt, round) -> where
        self.void = set()   # the same keys, taken back
        self.attempts = {}  # cell -> [(attempt, outcome, flags)] of round 0
        self.aliases = {}   # cell -> instance that its newest aliased record points to
        self.early = []     # aliased records that came before what they point to

    def fail(self, kind, text):
        self.errors.append("%s: %s" % (kind, text))

    def add_done(self, body, where):
        n = numbers(body, (1, 2, 3, 4, 5, 6, 7, 9, 13))
        self.n_done += 1
        if not 1 <= n[7] < len(OUTCOMES) or n[4] < 1:
            raise ValueError("outcome %d, attempt %d" % (n[7], n[4]))
        if n[6] != ROLE_CELL:
            return
        key = key_of(n)
        if n[5] == 0:
            self.attempts.setdefault(key[:3], []).append((n[4], n[7], n[9]))
        if n[9] & VOID:
            self.void.add(key)
        elif key in self.done:
            self.fail("duplicate", "%s at %s, first at %s" % (key_text(key), where, self.done[key]))
            return
        self.done.setdefault(key, where)
        if n[7] == ALIASED:
            self.aliases[key[:3]] = n[13]
            if (n[1], n[13], n[3]) not in self.attempts:
                self.early.append("%s at %s" % (key_text(key), where))

    def add_start(self, body, where):
        self.n_starts += 1
        for tag, value in fields(body):
            if tag != 6:
                continue
            n = numbers(value, (1, 2, 3, 4, 5, 6))
            key = key_of(n)
            if n[6] == ROLE_CELL and key in self.done and key not in self.void:
                self.fail("started again", "%s at %s, done at %s"
                          % (key_text(key), where, self.done[key]))

    def add(self, kind, body, where):
        self.n_frames += 1
        try:
            if kind == DONE:
                self.add_done(body, where)
            elif kind == START:
                self.add_start(body, where)
        except ValueError as error:
            self.fail("malformed", "%s at %s" % (error, where))

    def final(self, cell):
        """The outcome that counts: of the highest attempt that is not void. (Of several that are ok
        an earlier, cleaner one may be the one that counts: the outcome is the same.)"""
        rows = self.attempts.get(cell, [])
        void = {attempt for attempt, _, flags in rows if flags & VOID}
        rows = sorted(row for row in rows if row[0] not in void)
        return rows[-1][1] if rows else None

    def outcomes(self):
        finals = {cell: self.final(cell) for cell in self.attempts}
        return {cell: outcome for cell, outcome in finals.items() if outcome}

    def check_aliases(self, is_damaged):
        for text in [] if is_damaged else self.early:
            self.fail("alias before what it points to", text)
        for cell, outcome in sorted(self.outcomes().items()):
            if outcome != ALIASED:
                continue
            first = (cell[0], self.aliases[cell], cell[2])
            if first == cell or (self.final(first) or 0) in NOT_MEASURED:
                self.fail("alias of nothing", "%016x %016x, to %016x"
                          % (cell[0], cell[1], self.aliases[cell]))

    def check_acked(self, keys):
        for key in keys:
            if key not in self.done:
                self.fail("acknowledged but not on disk", key_text(key))

    def check_grid(self, cells):
        conditions = {}
        for problem, instance, condition in self.outcomes():
            conditions.setdefault((problem, instance), set()).add(condition)
        for cell in sorted(cells - conditions.keys()):
            self.fail("no outcome", "%016x %016x" % cell)
        for cell in sorted(conditions.keys() - cells):
            self.fail("outside the grid", "%016x %016x" % cell)
        for cell, found in sorted(conditions.items()):
            if len(found) > 1:
                self.fail("several outcomes", "%016x %016x under %d conditions"
                          % (cell + (len(found),)))


def rows_of(path, n_columns):
    """Rows of a small text file; ValueError names the line."""
    with open(path, encoding="utf-8") as file:
        for i, line in enumerate(file, 1):
            if not line.strip() or "#" in line:
                continue
            row = re.split(r"[,\s]+", line.strip())
            if len(row) != n_columns:
                raise ValueError("%s:%d: %d columns, not %d" % (path, i, len(row), n_columns))
            try:
                ids = [int(text, 16) for text in row[:3]]
                yield tuple(ids + [int(text) for text in row[3:]])
            except ValueError:
                raise ValueError("%s:%d: not ids and numbers" % (path, i)) from None


def summary(audit, journal):
    counts = {}
    for outcome in audit.outcomes().values():
        counts[OUTCOMES[outcome]] = counts.get(OUTCOMES[outcome], 0) + 1
    return {
        "ok": not audit.errors,
        "segments": len(journal.numbers) - len(journal.copies),
        "copies": len(journal.copies),
        "bytes": journal.n_bytes,
        "late_bytes": journal.late_bytes,
        "frames": audit.n_frames,
        "starts": audit.n_starts,
        "records": audit.n_done,
        "void": len(audit.void),
        "cells": sum(counts.values()),
        "outcomes": dict(sorted(counts.items())),
        "damaged_places": sum(not d["tail"] for d in journal.damage),
        "torn_tails": sum(d["tail"] for d in journal.damage),
        "damage": journal.damage[:MAX_LISTED],
        "n_errors": len(audit.errors),
        "errors": audit.errors[:MAX_LISTED],
    }


def main(argv):
    parser = argparse.ArgumentParser(description="Audit the journal of a run directory.")
    parser.add_argument("dir", help="the run's directory, which holds journal/")
    parser.add_argument("--acked", help='lines "problem instance condition attempt round"')
    parser.add_argument("--grid", help='lines "problem,instance"')
    options = parser.parse_args(argv)
    try:
        acked = list(rows_of(options.acked, 5)) if options.acked else []
        grid = set(rows_of(options.grid, 2)) if options.grid else None
        journal = Journal(os.path.join(options.dir, "journal"))
    except (OSError, ValueError) as error:
        print("journal_audit: %s" % error, file=sys.stderr)
        return 2
    audit = Audit()
    for kind, body, where in journal.read():
        audit.add(kind, body, where)
    if not journal.numbers:
        audit.fail("empty", "no segment in the journal")
    audit.check_acked(acked)
    audit.check_aliases(any(not d["tail"] for d in journal.damage))
    if grid is not None:
        audit.check_grid(grid)
    print(json.dumps(summary(audit, journal)))
    return 1 if audit.errors else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
