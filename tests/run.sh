#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# run.sh [--only PATTERN]... [--list] - builds the release and the sanitizer tree and runs every
# test; the last line is "N passed, N failed, N skipped", the exit status 1 when something failed.
#
#   --only PATTERN   only what matches (shell pattern, anywhere in the name): unit/journal, e2e/41
#   --list           the names, nothing is run
#
# Suites: unit (tests/unit, in both trees), e2e (tests/e2e/NN-*.sh), tools (tests/tools/test_*.py),
# slurm (the parts of tests/slurm.sh), lint (tests/lint), fuzz (tests/fuzz, sanitizer tree),
# leftovers (processes and files left behind). As many tests at a time as there are CPUs, and beside
# them a few of those whose file says "waits: yes" and of slurm: they wait for time to pass, and need
# little of a CPU. All but build and unit are one queue; what takes long (tests/runner/longest)
# begins first. A unit test whose file says "sanitized: no" is in the release tree only.
#
# KSWEEP_REQUIRE="mpi hdf5py netns slurm cgroup asan clang19 hip-headers ...": what must be testable here. A skip of a
# test that declares one of these groups ("# group: mpi" in its file) is then a failure, and so is
# any other skip that tests/expected-skips does not name. Without it every skip is only counted.
# KSWEEP_TEST_SEED: seed of the fuzz tests (1). KSWEEP_TEST_DATA: real problem lists, see tap.sh.
# All results, one line each, with times: build/test-results.txt.
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root" || exit 1

only=() list=0
while [ $# -gt 0 ]; do
    case $1 in
    --only) [ $# -ge 2 ] || { echo "run.sh: --only needs a pattern" >&2; exit 2; }
            only+=("$2"); shift ;;
    --list) list=1 ;;
    -h | --help) sed -n '3,/^set -u/{/^set -u/d;s/^# \{0,1\}//;p}' "$0"; exit 0 ;;
    *) echo "run.sh: unknown argument '$1'; see tests/run.sh --help" >&2; exit 2 ;;
    esac
    shift
done

. tests/runner/results.sh
. tests/runner/suites.sh
. tests/runner/pool.sh

names=$(all_names | selected)
if [ $list -eq 1 ]; then
    printf '%s\n' "$names"
    exit 0
fi
if [ -z "$names" ]; then
    echo "run.sh: no test matches; tests/run.sh --list shows the names" >&2
    exit 2
fi

begin_results
suite build run_builds
suite unit run_unit build unit
suite unit-asan run_unit build-asan unit-asan
suite lint,tools,e2e,slurm,fuzz run_programs
suite leftovers run_leftovers
end_results
