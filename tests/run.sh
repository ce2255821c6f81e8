#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# run.sh [--quick] [--only PATTERN]... [--list] - builds the release and the sanitizer tree and runs every
# test; the last line is "N passed, N failed, N skipped", the exit status 1 when something failed.
#
#   --quick          the developer's loop, two minutes: the release build only, lint, and the unit and
#                    end-to-end tests that are short
#   --only PATTERN   only what matches (shell pattern, anywhere in the name): unit/journal, e2e/41
#   --list           the names, nothing is run
#
# Suites: unit (tests/unit, in both trees), e2e (tests/e2e/NN-*.sh), tools (tests/tools/test_*.py),
# slurm (the parts of tests/slurm.sh), lint (tests/lint), fuzz (tests/fuzz, sanitizer tree),
# leftovers (processes and files left behind). After the builds all tests are one queue: as many at a
# time as there are CPUs, and beside them a few of those whose file says "waits: yes" and of slurm,
# which need little CPU time. The longest (tests/runner/longest) start first. The seconds of a suite
# are the sum over its tests. A unit test whose file says "sanitized: no" is in the release tree
# only; "quick: no" in a unit test and "quick: yes" in an end-to-end test decide about --quick.
# Kernels are samples here: tests/kernels.sh runs every shipped instance. Sweeps under faults for
# hours: tests/soak.sh.
#
# KSWEEP_REQUIRE="mpi hdf5py netns slurm cgroup asan clang19 hip-headers ...": what must be testable here. A skip of a
# test that declares one of these groups ("# group: mpi" in its file) is then a failure, and so is
# any other skip that tests/expected-skips does not name. Without it every skip is only counted.
# KSWEEP_TEST_SEED: seed of the fuzz tests (1). KSWEEP_TEST_FUZZ_S: CPU seconds for each (0.4; the inputs of a
# seed are the same in every run, so more time needs another seed to find more).
# KSWEEP_TEST_DATA: real problem lists, see tap.sh.
# KSWEEP_TEST_PYTHON: a Python with pyarrow, duckdb, lightgbm, kernel_tuner and viztracer, as pip installs them in a
# virtual environment: the tests that read Parquet files and models by other programs run with it only, so not in .ci/run.
# All results, one line each, with times: build/test-results.txt.
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root" || exit 1

only=() list=0 quick=0
while [ $# -gt 0 ]; do
    case $1 in
    --only) [ $# -ge 2 ] || { echo "run.sh: --only needs a pattern" >&2; exit 2; }
            only+=("$2"); shift ;;
    --list) list=1 ;;
    --quick) quick=1 ;;
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
run_builds
end_phase build
run_programs
end_phase tests
run_leftovers
end_results
