#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Kernels whose time is not that of the work, in a sweep: none gets a good label, honest ones keep
# theirs, and what is untrusted was measured twice, the second time alone.
. "$(dirname "$0")/tap.sh"
need_program ksweep cc h5rows
. "$(dirname "$0")/sweep.sh"
tiny_cache=$tap_tmp/cache # whoever cheats cheats nobody else
cd "$tap_tmp" || exit 1

cat >problem.csv <<'EOF2'
operator,direction,dtype,layout,ndim,n,g,c_total,k_total,di,hi,wi,z,y,x,stride_d,stride_h,stride_w,dilation_d,dilation_h,dilation_w,pad_d_lo,pad_h_lo,pad_w_lo,pad_d_hi,pad_h_hi,pad_w_hi,count,name
grouped_conv,forward,fp32,nhwgc,2,2,2,10,6,1,6,6,1,3,3,1,1,1,1,1,1,0,1,1,0,1,1,1,small
EOF2
cat >cheats.json <<EOF2
{ "name": "cheats", "why": "no label for work that was not done", "operator": "grouped_conv",
  "kernels": [ {"config": "$KSWEEP_SOURCE_DIR/tests/fake/cheat_kernels.json"} ],
  "problems": [ {"file": "problem.csv"} ],
  "measure": {"warmup_ms": 2, "min_samples": 100, "max_samples": 200, "max_ms": 200,
              "contention": {"retries": 0, "switches_per_s": 1e9, "stolen": 1, "canary": 100}} }
EOF2
ksweep run cheats.json --out run --cache "$tiny_cache" >run.out 2>run.err
is $? 1 'complete, but some cells need a look'
h5rows run/results.h5 measurements kernel_name outcome_text | sed 's/cheat_//' >labels
outcome_of() { # WAY
    awk -v way="$1" '$1 == way { print $2 }' labels
}
for way in honest order packing; do
    is "$(outcome_of $way)" ok "$way stays ok"
done
for way in memo static thread mapping file packed packed_input poisoned third; do
    is "$(outcome_of $way)" wrong_result "$way is wrong where its inputs change"
done
for way in second sixteenth; do
    is "$(outcome_of $way)" nondeterministic "$way differs from launch to launch"
done
for way in workspace content; do
    is "$(outcome_of $way)" untrusted "$way is untrusted"
done
# With one call in a sample and new inputs before most of them nothing is repeated, and the time is that of the work.
h5rows run/results.h5 measurements kernel_name outcome_text time_median_ns >times
for way in sample repeats; do
    label=$(awk -v way="cheat_$way" '$1 == "cheat_honest" { honest = $3 } $1 == way { outcome = $2; ns = $3 }
                 END { print (outcome == "ok" && ns > honest / 2 ? "untrusted" : outcome) }' times)
    is "$label" untrusted "$way is untrusted, or has the time of its work"
done
h5rows run/results.h5 attempts kernel_name role outcome_text worker_id |
    awk '$1 == "cheat_content" && $2 == 0 { print $3, $4 }' | sort -u >attempts
is "$(cut -d ' ' -f 1 attempts | paste -sd ' ')" 'untrusted untrusted' 'only when seen in two workers'
h5rows run/results.h5 measurements outcome_text n_checked_launches wrong_launch_share_ucb95 |
    awk '$1 == "ok" { d = $3 - (1 - 0.05 ^ (1 / $2)) } $1 == "ok" && ($2 < 20 || d * d > 1e-10)' >odd
is "$(cat odd)" '' 'good labels say how many outputs were looked at, and what that proves'
done_testing
