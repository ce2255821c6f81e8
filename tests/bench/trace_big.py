#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""trace_big.py OUT MIB TRACE.json.gz... - a large trace for the benchmarks of `ksweep-analyze trace`.

The traces' events are written again and again, with times, correlations, flow ids and External ids
shifted per copy so that copies do not collide, until OUT has MIB mebibytes. Event text is kept as
it is otherwise."""
import gzip
import json
import re
import sys

EVENTS = re.compile(rb'"traceEvents"\s*:\s*\[')
FIELD = re.compile(rb'"(ts|id|correlation|External id|external id)"(\s*:\s*)(-?\d+)')


def events(path):
    """The text before the events, the text of the events."""
    text = gzip.open(path).read() if path.endswith(".gz") else open(path, "rb").read()
    begin = EVENTS.search(text).end()
    end = json.JSONDecoder().raw_decode(text[begin - 1:].decode("latin-1"))[1] - 1
    return text[:begin], text[begin:begin - 1 + end].strip()


def shifted(text, copy):
    shift = {b"ts": copy * 100_000_000}

    def move(m):
        return b'"%s"%s%d' % (m[1], m[2], int(m[3]) + shift.get(m[1], copy * 10_000_000))

    return FIELD.sub(move, text)


def main():
    out, limit = sys.argv[1], int(sys.argv[2]) << 20
    traces = [events(p) for p in sys.argv[3:]]
    with open(out, "wb") as f:
        n = f.write(traces[0][0])
        copy = 0
        while n < limit:
            n += f.write(b",\n" if copy else b"")
            n += f.write(shifted(traces[copy % len(traces)][1], copy))
            copy += 1
        f.write(b"\n]}\n")
    print("%s: %d copies, %d bytes" % (out, copy, n))


main()
