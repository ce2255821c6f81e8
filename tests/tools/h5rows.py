#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Print columns of tables of results.h5 as tab-separated lines, for shell tests.

usage: h5rows.py FILE TABLE COLUMN... [-- TABLE COLUMN...]   (COLUMN 'kernel_name' joins /kernels by
the row's kernel; an empty line stands between tables)
"""
import sys

import h5py


def text(value, column=""):
    if column.endswith("_id"):
        return f"{int(value):016x}"
    return value.decode() if isinstance(value, bytes) else str(value)


def table(f, name, columns):
    rows = f[name][:]
    names = [text(n) for n in f["kernels"]["instance_name"]]
    for row in rows:
        print("\t".join(names[row["kernel"]] if c == "kernel_name" else text(row[c], c)
                        for c in columns))


def main():
    words = sys.argv[2:]
    with h5py.File(sys.argv[1], "r") as f:
        while words:
            end = words.index("--") if "--" in words else len(words)
            table(f, words[0], words[1:end])
            words = words[end + 1:]
            if words:
                print()


main()
