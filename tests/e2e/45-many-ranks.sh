#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Many more ranks than cores, and one simulated device that fails everything at once among healthy
# ones.
# group: mpi hdf5py
. "$(dirname "$0")/tap.sh"
need_program mpirun python3
. "$(dirname "$0")/sweep.sh"

python=''
for p in /usr/bin/python3 python3; do
    "$p" -c 'import h5py' 2>/dev/null && python=$p && break
done
[ -n "$python" ] || skip_all 'python3 with h5py is needed'

sim_job() { # NAME ARCH PROBLEMS: of 100, with 100 instances each
    cat >"$tap_tmp/$1.json" <<END
{ "name": "$1", "why": "a simulated device per rank", "operator": "grouped_conv",
  "kernels":  [ { "config": "$KSWEEP_SOURCE_DIR/tests/bench/kernels/null.json" } ],
  "problems": [ { "file": "$KSWEEP_SOURCE_DIR/tests/bench/data/null.csv", "sample": $3, "seed": 1 } ],
  "device":   { "backend": "sim", "arch": "$2" },
  "measure":  { "warmup_ms": 1, "min_samples": 5, "max_samples": 10,
                "contention": { "retries": 0, "switches_per_s": 1e9, "stolen": 1, "canary": 100 } },
  "isolate":  { "batch": 20 },
  "verify":   { "exact": false, "elementwise": false } }
END
    TINY_JOB=$tap_tmp/$1.json
}

# "cells ok refuted leases-of-RANK leases quarantines", of the attempts and events
figures() { # DIR RANK
    "$python" - "$1/results.h5" "$2" <<'END'
import sys, h5py
with h5py.File(sys.argv[1]) as f:
    rows, cells, events = f["attempts"][:], f["measurements"][:], f["events"][:]
rows = rows[rows["role"] == 0]
bad = rows[rows["mpi_rank"] == int(sys.argv[2])]
print(len(cells), int((cells["outcome_text"] == b"ok").sum()),
      int((rows["outcome_text"] != b"ok").sum()),
      len(set(bad["lease_id"].tolist())), len(set(rows["lease_id"].tolist())),
      int((events["kind_text"] == b"quarantine").sum()))
END
}

sim_job many "seed=1,ns=20000" 40
dir=$tap_tmp/many
ok '48 ranks on whatever cores there are' tiny 48 "$dir" --lost-after 60s
is "$(exit_of "$dir")" 0 'many: complete'
is "$(field "$dir" cells)" 4000 'many: every cell'
is "$(field "$dir" pending)" 0 'many: nothing left'
ok 'many: journal and results.h5 agree' ksweep check "$dir"
read -r n n_ok n_bad _ < <(figures "$dir" 0)
is "$n $n_ok $n_bad" '4000 4000 0' 'many: each cell once and ok'

sim_job bad "fail=run,only=3" 100
dir=$tap_tmp/bad
ok 'a device that fails everything among eight that do not' tiny 9 "$dir" --lost-after 60s
is "$(exit_of "$dir")" 0 'bad: complete, nothing needs a look'
read -r n n_ok n_bad n_leases n_all n_quarantines < <(figures "$dir" 3)
tap_note "the bad device failed $n_bad cells, $n_leases of $n_all leases"
is "$n $n_ok" '10000 10000' 'bad: no cell is lost'
ok 'bad: it did fail some' test "$n_bad" -ge 3
ok 'bad: it got less than one of a hundred leases' test $((n_leases * 100)) -lt "$n_all"
is "$n_quarantines" 1 'bad: it is quarantined, and nobody else'
ok 'bad: the log names it' grep -q 'rank 3 on .* is quarantined' "$dir/log"
done_testing
