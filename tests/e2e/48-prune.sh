#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Instances whose code object says that they spill are left out where that is asked for: from the
# cache to the table, with controls, and when the mind is changed. What the code objects say is
# written into the cache's manifests here: kernels of the host have none.
# group: mpi
# quick: yes
. "$(dirname "$0")/tap.sh"
need_program mpirun cc
. "$(dirname "$0")/sweep.sh"
tiny_cache=$tap_tmp/cache # it edits what is there
cd "$tap_tmp" || exit 1

job() { # NAME PRUNE -> NAME.json
    cat >"$1.json" <<EOF
{ "name": "$1", "why": "spills", "operator": "grouped_conv",
  "kernels": [ {"config": "$KSWEEP_SOURCE_DIR/kernels/configs/host_forward_quick.json",
                "filter": "vector_bytes <= 32"} ],
  "problems": [ {"file": "$KSWEEP_SOURCE_DIR/tests/data/tiny.csv"} ],
  "measure": {"warmup_ms": 0, "min_samples": 3, "max_ms": 5,
              "contention": {"retries": 0, "switches_per_s": 1e9, "stolen": 1, "canary": 100}},
  "prune": $2, "isolate": {"kernel_timeout_s": 10} }
EOF
}
job all '{}'
job none '{"control": 0}'
job half '{"by": "spill", "control": 0.5}'

column() { # FILE NAME...: those columns of a table, blanks between, "-" where there is nothing
    local file=$1
    shift
    awk -F, -v names="$*" 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; n = split(names, want, " "); next }
        { for (i = 1; i <= n; i++) printf "%s%s", ($at[want[i]] == "" ? "-" : $at[want[i]]), i < n ? " " : "\n" }' "$file"
}
table() { # DIR -> DIR.csv
    ksweep-analyze table "$1/results.h5" -o "$1.csv" 2>err
}

ok 'build' ksweep build all.json --cache "$tiny_cache"
cat >spill.py <<'EOF'
import hashlib, sys
numbers = ["vgprs", "agprs", "sgprs", "vgpr_spills", "sgpr_spills", "lds_bytes", "scratch_bytes",
           "kernarg_bytes", "wave", "max_threads", "code_bytes"]
known = {"vgprs": 256, "vgpr_spills": 11, "scratch_bytes": 48}
code = ["code k", "target gfx942"] + ["%s %d" % (n, known.get(n, -1)) for n in numbers]
for path in sys.argv[1:]:
    with open(path) as f:
        lines = f.read().split("\n")[:-2]  # without its last line, the digest of the others
    text, name = "", ""
    for line in lines:
        name = line if line.startswith("instance ") else name
        text += "\n".join([line] + (code if "packed" in name and line.startswith("reason ") else [])) + "\n"
    with open(path, "w") as f:
        f.write(text + "end %s\n" % hashlib.sha256(text.encode()).hexdigest()[:16])
EOF
ok 'two instances spill' /usr/bin/python3 spill.py "$tiny_cache"/host/*/manifest.txt

# --- nothing is left out unless it is asked for

TINY_JOB=all.json
tiny 0 whole >whole.out 2>whole.err
is "$? $(field whole ok) $(field whole skipped)" '0 11 ' 'by default all that can run are measured'
table whole
is "$(column whole.csv instance_name vgprs vgpr_spills sgpr_spills scratch_bytes | grep packed | cut -d' ' -f2- | sort -u)" \
    '256 11 - 48' 'what the code needs is in the table'
is "$(column whole.csv instance_name vgprs vgpr_spills | grep -v packed | cut -d' ' -f2- | sort -u)" '- -' \
    'what nobody said is not'
is "$(column whole.csv code_bytes | grep -c -e -)" 0 'a host tells the size of its code'

# --- the job, the plan and the command line

ok 'plan' ksweep plan none.json --cache "$tiny_cache" --prune spill
like "$(cat out)" '^6 are left out: their kernels spill registers \(a share of 0 is measured' 'plan counts them'
ok 'plan of the job' ksweep plan half.json --cache "$tiny_cache"
n_out=$(sed -n 's/^\([0-9]*\) are left out:.*/\1/p' out)
ok 'plan without' ksweep plan half.json --cache "$tiny_cache" --prune none
unlike "$(cat out)" 'left out' 'the command line overrules the job'
not_ok 'no such pruning' ksweep run none.json --prune loops --out nowhere
not_ok 'nothing was begun' test -e nowhere

TINY_JOB=none.json
for n in 0 3; do
    tiny $n cut$n --prune spill >cut$n.out 2>cut$n.err
    is "$? $(field cut$n ok) $(field cut$n skipped) $(exit_of cut$n)" '0 5 6 0' "$n ranks: they are skipped"
    table cut$n
    is "$(grep packed cut$n.csv | grep skipped | grep -c ',"spills 11 vector registers, 48 bytes of scratch",')" 6 \
        "$n ranks: with the reason"
    ok "$n ranks: journal and results.h5 agree" ksweep check cut$n
done

# --- controls

TINY_JOB=half.json
tiny 2 half >half.out 2>half.err
is "$(field half skipped) $(field half ok)" "$n_out $((11 - n_out))" 'as many are skipped as were planned'
is "$(field half prune_controls)" $((6 - n_out)) 'the others are controls'
table half
is "$(column half.csv outcome_flags instance_name | awk '$1 ~ /pruned/' | grep -c packed)" $((6 - n_out)) \
    'and marked'
is "$(column half.csv outcome_flags instance_name | grep -v packed | grep -c pruned)" 0 'they alone'
ok 'report' ksweep-analyze report half/results.h5
like "$(cat out)" "$n_out cells; controls: $((6 - n_out)) were measured for comparison" 'the report tells of them'
like "$(ksweep status half)" "$((6 - n_out)) pruned cells were measured" 'status, too'

# --- another mind

TINY_JOB=none.json
tiny 0 cut0 --resume >again.out 2>again.err
is "$? $(field cut0 ok) $(field cut0 skipped)" '0 5 6' 'what is decided stays so'
tiny 0 cut0 --resume --retry skipped >again.out 2>again.err
is "$? $(field cut0 ok) $(field cut0 skipped)" '0 11 ' 'until it is asked for'

done_testing
