#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# An instance costs itself only, whatever it leaves behind in its worker, and whatever its shared
# object does when it is loaded or unloaded.
# group: mpi
. "$(dirname "$0")/tap.sh"
need_program cc
need_program h5rows
export XDG_CACHE_HOME=$tap_tmp/cache
cd "$tap_tmp" || exit 1

sweep() { # NAME FILTER [OPTION...]: runs it, leaves a row per instance in NAME.rows
    local name=$1 filter=$2
    shift 2
    cat >"$name.json" <<EOF
{ "name": "$name", "why": "messy kernels among good ones", "operator": "grouped_conv",
  "kernels": [ {"config": "$KSWEEP_SOURCE_DIR/tests/fake/messy_kernels.json", "filter": "$filter"} ],
  "problems": [ {"file": "$KSWEEP_SOURCE_DIR/tests/data/small.csv"} ],
  "device": {"backend": "host"},
  "measure": {"warmup_ms": 0, "max_ms": 2, "max_samples": 10,
              "contention": {"retries": 0, "switches_per_s": 1e6, "stolen": 1, "canary": 100}},
  "isolate": {"kernel_timeout_s": 2, "memory_mib": 1024} }
EOF
    timeout 100 ksweep run "$name.json" --out "$name" "$@" >"$name.out" 2>"$name.err"
    h5rows "$name/results.h5" measurements kernel_name outcome_text status_code attempt outcome_flags reason \
        >"$name.rows" || cat "$name.err"
}
of() { # NAME FAULT: outcome, code and reason of its row
    awk -F '\t' -v f="messy_$2_0" '$1 ~ "^" f { print $2, $3, $6 }' "$1.rows" |
        sed 's/-2147483648 //'
}
has_flag() { # NAME FAULT BIT
    local flags
    flags=$(awk -F '\t' -v f="messy_$2_0" '$1 ~ "^" f { print $5 }' "$1.rows")
    echo $((flags >> $3 & 1))
}
good() { # NAME: how many good ones are ok at once
    awk -F '\t' '$1 ~ "messy_good" && $2 == "ok" && $4 == 1' "$1.rows" | wc -l
}

# --- one object and one worker for all of them

sweep mess "fault not in ('abort_at_exit', 'spoils', 'load_hangs')"
is "$(good mess)" 10 'the good ones are ok and measured once'
for fault in load_aborts unload_aborts; do
    like "$(of mess $fault)" '^load_failed .*loading its object kills the process with signal 6' \
        "$fault: its own cell cannot be loaded"
done
for fault in load_exits exit_exits; do
    like "$(of mess $fault)" '^load_failed .*loading its object ends the process with exit status 0' \
        "$fault: its own cell cannot be loaded"
done
like "$(of mess load_thread)" '^load_failed a constructor left 1 thread running' \
    'load_thread: its own cell cannot be loaded'
like "$(of mess unsupported_hangs)" '^timeout .*phase applicable' 'a test that hangs is ended'
for fault in long_double joins pool; do
    is "$(of mess $fault)" 'ok ' "$fault: ok"
    is "$(has_flag mess $fault 7)" 0 "$fault: without fp_env_changed"
done
for fault in no_emms x87_precision dirty_upper direction_flag; do
    is "$(of mess $fault)$(has_flag mess $fault 7)" 'ok 1' "$fault: ok with fp_env_changed"
done
is "$(of mess thread)" 'untrusted left 1 thread running' 'a thread left behind'
for fault in itimer_real itimer_virtual itimer_prof posix_timer; do
    is "$(of mess $fault)" 'untrusted left a timer armed' "$fault left behind"
done
like "$(of mess thread_and_wrong)" '^wrong_result .*left 1 thread running' 'a failure keeps its outcome'

# --- what is seen at the end of a worker only

sweep late "fault == 'abort_at_exit' or (fault == 'good' and copy < 3)"
is "$(of late abort_at_exit)" 'crashed 6 Aborted at exit, in a destructor or an exit handler' \
    'abort() in an exit handler is no heap corruption'
is "$(good late)" 3 'its neighbours keep their labels'

# --- wrong behind another cell, right alone

sweep spoilt "fault == 'spoils' or (fault == 'good' and copy < 6)"
is "$(grep -c '	ok	' spoilt.rows)" 7 'every cell has the label of a clean attempt'
is "$(grep good spoilt.rows | grep -c '	2	')" 1 'the one behind the spoiler in a second attempt'
is "$(has_flag spoilt spoils 2)" 1 'the spoiler was measured alone and stays suspect'

# --- objects that are damaged while the sweep runs

cat >worker.sh <<EOF
#!/bin/sh
# The first worker that measures finds every object of the cache cut off.
if [ \$# -eq 0 ] && mkdir "$tap_tmp/once" 2>/dev/null; then
    for object in "$XDG_CACHE_HOME"/ksweep/host/*/kernels.so; do truncate -s 2000 "\$object"; done
fi
exec "$(command -v ksweep-worker)" "\$@"
EOF
chmod 700 worker.sh
export KSWEEP_WORKER=$tap_tmp/worker.sh
sweep cut "fault == 'good' and copy < 4"
is "$(grep -c '	load_failed	.*SHA-256' cut.rows)" 4 'a damaged object: load_failed for what is in it'
rc_is 0 'the cache is repaired and the cells are measured' ksweep run cut.json --out cut --resume
like "$(cat cut/log)" '4 cells could not be loaded .* measured again' 'which is said'
h5rows cut/results.h5 measurements outcome_text | sort | uniq -c >outcomes
is "$(awk '/ok/ { print $1 }' outcomes)" 4 'all of them are ok'
unset KSWEEP_WORKER

# --- a cache that others could replace

mkdir -m 777 open
rc_is 2 'a directory above the cache that others may write is refused' \
    ksweep run cut.json --out refused --cache "$tap_tmp/open/cache"
like "$(cat err)" "'$tap_tmp/open' is writable by others, .*--trust-cache" 'in one sentence with the way out'
not_ok 'and nothing was made' test -e open/cache -o -e refused
ok 'unless it is trusted' ksweep build cut.json --cache "$tap_tmp/open/cache" --trust-cache

# --- a debugger sees the symbols of what was loaded from a sealed copy

if command -v gdb >/dev/null; then
    cell=$(h5rows cut/results.h5 measurements kernel_name problem_id instance_id |
        awk '$1 == "messy_good_0" { print $2 ":" $3 }')
    command=$(ksweep cell cut "$cell" --command)
    like "$(eval "gdb -q --batch -ex 'set breakpoint pending on' -ex 'break k0_run' -ex run \
        -ex bt --args $command" 2>&1)" '#0 .*k0_run' 'gdb stops in a kernel'
else
    tap_note 'gdb is not installed: that it sees the symbols is not checked'
fi
done_testing
