#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""bench_table.py ANALYZE FILE OUT N - `ANALYZE table FILE -o OUT`, N times, as CSV and as Parquet, beside
pandas making the same of the same results.h5; prints lines "key value".
bench_table.py pandas FILE OUT - only that: /measurements joined with the other tables by their row
numbers, 100,000 rows at a time, written by DataFrame.to_csv, or by to_parquet where OUT ends in
.parquet and pandas has an engine for it; without one the rows are joined and not written."""
import os
import sys
import time

ROWS = 100000
JOINS = (("run", "runs"), ("problem", "problems"), ("kernel", "kernels"), ("device", "devices"),
         ("block", "blocks"))


def frame(rows):
    import pandas
    df = pandas.DataFrame(rows)
    for name in df.columns:
        if df[name].dtype == object:
            df[name] = df[name].str.decode("utf-8")
    return df


def traits(f):
    long = frame(f["kernel_traits/long"][:])
    return long.drop_duplicates(["instance_id", "key"]).pivot(
        index="instance_id", columns="key", values="value").add_prefix("trait_")


def has_engine():
    try:
        import pyarrow # noqa: F401 pandas' engine
    except ImportError:
        return False
    return True


def by_pandas(path, out):
    import h5py
    with h5py.File(path) as f:
        joined = {column: frame(f[table][:]).add_prefix(column + "_") for column, table in JOINS}
        kernels = joined["kernel"]
        joined["kernel"] = kernels.join(traits(f), on="kernel_instance_id")
        for drop in ("run_job", "problem_canonical", "kernel_canonical"): # not in training.csv
            table = joined[drop.split("_")[0]]
            del table[drop]
        rows = f["measurements"]
        for at in range(0, len(rows), ROWS):
            df = frame(rows[at:at + ROWS])
            for column in joined:
                df = df.join(joined[column], on=column)
            if not out.endswith(".parquet"):
                df.to_csv(out, mode="a" if at else "w", header=not at, index=False)
            elif has_engine():
                df.to_parquet("%s.%d" % (out, at), compression="zstd")


def measured(argv):
    """Wall in s and most memory in MiB of a program."""
    begin = time.monotonic()
    pid = os.spawnvp(os.P_NOWAIT, argv[0], argv)
    _, status, usage = os.wait4(pid, 0)
    if status:
        sys.exit(f"{argv[0]} ends with {status}")
    return time.monotonic() - begin, usage.ru_maxrss / 1024, usage.ru_utime + usage.ru_stime


def as_parquet(analyze, path, out, n):
    for _ in range(n):
        wall, mib, cpu = measured([analyze, "table", path, "--format", "parquet", "-o", out])
        print(f"# parquet {wall:.3f} s, {cpu:.3f} s of CPU, {mib:.1f} MiB")
        print(f"parquet_s {wall:.4f}\nparquet_cpu_s {cpu:.4f}\nparquet_mib {mib:.1f}")
    print("parquet_mb", round(os.path.getsize(out) / 1e6, 1))
    wall, mib, cpu = measured([sys.executable, os.path.abspath(__file__), "pandas", path, out])
    print(f"pandas_parquet_s {wall:.4f}\npandas_parquet_cpu_s {cpu:.4f}\npandas_parquet_mib {mib:.1f}")
    print("pandas_parquet_written", int(has_engine()))
    for name in os.listdir(os.path.dirname(out) or "."):
        if name.startswith(os.path.basename(out)):
            os.remove(os.path.join(os.path.dirname(out), name))


def main(argv):
    if len(argv) == 3 and argv[0] == "pandas":
        by_pandas(argv[1], argv[2])
        return 0
    if len(argv) != 4:
        print(__doc__, file=sys.stderr)
        return 2
    analyze, path, out, n = argv[0], argv[1], argv[2], int(argv[3])
    for _ in range(n):
        wall, mib, cpu = measured([analyze, "table", path, "-o", out])
        print(f"# table {wall:.3f} s, {cpu:.3f} s of CPU, {mib:.1f} MiB")
        print(f"table_s {wall:.4f}\ntable_cpu_s {cpu:.4f}\ntable_mib {mib:.1f}")
    with open(out, "rb") as f:
        print("rows", sum(block.count(b"\n") for block in iter(lambda: f.read(1 << 24), b"")) - 1)
    print("csv_mb", round(os.path.getsize(out) / 1e6, 1))
    as_parquet(analyze, path, out + ".parquet", n)
    wall, mib, cpu = measured([sys.executable, os.path.abspath(__file__), "pandas", path, out])
    print(f"pandas_s {wall:.4f}\npandas_cpu_s {cpu:.4f}\npandas_mib {mib:.1f}")
    print("pandas_csv_mb", round(os.path.getsize(out) / 1e6, 1))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
