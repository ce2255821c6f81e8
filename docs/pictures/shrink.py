#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""shrink.py PNG - rewrites a screenshot with a palette of at most 256 colors, a third of its size. The
other colors become the nearest of those."""
import collections
import struct
import sys
import zlib


def read(path):
    """(width, height, rows of RGB triples), of an 8-bit RGB or RGBA PNG without interlacing."""
    data = open(path, "rb").read()
    width, height, depth, kind = struct.unpack(">IIBB", data[16:26])
    assert depth == 8 and kind in (2, 6) and data[28] == 0, "not such a PNG"
    n, at, packed = (3 if kind == 2 else 4), 8, b""
    while at < len(data):
        size, name = struct.unpack(">I4s", data[at:at + 8])
        packed += data[at + 8:at + 8 + size] if name == b"IDAT" else b""
        at += size + 12
    raw, before, rows = zlib.decompress(packed), bytearray(width * n), []
    for y in range(height):
        at = y * (width * n + 1)
        how, row = raw[at], bytearray(raw[at + 1:at + 1 + width * n])
        for i in range(len(row) if how else 0):
            a, b, c = (row[i - n] if i >= n else 0), before[i], (before[i - n] if i >= n else 0)
            p = a + b - c
            paeth = min((abs(p - a), 0, a), (abs(p - b), 1, b), (abs(p - c), 2, c))[2]
            row[i] = (row[i] + (0, a, b, (a + b) // 2, paeth)[how]) & 255
        rows.append([tuple(row[i:i + 3]) for i in range(0, len(row), n)])
        before = row
    return width, height, rows


def chunk(name, data):
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


width, height, rows = read(sys.argv[1])
# The most frequent ones, then those that are unlike all others: a small spot keeps its color.
palette = []
for c, _ in collections.Counter(c for row in rows for c in row).most_common():
    if len(palette) < 160 or len(palette) < 256 and min(sum((x - y) ** 2 for x, y in zip(p, c)) for p in palette) > 500:
        palette.append(c)
number = {c: i for i, c in enumerate(palette)}


def index(c):
    if c not in number:
        number[c] = min(range(len(palette)), key=lambda i: sum((x - y) ** 2 for x, y in zip(palette[i], c)))
    return number[c]


lines = b"".join(b"\0" + bytes(index(c) for c in row) for row in rows)
with open(sys.argv[1], "wb") as out:
    out.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0))
              + chunk(b"PLTE", bytes(v for c in palette for v in c)) + chunk(b"IDAT", zlib.compress(lines, 9))
              + chunk(b"IEND", b""))
