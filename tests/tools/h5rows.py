#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Print columns of a table of results.h5 as tab-separated lines, for shell tests.

usage: h5rows.py FILE TABLE COLUMN... (COLUMN 'kernel_name' joins /kernels by the row's kernel)
"""
import sys

import h5py


def text(value, column=""):
    if column.endswith("_id"):
        return f"{int(value):016x}"
    return value.decode() if isinstance(value, bytes) else str(value)


def main():
    path, table, columns = sys.argv[1], sys.argv[2], sys.argv[3:]
    with h5py.File(path, "r") as f:
        rows = f[table][:]
        names = [text(n) for n in f["kernels"]["name"]]
        for row in rows:
            print("\t".join(names[row["kernel"]] if c == "kernel_name" else text(row[c], c)
                            for c in columns))


main()
