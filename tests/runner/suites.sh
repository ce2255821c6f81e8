# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# suites.sh - sourced by tests/run.sh: what is tested, and how each suite is run.

jobs=$(nproc)

unit_names() { # the unit tests of both trees, by their files
    local f
    for f in tests/unit/test_*.c; do
        f=${f##*/test_}
        printf '%s\n' "unit/${f%.c}" "unit-asan/${f%.c}"
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
    CMOCKA_MESSAGE_OUTPUT=TAP ctest --test-dir "$1" -L unit -R "^unit\.($list)\$" -j "$jobs" \
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

# run_tap NAME LIMIT GROUPS COMMAND...: one test program under a time limit, in a session of its
# own so that the limit ends all of it.
run_tap() {
    local name=$1 limit=$2 groups=$3 start rc=0 out=$run_tmp/tap.out
    shift 3
    start=$(now)
    timeout -k 5 "$limit" "$@" >"$out" 2>&1 </dev/null || rc=$?
    take_tap "$name" "$out" $rc "$(since "$start")" "$groups"
}

run_lint() {
    local name
    for name in $(chosen lint); do
        case $name in
        run) run_tap lint 120 lint tests/lint/run.sh build ;;
        selftest) run_tap lint-selftest 120 lint tests/lint/selftest.sh ;;
        mutations) run_tap mutations 60 lint tests/mutate.sh --check ;;
        esac
    done
}

# Side by side: tests of whole runs wait most of the time.
#
#   pool WIDTH NAME FILE COMMAND...   starts it as soon as fewer than WIDTH run; FILE declares groups
#   pool_end                          waits for all and takes their results, in the order of starting
pool_names=() pool_files=()

pool() {
    local width=$1 name=$2 file=$3 limit out=$run_tmp/pool.${#pool_names[@]}
    shift 3
    limit=$(limit_of "$file")
    pool_names+=("$name") pool_files+=("$file")
    while [ "$(jobs -pr | wc -l)" -ge "$width" ]; do wait -n; done
    (
        rc=0 start=$(now)
        timeout -k 5 "$limit" "$@" >"$out" 2>&1 </dev/null || rc=$?
        echo "$rc $(since "$start")" >"$out.rc"
    ) &
}

pool_end() {
    local i rc seconds out
    wait
    for i in "${!pool_names[@]}"; do
        out=$run_tmp/pool.$i
        read -r rc seconds <"$out.rc"
        take_tap "${pool_names[i]}" "$out" "$rc" "$seconds" "$(groups_of "${pool_files[i]}")"
    done
    pool_names=() pool_files=()
}

run_e2e() {
    local name f
    [ $have_release -eq 1 ] || return
    for name in $(chosen e2e); do
        f=tests/e2e/$name.sh
        pool "$jobs" "e2e/$name" "$f" env KSWEEP_BIN="$root/build/bin" bash "$f"
    done
    [ $have_asan -eq 1 ] && for name in $(chosen e2e-asan); do
        f=tests/e2e/$name.sh
        pool "$jobs" "e2e-asan/$name" "$f" env KSWEEP_BIN="$root/build-asan/bin" bash "$f"
    done
    pool_end
}

limit_of() { # FILE: tests of a cluster get 90 s, the others 60 s
    case " $(groups_of "$1") " in *' slurm '* | *' netns '*) echo 90 ;; *) echo 60 ;; esac
}

# All parts at once, each with a cluster of its own: they wait for Slurm most of the time.
run_slurm() {
    local name
    [ $have_release -eq 1 ] || return
    for name in $(chosen slurm); do
        pool 100 "slurm/$name" tests/slurm.sh env KSWEEP_BIN="$root/build/bin" bash tests/slurm.sh \
            "$name"
    done
    pool_end
}

# Python tests print TAP, or are unittest programs, which -v makes tell their tests' names.
run_tools() {
    local name f
    [ $have_release -eq 1 ] || return
    for name in $(chosen tools); do
        f=tests/tools/$name.py
        if [ ! -x /usr/bin/python3 ]; then
            record "tools/$name" skip 0 "/usr/bin/python3 is not installed" "$(groups_of "$f")"
            continue
        fi
        KSWEEP_BIN=$root/build/bin KSWEEP_SOURCE_DIR=$root run_tap "tools/$name" 60 \
            "$(groups_of "$f")" /usr/bin/python3 tests/runner/python_tap.py "$f"
    done
}

run_fuzz() {
    local name seed=${KSWEEP_TEST_SEED:-1}
    [ $have_asan -eq 1 ] || return
    for name in $(chosen fuzz); do
        if [ ! -x "build-asan/bin/fuzz_$name" ]; then
            record "fuzz/$name" fail 0 "tests/fuzz/fuzz_$name.c is in no CMakeLists.txt"
            continue
        fi
        run_tap "fuzz/$name" 60 asan "build-asan/bin/fuzz_$name" -t 3 -n 1000000000 -s "$seed" \
            "tests/fuzz/corpus/$name"
    done
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
