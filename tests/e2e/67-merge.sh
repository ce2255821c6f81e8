#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# waits: yes
# One results.h5 of many runs: overlapping, unfinished, damaged, of an earlier version, given twice.
. "$(dirname "$0")/tap.sh"
need_program ksweep ksweep-analyze make_journal h5rows
python=/usr/bin/python3
[ -x $python ] || skip_all "$python is not installed"
cd "$tap_tmp" || exit 1

# --- four runs: two of one grid, one of a larger grid that overlaps, one of an earlier version
mkdir -p cluster1 cluster2 old
make_journal cluster1/a 12 30 5 0 1
make_journal cluster2/b 12 30 5 17 8
make_journal cluster2/c 14 32 5 0 15 # seeds that are equal modulo 7: the same problems
cp -r "$KSWEEP_SOURCE_DIR/tests/data/journal-v1" old/journal
rc_is 0 'four runs, by relative paths with slashes' \
    ksweep gather cluster1/a/ ./cluster2/b cluster2/../cluster2/c// old -o all.h5
cp out merged.out
like "$(cat merged.out)" '; 4 runs' 'the union of four'
like "$(cat merged.out)" "^  $tap_tmp/cluster2/b: .* 343 of 360 cells" 'an unfinished one says so'
rc_is 0 'checked against all four journals' ksweep check all.h5
like "$(cat out)" 'rows of results.h5 agree with it' 'row by row'
is "$(h5rows all.h5 runs dir | sort | paste -sd ' ')" \
    "$tap_tmp/cluster1/a $tap_tmp/cluster2/b $tap_tmp/cluster2/c $tap_tmp/old" \
    'their directories, absolute'
n=0
for d in cluster1/a cluster2/b cluster2/c old; do
    ksweep gather $d -o one.h5 >out 2>err
    n=$((n + $(h5rows one.h5 measurements outcome | wc -l)))
done
is "$(h5rows all.h5 measurements outcome | wc -l)" "$n" 'no row is dropped, none is made'
is "$(h5rows all.h5 measurements problem_id instance_id condition_id run | sort | uniq -d | wc -l)" \
    0 'every cell once a run'
is "$(h5rows all.h5 measurements problem_id instance_id condition_id | sort | uniq -c |
    awk '{ print $1 }' | sort -un | paste -sd ' ')" '1 2 3' 'the same cell of three runs: three rows'
rc_is 0 'the same in another order' ksweep gather old cluster2/c cluster2/b cluster1/a -o other.h5
is "$(h5rows other.h5 measurements problem_id instance_id time_median_ns outcome_text | sort | md5sum)" \
    "$(h5rows all.h5 measurements problem_id instance_id time_median_ns outcome_text | sort | md5sum)" \
    'is the same'

# --- choosing among them
rc_is 0 'a table of all' ksweep-analyze table all.h5 -o all.csv
unlike "$(cat err)" 'left out' 'leaves nothing out'
for how in newest median; do
    rc_is 0 "--merge $how" ksweep-analyze table all.h5 --merge $how -o $how.csv
    like "$(cat err)" "merging left out $(($(wc -l <all.csv) - $(wc -l <$how.csv))) of $n rows" \
        "$how says how many rows it dropped"
done
# The runs began at the same time, so the last of them is the newest; rows stand in their order.
last_of() { $python - "$1" <<'PY'
import csv, sys
last = {}
for r in csv.DictReader(open(sys.argv[1])):
    last[r["problem_id"], r["instance_id"], r["condition_id"]] = r["run_id"] + r["time_median_ns"]
print(len(last), hash(tuple(sorted(last.items()))))
PY
}
export PYTHONHASHSEED=0
is "$(last_of newest.csv)" "$(last_of all.csv)" 'newest keeps the newest of each cell'
is "$(($(wc -l <newest.csv) - 1))" "$(last_of newest.csv | cut -d ' ' -f 1)" 'one of each'

# --- another measurement protocol is another condition: its times never stand for the other's
make_journal protocol2/a 12 30 5 0 22 0xc0ffee02
rc_is 0 'runs of two protocols' ksweep gather cluster1/a protocol2/a -o two.h5
is "$(h5rows two.h5 measurements problem_id instance_id condition_id | sort | uniq | wc -l)" 720 \
    'every cell once for each'
for how in newest median; do
    rc_is 0 "--merge $how" ksweep-analyze table two.h5 --merge $how -o two.csv
    is "$(($(wc -l <two.csv) - 1))" 720 "$how chooses within a protocol only"
done

# --- what cannot be merged
cp -r cluster2/b moved
for twice in 'cluster1/a cluster1/a' 'cluster1/a cluster1/../cluster1/a/' 'cluster2/b moved'; do
    # shellcheck disable=SC2086
    rc_is 2 "refused: $twice" ksweep gather $twice -o twice.h5
    # shellcheck disable=SC2086
    like "$(cat err)" "'${twice% *}' and '${twice#* }' contain the same run .* only the one with more" \
        'with both names and what to do'
done
rc_is 2 'a directory that is not there' ksweep gather cluster1/a none -o twice.h5
like "$(cat err)" "'none' is not the directory of a run" 'is named'
rc_is 2 'an HDF5 file instead of a directory' ksweep gather cluster1/a all.h5 -o twice.h5
like "$(cat err)" "'all.h5' is not the directory of a run: results are gathered from journals" 'is named'
mkdir -p begun/journal
rc_is 2 'a run that never began' ksweep gather cluster1/a begun -o twice.h5
like "$(cat err)" "'begun/?'.*has no segment" 'is named'
not_ok 'nothing was written' test -e twice.h5

# --- a damaged one loses a record, its neighbours nothing
size=$(stat -c %s cluster2/c/journal/0001.ksj)
printf '###' | dd of=cluster2/c/journal/0001.ksj bs=1 seek=$((size / 2)) conv=notrunc status=none
head -c -10 cluster2/b/journal/0001.ksj >cut && cp cut cluster2/b/journal/0001.ksj
rc_is 0 'a damaged one among them' ksweep gather cluster1/a cluster2/b cluster2/c -o hurt.h5
like "$(cat out)" '^  .*/cluster2/c: .*, 1 damaged places' 'is named'
like "$(cat out)" '^  .*/cluster1/a: .* 360 of 360 cells$' 'the others are whole'
like "$(cat err)" "run 'ksweep check'" 'and how to find the place'
is "$(h5rows hurt.h5 measurements outcome | wc -l)" $((360 + 343 + 448 - 1)) 'one record is lost'

# --- many
dirs=()
for i in $(seq 100); do
    make_journal "many/$i" 4 10 5 0 $((7 * i))
    dirs+=("many/$i")
done
rss() { # COMMAND...: MiB at most
    $python -c 'import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10)' "$@"
}
one=$(rss ksweep gather many/1 -o one.h5)
all=$(rss ksweep gather "${dirs[@]}" -o many.h5)
tap_note "$one MiB for one run, $all MiB for 100"
is "$(h5rows many.h5 measurements outcome | wc -l)" 4000 '100 runs in one file'
is $((all < one + 64)) 1 'in bounded memory'
rc_is 0 'checked' ksweep check many.h5
rc_is 0 'a table of the newest' ksweep-analyze table many.h5 --merge newest
is "$(wc -l <out)" 41 'one row a cell'
like "$(cat err)" 'left out 3960 of 4000 rows' '3960 dropped'
done_testing
