#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# waits: yes
# Beside a timing worker no process of ours wakes more than 10 times a second: two workers on two
# cores, so that none is to spare, and rank 0 without a seat. Counted, not timed.
# group: mpi
. "$(dirname "$0")/tap.sh"
need_program mpirun cc taskset lscpu
. "$(dirname "$0")/sweep.sh"
/usr/bin/python3 -c 'import h5py' 2>/dev/null || skip_all "no python3-h5py"
cpus=$(lscpu --parse=CPU,CORE | grep -v '^#' | sort -t, -k2,2n -u | cut -d, -f1 |
    while read -r c; do taskset -c "$c" true 2>/dev/null && echo "$c"; done | head -n 2 | paste -sd,)
[[ $cpus == *,* ]] || skip_all "needs two cores"
cd "$tap_tmp" || exit 1

sed -e 's|\.\./\.\./|'"$KSWEEP_SOURCE_DIR"'/|; s|tiny.csv|'"$KSWEEP_SOURCE_DIR"'/tests/data/tiny.csv|' \
    -e 's|"min_samples": 3, "max_ms": 20|"max_ms": 700, "target_rse": 1e-9, "max_samples": 1000, "min_sample_us": 1000|' \
    "$tiny_job" >quiet.json

switches() { # RANK: voluntary ones of all threads of that rank's process so far
    local p
    for p in $(pgrep -x ksweep -P "$launcher"); do
        tr '\0' '\n' <"/proc/$p/environ" | grep -qx "OMPI_COMM_WORLD_RANK=$1" || continue
        awk '/^voluntary/ { n += $2 } END { print n }' "/proc/$p"/task/*/status
    done
}

root=()
[ "$(id -u)" -eq 0 ] && root=(--allow-run-as-root)
ok 'everything is built' ksweep build quiet.json --cache "$tiny_cache"
taskset -c "$cpus" mpirun -n 3 --oversubscribe --bind-to none --enable-recovery "${root[@]}" \
    ksweep run quiet.json --out run --cache "$tiny_cache" >out 2>err &
launcher=$!
has_some() { [ "$(field run done)" -gt 1 ]; } 2>/dev/null
settles 30 has_some
# From the first finished cells to the last ones: at the end rank 0 gathers and speaks with everybody.
# The switches are read before the cells, so that they are of a time when some were not finished.
n_cells=$(field run cells)
ms() { echo $((${EPOCHREALTIME/[.,]/} / 1000)); }
before=$(switches 0) from=$(ms)
after=$before to=$from
while sleep 0.5; do
    n=$(switches 0 2>/dev/null) at=$(ms)
    [ -n "$n" ] && [ "$(field run done)" -lt "$n_cells" ] || break
    after=$n to=$at
done
wait "$launcher"
is "$(exit_of run)" 0 'three ranks on two cores: complete'
[ $((to - from)) -ge 1000 ] && [ "$after" -gt 0 ] && [ $((after - before)) -le $(((to - from) / 100)) ]
tap_report $? "rank 0 coordinates, and wakes rarely: $before switches, $((to - from)) ms later $after"

/usr/bin/python3 - >counted <<'END'
import h5py
with h5py.File("run/results.h5") as f:
    events = f["events"][:]
for e in events[events["kind_text"] == b"rank_summary"]:
    v = {k: int(n) for k, n in (w.split("=") for w in e["text"].decode().split())}
    most = max(10 * v["timing_ns"] * 1e-9, 2 * v["timed"])
    print(e["mpi_rank"], v["timing_ns"] // 10**6, v["wakes"], v["switches"], v["warden_wakes"], int(most))
END
is "$(wc -l <counted)" 2 'two ranks measured'
while read -r rank ms wakes switches warden most; do
    tap_note "rank $rank: $ms ms of samples; wake-ups: loop $wakes, threads $switches, warden $warden"
    [ "$ms" -gt 1000 ]
    tap_report $? "rank $rank took samples for $ms ms"
    [ "$wakes" -gt 0 ] && [ "$wakes" -le $((most + 3)) ]
    tap_report $? "its loop woke at most $most times"
    [ "$switches" -gt 0 ] && [ "$switches" -le $((most + 10)) ]
    tap_report $? 'and all its threads together did'
    [ "$warden" -gt 0 ] && [ "$warden" -le $((most + 3)) ]
    tap_report $? 'nor its warden'
done <counted

done_testing
