# SPDX-License-Identifier: MIT
"""check_table.py parquet|duckdb|pandas|hdf5 TABLE CSV - every value, type and missing value of a table
is that of the CSV of the same rows. Prints "rows R, columns C, missing M, rest 0"; the rest is what
differs, with the first of it."""
import csv
import sys


def by_parquet(path):
    import pyarrow.parquet as pq
    f = pq.ParquetFile(path, page_checksum_verification=True)
    t = f.read()
    for g in range(f.metadata.num_row_groups):
        for i in range(f.metadata.num_columns):
            c = f.metadata.row_group(g).column(i)
            values = [v for v in t.column(i).to_pylist() if v is not None] if f.metadata.num_row_groups == 1 else None
            s = c.statistics
            assert c.compression == "ZSTD" and s.null_count + (len(values) if values is not None else s.num_values) == \
                f.metadata.row_group(g).num_rows, c.path_in_schema
            if values and s.has_min_max:
                assert s.min == min(values) and s.max == max(values), (c.path_in_schema, s.min, min(values), s.max)
            assert not values or s.has_min_max or c.physical_type == "BYTE_ARRAY", c.path_in_schema
            if c.physical_type == "BYTE_ARRAY":
                assert "RLE_DICTIONARY" in c.encodings, c.path_in_schema
    meta = {k.decode(): v.decode() for k, v in f.metadata.metadata.items()}
    assert meta["unit.time_median_ns"] == "ns" and meta["role.outcome"] == "label", meta
    return {n: t.column(n).to_pylist() for n in t.column_names}, {n: str(t.schema.field(n).type) for n in t.column_names}


def by_duckdb(path):
    import duckdb
    r = duckdb.sql("select * from read_parquet('%s')" % path)
    rows = r.fetchall()
    names = {"VARCHAR": "string", "BIGINT": "int64", "DOUBLE": "double", "FLOAT": "float", "UBIGINT": "uint64"}
    return ({c: [row[i] for row in rows] for i, c in enumerate(r.columns)},
            {c: names[str(t)] for c, t in zip(r.columns, r.types)})


def by_pandas(path):
    import pandas
    df = pandas.read_parquet(path, dtype_backend="numpy_nullable") if int(pandas.__version__[0]) > 1 else \
        pandas.read_parquet(path, use_nullable_dtypes=True)
    names = {"string": "string", "Int64": "int64", "Float64": "double", "Float32": "float", "UInt64": "uint64"}
    return ({c: [None if pandas.isna(v) else v for v in df[c]] for c in df},
            {c: names[str(df[c].dtype)] for c in df})


def by_hdf5(path):
    """What is missing is a value that the attribute FIELD_<n>_FILL names, or an empty text."""
    import h5py
    d = h5py.File(path)["table"]
    rows, values, types = d[:], {}, {}
    for i, name in enumerate(d.dtype.names):
        column = rows[name]
        fill = d.attrs.get("FIELD_%d_FILL" % i)
        if column.dtype.kind == "S":
            values[name] = [v.decode() or None for v in column]
            types[name] = "string"
        else:
            values[name] = [None if fill is not None and v == fill else v.item() for v in column]
            types[name] = {"f4": "float", "f8": "double", "i8": "int64", "u8": "uint64"}[column.dtype.str[1:]]
    return values, types


def want_of(text, kind):
    if text == "":
        return None
    return text if kind == "string" else float(text) if kind in ("float", "double") else int(text)


def main(how, path, source):
    values, types = {"parquet": by_parquet, "duckdb": by_duckdb, "pandas": by_pandas, "hdf5": by_hdf5}[how](path)
    with open(source, newline="") as f:
        rows = list(csv.DictReader(f))
    rest, missing, first = 0, 0, ""
    assert list(values) == list(rows[0]), "other columns"
    for name, column in values.items():
        assert len(column) == len(rows), name
        for i, (got, row) in enumerate(zip(column, rows)):
            want = want_of(row[name], types[name])
            missing += want is None
            if types[name] == "float" and None not in (got, want):
                import struct
                want = struct.unpack("f", struct.pack("f", want))[0]
            if got != want:
                rest += 1
                first = first or "%s[%d]: %r, not %r" % (name, i, got, want)
    print("rows %d, columns %d, missing %d, rest %d %s" % (len(rows), len(values), missing, rest, first))


if __name__ == "__main__":
    main(*sys.argv[1:])
