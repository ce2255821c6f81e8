#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Instances that are the same machine code are measured once: real compilers, real ranks, kills.
# group: mpi
. "$(dirname "$0")/tap.sh"
need_program mpirun cc
. "$(dirname "$0")/sweep.sh"
cd "$tap_tmp" || exit 1
audit="/usr/bin/python3 $KSWEEP_SOURCE_DIR/tests/tools/journal_audit.py"

job() { # NAME FILTER SHARE -> NAME.json
    cat >"$1.json" <<EOF
{ "name": "$1", "why": "copies", "operator": "grouped_conv",
  "kernels": [ {"config": "$KSWEEP_SOURCE_DIR/tests/fake/alias.json", "filter": "$2"} ],
  "problems": [ {"file": "$KSWEEP_SOURCE_DIR/tests/data/tiny.csv"} ],
  "measure": {"warmup_ms": 0, "max_ms": 5, "alias_control": $3,
              "contention": {"retries": 0, "switches_per_s": 1e6, "stolen": 1, "canary": 100}},
  "isolate": {"kernel_timeout_s": 10} }
EOF
}
job copies "fault == 'none'" 0
job controls "fault == 'none'" 1
job failing "split_k == 1 and order == 0" 0

column() { # FILE NAME...: those columns of a table, blanks between
    local file=$1
    shift
    awk -F, -v names="$*" 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; n = split(names, want, " "); next }
        { for (i = 1; i <= n; i++) printf "%s%s", $at[want[i]], i < n ? " " : "\n" }' "$file"
}

# Every row: its name, and that of what it points to; "-" when it was measured itself.
points() { # FILE
    column "$1" problem_id instance_id instance_name representative_id outcome |
        awk '{ row[NR] = $0; name[$1 " " $2] = $3 }
             END { for (i = 1; i <= NR; i++) { n = split(row[i], f, " ")
                   print f[3], (n == 5 ? name[f[1] " " f[4]] : "-"), f[n] } }' | sort -u
}

# --- before and after the build

ok 'plan without a build' ksweep plan copies.json --cache cache
like "$(cat out)" 'share machine code is not known: nothing was built yet' 'does not guess'
not_ok 'and makes no cache' test -e cache
ok 'build' ksweep build copies.json --cache "$tiny_cache"
ok 'plan' ksweep plan copies.json --cache "$tiny_cache"
like "$(cat out)" '^24 of them need not be measured: .*\(4 groups\)' 'plan counts what aliases save'
ok 'plan of the controls' ksweep plan controls.json --cache "$tiny_cache"
like "$(cat out)" '^0 of them need not be measured' 'who wants all of them measured saves nothing'

# --- what is equal, and what is not

TINY_JOB=copies.json
for n in 0 4; do
    KSWEEP_ACK_LOG=$tap_tmp/acked$n tiny $n run$n >run$n.out 2>run$n.err
    is $? 0 "$n ranks: exit status 0"
    is "$(exit_of run$n)" 0 "$n ranks: status --exit-code"
    is "$(field run$n ok) $(field run$n aliased) $(outcomes run$n)" '12 24 36' \
        "$n ranks: the outcomes add up to the grid"
    ok "$n ranks: journal and results.h5 agree" ksweep check run$n
    ksweep-analyze table run$n/results.h5 -o run$n.csv 2>err
    column run$n.csv problem_id instance_id | tr ' ' ',' >grid$n
    ok "$n ranks: each cell has one outcome, aliases point to what was measured" \
        $audit run$n --grid grid$n --acked acked$n
    is "$(wc -l <acked$n)" 36 "$n ranks: aliases are acknowledged, too"
    for o in 0 1; do
        for sk in 1 2; do
            printf 'alias_o%d_c0_sk%d - ok\n' $o $sk
            printf "alias_o${o}_c%d_sk$sk alias_o${o}_c0_sk$sk aliased\n" 1 2
        done
    done | sort >want
    points run$n.csv >have
    ok "$n ranks: copies are aliases; another table or argument is none" diff want have
done
is "$(column run0.csv family code_id outcome | grep ok$ | sort -u | wc -l)" 4 'four codes'

# --- tables and reports

is "$(column run0.csv outcome time_median_ns | grep -c '^aliased $')" 24 'an alias has no time of its own'
is "$(column run0.csv problem_id code_id code_outcome code_time_median_ns | sort -u | wc -l)" 12 \
    'but that of its code'
ok 'report' ksweep-analyze report run0/results.h5
is "$(grep -c ' 3 instances, .* 6 cells aliased' out)" 4 'the report lists the groups'
like "$(ksweep-analyze table run0/results.h5 --format ck 2>/dev/null | wc -l)" '^13$' \
    "Composable Kernel's table has what was measured"

# --- one cell

cell=$(column run0.csv problem_id instance_id outcome | awk '$3 == "aliased" { print $1 ":" $2; exit }')
first=$(column run0.csv problem_id representative_id outcome | awk '$3 == "aliased" { print $1 ":" $2; exit }')
ok 'cell' ksweep cell run0 "$cell"
like "$(cat out)" "its times are in: ksweep cell run0 $first" 'it says which cell has the times'
like "$(cat out)" "to run it again: ksweep cell run0 $cell --run" 'and how to run it anyway'
ok 'run it anyway' ksweep cell run0 "$cell" --run --cache "$tiny_cache"
like "$(cat out)" 'attempt 1, round 0: ok' 'it is measured'

# --- all of them, later

again=$(ksweep cell run0 "$cell" | sed -n 's/.*all other aliases: //p')
ok 'the command for all aliases' $again --cache "$tiny_cache"
is "$(field run0 ok) $(field run0 aliased) $(field run0 controls)" '36  24' 'all are measured now'
ok 'aliases and what was measured of them' $audit run0 --grid grid0
ok 'report' ksweep-analyze report run0/results.h5
like "$(cat out)" 'controls: 24 aliases were measured .*; largest difference [0-9.]+ %.* of 24 beyond noise' \
    'and compared'
TINY_JOB=controls.json
tiny 2 all >all.out 2>all.err
is "$(field all ok) $(field all controls) $(exit_of all)" '36 24 0' 'alias_control 1 measures all'

# --- a code that fails fails once

TINY_JOB=failing.json
tiny 2 failing >failing.out 2>failing.err
is "$(exit_of failing)" 1 'a failure wants a look'
is "$(field failing ok) $(field failing launch_failed) $(field failing aliased)" '3 3 9' \
    'its alias is an alias'
ksweep-analyze table failing/results.h5 -o failing.csv 2>err
is "$(column failing.csv instance_name outcome code_outcome | grep launch | sort -u)" \
    "$(printf '%s\n' 'alias_o0_c0_sk1_launch launch_failed launch_failed' \
        'alias_o0_c1_sk1_launch aliased launch_failed')" \
    'the table says how its code ended'

# --- kills: whatever was acknowledged stays, and the choice is the same

TINY_JOB=copies.json
for at in 0,before_write:2 0,before_fsync:3 0,before_ack:4 3,before_ack:2; do
    n=${at%,*} at=${at#*,}
    dir=$tap_tmp/kill-$n-$at
    rm -f acked
    KSWEEP_CHAOS=$at@0 KSWEEP_ACK_LOG=$tap_tmp/acked tiny "$n" "$dir" --lost-after 1s >/dev/null 2>&1
    is "$(exit_of "$dir")" 3 "killed at $at"
    KSWEEP_ACK_LOG=$tap_tmp/acked tiny "$n" "$dir" --resume >/dev/null 2>&1
    is "$(exit_of "$dir")" 0 "killed at $at and resumed: complete"
    touch acked
    ok "killed at $at: nothing is lost or doubled" $audit "$dir" --grid grid0 --acked acked
    ksweep-analyze table "$dir/results.h5" -o kill.csv 2>err
    points kill.csv >have
    ok "killed at $at: the same were measured" diff want have
done

# --- a grid that grows

sed "s/fault == 'none'/fault == 'none' and copy > 0/" copies.json >few.json
TINY_JOB=few.json
tiny 0 grown >/dev/null 2>&1
is "$(field grown ok) $(field grown aliased)" '12 12' 'two copies of each'
TINY_JOB=copies.json
tiny 0 grown --extend >grown.out 2>grown.err
is "$(field grown ok) $(field grown aliased)" '12 24' 'a third one comes first, and is an alias'
ok 'extended: still sound' $audit grown --grid grid0
ksweep-analyze table grown/results.h5 -o grown.csv 2>err
is "$(points grown.csv | grep -c '_c1_sk. - ok$')" 4 'what was measured first still stands for it'

done_testing
