# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# results.sh - sourced by tests/run.sh: what a result is, how it is judged, counted and printed.
#
# One result is one line in $results: suite, name, pass|fail|skip, seconds, reason, CPU seconds
# (tab-separated). The seconds of a program that prints several results are in its first line.

results=$root/build/test-results.txt
passed=0 failed=0 skipped=0

begin_results() {
    # Everything that tests leave is found by this directory and this mark.
    run_tmp=$(mktemp -d "${TMPDIR:-/tmp}/kst.XXXXXX") || exit 1
    trap 'rm -rf "$run_tmp"' EXIT
    trap 'echo "run.sh: interrupted" >&2; stop_tests; exit 130' HUP INT TERM
    mkdir -p "$root/build" "$run_tmp/tmp" "$run_tmp/cache"
    chmod 755 "$run_tmp" "$run_tmp/tmp" # some tests give up root
    # What the compiler cache keeps outlives this run; what the tests build does not.
    # What one tree has compiled another takes, wherever it stands; nothing is preprocessed only to
    # be looked for.
    export CCACHE_DIR=${CCACHE_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/ccache} CCACHE_NOHASHDIR=1
    export CCACHE_BASEDIR=$root CCACHE_DEPEND=1
    export TMPDIR=$run_tmp/tmp XDG_CACHE_HOME=$run_tmp/cache
    # Kernels that several tests build, and none of them for the sake of building: once.
    export KSWEEP_TEST_CACHE=$XDG_CACHE_HOME/ksweep
    # Where python3 is a script that looks for the interpreter, it looks once, not for each start.
    local python
    python=$(python3 -c 'import sys; print(sys.executable)' 2>/dev/null) && PATH=${python%/*}:$PATH
    export KSWEEP_TEST_MARK=${run_tmp##*/}
    unset KSWEEP_LOG KSWEEP_CC KSWEEP_WORKER KSWEEP_CHAOS KSWEEP_DATA_DIR KSWEEP_CPU_FLAGS \
        KSWEEP_ACK_LOG
    : >"$results"
    run_started=$(now)
}

# Prints the user and system seconds in a text of `times`, which counts the shell that runs it and
# its children: not in a subshell, whose times are its own.
sum_times() { # FILE
    awk '{
        for (i = 1; i <= 2; i++) { split($i, t, "m"); sum += t[1] * 60 + t[2] }
    } END { printf "%.2f", sum }' "$1"
}

# Tests run side by side, so the seconds of a suite are those of its tests added up.
print_suites() {
    awk -F '\t' '
        !($1 in seconds) { order[++n] = $1 }
        { seconds[$1] += $4; cpu[$1] += $6; count[$1, $3]++ }
        END {
            for (i = 1; i <= n; i++)
                printf "%-12s %5d passed %4d failed %4d skipped %7.1f s %7.1f s of CPU\n", order[i],
                    count[order[i], "pass"], count[order[i], "fail"], count[order[i], "skip"],
                    seconds[order[i]], cpu[order[i]]
        }' "$results"
}

# Prints what the phase that ends here took, and how busy the cores were by what it started: the rest is
# waiting, or other people's work.
end_phase() { # NAME
    times >"$run_tmp/times"
    local cpu at
    cpu=$(sum_times "$run_tmp/times") at=$(now)
    awk -v name="$1" -v wall="$(since "${phase_started:-$run_started}")" -v cpu="$cpu" \
        -v before="${phase_cpu:-0}" -v cores="$jobs" 'BEGIN {
        printf "phase %-8s %6.0f s, %6.1f s of CPU, %3.0f %% of %d cores\n", name, wall, cpu - before,
            100 * (cpu - before) / (wall + 0.01) / cores, cores }'
    phase_started=$at phase_cpu=$cpu
}

end_results() {
    print_suites
    times >"$run_tmp/times"
    printf 'total %.0f s, %.0f s of CPU time, results in %s\n' "$(since "$run_started")" \
        "$(sum_times "$run_tmp/times")" "${results#"$root"/}"
    echo "$passed passed, $failed failed, $skipped skipped"
    [ "$failed" -eq 0 ]
    exit
}

now() { echo "${EPOCHREALTIME/,/.}"; }
since() { awk -v a="$1" -v b="$(now)" 'BEGIN { printf "%.2f", b - a }'; }

# The groups that a test's file declares: "# group: mpi hdf5py", "/* group: cgroup */".
groups_of() { # FILE
    sed -n 's|^[#/* ]*group: *\([a-z0-9 -]*\).*|\1|p' "$1" 2>/dev/null | tr '\n' ' '
}

is_expected_skip() { # NAME REASON
    local pattern reason
    while IFS=$'\t' read -r pattern reason; do
        case $pattern in '' | '#'*) continue ;; esac
        # shellcheck disable=SC2053
        [[ $1 == $pattern && $2 =~ $reason ]] && return 0
    done <"$root/tests/expected-skips"
    return 1
}

# Prints why a skip is a failure; nothing when it is none.
why_skip_fails() { # NAME REASON GROUPS
    local g
    [ -n "${KSWEEP_REQUIRE:-}" ] || return
    for g in $3; do
        case " $KSWEEP_REQUIRE " in
        *" $g "*) echo "skipped, but '$g' is required: $2"; return ;;
        esac
    done
    is_expected_skip "$1" "$2" || echo "skipped, and tests/expected-skips does not say so: $2"
}

record() { # NAME pass|fail|skip SECONDS REASON GROUPS CPU-SECONDS
    local name=$1 status=$2 reason=${4:-} why
    if [ "$status" = skip ]; then
        why=$(why_skip_fails "$name" "$reason" "${5:-}")
        [ -n "$why" ] && status=fail reason=$why
    fi
    case $status in
    pass) passed=$((passed + 1)) ;;
    skip) skipped=$((skipped + 1)) ;;
    fail) failed=$((failed + 1)) ;;
    esac
    [ "$status" = fail ] && echo "FAILED $name${reason:+: $reason}"
    printf '%s\t%s\t%s\t%s\t%s\t%s\n' "${name%%[:/]*}" "$name" "$status" "$3" "$reason" \
        "${6:-0}" >>"$results"
}

# The tests of one TAP text on stdin, one line each: status, description, reason. Nothing else.
# cmocka prints a skip as "not ok N # SKIP name".
tap_lines() {
    awk '
        !/^(not )?ok( |$)/ { next }
        {
            status = /^ok/ ? "pass" : "fail"
            what = $0
            sub(/^(not )?ok *[0-9]* *-? */, "", what)
            reason = ""
            if (match(what, /# *[Ss][Kk][Ii][Pp] */)) {
                status = "skip"
                reason = substr(what, RSTART + RLENGTH)
                what = substr(what, 1, RSTART - 1)
                if (what ~ /^ *$/)
                    what = reason
            }
            sub(/ *$/, "", what)
            print status "\t" what "\t" reason
        }'
}

# take_tap NAME FILE EXIT-STATUS SECONDS GROUPS CPU-SECONDS: the results of one test program that printed TAP
# (or nothing: then it is one test by its exit status). What failed is shown.
take_tap() {
    local name=$1 out=$2 rc=$3 seconds=$4 groups=$5 cpu=$6 n=0 n_fail=0 planned status what reason
    if [ "$rc" -eq 77 ] || grep -q '^1\.\.0 *# *SKIP' "$out"; then
        reason=$(sed -n 's/^1\.\.0 *# *SKIP *//p' "$out" | head -n 1)
        record "$name" skip "$seconds" "${reason:-exit 77}" "$groups" "$cpu"
        return
    fi
    while IFS=$'\t' read -r status what reason; do
        n=$((n + 1))
        [ "$status" = fail ] && n_fail=$((n_fail + 1))
        record "$name: $what" "$status" "$seconds" "$reason" "$groups" "$cpu"
        seconds=0 cpu=0
    done < <(tap_lines <"$out")
    planned=$(sed -n 's/^1\.\.\([0-9][0-9]*\).*/\1/p' "$out" | awk '{ n += $1 } END { print n + 0 }')
    if [ "$rc" -eq 124 ] || [ "$rc" -eq 137 ]; then
        record "$name" fail "$seconds" "ran out of time" "" "$cpu"
    elif [ "$n" -eq 0 ] && [ "$rc" -eq 0 ] && grep -q '^1\.\.0' "$out"; then
        record "$name" fail "$seconds" "no test ran" "" "$cpu"
    elif [ "$n" -eq 0 ] && [ "$rc" -eq 0 ]; then
        record "$name" pass "$seconds" "" "" "$cpu"
        return
    elif [ "$rc" -ne 0 ] && [ "$n_fail" -eq 0 ]; then
        record "$name" fail "$seconds" "ended with $rc"
    elif [ "$planned" -ne "$n" ]; then
        record "$name" fail "$seconds" "$n tests ran, $planned were planned"
    elif [ "$n_fail" -eq 0 ]; then
        return
    fi
    show_failure "$out"
}

# The failed tests of a TAP text with their comments, and what is no TAP.
show_failure() { # FILE
    {
        grep -v '^1\.\.' "$1" | awk '
            /^ok( |$)/ { on = 0; next }
            /^not ok( |$)/ { on = 1 }
            /^#/ && !on { next }
            { print }' | head -n 100
    } | sed 's/^/    /'
}
