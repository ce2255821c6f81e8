#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# heuristic_host.sh [--build DIR] [--out DIR] [--minutes N] [--scale N] [DIRECTION...] - what selectors
# trained on this machine's own sweeps reach on shapes that training has not seen, and the ceiling: the
# oracle of an independent second sweep of the same unseen shapes in the first. Picks and oracle are then
# measured again together (validate --retime).
#
#   DIRECTION: forward (1200 training shapes, 300 unseen), backward_data (600, 150), backward_weight
#   (1200, 150); default all three, about two hours on 2 cores with nothing else on them
#
#   --build DIR    a configured build tree; default build
#   --out DIR      sweeps, models, logs; default build/bench/host. Started again, it goes on from there
#   --minutes N    a part ends after N minutes at the latest; default 40
#   --scale N      N percent of the shapes; default 100
#
# Exit: 0 every goal met, 1 some missed, 2 wrong usage, 3 not finished: start it again.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
fail() { # STATUS MESSAGE
    echo "heuristic_host.sh: $2" >&2
    exit "$1"
}

build=$root/build out='' minutes=40 scale=100 directions=()
while [ $# -gt 0 ]; do
    case $1 in
    --build | --out | --minutes | --scale)
        [ $# -ge 2 ] || fail 2 "$1 needs a value"
        case $1 in --build) build=$2 ;; --out) out=$2 ;; --minutes) minutes=$2 ;; --scale) scale=$2 ;; esac
        shift ;;
    -h | --help) sed -n '3,/^set -u/{/^set -u/d;s/^# \{0,1\}//;p}' "$0"; exit 0 ;;
    forward | backward_data | backward_weight) directions+=("$1") ;;
    *) fail 2 "'$1' is neither an option nor a direction; see heuristic_host.sh --help" ;;
    esac
    shift
done
[ ${#directions[@]} -gt 0 ] || directions=(forward backward_data backward_weight)
out=${out:-$build/bench/host}
bin=$(cd "$build/bin" && pwd)
for p in ksweep ksweep-worker ksweep-analyze; do
    [ -x "$bin/$p" ] || fail 2 "no $bin/$p: build it first"
done
mkdir -p "$out" && cd "$out" || fail 3 "cannot use $out"
end=$(($(date +%s) + 60 * minutes))
launch=(mpirun -n 2 --bind-to none --enable-recovery)
[ "$(id -u)" -eq 0 ] && launch+=(--allow-run-as-root)
export OMP_WAIT_POLICY=passive

# Random layers of at most 200 MFLOP, the same ones every time; training and unseen are disjoint. Those of MORE
# come behind the unseen ones, so that there can be more later on: what was measured stays valid.
shapes() { # DIRECTION TRAINING UNSEEN MORE
    python3 - "$@" <<'PY' || fail 3 "cannot make the shapes"
import os, random, sys
direction, n_training, n_unseen, n_more = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
rng = random.Random("ksweep " + direction)
channels = [3, 8, 12, 16, 24, 32, 40, 48, 56, 64, 72, 80, 96, 112, 128, 144, 160, 192, 224, 256, 320, 384, 512]
names = "operator direction dtype layout n g c_total k_total hi wi y x stride_h stride_w pad_h_lo pad_w_lo pad_h_hi pad_w_hi"
seen = []
while len(seen) < n_training + n_unseen + n_more:
    size, f, stride = rng.choice([7, 8, 10, 14, 16, 20, 28, 32, 40, 56, 64]), rng.choice([1, 1, 3, 3, 3, 5, 7]), rng.choice([1, 1, 1, 2])
    c, k, n = rng.choice(channels), rng.choice(channels), rng.choice([1, 1, 2, 4])
    g = rng.choice([1] * 6 + [2, 4, 8, 32, c])
    k = c if g == c and g > 1 else k
    if c % g or k % g or f > size:
        continue
    if not 1e6 <= 2 * n * k * (c // g) * f * f * ((size - 1) // stride + 1) ** 2 <= 2e8:
        continue
    p = f // 2
    row = ("grouped_conv", direction, "fp32", "nhwgc", n, g, c, k, size, size, f, f, stride, stride, p, p, p, p)
    if row not in seen:
        seen.append(row)
unseen = seen[n_training : n_training + n_unseen]
for name, part in (("training", seen[:n_training] + seen[n_training + n_unseen :]), ("unseen", unseen)):
    path, lines = direction + "-" + name + ".csv", [names.replace(" ", ",")] + [",".join(map(str, r)) for r in part]
    text = "\n".join(lines) + "\n"
    if not os.path.exists(path) or open(path).read() != text:
        open(path, "w").write(text)
PY
}

# Without AVX-512 about a quarter of the usual instances run; more with vectors of 32 bytes are added there.
job() { # NAME LIST CONFIG
    local configs="{ \"config\": \"$root/kernels/configs/$3.json\" }"
    grep -qw avx512f /proc/cpuinfo || configs="{ \"config\": \"$root/kernels/configs/$3.json\", \"filter\": \"vector_bytes < 64\" },
               { \"config\": \"$root/kernels/configs/$3_avx2.json\" }"
    cat >"$1.json" <<JSON
{ "name": "$1", "why": "a selector of this machine", "operator": "grouped_conv",
  "kernels": [ $configs ],
  "problems": [ { "file": "$2.csv" } ],
  "device": { "backend": "host" },
  "measure": { "warmup_ms": 5, "min_samples": 5, "max_samples": 100, "target_rse": 0.005, "max_ms": 40,
               "contention": { "retries": 1, "switches_per_s": 1000, "stolen": 0.05, "canary": 0.10 } } }
JSON
}

sweep() { # NAME LIST [JOB]: of a list that has grown since, what is new
    local left=$((end - $(date +%s))) resume=() rc
    [ "$1.done" -nt "$2" ] && return
    [ "$left" -gt 30 ] || fail 3 "time is up before $1: start it again"
    [ -d "$1" ] && resume=(--resume --extend)
    "${launch[@]}" "$bin/ksweep" run "${3:-$1.json}" --out "$1" --max-time "${left}s" "${resume[@]}" >>"$1.log" 2>&1
    [ -d "$1/journal" ] || fail 3 "run: $(tail -n 1 "$1.log")"
    "$bin/ksweep" gather "$1" >"$1.gathered" 2>&1 || fail 3 "gather: $(cat "$1.gathered")"
    rc=$(sed -n 's/.*"exit": *\([0-9]*\).*/\1/p' "$1/status.json" | head -n 1)
    case $rc in
    0 | 1) touch "$1.done" ;;
    *) fail 3 "$1 is not finished ($(tail -n 1 "$1.gathered")): start it again" ;;
    esac
}

missed=0
line() { # LABEL REPORT WHO
    local who mean p10 rest
    who=$(grep -m 1 "^$3  " "$2") || return
    read -r mean p10 rest <<<"${who#"$3"}"
    printf '%-16s %-22s %s / %s   %s\n' "$1" "$3" "$mean" "$p10" "$rest"
    [ "$3" = model ] && awk -v m="$mean" -v p="$p10" 'BEGIN { exit !(m < .980 || p < .940) }' && missed=1
}

for d in "${directions[@]}"; do
    case $d in
    forward) n=1200 unseen=300 more=0 ;;
    backward_data) n=600 unseen=150 more=0 ;;
    backward_weight) n=600 unseen=150 more=600 ;;
    esac
    shapes "$d" $((n * scale / 100)) $((unseen * scale / 100)) $((more * scale / 100))
    job "$d-train" "$d-training" "host_$d"
    job "$d-first" "$d-unseen" "host_$d"
    job "$d-second" "$d-unseen" "host_$d"
    sweep "$d-train" "$d-training.csv"
    sweep "$d-first" "$d-unseen.csv"
    sweep "$d-second" "$d-unseen.csv"
    [ "$d-model" -nt "$d-train.done" ] || rm -rf "$d-model" "$d-retime" "$d-again" "$d-again.done"
    if [ ! -d "$d-model" ]; then
        "$bin/ksweep-analyze" train "$d-train/results.h5" -o "$d-model" --seed 1 --threads 2 >"$d-train.txt" 2>"$d-train.err"
        [ $? -le 1 ] || fail 3 "train: $(tail -n 1 "$d-train.err")"
    fi
    "$bin/ksweep-analyze" validate "$d-model" "$d-first/results.h5" --ceiling "$d-second/results.h5" \
        --threads 2 >"$d.txt" 2>"$d.err"
    [ $? -le 1 ] || fail 3 "validate: $(tail -n 1 "$d.err")"
    for who in "best fixed instance" "static order" "nearest neighbours" "analytic model" model ceiling; do
        line "$d" "$d.txt" "$who"
    done
    echo "$d: to reach .980 / .940"
    if [ ! -d "$d-retime" ]; then
        "$bin/ksweep-analyze" validate "$d-model" "$d-first/results.h5" --threads 2 --write-retime "$d-retime" \
            >"$d-again.txt" 2>"$d-again.err"
        [ $? -le 1 ] || fail 3 "validate --write-retime: $(tail -n 1 "$d-again.err")"
    fi
    sweep "$d-again" "$d-retime/job.json" "$d-retime/job.json"
    "$bin/ksweep-analyze" validate "$d-model" "$d-first/results.h5" --retime "$d-again" --threads 2 >"$d-again.txt" 2>"$d-again.err"
    [ $? -le 1 ] || fail 3 "validate --retime: $(tail -n 1 "$d-again.err")"
    sed -n "s/^\(re-timed:\|model, by\|new time over\)/$d: \1/p" "$d-again.txt"
done
exit $missed
