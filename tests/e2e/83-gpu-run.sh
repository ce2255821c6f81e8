#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# tests/gpu/run.sh over the fake HIP runtime: every part says what it should, of a device that is well.
. "$(dirname "$0")/tap.sh"
need_program ksweep-gpu cc
. "$(dirname "$0")/fake-hip.sh"
. "$(dirname "$0")/gpu-parts.sh"

# --- a device that is well

KSWEEP_FAKE_HIP=log=$tap_tmp/good.log run 0 'conformance, verify and repeat' good conformance verify repeat
is "$(judged good)" '0 1 2 3 4 5 6 7' 'what is measured is verified on the device'
like "$(cat good/conformance.txt)" '^0 of [0-9]+ bad$' 'every row of the contract holds'
like "$(cat good/conformance.txt)" '^ok [0-9]+ - [1-9] instances were launched, one of each pipeline and matrix unit' 'kernels were launched for it'
is "$(grep -c '^ok  ' good/verify.txt)" 4 'all three directions and the matrix products'
like "$(cat good/verify.txt)" '^1 problems x 4 instances, 4 cells$' 'every cell has a row'
is "$(cut -d, -f3 good/verify_forward.csv | tail -n +2 | sort | uniq -c | awk '{ print $2 "=" $1 }' | paste -sd ' ')" \
    'ok=4' 'and is ok'
like "$(cat good/repeat.txt)" '^winner regret at P90: 0.000 %, limit 0.500 %: within$' 'two sweeps agree'
like "$(cat good/repeat.txt)" '^share of device time in samples and warm-up: [0-9.]+ %$' 'the share of time is told'
like "$(cat good/device.txt)" '^arch=emu$' 'the device is named'
like "$(cat good/repeat.txt)" '^GPU verifies +fp32, fp16, bf16$' 'who verifies on the device'
like "$(cat good/repeat.txt)" ' inputs [0-9.]+ s, references [0-9.]+ s, exact [0-9.]+ s, verify [0-9.]+ s' 'and what that took'
KSWEEP_GPU_SHARE=1 run 1 'a share of time that is not reached' share sweep
like "$(cat share/sweep.txt)" '^that share is BELOW the limit of 100.0 %$' 'is told'
is "$(tail -n +2 share/sweep.csv | cut -d, -f3 | sort -u)" ok 'though every cell is ok'

# --- one launch, in process

name=$(sed -n 's/^ok [0-9]* - module of \([^ ]*\) *$/\1/p' good/conformance.txt | head -n 1)
one() { # STATUS WHAT INSTANCE PROBLEM ARG..
    local status=$1 what=$2
    shift 2
    rc_is "$status" "$what" "$gpu" one in/conformance.grid "$@" --backend hip --cache "$tiny_cache"
}
KSWEEP_FAKE_HIP=log=$tap_tmp/one.log one 0 'one instance on one problem' "$name" 'ragged 3x3' --calls 5
like "$(cat out)" '^5 calls: first [0-9.]+ us, median [0-9.]+ us, [0-9.]+ TFLOP/s$' 'its calls are timed'
like "$(cat out)" '^output: equal to the reference$' 'its output is compared'
is "$(grep -c ' launch .* 64$' one.log)" 5 'nothing but its calls is launched'
is "$(awk '{ print $1 }' one.log | sort -u | wc -l)" 1 'in one process'
KSWEEP_FAKE_HIP=fault=wrong@1-:block=64 one 1 'a wrong output' "$name" 'ragged 3x3'
like "$(cat out)" '^output: WRONG: element [0-9]+ of [0-9]+ is ' 'is named'
one 2 'an unknown instance' 'no such' 'ragged 3x3'
one 2 'an ambiguous one' bf16 'ragged 3x3'
like "$(cat err)" 'in the names of [0-9]+ instances' 'is counted'
one 2 'an unknown problem' "$name" 'no such'

# --- regret

rows() { # MEDIAN..
    echo 'problem,instance,outcome,n_samples,calls,median_ns,mad_ns,lo95_ns,hi95_ns,sampled_ns,max_error,wall_ns,input_ns,reference_ns,load_ns,exact_ns,warmup_ns,timing_ns,verify_ns,clock_mhz,timed_mhz,min_clock_mhz,max_power_w,temperature_c,throttle,flags,reason'
    local i=0 t
    for t; do
        i=$((i + 1))
        echo "0000000000000001,000000000000000$i,ok,9,1,$t,0,0,0,0,0,0,0,0,0,0,0,0,0,-1,-1,-1,-1,-1,-1,0,"
    done
}
rows 100 103 >a.csv
rows 104 100 >b.csv
rows 100.2 100 >c.csv
rc_is 1 'another winner that costs 4 %' "$gpu" compare a.csv b.csv
like "$(cat out)" 'regret of the other.s winner +n +2  P50 4.000 %  P90 4.000 %  max 4.000 %' 'is told'
rc_is 1 'one that costs 3 % in the other direction only' "$gpu" compare a.csv c.csv
rc_is 0 'a limit of ones own' "$gpu" compare a.csv c.csv --regret 0.05
sed 's/,ok,/,crashed,/' a.csv >d.csv
rc_is 1 'other outcomes' "$gpu" compare a.csv d.csv
like "$(cat out)" 'outcomes that differ: 2' 'are counted'

# --- nothing to run on, nothing to compare with

KSWEEP_HIP_LIBRARY=$tap_tmp/none.so run 77 'no GPU' none conformance
like "$(cat err)" 'none.so' 'it says where it looked'
run 2 'no such part' none everything
KSWEEP_CUDNN=$tap_tmp run 1 'without cuDNN' peer peer
like "$(cat peer/peer.txt)" " no peer: no libcudnn.so.9 in $tap_tmp" 'no peer is no pass'
like "$(cat peer/peer.txt)" '^ragged 3x3 .*TFLOP/s' 'our own best are told'
done_testing
