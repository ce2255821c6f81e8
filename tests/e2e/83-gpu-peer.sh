#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# ksweep-gpu peer over the fake HIP runtime and stubs of cuBLASLt and hipBLASLt: what they are asked, in
# turn with our kernels.
. "$(dirname "$0")/tap.sh"
need_program ksweep-gpu cc
. "$(dirname "$0")/fake-hip.sh"
cd "$tap_tmp" || exit 1
gpu=$KSWEEP_BIN/ksweep-gpu
unset KSWEEP_CUDNN KSWEEP_PEER

{
    echo 'operator,direction,dtype,layout,batch,m,n,k,trans_a,trans_b,count,name'
    echo 'gemm,forward,bf16,nhwgc,1,48,32,64,0,1,1,rcr'
    echo 'gemm,forward,bf16,nhwgc,1,48,32,64,0,0,1,rrr'
    echo 'gemm,forward,bf16,nhwgc,2,48,32,64,0,0,1,two'
} >gemm.csv
cat >gemm_kernels.json <<EOT
{ "family": "$KSWEEP_SOURCE_DIR/kernels/gpu/gemm.family.json", "why": "a test",
  "instances": [ { "dtype": "bf16", "operands": ["rcr", "rrr"], "tile_m": 32, "tile_n": 32, "tile_k": 16,
                   "thread_m": 4, "thread_n": 4, "pipeline": "basic_v1" } ] }
EOT
gpu_job 1 True | sed -e 's|"grouped_conv"|"gemm"|' -e "s|\"config\": \"[^\"]*\"|\"config\": \"gemm_kernels.json\"|" \
    -e 's|"file": "[^"]*"|"file": "gemm.csv"|' >gemm.json
ok 'a grid' ksweep plan gemm.json --export-grid gemm.grid
args=(--backend hip --arch emu --cache "$tiny_cache")
ok 'a sweep of it' "$gpu" sweep gemm.grid "${args[@]}" --out gemm.csv.rows

stub() { # PREFIX ALGORITHM: stub.PREFIX.so
    ok "a stub of $1" cc -D_GNU_SOURCE -shared -fPIC -DPREFIX="$1" -DALGORITHM="$2" -o "stub.$1.so" \
        "$KSWEEP_SOURCE_DIR/tests/fake/blaslt.c" "$library"
}
asked() { # LOG PRODUCTS WHAT: the distinct ones
    is "$(grep ^compute "$1" | sort -u | paste -sd ';')" "$2" "$3"
}
stub hipblasLt 24
stub cublasLt 64
export KSWEEP_FAKE_HIP=log=$tap_tmp/peer.log
rc_is 0 'hipBLASLt' env KSWEEP_HIPBLASLT="$tap_tmp/stub.hipblasLt.so" KSWEEP_FAKE_BLASLT=peer.log "$gpu" peer gemm.grid gemm.csv.rows "${args[@]}"
like "$(cat out)" '^rcr +[0-9.]+ us +[0-9.]+ TFLOP/s +[0-9.]+ us +[0-9.]+ TFLOP/s +[0-9.]+  gemm_bf16_rcr' 'both rates, their ratio'
like "$(cat out)" '^two .* no peer: not a single matrix product' 'what it is not asked'
like "$(cat out)" '^2 of 3 problems have a peer$' 'how many'
# By columns: C' (32 x 48) = op(B)' op(A)'. 112 turns the first operand, which is our B by columns.
asked peer.log 'compute 2 scale 0 ops 0=111 1=111 types 14 14 14: 32x64 64x48 32x48 algorithm x;compute 2 scale 0 ops 0=111 1=111 types 14 14 14: 32x64 64x48 32x48 algorithm y;compute 2 scale 0 ops 0=112 1=111 types 14 14 14: 64x32 64x48 32x48 algorithm x;compute 2 scale 0 ops 0=112 1=111 types 14 14 14: 64x32 64x48 32x48 algorithm y' \
    'its numbers, each of its algorithms'
# Of a problem: 1 call of a sample of each algorithm, 5 samples of each, 21 rounds of the chosen one; five
# calls a sample.
is "$(grep -c 'ops 0=112' peer.log)" $((5 * (2 * (1 + 5) + 21))) 'as often as ours: rounds of five calls'
is "$(grep -c ' launch .*gemm\| launch .*kernel0' peer.log)" $((2 * 5 * 22)) 'of ours as many'
turns=$(sed -n -e 's/^compute.*/T/p' -e 's/.* launch .*gemm.*/O/p' -e 's/.* launch .*kernel0.*/O/p' peer.log | uniq -c)
is "$(awk '{ print $1 $2 }' <<<"$turns" | sort | uniq -c | awk '$1 > 4 { print $2 }' | sort | paste -sd ' ')" '10O 10T' \
    'two rounds begin with ours, two end with it'
is "$(grep -v ^compute peer.log | awk '{ print $1 }' | sort -u | wc -l)" 1 'the process is one'
rc_is 0 'cuBLASLt' env KSWEEP_PEER=cublaslt KSWEEP_CUBLASLT="$tap_tmp/stub.cublasLt.so" KSWEEP_FAKE_BLASLT=cuda.log "$gpu" peer gemm.grid gemm.csv.rows "${args[@]}"
asked cuda.log 'compute 68 scale 0 ops 3=1 types 14 14 14: 64x32 64x48 32x48 algorithm x;compute 68 scale 0 ops 3=1 types 14 14 14: 64x32 64x48 32x48 algorithm y;compute 68 scale 0 ops types 14 14 14: 32x64 64x48 32x48 algorithm x;compute 68 scale 0 ops types 14 14 14: 32x64 64x48 32x48 algorithm y' \
    'the same with other numbers'
rc_is 1 'neither' env KSWEEP_HIPBLASLT="$tap_tmp" "$gpu" peer gemm.grid gemm.csv.rows "${args[@]}"
like "$(cat out)" "^rcr .* no peer: no libhipblaslt.so.1 in $tap_tmp" 'is told for each problem'

# --- convolutions

ok 'a stub of cuDNN' cc -D_GNU_SOURCE -shared -fPIC -o stub.cudnn.so "$KSWEEP_SOURCE_DIR/tests/fake/cudnn.c" "$library"
gpu_job 1 'tile_m == 16 and tile_n == 32' >conv.json
ok 'a grid of one' ksweep plan conv.json --export-grid conv.grid
ok 'a sweep of it' "$gpu" sweep conv.grid "${args[@]}" --out conv.rows
export KSWEEP_FAKE_HIP=log=$tap_tmp/conv.log KSWEEP_FAKE_CUDNN=$tap_tmp/conv.log
rc_is 0 'cuDNN' env KSWEEP_CUDNN="$tap_tmp/stub.cudnn.so" "$gpu" peer conv.grid conv.rows "${args[@]}"
like "$(cat out)" '^peer of convolutions: cuDNN 92400, its graph interface, in turn with ours$' 'is named'
like "$(cat out)" '^ragged 3x3 +[0-9.]+ us +[0-9.]+ TFLOP/s +[0-9.]+ us +[0-9.]+ TFLOP/s +[0-9.]+  grouped_conv' 'both rates, their ratio'
tensor() { echo "(901:1 9 902:3 $1 903:3 $2 906:3 $3 900:3 16)"; }
conv='(100:1 0 101:7 1 106:3 2 102:3 1 1 103:3 1 1 105:3 1 1 104:3 1 1)'
op="704:15 $(tensor '1 16 9 11' '1584 1 176 16' 1) 703:15 $(tensor '40 16 3 3' '144 1 48 16' 2) 705:15 $(tensor '1 40 9 11' '3960 1 440 40' 3) 702:15 $conv 700:4 1 701:4 0"
is "$(grep ^execute conv.log | sort -u)" \
    "execute 400:0 401:15 (config 1 of 201:15 (800:0 801:15 ($op)) 200:8 3) | 1001:6 1000:3 1 2 3 1003:6" \
    'what it is asked, of the plan that it does not refuse'
is "$(grep -c ^execute conv.log)" $((5 * (1 + 5 + 21))) 'rounds of five calls'
turns=$(sed -n -e 's/^execute.*/T/p' -e 's/.* launch .*/O/p' conv.log | uniq -c)
is "$(awk '{ print $1 $2 }' <<<"$turns" | sort | uniq -c | awk '$1 > 4 { print $2 }' | sort | paste -sd ' ')" '10O 10T' \
    'in turn with ours'

ok 'a stub of MIOpen' cc -D_GNU_SOURCE -shared -fPIC -o stub.miopen.so "$KSWEEP_SOURCE_DIR/tests/fake/miopen.c" "$library"
export KSWEEP_FAKE_HIP=log=$tap_tmp/miopen.log KSWEEP_FAKE_MIOPEN=$tap_tmp/miopen.log
rc_is 0 'MIOpen' env KSWEEP_MIOPEN="$tap_tmp/stub.miopen.so" "$gpu" peer conv.grid conv.rows "${args[@]}"
like "$(cat out)" '^peer of convolutions: MIOpen 3.4.5, its immediate mode, in turn with ours$' 'is named'
like "$(cat out)" '^ragged 3x3 +[0-9.]+ us +[0-9.]+ TFLOP/s +[0-9.]+ us +[0-9.]+ TFLOP/s +[0-9.]+  grouped_conv' 'both rates, their ratio'
is "$(grep ^immediate miopen.log | sort -u)" \
    'immediate 9 workspace 128: w type 5 40/144 16/1 3/48 3/16, x type 5 1/1584 16/1 9/176 11/16, y type 5 1/3960 40/1 9/440 11/40, mode 0 pad 1 1 stride 1 1 dilation 1 1 groups 1' \
    'the solution that compiles and fits, compiled before it is run'
is "$(grep -c ^immediate miopen.log)" $((5 * (1 + 5 + 21))) 'rounds of five calls'
rc_is 1 'no MIOpen' env KSWEEP_MIOPEN="$tap_tmp" "$gpu" peer conv.grid conv.rows "${args[@]}"
like "$(cat out)" "no peer: no libMIOpen.so.1 in $tap_tmp" 'is told'
done_testing
