# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# sweep.sh - sourced behind tap.sh by tests that run whole sweeps.
#
#   ranks N COMMAND...      under mpirun (or $MPIRUN), as the manual says; more ranks than cores are
#                           allowed
#   tiny RANKS DIR ARG...   the sweep of tests/data/tiny.json into DIR, RANKS 0 = without mpirun
#   tiny_sim MICROSECONDS   prints the same job for a simulated device, whose every timed call takes that
#                           long without using a core
#   field DIR KEY           a number of `ksweep status DIR --json`: cells, done, pending, exit
#   exit_of DIR             what `ksweep status DIR --exit-code` ends with
#   outcomes DIR            the sum over all outcomes
#   settles SECONDS COMMAND...  waits until COMMAND succeeds; fails after SECONDS

tiny_job=$KSWEEP_SOURCE_DIR/tests/data/tiny.json
# One cache for all sweeps: the first builds, the others find it. Under tests/run.sh those of all tests
# share it; a test about building or caches sets its own behind this line.
tiny_cache=${KSWEEP_TEST_CACHE:-$tap_tmp/cache}

ranks() {
    local n=$1 root=()
    shift
    [ "$(id -u)" -eq 0 ] && root=(--allow-run-as-root)
    ${MPIRUN:-mpirun} -n "$n" --oversubscribe --bind-to none --enable-recovery ${root[@]+"${root[@]}"} "$@"
}

tiny() {
    local n=$1 dir=$2 job=${TINY_JOB:-$tiny_job}
    local -a run=(ksweep run "$job" --out "$dir" --cache "$tiny_cache")
    shift 2
    if [ "$n" -eq 0 ]; then
        "${run[@]}" "$@"
    else
        ranks "$n" "${run[@]}" "$@"
    fi
}

tiny_sim() {
    sed -e "s#\"\.\./\.\./#\"$KSWEEP_SOURCE_DIR/#; s#\"tiny\.csv\"#\"$KSWEEP_SOURCE_DIR/tests/data/tiny.csv\"#" \
        -e "s#\"measure\":  {#\"device\": { \"backend\": \"sim\", \"arch\": \"seed=5,sleep_us=$1\" }, \"measure\": {#" \
        "$tiny_job"
}

exit_of() {
    ksweep status "$1" --exit-code >/dev/null 2>&1
    echo $?
}

field() {
    ksweep status "$1" --json 2>/dev/null | sed -n "s/^ *\"$2\": *\([0-9]*\),*\$/\1/p" | head -n 1
}

outcomes() {
    ksweep status "$1" --json 2>/dev/null |
        awk '/"outcomes": *{$/ { on = 1; next } on && /}/ { exit } on { gsub(/[^0-9]/, "", $2); n += $2 }
             END { print n + 0 }'
}

settles() {
    local end=$((SECONDS + $1))
    shift
    until "$@"; do
        [ $SECONDS -lt $end ] || return 1
        sleep 0.05
    done
}
