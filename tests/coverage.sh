#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# coverage.sh [--no-run] - line coverage of src/ by the unit and end-to-end tests: per file, the
# total, and in build-cov/uncovered.txt every line that no test runs. Ends with 1 under 85 %.
# Nothing is excluded. --no-run: only print what the last run left.
set -u
cd "$(dirname "$0")/.." || exit 1
least=85

if [ "${1:-}" != --no-run ]; then
    tmp=$(mktemp -d) || exit 1
    trap 'rm -rf "$tmp"' EXIT
    chmod 755 "$tmp"
    launcher=()
    command -v ccache >/dev/null && launcher=(-DCMAKE_C_COMPILER_LAUNCHER=ccache)
    cmake --preset coverage -DBUILD_TESTING=ON ${launcher[@]+"${launcher[@]}"} >"$tmp/log" 2>&1 &&
        cmake --build build-cov -j "$(nproc)" >"$tmp/log" 2>&1 || {
        tail -n 30 "$tmp/log"
        exit 1
    }
    find build-cov -name '*.gcda' -delete
    # Tests are slow without optimisation: a test that fails here is told, and counts by its lines.
    ctest --test-dir build-cov -L unit -j "$(nproc)" --timeout 180 2>&1 | grep -E '^ *[0-9]+ - |tests passed'
    for t in tests/e2e/[0-9]*.sh; do
        TMPDIR=$tmp XDG_CACHE_HOME=$tmp/cache KSWEEP_BIN=$PWD/build-cov/bin KSWEEP_SOURCE_DIR=$PWD \
            timeout -k 5 300 bash "$t" >"$tmp/out" 2>&1 </dev/null
        case $? in
        0) echo "$(basename "$t") passed" ;;
        77) echo "$(basename "$t") skipped" ;;
        *) echo "$(basename "$t") failed: $(grep -c '^not ok' "$tmp/out") tests" ;;
        esac
    done
fi
exec /usr/bin/python3 tests/runner/coverage.py build-cov src $least build-cov/uncovered.txt
