# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# lost.sh - sourced behind tap.sh and sweep.sh by tests that lose hosts and ranks of a sweep of 1,000
# simulated cells (a fiftieth of a second each) between the hosts of tests/tools/cluster/hosts.sh.
#
#   need_hosts N              starts h0 .. h(N-1), skips the test where that is not allowed
#   host COMMAND hK           hosts.sh
#   begin NAME h0:2,h1:2 ARG...  the sweep into $dir = $tap_tmp/NAME, in the background: $launcher;
#                             acknowledged cells in $dir.acks, words in $dir.log
#   acked [N]                 cells acknowledged so far; with N: at least N are
#   rank_of RANK [COMM]       its process (COMM: ksweep-warden, ksweep-worker) as numbered outside
#   is_lost RANKS             rank 0 has given them up: "1 on h1", ". on h2" (a regular expression)
#   ends_within SECONDS WHAT  the ranks of this host end, and the launcher with them or after a kill
#   whole HOSTS WHAT          the sweep is complete, names HOSTS as lost, each cell counts once, and
#                             nothing acknowledged was measured again
#   gone WHAT                 no process of this sweep lives on any host
lost_kit=$KSWEEP_SOURCE_DIR/tests/tools/cluster
lost_job=$tap_tmp/lost.json
lost_after=2

cat >"$lost_job" <<EOT
{ "name": "lost", "why": "cells that take a while", "operator": "grouped_conv",
  "kernels": [ {"config": "$KSWEEP_SOURCE_DIR/tests/fake/bad_kernels.json",
                "filter": "fault == 'good'"} ],
  "problems": [ {"file": "$KSWEEP_SOURCE_DIR/tests/data/chaos.csv"} ],
  "device": {"backend": "sim", "arch": "seed=1,ns=20000,sleep_us=4000"},
  "measure": {"warmup_ms": 1, "min_samples": 3, "max_samples": 4, "max_ms": 10,
              "contention": {"retries": 0, "switches_per_s": 1e9, "stolen": 1, "canary": 100}},
  "isolate": {"batch": 8, "kernel_timeout_s": 5},
  "verify": {"exact": false, "elementwise": false} }
EOT

need_hosts() {
    local why
    need_program mpirun python3
    why=$("$lost_kit/hosts.sh" can) || skip_all "no hosts: $why"
    export KSWEEP_HOSTS_DIR=$tap_tmp/hosts
    trap '"$lost_kit/hosts.sh" down; tap_cleanup' EXIT
    "$lost_kit/hosts.sh" up "$1" || exit 1
}
host() { "$lost_kit/hosts.sh" "$@"; }

begin() {
    local name=$1 spec=$2
    shift 2
    dir=$tap_tmp/$name
    KSWEEP_ACK_LOG=$dir.acks "$lost_kit/mpirun_hosts.sh" "$spec" ${LOST_MPI-} "$KSWEEP_BIN/ksweep" run \
        "${LOST_JOB:-$lost_job}" --out "$dir" --cache "$tiny_cache" --lost-after ${lost_after}s "$@" \
        </dev/null >>"$dir.log" 2>&1 &
    launcher=$!
}

acked() {
    local n
    n=$(cut -d ' ' -f 1-3 "$dir.acks" 2>/dev/null | sort -u | wc -l)
    if [ $# -eq 0 ]; then echo "$n"; else [ "$n" -ge "$1" ]; fi
}

# The processes whose command line names $dir; those of a rank carry its number.
rank_of() { # RANK [COMM]
    local p
    for p in $(pgrep -f "ksweep run .* --out $dir "; [ "${2-}" != ksweep-worker ] || pgrep -x ksweep-worker); do
        [ "$(cat "/proc/$p/comm" 2>/dev/null)" = "${2:-ksweep}" ] &&
            tr '\0' '\n' 2>/dev/null <"/proc/$p/environ" | grep -q "^OMPI_COMM_WORLD_RANK=$1\$" && echo "$p"
    done
}
is_lost() { grep -q "rank $1 is lost" "$dir.log"; }
lives() { kill -0 "$1" 2>/dev/null && ! grep -q '^State:.Z' "/proc/$1/status" 2>/dev/null; }
has_ended() { ! lives "$1"; }

# mpirun may be a grandchild; what counts is that whoever waits for it goes on.
ends_within() { # SECONDS WHAT
    ok "$2" settles "$1" has_ended "$launcher" || {
        tap_note "$(tail -n 20 "$dir.log")"
        lost_end
    }
}

lost_end() { # whatever is left of this sweep, after a failure
    local pids
    pids=$(pgrep -f -- "--out $dir ")
    # shellcheck disable=SC2086
    [ -z "$pids" ] || kill -KILL $pids 2>/dev/null
    wait "$launcher" 2>/dev/null
}

none_left() { ! pgrep -f -- "--out $dir " >/dev/null; }
gone() { # WHAT
    ok "$1" settles $((3 * lost_after + 4)) none_left || {
        tap_note "$(pgrep -af -- "--out $dir ")"
        lost_end
    }
}

lost_hosts() { sed -n 's/^ *"lost_hosts": "\(.*\)".*/\1/p' "$dir/status.json" 2>/dev/null | tr ' ' '\n' | sort | paste -sd ' '; }

whole() { # HOSTS WHAT
    is "$(exit_of "$dir"), lost: $(lost_hosts)" "0, lost: $1" "$2: complete, and names what was lost" ||
        tap_note "$(tail -n 20 "$dir.log")"
    ok "$2: each cell counts once, what was acknowledged was not measured again" \
        python3 "$KSWEEP_SOURCE_DIR/tests/tools/journal_audit.py" "$dir" --acked "$dir.acks"
    is "$(outcomes "$dir")" "${3:-1000}" "$2: every cell has an outcome"
    ok "$2: journal and results.h5 agree" ksweep check "$dir"
}
