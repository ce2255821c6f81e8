#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# ksweep-analyze train, validate, select and need with files that are none: one error that names the file,
# status 2, nothing written.
. "$(dirname "$0")/tap.sh"
need_program ksweep ksweep-analyze make_journal
cd "$tap_tmp" || exit 1

for i in 1 2; do
    make_journal run$i 24 8 5 0 $i >/dev/null 2>&1 && ksweep gather run$i >/dev/null 2>&1
done
ksweep-analyze train run1/results.h5 -o m --rounds 4 --settings 1 --folds 3 --threads 1 --class-folds=no >/dev/null 2>&1
ok "a model, results of other problems" test -d m -a -s run2/results.h5
: >empty.h5
head -c 3000 run1/results.h5 >short.h5
printf 'not HDF5\n' >foreign.h5
make_journal one 1 8 5 0 4 >/dev/null 2>&1 && ksweep gather one >/dev/null 2>&1
make_journal single 12 1 5 0 5 >/dev/null 2>&1 && ksweep gather single >/dev/null 2>&1
cp -r m mspec && sed -i 's/"name": "log2_m"/"name": "log2_q"/' mspec/feature_spec.json
cp -r m mother && python3 - m/feature_spec.json >mother/feature_spec.json <<'PY'
import sys
print(open(sys.argv[1]).read().replace('"operator": "grouped_conv"', '"operator": "gemm"'))
PY
cp -r m mtrees && sed -i 's/"num_feature":"[0-9]*"/"num_feature":"3"/g' mtrees/model.json
cp -r m moof && sed -i '3s/,[^,]*,[^,]*,[^,]*$/,nan,0,0/' moof/oof.csv
cp -r m mcut && head -c 2000 m/problems.csv >mcut/problems.csv
sed -n 's/.*,\(operator=grouped_conv.*\)/\1/p' m/problems.csv | sed 's/ n=[0-9]*/ n=77/' | python3 -c '
import sys
rows = [dict(w.split("=") for w in line.split()) for line in sys.stdin]
print(*(",".join(r) for r in (rows[0], *(r.values() for r in rows))), sep="\n")' >new.csv
rc_is 0 "a list of new problems" ksweep-analyze need m --problems new.csv -n 3
while IFS='|' read -r what says command; do
    # shellcheck disable=SC2086
    rc_is 2 "$what" ksweep-analyze $command
    like "$(cat err)" "$says" "$what: the message names it"
    is "$(wc -l <err)" 1 "$what: one error"
    not_ok "$what: nothing written" test -e dirt
done <<'ROWS'
train, empty|empty.h5|train empty.h5 -o dirt
train, cut off|short.h5|train short.h5 -o dirt
train, no HDF5|foreign.h5|train foreign.h5 -o dirt
train, absent|absent.h5|train absent.h5 -o dirt
train, one problem|1 problems cannot be split into 5 folds|train one/results.h5 -o dirt
train, one instance|all usable rows belong to one instance, 'host_|train single/results.h5 -o dirt
validate, empty|empty.h5|validate m empty.h5
validate, cut off|short.h5|validate m short.h5
validate, retime empty|empty.h5|validate m run2/results.h5 --retime empty.h5 --write-retime dirt
validate, unknown feature|mspec/feature_spec.json.*unknown feature 'log2_q'|validate mspec run2/results.h5
validate, another operator|mother/feature_spec.json|validate mother run2/results.h5
validate, other trees|mtrees/|validate mtrees run2/results.h5
validate, a score that is none|moof/oof.csv:3: |validate moof run2/results.h5
validate, problems cut off|mcut/problems.csv:|validate mcut run2/results.h5
select, unknown feature|mspec/feature_spec.json|select mspec -o dirt
select, other trees|mtrees/model.json|select mtrees -o dirt
select, a score that is none|moof/oof.csv:3: |select moof -o dirt
need, problems cut off|mcut/problems.csv:|need mcut --problems empty.h5 -o dirt
need, an empty list|empty.h5|need m --problems empty.h5 -o dirt
need, other trees|mtrees/|need mtrees --problems new.csv -o dirt
need, another operator|mother/feature_spec.json|need mother --problems new.csv -o dirt
train --warm, unknown feature|mspec/feature_spec.json|train run2/results.h5 --warm mspec -o dirt
train --warm, other trees|mtrees/model.json|train run2/results.h5 --warm mtrees -o dirt
ROWS
# Outputs that would replace an input.
printf 'operator,n,c_total,k_total,hi,wi,y,x\n' >list.csv
while IFS='|' read -r file command; do
    before=$(cksum <"$file")
    # shellcheck disable=SC2086
    rc_is 2 "$command" ksweep-analyze $command
    like "$(cat err)" "'$file' is also an input.*: choose another output file" "is refused"
    is "$(cksum <"$file")" "$before" "which stays as it is"
done <<'ROWS'
list.csv|need m --problems list.csv -o list.csv
run1/results.h5|table run1 -o run1/results.h5
run1/results.h5|report run1 -o run1/results.h5
run1/results.h5|timeline run1 -o run1/results.h5
run2/results.h5|oracle run1 run2 -o run2/results.h5
ROWS
ok "another file in a run's directory is an output" ksweep-analyze table run1 -o run1/training.csv
if /usr/bin/python3 -c 'import h5py' 2>/dev/null; then
    cp run1/results.h5 nan.h5 && cp run1/results.h5 failed.h5
    /usr/bin/python3 - <<'PY'
import h5py, math
for name, change in (("nan.h5", {"time_median_ns": math.nan}), ("failed.h5", {"outcome": 5})):
    with h5py.File(name, "r+") as f:
        rows = f["measurements"][:]
        for column, value in change.items():
            rows[column] = value
        f["measurements"][...] = rows
PY
    for what in "newer 2 0" "older 0 9" "next 1 99" "single 1 5"; do
        # shellcheck disable=SC2086
        set -- $what
        cp run2/results.h5 "$1.h5" && /usr/bin/python3 - "$@" <<'PY'
import h5py, numpy, sys
with h5py.File(sys.argv[1] + ".h5", "r+") as f:
    for key, value in zip(("schema_major", "schema_minor"), sys.argv[2:]):
        f.attrs[key] = numpy.uint64(value)
PY
    done
    cp "$KSWEEP_SOURCE_DIR/tests/data/results-1.4.h5" old.h5
    cp run1/results.h5 two.h5 && /usr/bin/python3 - <<'PY'
import h5py
with h5py.File("two.h5", "r+") as f:
    rows = f["problems"][:]
    rows["canonical"][0] = b"operator=gemm direction=forward dtype=fp32 layout=nhwgc batch=1 m=5 n=4 k=3 trans_a=0 trans_b=0"
    f["problems"][...] = rows
PY
    while IFS='|' read -r what says command; do
        # shellcheck disable=SC2086
        rc_is 2 "$what" ksweep-analyze $command
        like "$(cat err)" "$says" "$what: says what to do"
        is "$(wc -l <err)" 1 "$what: one error"
        not_ok "$what: nothing written" test -e dirt
    done <<'ROWS'
train, a newer schema|newer.h5.*schema 2.0, but this version reads 1.x: use the version of ksweep that wrote it|train newer.h5 -o dirt
train, an older schema|older.h5.*schema 0.9, but this version reads 1.x: gather the run's journals again|train older.h5 -o dirt
validate, a newer schema|newer.h5.*schema 2.0|validate m newer.h5
train, two operators|two.h5: problems of grouped_conv together with those of gemm.*with --where operator=gemm|train two.h5 -o dirt
validate, another operator|the model is for grouped_conv, but the results contain gemm|validate m two.h5 --where operator=gemm
validate, times not over rounds|only one of single.h5 and the model's data has times over rounds; gather both again|validate m single.h5
validate, a ceiling not over rounds|only one of single.h5 and the model's|validate m run2/results.h5 --ceiling single.h5
validate, a retime not over rounds|only one of single.h5 and the model's|validate m run2/results.h5 --retime single.h5
train --warm, times not over rounds|--warm m: only one of the model's data and single.h5 has times over rounds|train single.h5 --warm m -o dirt
validate, a newer ceiling|newer.h5.*schema 2.0|validate m run2/results.h5 --ceiling newer.h5
train, one without times over rounds|old.h5 has schema 1.4, run1/results.h5 has 1.[0-9]+: .*allow it with --mixed|train run1/results.h5 old.h5 -o dirt
ROWS
    rc_is 2 "check, a newer schema" ksweep check newer.h5
    like "$(cat err)" "newer.h5.*schema 2.0.*use the version of ksweep that wrote it" "says that it cannot tell"
    is "$(cat out)" "" "and does not call it damaged"
    # Instances that failed everywhere are in the specification, but nothing to propose.
    cp run1/results.h5 few.h5 && /usr/bin/python3 - <<'PY'
import h5py
with h5py.File("few.h5", "r+") as f:
    rows = f["measurements"][:]
    kept = sorted(set(rows["instance_id"]))[:2]
    rows["outcome"][[i not in kept for i in rows["instance_id"]]] = 5
    f["measurements"][...] = rows
PY
    ksweep-analyze train few.h5 -o few --rounds 4 --settings 1 --folds 3 --threads 1 --class-folds=no >out 2>err
    ksweep problems "$KSWEEP_SOURCE_DIR/jobs/problems/resnet50.csv" --export layers.csv >/dev/null 2>&1
    rc_is 0 "need of a model that knows two instances" ksweep-analyze need few --problems layers.csv -n 3
    is "$(grep -c '^ *instances: [^,]*, [^,]*$' out) $(grep -c instances: out)" "3 3" "proposes these two"
    ksweep-analyze train two.h5 -o chosen --where ndim=2 --where operator=grouped_conv --rounds 4 --settings 1 --folds 3 \
        --threads 1 --class-folds=no >out 2>err
    ok "one of two operators, whose dimensions the other lacks" test $? -le 1 -a -d chosen
    ksweep-analyze validate m next.h5 --threads 1 >out 2>err
    ok "a newer schema of the same kind is read" test $? -le 1
    # Schema 1.7 added clock_timed_mhz.
    cp run2/results.h5 minor6.h5 && /usr/bin/python3 - <<'PY'
import h5py, numpy
from numpy.lib.recfunctions import repack_fields
with h5py.File("minor6.h5", "r+") as f:
    f.attrs["schema_minor"] = numpy.uint64(6)
    for table in ("measurements", "attempts"):
        old = f[table]
        rows, attributes = old[:], dict(old.attrs)
        rows = repack_fields(rows[[n for n in rows.dtype.names if n != "clock_timed_mhz"]])
        del f[table]
        f.create_dataset(table, data=rows, chunks=True).attrs.update(attributes)
PY
    ksweep-analyze table run2/results.h5 -o minor7.csv && ksweep-analyze table minor6.h5 -o minor6.csv
    ok "a file of schema 1.6 has the same table" cmp minor6.csv minor7.csv
    ksweep-analyze train run1/results.h5 minor6.h5 -o mixed --rounds 4 --settings 1 --folds 3 --threads 1 \
        --class-folds=no >out 2>err
    ok "and is trained with one of this version" test $? -le 1 -a -s mixed/model.json
    for what in nan failed; do
        rc_is 2 "train, all times $what" ksweep-analyze train $what.h5 -o dirt
        like "$(cat err)" "$what.h5: no usable row" "says so"
        not_ok "nothing written" test -e dirt
    done
fi

done_testing
