#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The part `faults` of tests/gpu/run.sh over the fake HIP runtime: planted faults end as expected, and an
# outcome that is not expected fails the part.
. "$(dirname "$0")/tap.sh"
need_program ksweep-gpu cc
. "$(dirname "$0")/fake-hip.sh"
cd "$tap_tmp" || exit 1
gpu=$KSWEEP_SOURCE_DIR/tests/gpu

mkdir in
cat >kernels.json <<EOT
{ "family": "$gpu/faults.family.json", "why": "a few of all",
  "instances": [ { "way": "good" }, { "way": "trap" }, { "way": "good", "copy": 1 }, { "way": "write_behind" },
                 { "way": "half_random" }, { "way": "keeps" }, { "way": "good", "copy": 2 } ] }
EOT
echo 'operator,direction,dtype,layout,batch,m,n,k,trans_a,trans_b,count,name
gemm,forward,fp32,nhwgc,1,12,10,8,0,0,1,faults' >problem.csv
cat >job.json <<EOT
{ "name": "faults", "why": "a test", "operator": "gemm",
  "kernels": [ {"config": "kernels.json"} ], "problems": [ {"file": "problem.csv"} ],
  "device": {"backend": "hip", "arch": "emu"},
  "measure": {"warmup_ms": 1, "min_samples": 3, "max_samples": 5, "max_ms": 5, "target_rse": 0, "alias_control": 1} }
EOT
ok 'a grid' ksweep plan job.json --export-grid in/faults.grid
is "$(sed -n 's/^family gpu_faults gemm gpu //p' in/faults.grid)" ../tests/gpu/faults.k 'names its source for every machine'
export KSWEEP_GPU_INPUTS=$tap_tmp/in KSWEEP_GPU_BACKEND=hip KSWEEP_GPU_CACHE=$tiny_cache KSWEEP_GPU_BUILD=${KSWEEP_BIN%/bin}

rc_is 0 'planted faults' env OUT="$tap_tmp/as" "$gpu/run.sh" faults
is "$(sed -n 's/^ok  *\(fault_[a-z_0-9]*\)  *\([a-z_]*\).*/\1 \2/p' as/faults.txt | paste -sd ';')" \
    'fault_good ok;fault_trap crashed;fault_good_1 ok;fault_write_behind out_of_bounds;fault_half_random wrong_result;fault_keeps wrong_result;fault_good_2 ok' \
    'end as they should, in the order of the grid'
like "$(cat as/faults.txt)" '^0 of 7 outcomes are not as expected$' 'are counted'
like "$(cat as/faults.txt)" '^output: equal to the reference$' 'and the device is usable afterwards'
KSWEEP_FAKE_HIP=fault=wrong@1:block=128 rc_is 1 'a correct kernel with a wrong result' env OUT="$tap_tmp/not" "$gpu/run.sh" faults
like "$(cat not/faults.txt)" '^not ok fault_good +nondeterministic .* \[expected: ok\]$' 'is told with what was expected'

# --- expectations that are none

sweep() { "$KSWEEP_BIN/ksweep-gpu" sweep in/faults.grid --backend hip --arch emu --cache "$tiny_cache" --expect "$1"; }
sed '$a fault_x any fine' "$gpu/faults.expect" >other.expect
rc_is 2 'an outcome that does not exist' sweep other.expect
like "$(cat err)" "other.expect: line [0-9]+: 'fine' are no outcomes" 'is named'
grep -v fault_keeps "$gpu/faults.expect" >few.expect
rc_is 2 'an instance without an expectation' sweep few.expect
like "$(cat err)" "few.expect: no line fits 'fault_keeps'" 'is named'
echo "{ \"family\": \"$gpu/faults.family.json\", \"why\": \"none\", \"instances\": [ { \"way\": \"assert\" } ] }" >kernels.json
ok 'a grid of which the device can run nothing' ksweep plan job.json --export-grid in/faults.grid
rc_is 2 'has nothing to compare' sweep "$gpu/faults.expect"
like "$(cat err)" 'faults.expect: the grid has no cell that this device can run' 'which is said'
done_testing
