# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# suites.sh - sourced by tests/run.sh: what is tested, and how each suite is run.

jobs=$(nproc)

unit_names() { # the unit tests of both trees, by their files
    local f name
    for f in tests/unit/test_*.c; do
        name=${f##*/test_}
        printf '%s\n' "unit/${name%.c}"
        grep -q '^/\* sanitized: no' "$f" || printf '%s\n' "unit-asan/${name%.c}"
    done | sort
}

all_names() {
    local f
    echo build/release
    echo build/asan
    unit_names
    echo lint/run
    echo lint/selftest
    echo lint/mutations
    for f in tests/tools/test_*.py; do echo "tools/$(basename "$f" .py)"; done
    echo tools/make_problem_lists
    for f in tests/e2e/[0-9]*.sh; do
        [ -e "$f" ] || continue
        echo "e2e/$(basename "$f" .sh)"
        grep -q '^# asan: yes' "$f" && echo "e2e-asan/$(basename "$f" .sh)"
    done
    for f in $(tests/slurm.sh --parts); do echo "slurm/$f"; done
    for f in tests/fuzz/fuzz_*.c; do f=${f##*/fuzz_}; echo "fuzz/${f%.c}"; done
    echo leftovers
}

# Whether --quick runs it: the release build, lint, and unit and end-to-end tests that are short.
is_quick() { # NAME
    local name=${1#*/}
    case $1 in
    build/release | lint/run | leftovers) ;;
    unit/*) ! grep -q '^/\* quick: no' "tests/unit/test_$name.c" ;;
    e2e/*) grep -q '^# quick: yes' "tests/e2e/$name.sh" ;;
    *) false ;;
    esac
}

# Names on stdin that --quick and a pattern of --only choose; all without them.
selected() {
    local name p
    while read -r name; do
        [ "$quick" -eq 0 ] || is_quick "$name" || continue
        [ ${#only[@]} -eq 0 ] && echo "$name"
        for p in ${only[@]+"${only[@]}"}; do
            # shellcheck disable=SC2053
            [[ $name == *$p* ]] && echo "$name" && break
        done
    done
}

chosen() { # PREFIX: the selected names that begin so, without it
    sed -n "s|^$1/||p" <<<"$names"
}

# --- building

build_one() { # PRESET DIRECTORY
    local start cpu log=$run_tmp/build.log
    local -a launcher=()
    command -v ccache >/dev/null && launcher=(-DCMAKE_C_COMPILER_LAUNCHER=ccache)
    start=$(now)
    times >"$log.before"
    if cmake --preset "$1" -DBUILD_TESTING=ON ${launcher[@]+"${launcher[@]}"} >"$log" 2>&1 &&
        cmake --build "$2" -j "$jobs" --target all tests >"$log" 2>&1; then
        times >"$log.after"
        cpu=$(awk -v a="$(sum_times "$log.before")" -v b="$(sum_times "$log.after")" 'BEGIN { print b - a }')
        record "build/$1" pass "$(since "$start")" "" "" "$cpu"
        return 0
    fi
    record "build/$1" fail "$(since "$start")" "see below"
    grep -E 'error|FAILED|CMake Error' -A 5 "$log" | head -n 40 | sed 's/^/    /'
    return 1
}

can_sanitize() {
    echo 'int main(void) { return 0; }' >"$run_tmp/s.c"
    cc -fsanitize=address,undefined -o "$run_tmp/s" "$run_tmp/s.c" 2>/dev/null && "$run_tmp/s"
}

run_builds() {
    have_release=0 have_asan=0
    build_one release build && have_release=1
    grep -qE '^(build/asan|unit-asan/|e2e-asan/|fuzz/)' <<<"$names" || return
    if can_sanitize; then
        build_one asan build-asan && have_asan=1
    else
        record build/asan skip 0 "the compiler cannot link -fsanitize=address,undefined" asan
    fi
}

# --- programs that print TAP

# Unit tests of one build tree. The limit is for tests that hang: on an idle machine those that compile
# all host kernels take a minute, the others seconds.
pool_unit() { # PREFIX BUILD
    local name f lane
    for name in $(chosen "$1"); do
        f=tests/unit/test_$name.c lane=work
        grep -q '^/\* waits: yes' "$f" && lane=wait
        if [ ! -x "$2/bin/test_$name" ]; then
            record "$1/$name" fail 0 "$f is in no CMakeLists.txt"
            continue
        fi
        pool $lane 300 "$1/$name" "$(groups_of "$f")" \
            env CMOCKA_MESSAGE_OUTPUT=TAP KSWEEP_SOURCE_DIR="$root" "$root/$2/bin/test_$name"
    done
}

pool_lint() {
    local name
    for name in $(chosen lint); do
        case $name in
        run) pool work 120 lint lint tests/lint/run.sh build ;;
        selftest) pool work 120 lint-selftest lint tests/lint/selftest.sh ;;
        mutations) pool work 60 mutations lint tests/mutate.sh --check ;;
        esac
    done
}

# The limits are for those that hang: none takes a minute, but beside others on a busy machine.
pool_e2e() { # PREFIX BUILD VARIABLE=VALUE...
    local name f lane groups
    for name in $(chosen "$1"); do
        f=tests/e2e/$name.sh lane=work
        grep -q '^# waits: yes' "$f" && lane=wait
        groups=$(groups_of "$f")
        pool $lane 180 "$1/$name" "$groups" env KSWEEP_BIN="$root/$2/bin" "${@:3}" bash "$f"
    done
}

# Each part of tests/slurm.sh has a cluster of its own.
pool_slurm() {
    local name
    for name in $(chosen slurm); do
        pool slurm 180 "slurm/$name" "$(groups_of tests/slurm.sh)" \
            env KSWEEP_BIN="$root/build/bin" bash tests/slurm.sh "$name"
    done
}

pool_fuzz() {
    local name seed=${KSWEEP_TEST_SEED:-1}
    for name in $(chosen fuzz); do
        if [ ! -x "build-asan/bin/fuzz_$name" ]; then
            record "fuzz/$name" fail 0 "tests/fuzz/fuzz_$name.c is in no CMakeLists.txt"
            continue
        fi
        pool work 60 "fuzz/$name" asan "build-asan/bin/fuzz_$name" -t "${KSWEEP_TEST_FUZZ_S:-0.4}" -n 1000000000 \
            -s "$seed" "tests/fuzz/corpus/$name"
    done
}

# Python tests print TAP, or are unittest programs, whose results python_tap.py prints.
pool_tools() {
    local name f
    for name in $(chosen tools); do
        f=tests/tools/$name.py
        if [ "$name" = make_problem_lists ]; then
            pool work 60 "tools/$name" "" python3 "$f" --check jobs/problems
            continue
        fi
        if [ ! -x /usr/bin/python3 ]; then
            record "tools/$name" skip 0 "/usr/bin/python3 is not installed" "$(groups_of "$f")"
            continue
        fi
        pool work 60 "tools/$name" "$(groups_of "$f")" \
            env KSWEEP_BIN="$root/build/bin" KSWEEP_SOURCE_DIR="$root" \
            /usr/bin/python3 tests/runner/python_tap.py "$f"
    done
}

# One queue for all suites, so that tests that wait overlap with tests that compute.
run_programs() {
    if [ $have_asan -eq 1 ]; then
        pool_unit unit-asan build-asan
        pool_e2e e2e-asan build-asan KSWEEP_TEST_RANKS='0 2'
    fi
    pool_lint
    if [ $have_release -eq 1 ]; then
        pool_unit unit build
        pool_e2e e2e build
        pool_slurm
        pool_tools
    fi
    [ $have_asan -eq 1 ] && pool_fuzz
    pool_run
}

# --- what tests must not leave behind

stat_of() { # PID: state, parent, start time in ticks
    sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | awk '{ print $1, $2, $20 }'
}

# Processes with our mark in their environment, or programs of the build trees that lost their
# parent since we began; not this shell and its children.
left_processes() {
    local dir pid state ppid born exe ours
    read -r state ppid ours < <(stat_of $$)
    for dir in /proc/[0-9]*; do
        pid=${dir#/proc/}
        read -r state ppid born < <(stat_of "$pid") || continue
        [ "$state" != Z ] && [ "$born" -ge "$ours" ] && [ "$pid" -ne "$BASHPID" ] || continue
        exe=$(readlink "$dir/exe" 2>/dev/null)
        if grep -qszF "KSWEEP_TEST_MARK=$KSWEEP_TEST_MARK" "$dir/environ" 2>/dev/null; then
            echo "$pid $exe"
        elif [ "$ppid" -eq 1 ]; then
            case $exe in "$root"/build/bin/* | "$root"/build-asan/bin/*) echo "$pid $exe" ;; esac
        fi
    done
}

# What runs beside us does not hear a Ctrl-C. A test that is told to end cleans up; its `timeout`
# gives it 5 s for that.
stop_tests() {
    exec 2>/dev/null # the shell would name each
    left_processes | awk '{ print $1 }' | xargs -r kill -TERM
    wait
    left_processes | awk '{ print $1 }' | xargs -r kill -KILL
}

run_leftovers() {
    local start left i
    grep -qx leftovers <<<"$names" || return
    start=$(now)
    for i in 1 2 3 4 5 6; do
        left=$(left_processes)
        [ -z "$left" ] && break
        sleep 0.5
    done
    if [ -n "$left" ]; then
        record "leftovers: processes" fail "$(since "$start")" "${left//$'\n'/, }"
        awk '{ print $1 }' <<<"$left" | xargs -r kill -KILL 2>/dev/null
    else
        record "leftovers: processes" pass "$(since "$start")"
    fi
    # An mpirun that was killed leaves its session directory.
    left=$(find "$TMPDIR" -mindepth 1 -maxdepth 1 -not -name 'ompi.*' | sed 's|.*/||' | head -n 5 | paste -sd ' ' -)
    if [ -n "$left" ]; then
        record "leftovers: files" fail 0 "in TMPDIR: $left"
    else
        record "leftovers: files" pass 0
    fi
}
