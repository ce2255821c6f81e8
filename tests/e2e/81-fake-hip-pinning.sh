#!/bin/bash
# SPDX-License-Identifier: MIT
# group: mpi
# Who measures on which GPU, where a runtime without hardware has two of them: maps, refusals, what
# workers really got, and what is said where there is no GPU at all.
. "$(dirname "$0")/tap.sh"
need_program mpirun cc
. "$(dirname "$0")/fake-hip.sh"
cd "$tap_tmp" || exit 1
export KSWEEP_FAKE_HIP=devices=2

cat >few.json <<EOT
{ "family": "$KSWEEP_SOURCE_DIR/kernels/gpu/gconv_fwd.family.json", "why": "a few small ones",
  "instances": [ { "dtype": "fp32", "tile_m": 16, "tile_n": 16, "tile_k": 8, "thread_m": 2, "thread_n": 2,
                   "pipeline": ["basic_v1", "compv3", "compv4"] } ] }
EOT
cat >job.json <<EOT
{ "name": "pinned", "why": "GPUs of a host", "operator": "grouped_conv", "kernels": [ {"config": "few.json"} ],
  "problems": [ {"file": "$KSWEEP_SOURCE_DIR/tests/data/tiny.csv"} ],
  "device": {"backend": "hip"},
  "measure": {"warmup_ms": 0, "min_samples": 3, "max_samples": 3, "alias_control": 1,
              "contention": {"retries": 0, "canary": 100}} }
EOT
host=$(uname -n)
n_cores=$(nproc)
# As ranks of sweep.sh; mpirun without --enable-recovery ends with what a rank ended with.
strict() {
    local n=$1 root=()
    shift
    [ "$(id -u)" -eq 0 ] && root=(--allow-run-as-root)
    mpirun -n "$n" --oversubscribe --bind-to none ${root[@]+"${root[@]}"} "$@"
}
map() { # RANKS ARG...
    local n=$1
    shift
    ranks "$n" ksweep plan job.json --show-binding "$@" >map.out 2>map.err
}
of_map() { awk -v n="$1" '{ print $n }' map.out | sed 1d | paste -sd ' '; }
refused() { # DESCRIPTION REGEX COMMAND...: exit 2, the reason, and nothing on disk
    local what=$1 regex=$2
    shift 2
    "$@" >refused.out 2>refused.err
    is $? 2 "$what: exit 2"
    like "$(cat refused.err)" "$regex" "$what: it is said why"
    is "$(ls)" "$untouched" "$what: nothing is written"
}

# --- maps

map 1
is "$(awk 'NR == 2 { print $4 }' map.out)" 0000:c1:00.0 'one rank: the first GPU'
like "$(cat map.out)" ': no rank measures on 0000:c2:00.0' 'the other one is missed'
if [ "$n_cores" -gt 1 ]; then
    map 2
    is "$(of_map 4)" '0000:c1:00.0 0000:c2:00.0' 'two ranks: a GPU each, in order'
    map 3
    is "$(of_map 3)" 'coordinates measures measures' 'one more coordinates'
    map 4 --oversubscribe
    is "$(grep -c ' shares ' map.out)" 4 'four share when asked to'
fi
ROCR_VISIBLE_DEVICES=1 ksweep plan job.json --show-binding --json >map.json
like "$(cat map.json)" '"pci": "0000:c2:00.0"' 'a list holds'
touch map.json map.out map.err refused.out refused.err
cat >other.sh <<'EOT'
#!/bin/sh
# Every process that is to see one GPU gets the first one.
[ "${ROCR_VISIBLE_DEVICES-}" ] && export ROCR_VISIBLE_DEVICES=0
exec "$KSWEEP_BIN/ksweep-worker" "$@"
EOT
chmod +x other.sh
mkdir bin # with a compiler for the host only
ln -s "$(command -v cc)" bin/cc
untouched=$(ls)

# --- what is refused

refused 'four ranks on two GPUs' 'no device for rank 3: 4 ranks .* 2 devices; .*--map-by ppr:2:node' \
    strict 4 ksweep run job.json --out sweep --cache cache
KSWEEP_FAKE_HIP=devices=2,arch=gfx90a:xnack- refused 'another arch than the job names' \
    "$host: the device at 0000:c1:00.0 \(.*\) is gfx90a, but the job is for gfx942" \
    ksweep run job.json --arch gfx942 --out sweep --cache cache
if [ "$n_cores" -gt 1 ]; then
    two_archs() {
        strict 1 -x KSWEEP_FAKE_HIP=devices=2,arch=gfx942 ksweep run job.json --out sweep --cache cache : \
            -n 1 -x KSWEEP_FAKE_HIP=devices=2,arch=gfx90a ksweep run job.json --out sweep --cache cache
    }
    refused 'native is not the same everywhere' \
        "$host: the device at 0000:c2:00.0 is gfx90a, but that of rank 0 on $host is gfx942" two_archs
    KSWEEP_WORKER=$tap_tmp/other.sh refused 'another GPU than the map gave' \
        'restricted to .* at 0000:c2:00.0 \(ROCR_VISIBLE_DEVICES=1\) sees .* at 0000:c1:00.0' \
        strict 2 ksweep run job.json --out sweep --cache cache
fi
KSWEEP_FAKE_HIP=devices=0 refused 'a runtime without GPU' 'rank 0: no device is visible .*shows no device' \
    ksweep run job.json --arch emu --out sweep --cache cache
for command in run build plan; do
    KSWEEP_HIP_LIBRARY=$tap_tmp/none.so refused "no runtime, $command" \
        "name one, such as gfx942, .*no HIP runtime .*$tap_tmp/none.so: cannot open" \
        ksweep "$command" job.json
done
KSWEEP_HIP_LIBRARY=$tap_tmp/none.so refused 'no runtime, and an arch that has a name' \
    'rank 0: no device: .*no HIP runtime .*none.so: cannot open' ksweep run job.json --arch gfx942
KSWEEP_CUDA_LIBRARY=$tap_tmp/none.so refused 'the other backend' "no CUDA runtime .*none.so: cannot open" \
    ksweep run job.json --backend cuda
KSWEEP_FAKE_HIP=arch=gfx942 refused 'no compiler' \
    'nothing can be measured: no compiler for gfx942 is installed; looked for .*KSWEEP_HIPCC' \
    env PATH="$tap_tmp/bin" ROCM_PATH="$tap_tmp/rocm" "$KSWEEP_BIN/ksweep" run job.json --out sweep --cache bin/cache
export KSWEEP_HIP_LIBRARY=$tap_tmp/none.so
rc_is 0 'a named arch is planned without a GPU' ksweep plan job.json --arch gfx942
like "$(cat "$tap_tmp/out")" 'cells; [0-9]+ cannot run on gfx942' 'for that arch, not for this host'
rc_is 1 'kernels of the host on a GPU: nothing can run' ksweep plan "$KSWEEP_SOURCE_DIR/jobs/quickstart.json" --backend hip --arch gfx942
like "$(cat "$tap_tmp/out")" 'family is for another backend' 'cannot run, and the plan says why'
rc_is 0 'and its instances are listed' ksweep kernels few.json --arch sm_90
rc_is 0 'and it is built' ksweep build job.json --arch emu --cache "$tap_tmp/built" --json
like "$(cat "$tap_tmp/out")" '"cached": 0,' 'from its source, in a cache of its own'
export KSWEEP_HIP_LIBRARY=$library

# --- a sweep: four ranks, two GPUs, shared

launches=$tap_tmp/launches.log
KSWEEP_FAKE_HIP=devices=2,log=$launches ranks 4 ksweep run job.json --out shared --cache built \
    --oversubscribe >run.out 2>run.err
is "$(exit_of shared)" 0 'four ranks on two GPUs'
like "$(cat run.out)" '^complete: ' 'complete'
is "$(field shared done)" "$(field shared cells)" 'every cell has its outcome'
is "$(awk '{ print $2 }' "$launches" | sort -u | paste -sd ' ')" '0 1' 'both GPUs worked'
is "$(awk '$3 == "launch" && $6 == 256 { print $2 }' "$launches" | sort -u | paste -sd ' ')" '0 1' 'and verified there'
is "$(awk '{ print $1, $2 }' "$launches" | sort -u | awk '{ print $1 }' | uniq -d | wc -l)" 0 \
    'no worker on more than one'
is "$(column shared device_id | grep . | sort -u | wc -l)" 2 'two device ids'
is "$(column shared device_class_id | grep . | sort -u | wc -l)" 1 'of one class'
is "$(column shared arch | grep . | sort -u)" emu 'native is what the device said'
is "$(h5rows shared/results.h5 devices pci_address device_model n_compute_units memory_bytes | tr '\t' ' ' | sort -u | paste -sd ';')" \
    '0000:c1:00.0 Fake Instinct 104 1073741824;0000:c2:00.0 Fake Instinct 104 1073741824' 'and what they are'
rc_is 2 'it goes on only on its arch' ksweep run job.json --out shared --resume --arch gfx942 --cache built

done_testing
