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
    for f in tests/tools/test_*.py; do [ -e "$f" ] && echo "tools/$(basename "$f" .py)"; done
    for f in tests/e2e/[0-9]*.sh; do
        [ -e "$f" ] || continue
        echo "e2e/$(basename "$f" .sh)"
        grep -q '^# asan: yes' "$f" && echo "e2e-asan/$(basename "$f" .sh)"
    done
    for f in $(tests/slurm.sh --parts); do echo "slurm/$f"; done
    for f in tests/fuzz/fuzz_*.c; do f=${f##*/fuzz_}; echo "fuzz/${f%.c}"; done
    echo leftovers
}

# Names on stdin that a pattern of --only matches; all without one.
selected() {
    local name p
    while read -r name; do
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
    local start log=$run_tmp/build.log
    local -a launcher=()
    command -v ccache >/dev/null && launcher=(-DCMAKE_C_COMPILER_LAUNCHER=ccache)
    start=$(now)
    if cmake --preset "$1" -DBUILD_TESTING=ON ${launcher[@]+"${launcher[@]}"} >"$log" 2>&1 &&
        cmake --build "$2" -j "$jobs" >"$log" 2>&1; then
        record "build/$1" pass "$(since "$start")"
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

# --- unit tests

run_unit() { # DIRECTORY PREFIX
    local prefix=$2 list name xml=$run_tmp/junit.xml
    case $1 in build) [ $have_release -eq 1 ] ;; *) [ $have_asan -eq 1 ] ;; esac || return
    list=$(chosen "$prefix" | paste -sd '|' -)
    [ -n "$list" ] || return
    rm -f "$xml"
    # A test takes two places, one that waits takes one: see ks_test() in cmake/Ksweep.cmake.
    CMOCKA_MESSAGE_OUTPUT=TAP ctest --test-dir "$1" -L unit -R "^unit\.($list)\$" -j $((2 * jobs + 1)) \
        --output-junit "$xml" --test-output-size-passed 4000000 \
        --test-output-size-failed 4000000 >"$run_tmp/ctest.log" 2>&1
    take_junit "$prefix" "$xml"
    chosen "$prefix" | while read -r name; do
        grep -q "testcase name=\"unit\.$name\"" "$xml" || echo "$name"
    done >"$run_tmp/missing"
    while read -r name; do
        is_registered_elsewhere "$name" ||
            record "$prefix/$name" fail 0 "tests/unit/test_$name.c is in no CMakeLists.txt"
    done <"$run_tmp/missing"
}

# A test program that another suite runs.
is_registered_elsewhere() { # NAME
    grep -rqs "add_test(NAME [a-z]*\.$1 " src analysis tests --include=CMakeLists.txt
}

take_junit() { # PREFIX XML: splits the file by test and takes each
    local prefix=$1 name seconds status rc
    rm -rf "$run_tmp/cases"
    mkdir "$run_tmp/cases"
    [ -s "$2" ] || { record "$prefix" fail 0 "ctest: $(tail -n 1 "$run_tmp/ctest.log")"; return; }
    awk -v dir="$run_tmp/cases" '
        /^[ \t]*<testcase / {
            name = $0; sub(/.*<testcase name="unit\./, "", name); sub(/".*/, "", name)
            t = $0; sub(/.* time="/, "", t); sub(/".*/, "", t)
            s = $0; sub(/.* status="/, "", s); sub(/".*/, "", s)
            print name "\t" t "\t" s >(dir "/index")
            next
        }
        /^[ \t]*<failure message="[^"]*Timeout/ { print name >(dir "/timeouts") }
        /^[ \t]*<(\/system-out|\/testcase|properties|failure|\/testsuite)/ { next }
        name == "" { next }
        {
            sub(/^[ \t]*<system-out>/, "")
            gsub(/&lt;/, "<"); gsub(/&gt;/, ">"); gsub(/&quot;/, "\""); gsub(/&amp;/, "\\&")
            print >(dir "/" name)
        }' "$2"
    while IFS=$'\t' read -r name seconds status; do
        rc=0
        [ "$status" = run ] || rc=1
        grep -qsx "$name" "$run_tmp/cases/timeouts" && rc=124
        touch "$run_tmp/cases/$name"
        take_tap "$prefix/$name" "$run_tmp/cases/$name" $rc "$seconds" \
            "$(groups_of "tests/unit/test_$name.c")"
    done <"$run_tmp/cases/index"
}

# --- programs that print TAP

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
pool_e2e() { # PREFIX BUILD
    local name f lane groups
    for name in $(chosen "$1"); do
        f=tests/e2e/$name.sh lane=work
        grep -q '^# waits: yes' "$f" && lane=wait
        groups=$(groups_of "$f")
        pool $lane 180 "$1/$name" "$groups" env KSWEEP_BIN="$root/$2/bin" bash "$f"
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
        pool work 60 "fuzz/$name" asan "build-asan/bin/fuzz_$name" -t 3 -n 1000000000 \
            -s "$seed" "tests/fuzz/corpus/$name"
    done
}

# Python tests print TAP, or are unittest programs, which -v makes tell their tests' names.
pool_tools() {
    local name f
    for name in $(chosen tools); do
        f=tests/tools/$name.py
        if [ ! -x /usr/bin/python3 ]; then
            record "tools/$name" skip 0 "/usr/bin/python3 is not installed" "$(groups_of "$f")"
            continue
        fi
        pool work 60 "tools/$name" "$(groups_of "$f")" \
            env KSWEEP_BIN="$root/build/bin" KSWEEP_SOURCE_DIR="$root" \
            /usr/bin/python3 tests/runner/python_tap.py "$f"
    done
}

# All that are programs of their own: what waits is there whenever something computes.
run_programs() {
    pool_lint
    [ $have_asan -eq 1 ] && pool_e2e e2e-asan build-asan
    if [ $have_release -eq 1 ]; then
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
