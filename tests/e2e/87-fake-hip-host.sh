#!/bin/bash
# SPDX-License-Identifier: MIT
# group: mpi
# A GPU of which the host verifies: it finds the same.
. "$(dirname "$0")/tap.sh"
need_program mpirun cc
. "$(dirname "$0")/fake-hip.sh"
. "$(dirname "$0")/judged.sh"

gpu_job 1 "$few" | sed '1s/{/{ "verify": { "judge": false },/' >without.json
gpu_run 1 off without.json "fault=wrong@1-:$judge"
is "$(exit_of off) $(summary off)" "0 $n_cells ok" 'the job has the host verify: all are ok'
is "$(judged off) $(grep -c 'the host verifies bf16: verify.judge is false' off.err)" ' 1' 'nobody asks the judge, and it is said'

# --- no memory for it: the host verifies that problem

bytes=$(awk '$3 == "load" { exit } $3 == "alloc" { print $4 }' clean.log | sort -u >before
    awk '$3 == "load" { on = 1 } on && $3 == "alloc" { print $4 }' clean.log | sort -n | uniq -d | comm -13 before - | tail -n 1)
gpu_run 1 memory job.json "fault=oom@1-:bytes=$bytes-$bytes"
is "$(exit_of memory) $(summary memory)" "0 $n_cells ok" 'out of memory for references on the device: all are ok'
unlike "$(judged memory)" '[0-4]' 'verified by the host'

# --- without one

mkdir data
cp -r "$KSWEEP_SOURCE_DIR/kernels" data
mkdir data/kernels/broken # not beside the kernels, which would be built again
cp data/kernels/gpu/judge.family.json data/kernels/broken
echo '#error "no judge today"' >data/kernels/broken/judge.k
sed -i 's#\.\./gpu/#../broken/#' data/kernels/configs/gpu_judge.json
export KSWEEP_DATA_DIR=$tap_tmp/data
gpu_run 0 host job.json ""
is "$(exit_of host) $(summary host)" "0 $n_cells ok" 'a judge that does not compile: all are ok'
is "$(judged host)" '' 'verified by the host'
is "$(grep -c 'the host verifies bf16: .*no judge today' host.err)" 1 'which is said once'
is "$(h5rows host/results.h5 events text | grep -c '^the host verifies bf16: ')" 1 'and is an event'
is "$(same_times host clean)" '' 'times are the same'
struck wrong "wrong@1-:$here" wrong_result - 'wrong on exact data'
struck skip "skip@1-:$here" wrong_result - 'wrong on exact data'
rc_is 0 'a build without it is none the worse' ksweep build job.json --cache "$tiny_cache"
like "$(cat "$tap_tmp/out")" '^GPU verifies +the host verifies fp32, fp16, bf16: .*no judge today' 'and says so'
rc_is 0 'as JSON' ksweep build job.json --cache "$tiny_cache" --json
is "$(awk '/"judge": \[/ { on = 1 } on && /"state":/' "$tap_tmp/out" | tr -d ' ",' | sort | uniq -c | awk '{ print $1, $2 }')" \
    '3 state:build_failed' 'each with its state'
rm data/kernels/configs/gpu_judge.json
rc_is 2 'an installation without it' ksweep plan job.json
like "$(cat "$tap_tmp/err")" "kernels that verify on a GPU: '.*gpu_judge.json' does not exist" 'is not for GPUs'
done_testing
