# SPDX-License-Identifier: MIT
# tap.sh - sourced by the end-to-end tests: TAP on stdout, diagnostics behind '#'.
#
#   . "$(dirname "$0")/tap.sh"
#   ok DESCRIPTION COMMAND...         passes when COMMAND succeeds
#   not_ok DESCRIPTION COMMAND...     passes when COMMAND fails
#   is GOT WANT DESCRIPTION           equal texts
#   like TEXT REGEX DESCRIPTION       extended regular expression
#   unlike TEXT REGEX DESCRIPTION
#   rc_is WANT DESCRIPTION COMMAND... exit code; output in $tap_tmp/out and $tap_tmp/err
#   skip_all REASON                   prints "1..0 # SKIP reason" and ends with 77
#   need_program PROGRAM...           skip_all unless every one is in PATH
#   need_data PATH                    skip_all unless $KSWEEP_TEST_DATA/PATH exists
#   share_kernels                     the cache of kernels is that of all such tests
#   done_testing                      prints the plan; ends with 1 when something failed
#
# $KSWEEP_BIN: where the programs are. $KSWEEP_TEST_DATA: real inputs, default ../shared/data beside
# the source tree. $KSWEEP_SOURCE_DIR: the source tree. $tap_tmp: a directory removed at the end.
set -u

KSWEEP_SOURCE_DIR=${KSWEEP_SOURCE_DIR:-$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)}
KSWEEP_BIN=${KSWEEP_BIN:-$KSWEEP_SOURCE_DIR/build/bin}
KSWEEP_TEST_DATA=${KSWEEP_TEST_DATA:-$KSWEEP_SOURCE_DIR/../shared/data}
export KSWEEP_SOURCE_DIR KSWEEP_BIN KSWEEP_TEST_DATA
PATH=$KSWEEP_BIN:$PATH

tap_n=0
tap_failed=0
tap_tmp=$(mktemp -d)
tap_cleanup() { rm -rf "$tap_tmp"; }
trap tap_cleanup EXIT

tap_report() { # STATUS DESCRIPTION
    tap_n=$((tap_n + 1))
    if [ "$1" -eq 0 ]; then
        echo "ok $tap_n - $2"
        return 0
    fi
    tap_failed=$((tap_failed + 1))
    echo "not ok $tap_n - $2"
    return 1
}

tap_note() { printf '%s\n' "$*" | sed 's/^/# /'; }

ok() {
    local what=$1 rc=0
    shift
    "$@" >"$tap_tmp/out" 2>"$tap_tmp/err" || rc=$?
    tap_report "$rc" "$what" || { tap_note "exit $rc: $*"; tap_show_output; }
}

not_ok() {
    local what=$1 rc=0
    shift
    "$@" >"$tap_tmp/out" 2>"$tap_tmp/err" && rc=1
    tap_report "$rc" "$what" || { tap_note "succeeded: $*"; tap_show_output; }
}

rc_is() {
    local want=$1 what=$2 rc=0
    shift 2
    "$@" >"$tap_tmp/out" 2>"$tap_tmp/err" || rc=$?
    [ "$rc" -eq "$want" ]
    tap_report $? "$what" || { tap_note "exit $rc, want $want: $*"; tap_show_output; }
}

tap_show_output() {
    tail -n 20 "$tap_tmp/out" | sed 's/^/# out: /'
    tail -n 20 "$tap_tmp/err" | sed 's/^/# err: /'
}

is() {
    [ "$1" = "$2" ]
    tap_report $? "$3" || { tap_note "got:  $1"; tap_note "want: $2"; }
}

like() {
    grep -Eq -- "$2" <<<"$1"
    tap_report $? "$3" || { tap_note "got: $1"; tap_note "want a match of: $2"; }
}

unlike() {
    ! grep -Eq -- "$2" <<<"$1"
    tap_report $? "$3" || { tap_note "got: $1"; tap_note "want no match of: $2"; }
}

# For tests that build kernels, and not for the sake of building: under tests/run.sh all of them share
# a cache, alone each has its own.
share_kernels() {
    [ -n "${KSWEEP_TEST_CACHE-}" ] || export XDG_CACHE_HOME=$tap_tmp/cache
}

skip_all() {
    echo "1..0 # SKIP $*"
    exit 77
}

need_program() {
    local p
    for p in "$@"; do
        command -v "$p" >"/dev/null" || skip_all "$p is not installed"
    done
}

need_data() {
    [ -e "$KSWEEP_TEST_DATA/$1" ] || skip_all "no test data $1 (KSWEEP_TEST_DATA)"
}

done_testing() {
    echo "1..$tap_n"
    [ "$tap_failed" -eq 0 ] || exit 1
    exit 0
}
