#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# How tests/run.sh runs tests side by side: what fails, hangs, dies or is skipped is counted in every
# lane, and an interrupted run leaves nobody behind.
# waits: yes
. "$(dirname "$0")/tap.sh"
cd "$tap_tmp" || exit 1

mkdir tree
ln -s "$KSWEEP_SOURCE_DIR/tests" tree/tests
# drive FILE: a run of what the file puts into the pool, with one place in a lane
cat >drive <<'EOF'
set -u
root=$PWD/tree only=() names= queue=$1
. tree/tests/runner/results.sh
. tree/tests/runner/suites.sh
. tree/tests/runner/pool.sh
lane_width=([work]=1 [wait]=1 [slurm]=100)
begin_results
quick=0
. "$queue"
pool_run
end_results
EOF
drive() { bash drive "$1" >out 2>err; }
of() { awk -F '\t' -v n="$1" '$2 == n { print $3 ": " $5 }' tree/build/test-results.txt; }

cat >all <<'EOF'
pool work 20 t/slow "" sh -c 'until [ -e go ]; do sleep 0.05; done; echo "ok 1 - a"; echo 1..1'
pool work 20 t/busy "" sh -c 'i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done; echo "ok 1 - a"; echo 1..1'
pool work 20 t/bad "" sh -c 'echo "ok 1 - a"; echo "not ok 2 - b"; echo "# why"; echo 1..2; exit 1'
pool wait 1 t/hangs "" sh -c 'sleep 300'
pool wait 20 t/good "" sh -c 'touch go; echo "ok 1 - a"; echo 1..1'
pool wait 20 t/short "" sh -c 'echo "ok 1 - a"; echo 1..2'
pool wait 20 t/none "" sh -c 'echo 1..0'
pool slurm 20 t/ends "" sh -c 'echo "ok 1 - a"; echo 1..1; exit 3'
pool slurm 20 t/skips mpi sh -c 'echo "1..0 # SKIP no mpi"; exit 77'
EOF
unset KSWEEP_REQUIRE
drive all
is "$? $(tail -n 1 out)" '1 6 passed, 5 failed, 1 skipped' 'every result counts, the last line says how many'
is "$(of 't/slow: a') $(of 't/good: a')" 'pass:  pass: ' 'who waits does not wait for those who compute'
cpu_of() { awk -F '\t' -v n="$1" '$2 == n { print ($6 > 0.02) }' tree/build/test-results.txt; }
is "$(cpu_of 't/busy: a') $(cpu_of 't/good: a')" '1 0' 'the CPU time of each is counted'
like "$(grep '^t  ' out)" ' [0-9.]+ s +0\.[0-9] s of CPU$' 'and that of its suite is printed'
is "$(of 't/bad: b') $(of t/hangs)" 'fail:  fail: ran out of time' 'one that fails, one that hangs'
is "$(of t/short)" 'fail: 1 tests ran, 2 were planned' 'one that stops half-way'
is "$(of t/none)" 'fail: no test ran' 'one that looks at nothing'
is "$(of t/ends)" 'fail: ended with 3' 'one that is well but for its end'
is "$(of t/skips)" 'skip: no mpi' 'one that is skipped'
like "$(cat out)" '    # why' 'a failure is shown'
export KSWEEP_REQUIRE=mpi
rm go
drive all
is "$? $(tail -n 1 out)" '1 6 passed, 6 failed, 0 skipped' 'what is required must not be skipped'

# In each lane the longest begin first, whatever the others do.
printf '%s\n' t/work-c t/wait-d t/work-b t/wait-a >longest
cat >order <<'EOF'
longest=$PWD/longest
for name in a b c d; do
    for lane in work wait; do pool $lane 20 t/$lane-$name "" sh -c "echo $name >>began-$lane"; done
done
EOF
drive order
is "$(paste -sd ' ' began-work), $(paste -sd ' ' began-wait)" 'c b a d, d a b c' \
    'the longest begin first, then as they were put'
is "$("$KSWEEP_SOURCE_DIR/tests/run.sh" --list | sort | comm -13 - <(sort "$KSWEEP_SOURCE_DIR/tests/runner/longest"))" \
    '' 'they are tests that there are'

# Whoever waits for a test is killed, by the kernel, say.
cat >killed <<'EOF'
pool work 20 t/first "" sh -c 'kill -KILL $(awk "{ print \$4 }" /proc/$PPID/stat)'
pool work 20 t/next "" sh -c 'echo "ok 1 - a"; echo 1..1'
EOF
drive killed
is "$? $(tail -n 1 out)" '1 1 passed, 1 failed, 0 skipped' 'one that is lost is a failure, the others go on'
is "$(of t/first)" 'fail: ended with 1' 'and has a name'

cat >long <<'EOF'
pool work 100 t/long "" sh -c 'echo $$ >pid1; exec sleep 300'
pool wait 100 t/deaf "" sh -c 'trap "" TERM; echo $$ >pid2; while :; do sleep 1; done'
EOF
bash drive long >out 2>err &
run=$!
for _ in {1..400}; do [ -s pid1 ] && [ -s pid2 ] && break; sleep 0.05; done
kill -TERM $run
wait $run
is "$? $(cat err)" '130 run.sh: interrupted' 'interrupted'
runs() { grep -qsv ') Z ' "/proc/$(cat "$1")/stat"; }
not_ok 'a test that computes has ended' runs pid1
not_ok 'and so has one that does not want to' runs pid2
done_testing
