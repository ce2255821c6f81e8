#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Real results of other tools as results files, held against an independent reading of the sources.
. "$(dirname "$0")/tap.sh"
need_program ksweep ksweep-analyze make_journal bzip2
need_data miopen_fdb
python=/usr/bin/python3 # Debian's, whose packages these are
$python -c 'import h5py' 2>/dev/null || skip_all "python3-h5py is not installed"
cd "$tap_tmp" || exit 1
check() { # KIND FILE SOURCE ...: every figure that an independent reading gives
    $python "$KSWEEP_SOURCE_DIR/tests/tools/check_import.py" "$@" >figures 2>figures.err
    rc=$?
    [ $rc -eq 0 ] && ! grep -q WANT figures
    tap_report $? "all $(grep -c ' ok$' figures) figures of $(grep -c '^#' figures) files are those of the sources" ||
        cat figures figures.err | sed 's/^/# /'
}
data=$KSWEEP_TEST_DATA

# --- a find-db, whole
bzip2 -dc "$data/miopen_fdb/gfx942130.HIP.fdb.txt.bz2" >gfx942130.HIP.fdb.txt
rc_is 0 "a find-db" ksweep-analyze import gfx942130.HIP.fdb.txt -o mi300x.h5
like "$(cat err)" 'miopen-fdb, 9600 lists, 37792 rows, not verified' "keys and rows are counted"
rc_is 0 "is a whole results file" ksweep check mi300x.h5
rc_is 0 "has a table" ksweep-analyze table mi300x.h5 -o mi300x.csv
is "$(wc -l <mi300x.csv)" 37793 "a row per measurement"
like "$(sed -n 2p mi300x.csv)" ',imported' "that says where it is from"
rc_is 0 "and a report" ksweep-analyze report mi300x.h5 --json
rc_is 0 "the older form" ksweep-analyze import -o mi50.h5 "$data/miopen_fdb/gfx906_60_head200_oldformat.fdb.txt"
ksweep-analyze oracle mi300x.h5 >oracle.out 2>oracle.err
is "$? $(cat oracle.out)" '2 ' "no oracle of single times"
like "$(cat oracle.err)" 'mi300x.h5.*no usable row has samples' "which is said"

# --- Composable Kernel
rc_is 0 "a CSV of Composable Kernel" ksweep-analyze import -o ck.h5 \
    "$data/ck/ck_oracle_forward_bf16_gfx950_sample.csv"
like "$(cat err)" ': ck, 7 lists, 210 rows' "7 problems, 210 rows"
like "$(cat err)" ': 90 rows whose output is mostly zero: untrusted' "three problems with little of the output written"
rc_is 0 "back to its columns" ksweep-analyze table ck.h5 --format json -o ck.json
is "$($python -c '
import csv, json
want = {(r["kernel"], float(r["latency_ms"])) for r in csv.DictReader(open("'"$data"'/ck/ck_oracle_forward_bf16_gfx950_sample.csv"))}
import struct
f32 = lambda x: struct.unpack("f", struct.pack("f", x))[0]
rows = json.load(open("ck.json"))
print(len(rows), len({(round(f32(r["time_median_ns"]), 3)) for r in rows} ^ {round(f32(t * 1e6), 3) for _, t in want}),
      len({r["trait_tile"] for r in rows}))')" "210 0 10" "the same times, and 10 tiles"

# --- tuners
for f in convolution_milo_MI250X_T4 convolution_milo_MI250X_ktcache ktt_convolution_RTX_3090; do
    gzip -dc "$data/t1-t4/$f.json.gz" >$f.json
done
rc_is 0 "T4" ksweep-analyze import convolution_milo_MI250X_T4.json -o t4.h5
like "$(cat err)" 't4, 4362 lists, 4362 rows' "every result"
like "$(cat err)" '1 unit of time misspelled' "miliseconds"
rc_is 0 "a cache of Kernel Tuner" ksweep-analyze import convolution_milo_MI250X_ktcache.json -o cache.h5
like "$(ksweep-analyze report cache.h5)" '^  4362 kernels ran correctly; ' "kernels whose code is not known are counted"
check fdb mi300x.h5 gfx942130.HIP.fdb.txt t4 t4.h5 convolution_milo_MI250X_T4.json \
    fdb mi50.h5 "$data/miopen_fdb/gfx906_60_head200_oldformat.fdb.txt" \
    cache cache.h5 convolution_milo_MI250X_ktcache.json
is "$(grep -c ' ok$' figures)" 32 "none was left out"
is "$($python -c '
import h5py
f = h5py.File("t4.h5")
print(f["devices"]["device_model"][0].decode(), f["problems"]["problem_name"][0].decode())
d = {r["key"].decode(): r["value"].decode() for r in f["hosts"][:]}
print(d["verified_by"], d["source_format"], len(d["source_sha256"]))')" "MI250X convolution_milo
nobody t4 64" "device and problem of the file's name, provenance"
rc_is 0 "KTT" ksweep-analyze import ktt_convolution_RTX_3090.json -o ktt.h5
like "$(cat err)" 'ktt, 6768 lists, 6768 rows' "every result"
like "$(cat err)" ': 1528 failures' "failures are outcomes"
head -c 20000 convolution_milo_MI250X_ktcache.json >cut.json
rc_is 0 "a cache that was cut" ksweep-analyze import cut.json -o cut.h5 --device MI250X
like "$(cat err)" '1 results truncated by the end of the file' "what is cut is said"

# --- results files of ksweep, by id
rc_is 0 "several files as one" ksweep-analyze import mi300x.h5 mi50.h5 mi300x.h5 -o both.h5
like "$(cat err)" '2 runs, 2 devices' "runs and devices by id"
like "$(cat err)" '1 runs are in several files' "a copy counts once"
rc_is 0 "is whole" ksweep check both.h5
is "$($python -c '
import h5py
n = {k: h5py.File(k + ".h5") for k in ("mi300x", "mi50", "both")}
print(len(n["both"]["measurements"]) - len(n["mi300x"]["measurements"]) - len(n["mi50"]["measurements"]))')" 0 "every row"

make_journal m1 6 20 5 7 1 && make_journal m2 4 25 5 0 2 && ksweep gather m1 >out && ksweep gather m2 >out || exit 1
rc_is 0 "gathered apart, then merged" ksweep-analyze import m1/results.h5 m2/results.h5 -o merged.h5
rc_is 0 "every row of every table" ksweep check merged.h5
like "$(cat "$tap_tmp/out")" 'merged.h5: whole, .* rows of results.h5 agree with it' "is what both journals say"
head -c 20000 mi300x.h5 >cut.h5
rc_is 2 "a file that was cut" ksweep-analyze import mi50.h5 cut.h5 -o no.h5

# --- KSWEEP_TEST_LONG=1: 649,000 rows, a quarter of a minute
if [ -n "${KSWEEP_TEST_LONG:-}" ]; then
    bzip2 -dc "$data/miopen_fdb/gfx90a68.HIP.fdb.txt.bz2" >gfx90a68.HIP.fdb.txt
    rc_is 0 "the find-db of gfx90a" ksweep-analyze import gfx90a68.HIP.fdb.txt -o mi210.h5
    like "$(cat err)" '193590 lists, 648924 rows' "keys and rows"
    like "$(cat err)" ': 1179 rows with a time of 0' "times of 0"
    like "$(cat err)" ": 1 rows faster than the device's peak" "6,194 Tflop/s on a device of 45"
    check fdb mi210.h5 gfx90a68.HIP.fdb.txt
    is "$(grep '^undecoded' figures)" "undecoded 1315" "of 364 keys without an output, and 48 of INT8"
else
    echo "# skipped: the find-db of gfx90a (KSWEEP_TEST_LONG)"
fi

# --- nothing is written after an error
rc_is 2 "neither is needed" ksweep-analyze import mi300x.h5
rc_is 2 "no format" ksweep-analyze import "$0" -o no.h5
rc_is 2 "a compressed find-db" ksweep-analyze import "$data/miopen_fdb/gfx942130.HIP.fdb.txt.bz2" -o no.h5
like "$(cat "$tap_tmp/err")" 'gfx942130.HIP.fdb.txt.bz2. is compressed: unpack it first with bzip2 -d' "is named as such"
rc_is 2 "a compressed cache" ksweep-analyze import "$data/t1-t4/convolution_milo_MI250X_ktcache.json.gz" --from kernel-tuner -o no.h5
like "$(cat "$tap_tmp/err")" 'unpack it first with gzip -d' "whatever --from says"
echo '{"a": 1}' >gfx942130.json
for f in miopen-fdb:"no '='" ck:'unknown column' t4:"no results" kernel-tuner:"no results" ktt:"no results" \
    profiler-log:"no results" profiler-results:'expected' ksweep:'some of the files are not'; do
    rc_is 2 "another format: --from ${f%%:*}" ksweep-analyze import gfx942130.json --from "${f%%:*}" -o no.h5
    like "$(cat "$tap_tmp/err")" "${f#*:}" "is read as that"
done
head -n 3 gfx942130.HIP.fdb.txt >gfx942130.bad.txt
echo '1-2-3=ConvX:1,2,miopenConvolutionFwdAlgoGEMM' >>gfx942130.bad.txt
rc_is 2 "a line that is no key" ksweep-analyze import gfx942130.bad.txt -o no.h5
like "$(cat err)" 'gfx942130.bad.txt:4: ' "says file and line"
not_ok "and nothing is written" test -e no.h5
done_testing
