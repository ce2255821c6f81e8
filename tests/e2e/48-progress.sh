#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# waits: yes
# group: mpi
# What is told of a running sweep: a bar on a terminal, lines elsewhere, status --watch; cells by name;
# what plan knows of instances that refuse problems; contaminated cells measured again.
. "$(dirname "$0")/tap.sh"
need_program python3 mpirun
. "$(dirname "$0")/sweep.sh"
cd "$tap_tmp" || exit 1
export TERM=xterm LC_ALL=C.UTF-8
unset NO_COLOR COLUMNS
terminal() { python3 "$KSWEEP_SOURCE_DIR/tests/tools/pty_run.py" "$@"; } # COLUMNS[xROWS] COMMAND...
tiny_sim 30000 >slow.json
tiny_sim 0 >fast.json

# --- a terminal

terminal 70 ksweep run slow.json --out bar >tty 2>&1
like "$(cat tty)" $'\r\033\\[K.*\u2588.*/15' 'a bar that is rewritten in place'
like "$(cat tty)" $'\033\\[32m' 'in colour'
unlike "$(cat tty)" ' info rank 0 ' 'the lines of the log are not on the terminal'
like "$(cat bar/log)" ' info rank 0 .* of 15 cells' 'but in the log'
widest=$(grep -a '%' tty | tr '\r' '\n' | sed 's/\x1b\[[0-9;]*[mKHJ]//g; s/[^ -~]/#/g' | grep -a '%' | awk '{ n = length($0); if (n > most) most = n } END { print most }')
ok 'and within the width' test "$widest" -lt 70
NO_COLOR=1 LC_ALL=C terminal 70 ksweep run fast.json --out plain >tty 2>&1
like "$(cat tty)" '\[#*\.*\]' 'without UTF-8 it is ASCII'
unlike "$(cat tty)" $'\033\\[[0-9]*m' 'and NO_COLOR is respected'
TERM=dumb terminal 70 ksweep run fast.json --out dumb >tty 2>&1
unlike "$(cat tty)" $'\033' 'a terminal that cannot rewrite lines gets none to rewrite'
ksweep run fast.json --out lines >out 2>err
unlike "$(cat out err)" $'\033' 'nor does a file'
like "$(cat err)" ' info rank 0 .* of 15 cells' 'it gets lines'

terminal 70 ksweep run slow.json -n 2 --out ranks >tty 2>&1
is $? 0 'with -n, too: the sweep ends well'
like "$(cat tty)" $'\r\033\\[K.*\u2588.*/15' 'rank 0 writes into a pipe, and still rewrites the bar of the terminal'
unlike "$(cat tty)" ' info rank 0 ' 'without the lines of the log'
like "$(cat tty)" '^.*complete: 15 cells' 'and the result'
ksweep run fast.json -n 2 --out pipe >out 2>err
unlike "$(cat out err)" $'\033' 'but not into a file'

# --- a run that goes on

tiny_sim 300000,ns=400000000 >slower.json # and so long in virtual time, too: that is what is left
ksweep run slower.json --out run >out 2>&1 &
pid=$!
begun() { sleep 0.2; grep -q '^n_done [1-9]' run/progress; } 2>/dev/null # an estimate from the first cells
ok 'it measures' settles 60 begun
is "$(ksweep status run | head -n 1)" 'run: running' 'a running sweep has no exit code yet'
like "$(ksweep status run | sed -n 2p)" '^cells .*, about [0-9]+ s left \([0-9]+ s to [0-9]+ s\)' 'but an end'
like "$(ksweep status run --json)" '"eta_low_s"' 'also as JSON'
terminal 100 ksweep status run --watch >tty &
watcher=$!
terminal 100x5 ksweep status run --watch >low &
low=$!
ksweep status run --watch >watched &
lines=$!
shown() { sleep 0.2; grep -aq 'rank 0 .* measuring' tty && test -s watched; }
ok 'both kinds of --watch show something' settles 60 shown
kill -TERM $pid
wait $watcher $low $lines $pid
like "$(cat tty)" $'\033\\[Hrun: running' 'status --watch rewrites the screen'
like "$(cat tty)" 'rank 0 .* measuring' 'with the devices'
like "$(cat low)" '^\.\.\. [0-9]+ more lines' 'on a low terminal as many lines as fit'
like "$(cat watched)" '^[0-9]+ of 15 cells' 'in lines where there is no terminal'
like "$(cat watched)" '^run: stopped, resumable \(exit 3\)' 'and how it ended'
told=$(sed -n 's/^rate \([0-9]*\)$/\1/p' run/progress)
is "$(ksweep status run --json | sed -n 's/^ *"cells_per_s": \([0-9.]*\),*$/\1/p' | awk '{ printf "%.0f", 1000 * $1 }')" "$told" \
    'the rate is the one that rank 0 measured'
like "$(cat watched)" 's left .* after a resume on 1 device' 'with what is left for who resumes it'

# --- cells by name

ok 'a sweep of the host' tiny 0 host
problem=$(awk -F, 'NR == 2 { print $NF }' "$KSWEEP_SOURCE_DIR/tests/data/tiny.csv")
instance=$(ksweep kernels "$KSWEEP_SOURCE_DIR/kernels/configs/host_forward_quick.json" --filter 'vector_bytes <= 32' --list | head -n 1)
ok 'by both names' ksweep cell host "$problem:$instance"
like "$(cat out)" "^instance .* $instance\$" 'it is that one'
like "$(sed -n '/^condition/{n;p}' out)" 'attempt [0-9]+ counts' 'the attempt that counts stands first'
ok 'with dots for what is left out' ksweep cell host "$problem:...${instance#*_}"
ok 'the best' ksweep cell host "$problem:best"
like "$(cat out)" ', round 0: ok' 'which is ok'
ksweep-analyze report host --format csv >best.csv
other=$(sed 1d best.csv | while IFS=, read -r id name rest; do
    ksweep cell host "$id:best" | grep -q "^instance .* $(cut -d, -f9 <<<"$rest")\$" || echo "$name"
done)
is "$(wc -l <best.csv) $other" "$(wc -l <"$KSWEEP_SOURCE_DIR/tests/data/tiny.csv") " 'of every problem that of the report'
rc_is 2 'a part that several have' ksweep cell host "$problem:fp32"
like "$(cat err)" "instance 'fp32' is ambiguous, it matches [0-9]+: .*, .*" 'names some of them'
rc_is 2 'a slip' ksweep cell host "$problem:${instance}x"
like "$(cat err)" "did you mean '$instance'" 'names the nearest'

# --- plan knows what instances refuse

n=$(field host cells)
refused=$(ksweep status host --json | sed -n 's/^ *"unsupported": \([0-9]*\).*/\1/p')
ksweep plan "$tiny_job" --cache "$tiny_cache" >plan
told=$(awk '/cannot run on/ { for (i = 1; i < NF; i++) if ($(i + 1) == "cannot") n += $i } / more are unsupported/ { n += $1 } END { print n }' plan)
is "$told" "$refused" "plan tells all $refused of $n cells that are unsupported"
has=$(du -cb host/journal host/results.h5 | awk 'END { print $1 }')
ok 'plan tells how much disk the run has needed' awk -v has="$has" '
    / MiB of disk for the results/ { least = $2; most = $9; n++ }
    END { exit !(n == 1 && least * 1048576 * 4 > has && has < (most + 0.1) * 1048576) }' plan
like "$(cat plan)" 'MiB if every cell takes all samples, retries and rounds of the job \(lost hosts and --retry add to it\)' \
    'and what the larger figure is'
unlike "$(cat plan)" 'builds in the cache' 'and none for builds that are there'
like "$(ksweep plan "$tiny_job" --cache none)" '[0-9.]+ MiB for builds in the cache' 'or how much for those that are not'
like "$(ksweep plan "$tiny_job" --cache none)" 'reject is not known: nothing was built yet' 'or that it does not know'
for what in '--per-node 2' --show-binding; do
    # shellcheck disable=SC2086
    terminal 60 ksweep plan "$tiny_job" --cache none $what | tr -d '\r' >"narrow $what"
    ok "no line of plan $what is longer than a narrow terminal" awk 'length > 60 { print; exit 1 }' "narrow $what"
done
is "$(grep -cE '^    [0-9.]+ Gflop, [0-9]+ uses?, 5 instances$' 'narrow --per-node 2')" 3 'where the problems are a list'
like "$(cat 'narrow --show-binding')" '^    device [^,]+, cores [0-9,-]+, memory' 'and so are the ranks'
sed "s#\.\./\.\./kernels#$KSWEEP_SOURCE_DIR/kernels#; s#tiny.csv#$KSWEEP_SOURCE_DIR/tests/data/tiny.csv#" "$tiny_job" >here.json
most_of() { # RETRIES RETRIES_OF_CONTENTION ROUNDS: most_disk_bytes with them
    python3 - here.json "$@" <<'PY'
import json, sys
job = json.load(open(sys.argv[1]))
job.setdefault("isolate", {})["retries"] = int(sys.argv[2])
job["measure"].setdefault("contention", {})["retries"] = int(sys.argv[3])
job["measure"]["rounds"] = {"max": int(sys.argv[4])}
json.dump(job, open("most.json", "w"))
PY
    ksweep plan most.json --json --cache none | sed -n 's/^ *"most_disk_bytes": \([0-9.e+]*\),*/\1/p'
}
is "$(for r in '0 0 1' '1 0 1' '3 0 1' '0 2 1' '0 0 3'; do
    # shellcheck disable=SC2086
    most_of $r
done | awk 'NR == 1 { once = $1 } NR == 2 { step = $1 - once } NR > 1 { printf "%.2f ", ($1 - once) / step }')" \
    '1.00 3.00 2.00 4.00 ' 'every retry and visit counts for the larger figure'
sed 's/"vector_bytes <= 32"/"vector_bytes == 64"/' here.json >wide.json
rc_is 1 'where nothing can run it ends with 1' ksweep plan wide.json --arch x86-64
rc_is 2 'and slurm refuses it' ksweep slurm wide.json --arch x86-64
like "$(cat err)" 'nothing of this job can run on x86-64: ksweep plan' 'and says where to look'

# --- a busy machine

sed 's/"retries": 0, "switches_per_s": 1e9, "stolen": 1, "canary": 100/"retries": 0, "switches_per_s": 1e9, "stolen": 1, "canary": 1e-9/' \
    here.json >busy.json
rc_is 1 'every cell is contaminated' ksweep run busy.json --out busy --cache "$tiny_cache"
like "$(cat err)" 'measured cells are contaminated.*canary loop' 'it says so, and why'
like "$(cat err)" "resume --out busy --retry contaminated" 'and what measures them again'
is "$(ksweep status busy | head -n 1)" 'busy: complete, some cells need a look (exit 1)' 'status says why it ends with 1'
sed 's/"canary": 1e-9/"canary": 100/' busy.json >quiet.json
rc_is 0 'they are measured again' ksweep run quiet.json --out busy --cache "$tiny_cache" --retry contaminated
is "$(field busy contaminated)" 0 'and then clean'

# --- no results file

rm busy/results.h5
mkdir -p busy/results.h5/in_the_way
rc_is 1 'the results cannot be gathered' ksweep run quiet.json --out busy --cache "$tiny_cache" --resume
is "$(ksweep status busy | head -n 1)" 'busy: complete, gathering failed (exit 1)' 'status does not blame the cells'
like "$(ksweep status busy)" '^results .*busy/results.h5.*ksweep gather busy$' 'it says why, and what to do'
like "$(ksweep status busy --json)" '"gather_error": ".*Is a directory"' 'so does its JSON'
rm -r busy/results.h5
rc_is 0 'the cause is removed' ksweep gather busy
is "$(ksweep status busy | head -n 1)" 'busy: complete (exit 0)' 'and so is the error'
is "$(exit_of busy)" 0 'from the exit status, too'
rc_is 2 'a slip in --retry' ksweep run quiet.json --out busy --retry contamnated
like "$(cat err)" "did you mean 'contaminated'.*known are contaminated, ok" 'names what there is'
done_testing
