#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# mutate.sh [--check] [--list] [--only PATTERN]... [--jobs N] - would the tests notice?
#
# Applies the one-line breaks of tests/mutations.txt one at a time to copies of the tree, builds, and
# runs the one test that must fail then: prints "killed" or "SURVIVED" for each; ends with 1 unless
# all were killed. Every test must pass before anything is broken.
#
#   --check          only whether every break still fits the sources; TAP
#   --only PATTERN   breaks whose name matches (shell pattern, anywhere)
#   --jobs N         copies that work at the same time (2)
#
# A test is the name of a unit test (unit.journal) or of an end-to-end test (e2e/41-resume).
# No break may lift a cap on processes or memory: it would be the machine that is broken.
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root" || exit 1
what=run jobs=2 only=()
while [ $# -gt 0 ]; do
    case $1 in
    --check | --list) what=${1#--} ;;
    --only) only+=("${2:?--only needs a pattern}"); shift ;;
    --jobs) jobs=${2:?--jobs needs a number}; shift ;;
    -h | --help) sed -n '3,/^set -u/{/^set -u/d;s/^# \{0,1\}//;p}' "$0"; exit 0 ;;
    *) echo "mutate.sh: unknown argument '$1'; see tests/mutate.sh --help" >&2; exit 2 ;;
    esac
    shift
done

# Prints the list as lines "name TAB file TAB test TAB old TAB new".
read_list() {
    awk '
        function flush() {
            if (name == "")
                return
            if (file == "" || test == "" || old == "" || !has_new)
                printf "tests/mutations.txt:%d: [%s] is incomplete\n", NR, name >"/dev/stderr"
            else
                print name "\t" file "\t" test "\t" old "\t" new
            name = file = test = old = new = ""
            has_new = 0
        }
        /^#/ || /^$/ { next }
        /^\[.*\]$/ { flush(); name = substr($0, 2, length($0) - 2); next }
        /^file / { file = substr($0, 6); next }
        /^test / { test = substr($0, 6); next }
        /^- / { old = substr($0, 3); next }
        /^\+( |$)/ { new = substr($0, 3); has_new = 1; next }
        { printf "tests/mutations.txt:%d: not understood\n", NR >"/dev/stderr" }
        END { flush() }' tests/mutations.txt
}

chosen() {
    local name rest p
    while IFS=$'\t' read -r name rest; do
        [ ${#only[@]} -eq 0 ] && printf '%s\t%s\n' "$name" "$rest"
        for p in ${only[@]+"${only[@]}"}; do
            # shellcheck disable=SC2053
            [[ $name == *$p* ]] && printf '%s\t%s\n' "$name" "$rest" && break
        done
    done
}

# change FILE OLD NEW: replaces the one place; otherwise says how many there are and fails.
change() {
    OLD=$2 NEW=$3 perl -0777 -i -pe '
        BEGIN { $n = 0 }
        $n += () = /\Q$ENV{OLD}\E/g;
        s/\Q$ENV{OLD}\E/$ENV{NEW}/ if $n == 1;
        END { if ($n != 1) { print STDERR "found $n times\n"; $? = 1 } }' "$1"
}

check_list() {
    local n=0 bad=0 name file test old new why copy
    copy=$(mktemp) || exit 1
    while IFS=$'\t' read -r name file test old new; do
        n=$((n + 1)) why=""
        if [ ! -f "$file" ]; then
            why="no file $file"
        elif [ "$old" = "$new" ]; then
            why="it changes nothing"
        else
            cp "$file" "$copy"
            why=$(change "$copy" "$old" "$new" 2>&1) || why="'$old' in $file: $why"
        fi
        case $test in
        unit.*) [ -f "tests/unit/test_${test#unit.}.c" ] || why="no test $test" ;;
        e2e/*) [ -f "tests/$test.sh" ] || why="no test $test" ;;
        *) why="no test $test" ;;
        esac
        [ -z "$why" ] && echo "ok $n - $name" && continue
        bad=1
        echo "not ok $n - $name"
        echo "# $why"
    done < <(read_list)
    rm -f "$copy"
    echo "1..$n"
    exit $bad
}

case $what in
check) check_list ;;
list) read_list | chosen | cut -f1,3 ; exit ;;
esac

tmp=$(mktemp -d) || exit 1
chmod 755 "$tmp"
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT TERM

copy_tree() { # TO
    mkdir -p "$1"
    git ls-files -z --cached --others --exclude-standard |
        perl -0ne 'chomp; print "$_\0" if -e' | tar -c --null -T - | tar -x -C "$1"
}

targets_of() { # TEST
    case $1 in
    unit.*) echo "test_${1#unit.} ksweep-worker" ;;
    *) echo "ksweep ksweep-worker ksweep-analyze make_journal ksweep-gpu fake_hip" ;;
    esac
}

build() { # TREE TARGET...
    local tree=$1
    shift
    # shellcheck disable=SC2068
    cmake --build "$tree/build" --target $@ >"$tree/log" 2>&1
}

# What a broken program left running, known by the mark in its environment or by its file.
end_leftovers() { # TREE
    local dir
    for dir in /proc/[0-9]*; do
        [ "${dir#/proc/}" -ne "$BASHPID" ] || continue
        grep -qszF "KSWEEP_TEST_MARK=$(mark_of "$1")" "$dir/environ" 2>/dev/null ||
            [[ $(readlink "$dir/exe" 2>/dev/null) == "$1"/* ]] || continue
        kill -s KILL "${dir#/proc/}" 2>/dev/null
    done
}

mark_of() { echo "${1//\//_}"; }

run_test() { # TREE TEST: its exit status; 0 = passed
    local tree=$1 test=$2 rc=0
    mkdir -p "$tree/tmp"
    local -a with=(env "TMPDIR=$tree/tmp" "XDG_CACHE_HOME=$tree/tmp/cache"
        "KSWEEP_TEST_MARK=$(mark_of "$tree")" "KSWEEP_SOURCE_DIR=$tree" "KSWEEP_BIN=$tree/build/bin"
        "KSWEEP_TEST_DATA=${KSWEEP_TEST_DATA:-$root/../shared/data}")
    case $test in
    unit.*) timeout -k 5 90 "${with[@]}" "$tree/build/bin/test_${test#unit.}" >"$tree/log" 2>&1 ;;
    *) timeout -k 5 120 "${with[@]}" bash "$tree/tests/$test.sh" >"$tree/log" 2>&1 ;;
    esac </dev/null || rc=$?
    end_leftovers "$tree"
    rm -rf "$tree/tmp"
    return $rc
}

try_one() { # TREE NAME FILE TEST OLD NEW: prints the verdict
    local tree=$1 name=$2 file=$3 test=$4 verdict targets
    targets=$(targets_of "$test")
    cp -p "$tree/$file" "$tree/kept"
    if ! change "$tree/$file" "$5" "$6" 2>"$tree/log"; then
        verdict="DOES NOT FIT: $(head -n 1 "$tree/log")"
    elif ! build "$tree" $targets; then
        verdict="DOES NOT COMPILE: $(grep -m 1 error "$tree/log")"
    elif run_test "$tree" "$test"; then
        verdict=SURVIVED
    else
        verdict=killed
    fi
    mv "$tree/kept" "$tree/$file"
    touch "$tree/$file"
    printf '%-10s %s (%s)\n' "$verdict" "$name" "$test"
}

work() { # INDEX: every jobs-th break
    local tree=$tmp/$1 k=0 name file test old new
    while IFS=$'\t' read -r name file test old new; do
        [ $((k++ % jobs)) -eq "$1" ] && try_one "$tree" "$name" "$file" "$test" "$old" "$new"
    done <"$tmp/list"
}

prepare() { # INDEX
    local tree=$tmp/$1
    local -a launcher=()
    command -v ccache >/dev/null && launcher=(-DCMAKE_C_COMPILER_LAUNCHER=ccache)
    copy_tree "$tree"
    cmake -S "$tree" -B "$tree/build" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo \
        -DBUILD_TESTING=ON -DKSWEEP_WERROR=OFF ${launcher[@]+"${launcher[@]}"} >"$tree/log" 2>&1
}

read_list | chosen >"$tmp/list"
tests=$(cut -f3 "$tmp/list" | sort -u)
targets=$(for t in $tests; do targets_of "$t"; done | tr ' ' '\n' | sort -u)
for ((j = 0; j < jobs; j++)); do
    # shellcheck disable=SC2086
    if ! prepare $j || ! build "$tmp/$j" $targets; then
        tail -n 30 "$tmp/$j/log"
        exit 1
    fi
done
for t in $tests; do
    if ! run_test "$tmp/0" "$t"; then
        echo "mutate.sh: $t fails without any break:"
        grep -A 5 -E '^not ok|ERROR|error' "$tmp/0/log" | head -n 20
        exit 1
    fi
done

for ((j = 0; j < jobs; j++)); do
    work $j &
done | tee "$tmp/verdicts"
n=$(grep -c . "$tmp/verdicts")
killed=$(grep -c '^killed' "$tmp/verdicts")
echo "$killed of $n killed"
[ "$n" -gt 0 ] && [ "$killed" -eq "$n" ]
