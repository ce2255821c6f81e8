#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# One table in every form: Parquet, HDF5 and CSV hold the same values, types and missing values, for
# other programs and for `table` itself. KSWEEP_TEST_PYTHON: a python that has pyarrow and duckdb.
. "$(dirname "$0")/tap.sh"
need_program ksweep ksweep-analyze make_journal
debian=/usr/bin/python3 # Debian's, whose packages these are
$debian -c 'import h5py, pandas, tables' 2>/dev/null ||
    skip_all "python3-h5py, python3-pandas or python3-tables is not installed"
cd "$tap_tmp" || exit 1
check=$KSWEEP_SOURCE_DIR/tests/tools/check_table.py
same() { # PYTHON HOW TABLE DESCRIPTION: as its CSV
    is "$("$1" "$check" "$2" "$3" a.csv 2>&1 | tail -n 1)" "rows 343, $(sizes) rest 0 " "$4"
}
sizes() { # of a.csv
    $debian -c 'import csv
rows = list(csv.reader(open("a.csv")))
print(f"columns {len(rows[0])}, missing {sum(f == str() for r in rows[1:] for f in r)},")'
}
table() { ksweep-analyze table "$@" 2>err; }

make_journal a 12 30 15 17 1 && ksweep gather a >/dev/null || exit 1
ok "CSV" table a/results.h5 -o a.csv
ok "Parquet" table a/results.h5 --format parquet -o a.parquet
ok "HDF5" table a/results.h5 --format hdf5 -o a.table.h5
same $debian hdf5 a.table.h5 "HDF5 has the values of the CSV"
is "$($debian -c 'import pandas
print(len(pandas.read_hdf("a.table.h5", "table")))')" 343 "pandas reads it"

ok "Composable Kernel's CSV" table a/results.h5 --format ck -o ck.csv
ok "and Parquet" table a/results.h5 --format ck-parquet -o ck.parquet

# --- a table that exists
ok "CSV to CSV" table a.csv -o b.csv
ok "the same bytes" cmp a.csv b.csv
ok "HDF5 to CSV" table a.table.h5 -o b.csv
ok "the same bytes" cmp a.csv b.csv
ok "CSV to HDF5" table a.csv --format hdf5 -o b.h5
same $debian hdf5 b.h5 "the same values"
ok "with the columns of --oracle" table a/results.h5 --oracle -o o.csv
ok "to HDF5" table o.csv --format hdf5 -o o.h5
ok "and back" table o.h5 -o b.csv
ok "the same bytes" cmp o.csv b.csv
ok "CSV to Parquet" table a.csv --format parquet -o b.parquet

# --- what is wrong is one error, and nothing is written
sed 's/time_median_ns/time_medain_ns/' a.csv >bad.csv
rc_is 2 "an unknown column" ksweep-analyze table bad.csv -o no.csv
like "$(cat "$tap_tmp/err")" "time_medain_ns.*did you mean 'time_median_ns'" "the nearest is named"
sed '3s/,ok,/,"ok,/' a.csv >bad.csv
rc_is 2 "a broken quote" ksweep-analyze table bad.csv -o no.csv
like "$(cat "$tap_tmp/err")" 'bad.csv:3: ' "file and line"
sed '1s/^[^,]*,\([^,]*\),/\1,\1,/' a.csv >bad.csv
rc_is 2 "a column that is there twice" ksweep-analyze table bad.csv -o no.csv
like "$(cat "$tap_tmp/err")" 'duplicate column' "is named"
LC_ALL=C sed '3s/,ok,/,\xe9,/' a.csv >bad.csv
rc_is 2 "a text that is not UTF-8" ksweep-analyze table bad.csv --format parquet -o no.csv
sed '4s/^[^,]*,[^,]*,/x,y,/' a.csv >bad.csv
rc_is 2 "an id that is none" ksweep-analyze table bad.csv -o no.csv
: >empty.csv
rc_is 2 "an empty file" ksweep-analyze table empty.csv -o no.csv
rc_is 2 "HDF5 to a pipe" ksweep-analyze table a.csv --format hdf5
rc_is 2 "a choice that a table has not" ksweep-analyze table a.csv --merge newest
not_ok "nothing is written" test -e no.csv

# --- other programs
python=${KSWEEP_TEST_PYTHON:-}
if [ -z "$python" ] || ! "$python" -c 'import pyarrow, duckdb' 2>/dev/null; then
    echo "# skipped: Parquet with pyarrow and DuckDB (KSWEEP_TEST_PYTHON names no python that has them)"
else
    same "$python" parquet a.parquet "pyarrow: values, types, missing, statistics, units, checksums"
    same "$python" parquet b.parquet "of the converted one"
    same "$python" duckdb a.parquet "DuckDB"
    "$python" -c '
import csv
rows = list(csv.DictReader(open("a.csv", newline="")))
names = [n for n in rows[0] if n in ("problem_id", "instance_name", "flops", "outcome", "time_median_ns", "attempt", "reason")]
w = csv.DictWriter(open("many.csv", "w"), names, extrasaction="ignore", lineterminator="\n")
w.writeheader()
for i in range(200):
    w.writerows(dict(r, attempt=i * 1000 + k, flops=k % 300, instance_name="k%d" % (i * 7 % 50)) for k, r in enumerate(rows))'
    ok "many rows" table many.csv --format parquet -o many.parquet
    is "$("$python" "$check" parquet many.parquet many.csv | sed 's/missing [0-9]*, //')$("$python" -c '
import pyarrow.parquet as pq
print(pq.ParquetFile("many.parquet").num_row_groups)')" "rows 68600, columns 7, rest 0 2" "in two row groups"
    is "$("$python" -c '
import csv, pyarrow.parquet as pq
t = pq.read_table("ck.parquet").to_pydict()
rows = list(csv.DictReader(open("ck.csv")))
t["kernel"] = t["kernel_name"]
print(len(rows), len(t["kernel"]), sum(str(v) != rows[i][k] and float(v) != float(rows[i][k]) for k in rows[0]
      for i, v in enumerate(t[k])), set(t["op_type"]), set(t["variant"]), set(t["hw_num_cus"]))')" \
        "322 322 0 {'grouped_conv'} {'forward'} {None}" "Composable Kernel's Parquet has the rows of its CSV"
    printf 'problem_id,feature_a,feature_b\n%s' '0000000000000001,-0,-3
0000000000000001,0,-1.5
0000000000000002,0,
' >zeros.csv
    ok "zeros of both signs" table zeros.csv --format parquet -o zeros.parquet
    is "$("$python" -c 'import pyarrow.parquet as pq
g = pq.ParquetFile("zeros.parquet").metadata.row_group(0)
print([(g.column(i).statistics.min, g.column(i).statistics.max) for i in (1, 2)])')" \
        "[(-0.0, 0.0), (-3.0, -1.5)]" "a zero stands for both in statistics"
    if "$python" -c 'import pandas' 2>/dev/null; then
        same "$python" pandas a.parquet "pandas"
    else
        echo "# skipped: Parquet with pandas (that python has none)"
    fi
fi
done_testing
