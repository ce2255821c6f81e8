#!/bin/bash
# SPDX-License-Identifier: MIT
# waits: yes
# group: slurm netns
# The map as a real Slurm hands out its (fake) GPUs: each rank its own, all ranks all of them, through
# mpirun in a batch script; and what Slurm lets one ask for that would not measure.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/sweep.sh"
. "$(dirname "$0")/binding.sh"
slurm=$KSWEEP_SOURCE_DIR/tests/tools/cluster/slurm.sh
why=$("$slurm" can) || skip_all "$why"
need_program mpirun
[ "$(nproc)" -ge 2 ] || skip_all 'one core'
export KSWEEP_SLURM_DIR=$tap_tmp/slurm
trap '"$slurm" down; tap_cleanup' EXIT
trap 'exit 130' INT TERM
cd "$tap_tmp" || exit 1
"$slurm" up 2 >up.out 2>&1 || { tap_note "$(tail -n 20 up.out)"; exit 1; }

devices_job 2 >devices.json
a=0000:10:00.0 b=0000:11:00.0
plan=("$KSWEEP_BIN/ksweep" plan "$tap_tmp/devices.json" --show-binding)
step() { # SRUN-OPTION...
    timeout 60 "$slurm" exec env SLURM_PMIX_FENCE=ring srun --mpi=pmix --chdir="$tap_tmp" "$@" "${plan[@]}" >map 2>map.err </dev/null
    seats map
}
every="0 node1 $a;1 node1 $b;2 node2 $a;3 node2 $b"

is "$(step -N 2 --ntasks-per-node=2 --gpus-per-task=1)" "$every" '--gpus-per-task: each rank has its own'
is "$(step -N 2 --ntasks-per-node=2 --gres=gpu:2)" "$every" '--gres: all ranks see all'
is "$(step -N 2 --ntasks-per-node=1 --gres=gpu:1)" "0 node1 $a;1 node2 $a" 'one of two on each node'
unlike "$(cat map)" 'no rank measures on' 'what Slurm hides misses no rank'
cat >job.sh <<EOT
#!/bin/bash
mpirun --allow-run-as-root --bind-to none ${plan[*]}
EOT
timeout 60 "$slurm" exec sbatch --wait -N 2 --ntasks-per-node=2 --gres=gpu:2 --chdir="$tap_tmp" \
    -o map -e map.err job.sh >/dev/null
is "$(seats map)" "$every" 'mpirun in a batch script'

step -N 1 -n 2 --gres=gpu:1 >/dev/null
like "$(cat map.err)" "two ranks on one device: rank 0 sees only $a .*--gpus-per-task=1" \
    'two ranks on one GPU are refused'
step -N 2 --ntasks-per-node=3 --gres=gpu:2 >/dev/null
like "$(cat map.err)" 'node2: no device for rank .*--ntasks-per-node=2' 'three ranks on two GPUs are refused'
is "$(step -N 1 -n 1)" "0 node1 $a" 'Slurm hides nothing where no GPU is asked for'
like "$(cat map)" "node1: no rank measures on $b" 'and the other device is missed'
done_testing
