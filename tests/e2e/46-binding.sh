#!/bin/bash
# SPDX-License-Identifier: MIT
# group: mpi
# Who measures where: the map of --show-binding, the maps that are refused, and what workers really
# got, on this machine's cores and on simulated devices.
# quick: yes
. "$(dirname "$0")/tap.sh"
need_program mpirun taskset cc
. "$(dirname "$0")/sweep.sh"
. "$(dirname "$0")/binding.sh"
cd "$tap_tmp" || exit 1
unset ROCR_VISIBLE_DEVICES HIP_VISIBLE_DEVICES CUDA_VISIBLE_DEVICES GPU_DEVICE_ORDINAL

devices_job 2 >two.json
devices_job 1 >one.json

n_cores=$(ksweep plan "$tiny_job" --cache "$tiny_cache" | sed -n 's/.* with \([0-9]*\) device.*/\1/p')
first_cpu=$(taskset -cp $$ | sed 's/.*: *\([0-9]*\).*/\1/')
map() { # RANKS JOB ARG...: the map without its head
    local n=$1 job=$2
    shift 2
    ranks "$n" ksweep plan "$job" --show-binding "$@" >map.out 2>map.err
    sed 1d map.out
}
column() { awk -v n="$1" '{ print $n }' map.out | sed 1d | paste -sd ' '; }
# Everything but a rank's error is mpirun's; that a rank ended so it says, too.
refusals() { grep -c '^ksweep plan: ' map.err; }

# --- the host backend

map 1 "$tiny_job" >/dev/null
is "$(column 1) $(column 3)" '0 measures' 'one rank: it measures'
like "$(ksweep plan "$tiny_job" --show-binding)" ' 0 .* measures +core ' 'without mpirun, too'
map $((n_cores + 2)) "$tiny_job" >/dev/null
is "$(column 1)" "$(seq 0 $((n_cores + 1)) | paste -sd ' ')" 'every rank has a line, in order'
is "$(column 3 | tr ' ' '\n' | sort | uniq -c | awk '{ print $2 $1 }' | paste -sd ' ')" \
    "coordinates1 helps1 measures$n_cores" 'ranks beyond the cores: one coordinates, one helps'
is "$(grep measures map.out | awk '{ print $5 }' | sort -u | wc -l)" "$n_cores" 'no core twice'
map $((n_cores + 1)) "$tiny_job" --oversubscribe >/dev/null
is "$(grep -c ' shares ' map.out)" 2 '--oversubscribe: two share, and both say so'
map $((n_cores + 1)) "$tiny_job" --host-domain socket >/dev/null
is "$(grep -c ' measures *socket ' map.out)" \
    "$(grep '^physical id' /proc/cpuinfo | sort -u | grep -c . | sed 's/^0$/1/')" \
    '--host-domain socket: one on each'
ok 'as JSON' /usr/bin/python3 - <<EOT
import json, subprocess
rows = json.loads(subprocess.run(["ksweep", "plan", "$tiny_job", "--show-binding", "--json"],
                                 stdout=subprocess.PIPE, check=True).stdout)
assert [r["rank"] for r in rows] == [0] and rows[0]["role"] == "measures"
assert rows[0]["device"] == "core" and rows[0]["cores"] and rows[0]["memory_nodes"]
EOT

tiny $((n_cores + 2)) helpers >/dev/null 2>helpers.err
is "$(exit_of helpers)" 0 'more ranks than cores: complete'
is "$(grep -c "rank $((n_cores + 1)) only helps building" helpers.err)" 1 'one warning names the other'

for domain in core socket; do
    tiny 0 "$domain" --host-domain "$domain" >"$domain.out" 2>"$domain.err"
    h5rows "$domain/results.h5" devices \
        device_class_id device_id host_domain numa_nodes n_cache_neighbours n_memory_neighbours >"$domain.device"
done
is "$(cut -f 3,5,6 core.device socket.device | tr '\t\n' ' ;')" 'core 1 1;socket 1 1;' 'the domain is recorded'
like "$(cut -f 4 core.device)" '^[0-9]' 'and the memory'
is "$(cut -f 1 core.device socket.device | sort -u | wc -l)" 2 'another domain is another class'
is "$(cut -f 2 core.device socket.device | sort -u | wc -l)" 1 'of the same device'

# --- all ranks on one core

if [ "$n_cores" -gt 1 ]; then
    MPIRUN="taskset -c $first_cpu mpirun" map 3 "$tiny_job" >/dev/null
    is "$(column 3)" 'no measures no' 'bound to one core: one could measure'
    like "$(cat map.err)" "ranks 0, 2 are bound to CPU $first_cpu,.*--bind-to none.*--cpu-bind=none" \
        'refused, with the option that mends it'
    is "$(refusals)" 1 'one rank says so'
    MPIRUN="taskset -c $first_cpu mpirun" tiny 3 narrow >narrow.out 2>narrow.err
    like "$(cat narrow.err)" '^ksweep run: .*cores are shared: ranks 0, 2' 'the run is refused alike'
    ok 'before anything was written' test ! -e narrow
    is "$(grep -c 'ksweep run\|leaves' narrow.err)" 1 'in one line'
    # as a launcher binds by itself
    mpirun -n 2 --bind-to core --allow-run-as-root ksweep plan "$tiny_job" --show-binding >map.out
    is "$(column 3) $(column 5 | tr ' ' '\n' | sort -u | wc -l)" 'measures measures 2' \
        'bound to a core each: two cores'
fi

# --- devices

worker_log=$tap_tmp/worker.log
cat >worker.sh <<'EOT'
#!/bin/sh
# What a worker was given, then the worker. WRONG_DEVICE: it gets another one.
if [ $# -eq 0 ]; then
    cpus() { sed -n 's/^Cpus_allowed_list:\t//p' "$1/status"; }
    for p in /proc/[0-9]*; do
        [ "$(cat "$p/comm" 2>/dev/null)" = ksweep ] && grep -qzx OMPI_COMM_WORLD_RANK=0 "$p/environ" &&
            grep -qzx "$RUN_DIR" "$p/cmdline" && echo "rank 0=$(cpus "$p")" >>"$WORKER_LOG"
    done
    echo "warden=$(cpus /proc/$PPID)" >>"$WORKER_LOG"
    echo "rocr=${ROCR_VISIBLE_DEVICES-} cuda=${CUDA_VISIBLE_DEVICES-} $(grep -o 'bind:[0-9,-]*' \
        /proc/self/numa_maps | head -n 1) cpus=$(cpus /proc/self)" >>"$WORKER_LOG"
    ROCR_VISIBLE_DEVICES=${WRONG_DEVICE-$ROCR_VISIBLE_DEVICES}
fi
exec "$KSWEEP_BIN/ksweep-worker" "$@"
EOT
chmod +x worker.sh
export WORKER_LOG=$worker_log
device_run() { # DIR RANKS JOB ARG...
    local dir=$1 n=$2 job=$3
    shift 3
    : >"$worker_log"
    RUN_DIR=$dir KSWEEP_WORKER=$tap_tmp/worker.sh ranks "$n" ksweep run "$job" --out "$dir" --cache "$tiny_cache" \
        "$@" >"$dir.out" 2>"$dir.err"
}

may_bind() { # containers may deny it
    /usr/bin/python3 -c 'import ctypes, sys
nodes = ctypes.c_ulong(1)
sys.exit(ctypes.CDLL(None).syscall(238, 2, ctypes.byref(nodes), 65) != 0)'
}

map 1 two.json >/dev/null
like "$(cat map.out)" ' 0 .* measures +0000:10:00.0 ' 'a device, by its address'
like "$(cat map.out)" ': no rank measures on 0000:11:00.0' 'the other one is missed'
MPIRUN='mpirun -x ROCR_VISIBLE_DEVICES=1 -x CUDA_VISIBLE_DEVICES=1' map 1 two.json >/dev/null
like "$(cat map.out)" '0000:11:00.0' 'of what is visible; the list that Slurm sets twice counts once'
ranks 1 -x ROCR_VISIBLE_DEVICES= ksweep plan two.json --show-binding >map.out 2>map.err
like "$(cat map.err)" 'rank 0: no device is visible \(ROCR_VISIBLE_DEVICES=\)' 'none is visible'
is "$(refusals)" 1 'one rank says so'
KSWEEP_WORKER=/bin/false ksweep plan two.json --show-binding >map.out 2>map.err
is $? 2 'the probe fails: exit 2'
like "$(cat map.err)" 'probe exited 1' 'and it is said'

if [ "$n_cores" -gt 1 ]; then
    map 2 two.json >/dev/null
    is "$(column 4)" '0000:10:00.0 0000:11:00.0' 'two ranks, all see all: a device each, in order'
    is "$(column 5 | tr ' ' '\n' | sort -u | wc -l)" 2 'and a core each'
    map 3 two.json >/dev/null
    is "$(column 3)" 'coordinates measures measures' 'one rank more coordinates'
    map 4 two.json >/dev/null
    like "$(cat map.err)" 'no device for rank 3: 4 ranks .* 2 devices; .*--map-by ppr:2:node' \
        'one rank too many'
    map 4 two.json --oversubscribe >/dev/null
    is "$(grep -c ' shares ' map.out)" 4 '--oversubscribe: four share'
    MPIRUN='mpirun -x ROCR_VISIBLE_DEVICES=1' map 2 two.json >/dev/null
    like "$(cat map.err)" 'two ranks on one device: rank 0 sees only 0000:11:00.0 \(ROCR_' \
        'two ranks were given one device'
    mpirun --bind-to none --allow-run-as-root \
        -n 1 -x ROCR_VISIBLE_DEVICES=1 -x CUDA_VISIBLE_DEVICES=1 ksweep plan two.json --show-binding : \
        -n 1 -x ROCR_VISIBLE_DEVICES=0 -x CUDA_VISIBLE_DEVICES=0 ksweep plan two.json --show-binding \
        >map.out 2>map.err
    is "$(column 4)" '0000:11:00.0 0000:10:00.0' 'each was given its own'

    device_run both 2 two.json
    is "$(exit_of both)" 0 'a run on two devices'
    is "$(grep -o 'rocr=[0-9]' "$worker_log" | sort -u | paste -sd ' ')" 'rocr=0 rocr=1' \
        'each worker sees its own'
    is "$(grep -o 'cpus=.*' "$worker_log" | sort -u | wc -l)" 2 'on its own core'
    if may_bind; then
        is "$(grep -c bind: "$worker_log")" "$(grep -c rocr= "$worker_log")" 'its memory is bound to a node'
    fi
    is "$(ksweep-analyze table both/results.h5 | awk -F, 'NR == 1 { for (i = 1; i <= NF; i++)
        at[$i] = i; next } { print $at["device_id"] }' | sort -u | wc -l)" 2 'two device ids'
fi

if [ "$n_cores" -gt 1 ]; then
    apart() { # WHOSE: none of its CPUs is the worker's
        ! grep "^$1=" "$worker_log" | sed 's/.*=//' | tr ',' '\n' |
            awk -F- -v cpu="$(sed -n 's/.*cpus=//p' "$worker_log" | head -n 1)" \
                '{ if (cpu >= $1 && cpu <= ($2 == "" ? $1 : $2)) found = 1 } END { exit !found }'
    }
    device_run beside 2 one.json
    is "$(exit_of beside)" 0 'a run on one device of two ranks'
    like "$(cat "$worker_log")" '^rank 0=[0-9]' 'rank 0 only coordinates'
    ok 'away from the core of the worker' apart 'rank 0'
    ok 'and so is the warden of the rank that measures' apart warden
fi
WRONG_DEVICE=0 device_run wrong 1 one.json
is "$(exit_of wrong)" 0 'the right device'
cat >list.sh <<'EOT'
#!/bin/sh
[ $# -eq 0 ] && unset ROCR_VISIBLE_DEVICES
exec "$KSWEEP_BIN/ksweep-worker" "$@"
EOT
chmod +x list.sh
KSWEEP_WORKER=$tap_tmp/list.sh ROCR_VISIBLE_DEVICES=1 ksweep run two.json --out other >other.out 2>other.err
is "$(exit_of other)" 3 'a worker that gets another device measures nothing'
is "$(field other done)" 0 'no cell was measured there'
like "$(cat other.err)" 'got device sim/0000:10:00.0 at 0000:10:00.0, expected sim/0000:11:00.0 at 0000:11:00.0' 'and it is said'

done_testing
