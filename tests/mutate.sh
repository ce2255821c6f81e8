#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# mutate.sh [--only PATTERN]... [--jobs N]
# mutate.sh --generate N [--seed S] [--units] [--jobs N] [FILE...]
# mutate.sh --check | --list
# - would the tests notice?
#
# Breaks copies of the tree in one place at a time, builds, runs tests, and prints "killed" or
# "SURVIVED" for each break; the last line is the score. Ends with 1 unless all were killed. The tree
# itself is never touched. Needs root: broken programs run in namespaces of their own, where they can
# kill nobody else and write nowhere but in a directory of the copy.
#
# Without --generate: the named breaks of tests/mutations.txt, each with the test that must fail.
#   --check          only whether every named break still fits the sources; TAP
#   --list           the named breaks and their tests
#   --only PATTERN   those whose name matches (shell pattern, anywhere)
#
# With --generate: N breaks of the functions of FILE... (default: the sources in src), drawn by a seed among
# flipped comparisons, removed "+ 1" and "- 1", negated conditions, removed calls, swapped && and ||,
# changed constants and changed return values. The tests that cover the file run one after the
# other until one fails: unit tests of its directory, then end-to-end tests (tests/tools/mutants.py
# knows them). A break that does not compile, or gives the same machine code, does not count.
#   --seed S         of the draw (1)
#   --units          unit tests only
#
#   --jobs N         copies that work at the same time (2)
#
# Every test has the same limit of time: 60 s for a unit test, 120 s for an end-to-end test. A test that
# fails without any break is told; what it has "killed" does not count.
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root" || exit 1
what=named jobs=2 only=() files=() n_wanted=0 seed=1 pick=cat
fail() { echo "mutate.sh: $1" >&2; exit 2; }
while [ $# -gt 0 ]; do
    case $1 in
    --check) exec python3 tests/tools/mutants.py check ;;
    --list) python3 tests/tools/mutants.py named | cut -f 1,4; exit ;;
    --only | --generate | --seed | --jobs)
        [ $# -ge 2 ] || fail "$1 needs a value"
        case $1 in
        --only) only+=("$2") ;;
        --generate) what=generated n_wanted=$2 ;;
        --seed) seed=$2 ;;
        --jobs) jobs=$2 ;;
        esac
        shift ;;
    --units) pick='grep ^unit' ;;
    -h | --help) sed -n '3,/^set -u/{/^set -u/d;s/^# \{0,1\}//;p}' "$0"; exit 0 ;;
    -*) fail "unknown option '$1'; see tests/mutate.sh --help" ;;
    *) files+=("$1") ;;
    esac
    shift
done
[ "$what" = generated ] || [ ${#files[@]} -eq 0 ] || fail "'${files[0]}': files need --generate"

tmp=$(mktemp -d /var/tmp/ksweep-mutate.XXXXXX) || exit 1 # /tmp is another one for broken programs
chmod 755 "$tmp"
trap 'rm -rf "$tmp"' EXIT
trap 'kill $(jobs -p) 2>/dev/null; exit 130' INT TERM

# --- copies of the tree

copy_tree() { # TO
    mkdir -p "$1"
    git ls-files -z --cached --others --exclude-standard |
        perl -0ne 'chomp; print "$_\0" if -e' | tar -c --null -T - | tar -x -C "$1"
}

prepare() { # INDEX
    local tree=$tmp/$1
    local -a launcher=()
    command -v ccache >/dev/null && launcher=(-DCMAKE_C_COMPILER_LAUNCHER=ccache)
    copy_tree "$tree" && mkdir "$tree/tmp" &&
        cmake -S "$tree" -B "$tree/build" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo \
            -DCMAKE_C_FLAGS_RELWITHDEBINFO='-O2 -DNDEBUG' -DBUILD_TESTING=ON -DKSWEEP_WERROR=OFF \
            ${launcher[@]+"${launcher[@]}"} >"$tree/log" 2>&1
}

targets_of() { # TEST...
    local t
    for t; do
        case $t in
        unit.*) echo "test_${t#unit.} ksweep-worker" ;;
        *) echo "ksweep ksweep-worker ksweep-analyze ksweep-gpu make_journal net_storm fake_hip" ;;
        esac
    done | tr ' ' '\n' | sort -u
}

build() { # TREE TARGET...
    local tree=$1
    shift
    CCACHE_BASEDIR=$tree CCACHE_NOHASHDIR=1 cmake --build "$tree/build" --target "$@" >"$tree/log" 2>&1
}

# --- tests of broken programs

# COMMAND... where it sees no process but its own, and where nothing can be written but TREE/tmp, which
# is /tmp, too, and gone afterwards. How many processes there may be is limited, and how much memory
# each of them and the files may have.
caged() { # TREE COMMAND...
    local tree=$1 most
    shift
    most=$(awk '/^MemTotal/ { print int($2 / 2) }' /proc/meminfo)
    # shellcheck disable=SC2016
    "$root/tests/tools/caged.sh" unshare --pid --mount --fork --kill-child --mount-proc sh -c '
        mount --make-rprivate / && mount -t tmpfs -o size=4g,mode=1777 tmpfs "$0/tmp" &&
            mount --bind "$0/tmp" /tmp || exit 125
        while read -r _ at kind _; do
            case $kind in
            ext* | xfs | btrfs | overlay | f2fs | zfs)
                mount -o remount,bind,ro "$at" || exit 125 ;;
            cgroup) # whoever dies while it has others frozen leaves them so
                case $at in */freezer) mount -o remount,bind,ro "$at" || exit 125 ;; esac ;;
            esac
        done </proc/mounts
        ulimit -S -d "$1"
        shift
        exec "$@"' "$tree" "$most" "$@"
}

run_test() { # TREE TEST: its exit status; 0 = passed
    local tree=$1 test=$2 rc=0
    local -a with=(env "TMPDIR=$tree/tmp" "XDG_CACHE_HOME=$tree/tmp/cache"
        "KSWEEP_SOURCE_DIR=$tree" "KSWEEP_BIN=$tree/build/bin"
        "KSWEEP_TEST_DATA=${KSWEEP_TEST_DATA:-$root/../shared/data}")
    case $test in
    unit.*) caged "$tree" timeout -k 5 60 "${with[@]}" "$tree/build/bin/test_${test#unit.}" ;;
    *) caged "$tree" timeout -k 5 120 "${with[@]}" bash "$tree/tests/$test.sh" ;;
    esac >"$tree/log" 2>&1 </dev/null || rc=$?
    [ $rc -eq 77 ] && rc=0 # a test that is skipped has noticed nothing
    return $rc
}

# --- one break

tests_of() { # FILE TEST
    if [ "$2" = - ]; then python3 "$root/tests/tools/mutants.py" tests "$1" | $pick; else echo "$2"; fi
}

# Compiles the file and prints digests of the objects; nothing for what is not compiled by itself.
objects_of() { # TREE FILE
    local -a objects
    mapfile -t objects < <(sed -n "s|^build \([^ ]*\): C_COMPILER[^ ]* $1/$2\( .*\)\?\$|\1|p" "$1/build/build.ninja")
    [ ${#objects[@]} -gt 0 ] || return 0
    build "$1" "${objects[@]}" && (cd "$1/build" && sha256sum "${objects[@]}")
}

mutants() { (cd "$1" && python3 "$root/tests/tools/mutants.py" "${@:2}"); }

# Sets verdict to killed, SURVIVED, "SAME CODE", "DOES NOT COMPILE" or "DOES NOT FIT", and by to the test.
judge() { # TREE FILE FUNCTION OLD NEW TEST...
    local tree=$1 file=$2 before after
    by=
    before=$(objects_of "$tree" "$file")
    if ! mutants "$tree" apply "$file" "$3" "$4" "$5" 2>"$tree/log"; then
        verdict="DOES NOT FIT"
        return
    fi
    shift 5
    if ! after=$(objects_of "$tree" "$file"); then
        verdict="DOES NOT COMPILE"
        return
    fi
    if [ -n "$before" ] && [ "$after" = "$before" ]; then
        verdict="SAME CODE"
        return
    fi
    # shellcheck disable=SC2046
    if ! build "$tree" $(targets_of "$@"); then
        verdict="DOES NOT COMPILE"
        return
    fi
    for by; do
        run_test "$tree" "$by" && continue
        verdict=killed
        # kernels are compiled by their tests
        [[ $file == kernels/* ]] && grep -q ' error: ' "$tree/log" && verdict="DOES NOT COMPILE"
        return
    done
    verdict=SURVIVED by=
}

try_one() { # TREE NAME FILE FUNCTION TEST OLD NEW: prints the verdict, and notes it
    local tree=$1 name=$2 file=$3 function=$4 verdict by
    local -a tests
    mapfile -t tests < <(tests_of "$file" "$5")
    cp -p "$tree/$file" "$tree/kept"
    if [ ${#tests[@]} -eq 0 ]; then
        verdict="NO TEST"
    else
        judge "$tree" "$file" "$function" "$6" "$7" "${tests[@]}"
    fi
    mv "$tree/kept" "$tree/$file"
    touch "$tree/$file"
    printf '%s\t%s\t%s\n' "$verdict" "$name" "$by" >>"$tmp/verdicts"
    [ "$5" = - ] && name="$name: '${6#@*:}' -> '$7'"
    printf '%-16s %s%s\n' "$verdict" "$name" "${by:+ ($by)}"
}

# Whether enough of them count.
is_done() { [ "$what" = generated ] && [ "$(grep -c -E '^(killed|SURVIVED)' "$tmp/verdicts")" -ge "$n_wanted" ]; }

work() { # INDEX: every jobs-th break
    local tree=$tmp/$1 k=0 name file function test old new
    while IFS=$'\t' read -r name file function test old new; do
        [ $((k++ % jobs)) -eq "$1" ] || continue
        is_done && break
        try_one "$tree" "$name" "$file" "$function" "$test" "$old" "$new"
    done <"$tmp/list"
}

# --- all of them

case $what in
named) python3 tests/tools/mutants.py named ${only[@]+"${only[@]}"} >"$tmp/list" || exit 1 ;;
generated) python3 tests/tools/mutants.py generate "$seed" ${files[@]+"${files[@]}"} >"$tmp/list" || exit 1 ;;
esac
[ -s "$tmp/list" ] || fail 'nothing to break'
: >"$tmp/verdicts"

for ((j = 0; j < jobs; j++)); do
    prepare $j && continue
    tail -n 30 "$tmp/$j/log"
    exit 1
done
caged "$tmp/0" true || fail 'broken programs cannot be caged here: this needs root, namespaces and a pids cgroup'

for ((j = 0; j < jobs; j++)); do
    work $j &
    workers[j]=$!
done
wait "${workers[@]}"

# A test that fails without any break has noticed nothing.
for by in $(awk -F '\t' '$1 == "killed" { print $3 }' "$tmp/verdicts" | sort -u); do
    # shellcheck disable=SC2046
    if ! build "$tmp/0" $(targets_of "$by") || ! run_test "$tmp/0" "$by"; then
        echo "mutate.sh: $by fails without any break:"
        grep -A 5 -E '^not ok|ERROR|error' "$tmp/0/log" | head -n 20
        sed -i "s|^killed\(\t[^\t]*\t$by\)\$|VOID\1|" "$tmp/verdicts"
    fi
done

count() { grep -c -E "^($1)"$'\t' "$tmp/verdicts"; }
killed=$(count killed) n=$(count 'killed|SURVIVED|VOID|DOES NOT FIT|NO TEST')
[ "$what" = named ] && n=$(count '.*')
echo "$killed of $n killed; $(count 'DOES NOT COMPILE') do not compile, $(count 'SAME CODE') are the same code"
[ "$n" -gt 0 ] && [ "$killed" -eq "$n" ]
