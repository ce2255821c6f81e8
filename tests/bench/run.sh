#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# run.sh [--out DIR] [--build DIR] [--runs N] [NAME...] - measures and prints a table: value, what it
# stands beside in the same run, ratio, goal, met or MISSED. docs/benchmarks.md says what each means.
#
#   cold-tiny-gemm warm-20000 harness-cost quickstart-breakdown startup journal gather   (all of these
#   when no name is given)    dispatch sched lazy oracle onednn verification build build-gpu quiet race repeat calibration compare table
#   page trace variance selector train code   (only when named)
#
#   --out DIR     raw.txt and table.md; default build/bench
#   --build DIR   a configured build tree; default build, made by the preset `release`
#   --runs N      how often each is run; default 5, the value is the median
#
# repeat: KSWEEP_REPEAT_SWEEPS (4), _RANKS ("1 2": in one process and under mpirun -n 2), _ROUNDS
#   (measure.rounds.max; as the job's default), _PROBLEMS (lists, colons between them), _STATISTICS (not
#   empty: ranks the label's statistics), _STATISTIC and _OVER (the label's), _DIR (where sweeps are kept)
# calibration: KSWEEP_CALIBRATION_SWEEPS (5), _DIR
# race: KSWEEP_RACES (10000), KSWEEP_T4 (a T4 file, .json.gz), KSWEEP_RACE_SWEEPS (runs of one job with colons
#   between them, such as those that repeat has kept: their rounds 0 are raced again in any order)
# trace: KSWEEP_TRACE_BIG (where the large trace is kept between calls; with .half and .gz 0.9 GB)
# variance: KSWEEP_VARIANCE_SWEEPS (3), _WORKERS (3), _BUFFERS (2), _S (20: s in each buffer), _JOB, _DIR
#
# code: KSWEEP_CODE_SETS (data/code.json; code_shipped.json: every instance that is shipped, half an hour),
#   KSWEEP_CODE_ARCHS (those of the sets), KSWEEP_CUOBJDUMP; not timed, so it does not mind what else runs
#
# Wants two cores with nothing else on them: each run waits for that, half a minute at most.
# Exit: 0 every goal met, 1 some missed, 2 wrong usage, 3 a bench failed.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
here=$root/tests/bench
usual=(cold-tiny-gemm warm-20000 harness-cost quickstart-breakdown startup journal gather)

fail() { # STATUS MESSAGE
    echo "run.sh: $2" >&2
    exit "$1"
}

out=$root/build/bench build='' runs=5 names=()
while [ $# -gt 0 ]; do
    case $1 in
    --out | --build | --runs)
        [ $# -ge 2 ] || fail 2 "$1 needs a value"
        case $1 in --out) out=$2 ;; --build) build=$2 ;; --runs) runs=$2 ;; esac
        shift ;;
    -h | --help) sed -n '3,/^set -u/{/^set -u/d;s/^# \{0,1\}//;p}' "$0"; exit 0 ;;
    *) [[ " ${usual[*]} dispatch sched lazy oracle onednn verification build build-gpu quiet race repeat calibration compare table page trace variance selector train code " == *" $1 "* ]] || fail 2 "no bench '$1'; see run.sh --help"
       names+=("$1") ;;
    esac
    shift
done
[ ${#names[@]} -gt 0 ] || names=("${usual[@]}")

python=''
for p in /usr/bin/python3 python3; do
    "$p" -c 'import h5py' 2>/dev/null && python=$p && break
done
[ -n "$python" ] || fail 3 "python3 with h5py is needed (Debian: apt-get install python3-h5py)"

# --- build

targets=(ksweep ksweep-worker bench_hello bench_units bench_journal bench_gather)
[[ " ${names[*]} " == *" oracle "* ]] && targets+=(ksweep-analyze)
[[ " ${names[*]} " == *" table "* || " ${names[*]} " == *" page "* ]] && targets+=(ksweep-analyze bench_table)
[[ " ${names[*]} " == *" compare "* ]] && targets+=(ksweep-analyze)
[[ " ${names[*]} " == *" trace "* ]] && targets+=(ksweep-analyze)
[[ " ${names[*]} " == *" dispatch "* ]] && targets+=(dispatch_worker)
[[ " ${names[*]} " == *" sched "* ]] && targets+=(bench_sched)
[[ " ${names[*]} " == *" race "* ]] && targets+=(bench_race bench_replay)
[[ " ${names[*]} " == *" repeat "* || " ${names[*]} " == *" calibration "* ]] && targets+=(bench_repeat)
[[ " ${names[*]} " == *" variance "* ]] && targets+=(bench_variance)
[[ " ${names[*]} " == *" selector "* ]] && targets+=(bench_selector)
[[ " ${names[*]} " == *" train "* ]] && targets+=(bench_train)
[[ " ${names[*]} " == *" onednn "* ]] && targets+=(bench_onednn)
[[ " ${names[*]} " == *" verification "* ]] && targets+=(bench_verify bench_checks)
if [ -z "$build" ]; then
    build=$root/build
    (cd "$root" && cmake --preset release >/dev/null) || fail 3 "cmake --preset release fails"
fi
said=$(cmake --build "$build" --target "${targets[@]}" 2>&1) || {
    tail -n 20 <<<"$said" >&2
    fail 3 "the build fails"
}
bin=$(cd "$build/bin" && pwd)
PATH=$bin:$PATH

tmp=$(mktemp -d) || exit 3
trap 'rm -rf "$tmp"' EXIT
export TMPDIR=$tmp # what mpirun keeps between its processes lies there, too
mkdir -p "$out" || exit 3
raw=$out/raw.txt

# --- what a bench is made of

launch=(mpirun -n 2 --bind-to none --enable-recovery)
[ "$(id -u)" -eq 0 ] && launch+=(--allow-run-as-root)

seconds() { # NAME COMMAND...: runs it quietly, leaves the wall time in $NAME
    local -n took=$1
    local from to
    shift
    from=$(date +%s%N)
    "$@" >"$tmp/said" 2>&1 || {
        tail -n 20 "$tmp/said" >&2
        fail 3 "'$*' fails"
    }
    to=$(date +%s%N)
    took=$(awk -v ns=$((to - from)) 'BEGIN { printf "%.4f", ns / 1e9 }')
}

say() { # BENCH RUN KEY VALUE
    echo "$*" >>"$raw"
}

load() { # BENCH
    echo "# $1: load $(cut -d ' ' -f 1-3 /proc/loadavg)" | tee -a "$raw" >&2
}

cpu_times() { # idle and all, in ticks
    awk '$1 == "cpu" { print $5 + $6, $2 + $3 + $4 + $5 + $6 + $7 + $8 + $9; exit }' /proc/stat
}

settle() { # BENCH RUN: until nothing else has run for a second, for half a minute at most
    local i idle all idle2 all2
    for ((i = 0; i < 30; i++)); do
        read -r idle all < <(cpu_times)
        sleep 1
        read -r idle2 all2 < <(cpu_times)
        [ $((100 * (idle2 - idle))) -ge $((90 * (all2 - all))) ] && return
    done
    echo "# $1 run $2: the machine is not idle" >>"$raw"
}

sweep() { # BENCH RUN JOB CACHE ARG...: one sweep by two ranks; its figures go to the raw file
    local launched wall
    rm -rf "$tmp/run"
    settle "$1" "$2"
    launched=$(date +%s%N)
    seconds wall "${launch[@]}" ksweep run "$3" --out "$tmp/run" --cache "$4" "${@:5}"
    say "$1" "$2" sweep_s "$wall"
    "$python" "$here/figures.py" sweep "$tmp/run" "$launched" >"$tmp/figures" ||
        fail 3 "no figures of $1"
    while read -r key value; do say "$1" "$2" "$key" "$value"; done <"$tmp/figures"
}

hello() { # BENCH RUN
    local wall
    seconds wall "${launch[@]}" bench_hello
    say "$1" "$2" hello_s "$wall"
}

# --- the benches

compile_units() { # every unit in "$tmp/units", two at a time
    rm -f "$tmp"/units/*/unit.o "$tmp"/units/*/kernels.so
    printf '%s\n' "$tmp"/units/*/compile.sh | xargs -P 2 -n 1 sh
}

bench_cold_tiny_gemm() {
    local job=$here/data/tiny_gemm_cold.json i wall
    bench_units "$job" "$tmp/units" 27 >/dev/null || fail 3 "bench_units fails"
    for ((i = 0; i < runs; i++)); do
        rm -rf "$tmp/cold"
        sweep "$1" $i "$job" "$tmp/cold"
        seconds wall compile_units
        say "$1" $i compile_s "$wall"
        hello "$1" $i
    done
}

bench_warm_20000() {
    local job=$here/data/tiny_gemm_warm.json i wall
    seconds wall ksweep build "$job" --cache "$tmp/cache"
    for ((i = 0; i < runs; i++)); do
        hello "$1" $i
        sweep "$1" $i "$job" "$tmp/cache"
    done
}

bench_harness_cost() {
    local job=$here/data/null.json i wall
    seconds wall ksweep build "$job" --cache "$tmp/cache"
    for ((i = 0; i < runs; i++)); do sweep "$1" $i "$job" "$tmp/cache"; done
}

bench_quickstart_breakdown() {
    local job=$root/jobs/quickstart.json i wall
    seconds wall ksweep build "$job" --cache "$tmp/cache"
    for ((i = 0; i < runs; i++)); do sweep "$1" $i "$job" "$tmp/cache"; done
}

bench_dispatch() {
    local i
    for ((i = 0; i < (runs + 1) / 2; i++)); do
        rm -rf "$tmp/dispatch"
        mkdir "$tmp/dispatch" || exit 3
        settle "$1" $i
        "$python" "$here/bench_dispatch.py" "$bin/ksweep" "$bin/dispatch_worker" "$tmp/dispatch" \
            >"$tmp/figures" || fail 3 "bench_dispatch.py fails"
        while read -r key value; do say "$1" "$i" "$key" "$value"; done <"$tmp/figures"
    done
    rm -rf "$tmp/dispatch"
}

bench_startup() { # eight ranks on whatever there is
    local job=$here/data/startup.json i wall launched
    local launch=("${launch[@]}" -n 8 --oversubscribe)
    seconds wall ksweep build "$job" --cache "$tmp/cache"
    for ((i = 0; i < runs; i++)); do
        settle "$1" $i
        launched=$(date +%s%N)
        seconds wall "${launch[@]}" bench_hello
        say "$1" $i init_s "$(awk -v ns="$launched" '$2 == "ranks" { printf "%.4f", ($4 - ns) / 1e9 }' "$tmp/said")"
        sweep "$1" $i "$job" "$tmp/cache" --oversubscribe
    done
}

bench_journal() {
    settle "$1" 0
    "$bin/bench_journal" "$tmp" >"$tmp/said" || fail 3 "bench_journal fails"
    sed 's/^/# /' "$tmp/said" >>"$raw"
    awk -v b="$1" '/^plain write/ { k = "plain_per_s" } /^journal: encode/ { k = "records_per_s" }
        k { sub(/ \/s.*/, ""); print b, 0, k, $NF; k = "" }' "$tmp/said" >>"$raw"
}

bench_sched() { # virtual time: it does not mind what else runs
    "$bin/bench_sched" "$here/data/costs.csv" >"$tmp/said" || fail 3 "bench_sched fails"
    grep '^#' "$tmp/said" >>"$raw"
    awk -v b="$1" '!/^#/ { print b, 0, $1, $2 }' "$tmp/said" >>"$raw"
}

bench_race() { # planted noise; with KSWEEP_T4 and KSWEEP_RACE_SWEEPS recorded samples, too
    local files=()
    if [ -n "${KSWEEP_T4:-}" ]; then
        "$python" "$here/t4_samples.py" "$KSWEEP_T4" >"$tmp/samples.csv" || fail 3 "t4_samples.py fails"
        files=("$tmp/samples.csv")
    else
        echo "# $1: no recorded samples, KSWEEP_T4 is not set" >>"$raw"
    fi
    "$bin/bench_race" "${KSWEEP_RACES:-10000}" "${files[@]}" >"$tmp/said" || fail 3 "bench_race fails"
    if [ -n "${KSWEEP_RACE_SWEEPS:-}" ]; then
        local sweeps
        IFS=: read -ra sweeps <<<"$KSWEEP_RACE_SWEEPS"
        "$bin/bench_replay" "${KSWEEP_RACES:-10000}" "${sweeps[@]}" >>"$tmp/said" || fail 3 "bench_replay fails"
    else
        echo "# $1: no recorded sweeps, KSWEEP_RACE_SWEEPS is not set" >>"$raw"
    fi
    grep '^#' "$tmp/said" | tee -a "$raw" >&2
    awk -v b="$1" '!/^#/ { print b, 0, $1, $2 }' "$tmp/said" >>"$raw"
}

bench_lazy() { # 10^9 cells, of few and of many problems
    local i
    for ((i = 0; i < runs; i++)); do
        settle "$1" $i
        rm -rf "$tmp/lazy"
        mkdir "$tmp/lazy"
        "$python" "$here/lazy.py" "$tmp/lazy" 100000 16 16 40 >"$tmp/said" || fail 3 "lazy.py fails"
        awk -v b="$1" -v r=$i '{ print b, r, $1, $2 }' "$tmp/said" >>"$raw"
    done
    rm -rf "$tmp/lazy"
}

bench_gather() {
    settle "$1" 0
    "$bin/bench_gather" "$tmp/gather" >"$tmp/said" || fail 3 "bench_gather fails"
    grep '^#' "$tmp/said" >>"$raw"
    awk -v b="$1" '!/^#/ { print b, 0, $1, $2 }' "$tmp/said" >>"$raw"
}

bench_table() { # a million cells to CSV, beside pandas
    settle "$1" 0
    "$bin/bench_table" "$tmp/table" 1000 1000 || fail 3 "bench_table fails"
    sync
    settle "$1" 1
    "$python" "$here/bench_table.py" "$bin/ksweep-analyze" "$tmp/table/results.h5" "$tmp/table.csv" \
        "$runs" >"$tmp/said" || fail 3 "bench_table.py fails"
    grep '^#' "$tmp/said" >>"$raw"
    awk -v b="$1" '!/^#/ { print b, n[$1]++, $1, $2 }' "$tmp/said" >>"$raw"
    rm -rf "$tmp/table" "$tmp/table.csv"
}

bench_page() { # a million cells as a page, in Chromium
    command -v chromium >/dev/null || fail 3 "page needs chromium"
    "$bin/bench_table" "$tmp/page" 1000 1000 || fail 3 "bench_table fails"
    sync
    settle "$1" 0
    "$python" "$here/bench_page.py" "$bin/ksweep-analyze" "$tmp/page/results.h5" "$tmp/page.html" "$runs" \
        >"$tmp/said" || fail 3 "bench_page.py fails"
    awk -v b="$1" '{ print b, n[$1]++, $1, $2 }' "$tmp/said" >>"$raw"
    rm -rf "$tmp/page" "$tmp/page.html"
}

bench_trace() { # a trace of 554 MB beside simdjson, json.load, HTA and cp; KSWEEP_TEST_DATA: real traces
    local traces=${KSWEEP_TEST_DATA:-$root/../shared/data}/traces
    [ -d "$traces" ] || fail 3 "trace needs real traces in \$KSWEEP_TEST_DATA/traces"
    settle "$1" 0
    "$python" "$here/bench_trace.py" "$bin" "$traces" "$runs" ${KSWEEP_TRACE_BIG:+"$KSWEEP_TRACE_BIG"} >"$tmp/said" || fail 3 "bench_trace.py fails"
    grep '^#' "$tmp/said" | tee -a "$raw" >&2
    awk -v b="$1" '!/^#/ { print b, 0, $1, $2 }' "$tmp/said" >>"$raw"
}

bench_selector() { # a choice among 100 candidates, by size of the selector
    local i
    for ((i = 0; i < runs; i++)); do
        settle "$1" $i
        mkdir -p "$tmp/selector"
        "$bin/bench_selector" 30 "$tmp/selector" >"$tmp/said" || fail 3 "bench_selector fails"
        awk -v b="$1" -v i=$i '{ print b, i, $1 "_ns", $2; print b, i, $1 "_p90_ns", $5 }' "$tmp/said" >>"$raw"
        cc -std=c99 -O2 -c "$tmp/selector/selector.c" -o "$tmp/selector/selector.o" ||
            fail 3 "a selector does not compile"
        say "$1" $i distilled_bytes "$(size "$tmp/selector/selector.o" | awk 'NR == 2 { print $1 + $2 + $3 }')"
    done
}

bench_train() { # training on 70,000 rows of 60 features
    local i
    for ((i = 0; i < (runs + 2) / 3; i++)); do
        settle "$1" $i
        OMP_WAIT_POLICY=passive "$bin/bench_train" >"$tmp/said" || fail 3 "bench_train fails"
        awk -v b="$1" -v i=$i '{ for (k = 1; k < NF; k += 2) print b, i, $k, $(k + 1) }' "$tmp/said" >>"$raw"
    done
}

build_beside_make() { # BENCH JOB: a build, make with one instance per file, and a build by two ranks
    local job=$2 i wall user system
    bench_units "$job" "$tmp/single" 1 >/dev/null || fail 3 "bench_units fails"
    for ((i = 0; i < (runs + 1) / 2; i++)); do
        rm -rf "$tmp/built"
        settle "$1" $i
        TIMEFORMAT='%R %U %S'
        { time ksweep build "$job" --cache "$tmp/built" --json >"$tmp/json" 2>"$tmp/said"; } \
            2>"$tmp/times"
        read -r wall user system < <(tail -n 1 "$tmp/times")
        say "$1" $i build_s "$wall"
        say "$1" $i busy "$(awk -v w="$wall" -v c="$(nproc)" -v u="$user" -v s="$system" \
            'BEGIN { print (u + s) / w / c }')"
        "$python" - "$tmp/json" "$1" $i >>"$raw" <<'END' || fail 3 "'ksweep build' fails"
import json, sys
f = json.load(open(sys.argv[1]))
if f["failed"] + f["timed_out"] + f["missing"]:
    sys.exit("not everything was built")
print(sys.argv[2], sys.argv[3], "instances", f["built"])
END
        find "$tmp/single" -name '*.o' -delete -o -name '*.so' -delete -o -name '*.img' -delete
        settle "$1" $i
        seconds wall make -s -C "$tmp/single" -j "$(nproc)" objects
        say "$1" $i objects_s "$wall"
        seconds wall make -s -C "$tmp/single" -j "$(nproc)" all
        say "$1" $i link_s "$wall"
        rm -rf "$tmp/built"
        settle "$1" $i
        seconds wall "${launch[@]}" ksweep build "$job" --cache "$tmp/built"
        say "$1" $i ranks_s "$wall"
    done
    rm -rf "$tmp/single" "$tmp/built"
}

bench_build() {
    build_beside_make "$1-1000" "$here/data/build.json"
    build_beside_make "$1-shipped" "$here/data/build_shipped.json"
}

bench_build_gpu() { # code objects for a GPU that need not be here
    command -v clang-19 >/dev/null || fail 3 "build-gpu needs clang-19 (Debian: apt-get install clang-19 lld-19)"
    export KSWEEP_HIPCC=clang-19
    build_beside_make "$1" "$here/data/build_gpu.json"
    unset KSWEEP_HIPCC
}

bench_code() { # hot loops of GPU kernels, counted in their machine code
    local kept=$root/docs/measured/bench-code.txt key value archs
    read -ra archs <<<"${KSWEEP_CODE_ARCHS:-}"
    "$python" "$here/machine_code.py" measure "$bin/bench_units" "${KSWEEP_CODE_SETS:-$here/data/code.json}" \
        "$out/code.txt" "${archs[@]}" >&2 || fail 3 "no compiler here that code can be counted of"
    sed 's/^\([^#]\)/# \1/' "$out/code.txt" >>"$raw"
    "$python" "$here/machine_code.py" summary "$out/code.txt" | tee >(sed 's/^/# /' >>"$raw") >&2
    "$python" "$here/machine_code.py" compare "$kept" "$out/code.txt" | tee >(sed 's/^/# /' >>"$raw") >&2
    while read -r key value; do say "$1" 0 "$key" "$value"; done < <(
        "$python" "$here/machine_code.py" keys "$kept" "$out/code.txt" 2>/dev/null)
}

bench_oracle() {
    sweep "$1" 0 "$here/data/oracle.json" "$tmp/cache"
    ksweep-analyze table "$tmp/run/results.h5" -o "$out/oracle.csv" >/dev/null ||
        fail 3 "ksweep-analyze table fails"
    "$python" "$here/bench_oracle.py" "$out/oracle.csv" --json >"$tmp/oracle.json" ||
        fail 3 "bench_oracle.py fails"
    sed 's/^/# /' "$tmp/oracle.json" >>"$raw"
    "$python" - "$tmp/oracle.json" >>"$raw" <<'END'
import json, sys
f = json.load(open(sys.argv[1]))
print("oracle 0 problems", f["problems"])
print("oracle 0 winners", len(f["winners_beyond_ties"]))
print("oracle 0 spread", f["worst_over_best_median"])
print("oracle 0 fixed", max(f["fixed_single"]["fraction"], f["fixed_pair"]["fraction"]))
END
}

bench_quiet() { # wake-ups beside timing workers, -n 2 against two processes, neighbours
    local key value
    rm -rf "$tmp/quiet"
    mkdir "$tmp/quiet" || exit 3
    settle "$1" 0
    "$python" "$here/bench_quiet.py" "$bin/ksweep" "$tmp/quiet" "$runs" >"$tmp/figures" ||
        fail 3 "bench_quiet.py fails"
    grep '^#' "$tmp/figures" >>"$raw"
    while read -r key value; do say "$1" 0 "$key" "$value"; done < <(grep -v '^#' "$tmp/figures")
    rm -rf "$tmp/quiet"
}

bench_verification() { # what it sees, and what it costs in a sweep with the default settings
    local job=$here/data/resnet50_default.json wall
    "$bin/bench_verify" >"$tmp/said"
    say "$1" 0 status $?
    sed 's/^/# /' "$tmp/said" >>"$raw"
    awk -v b="$1" '$1 == "correct" { sub(":", "", $3); print b, 0, "correct_cells", $3 }
        $1 == "|" && $2 == "all" { print b, 0, "faults", $4 + $11 }' "$tmp/said" >>"$raw"
    seconds wall ksweep build "$job" --cache "$tmp/cache"
    sweep "$1" 0 "$job" "$tmp/cache"
    job=$root/jobs/quickstart.json # whether checks change the times beside them
    seconds wall ksweep build "$job" --cache "$tmp/cache"
    settle "$1" 0
    "$bin/bench_checks" "$job" "$tmp/cache" >"$tmp/said" || fail 3 "bench_checks fails"
    sed 's/^/# /' "$tmp/said" >>"$raw"
    awk -v b="$1" '$2 == "checks" { for (i = 3; i < NF; i += 2) print b, 0, "checks." $i, $(i + 1) }' \
        "$tmp/said" >>"$raw"
}

bench_variance() { # where the variance lives; what was measured is kept, so that it can be cut and gone on with
    local job=${KSWEEP_VARIANCE_JOB:-$here/data/variance.json} i
    local kept=${KSWEEP_VARIANCE_DIR:-$out/variance}
    mkdir -p "$kept" || exit 3
    ksweep build "$job" --cache "$kept/cache" >"$tmp/said" 2>&1 || fail 3 "ksweep build $job fails"
    for ((i = 0; i < ${KSWEEP_VARIANCE_SWEEPS:-3}; i++)); do
        settle "$1" $i
        "$bin/bench_variance" measure "$job" "$kept/cache" "$kept/values.csv" $i \
            "${KSWEEP_VARIANCE_WORKERS:-3}" "${KSWEEP_VARIANCE_BUFFERS:-2}" "${KSWEEP_VARIANCE_S:-20}" ||
            fail 3 "bench_variance fails"
    done
    "$bin/bench_variance" table "$kept/values.csv" >"$tmp/said" || fail 3 "bench_variance fails"
    grep '^#' "$tmp/said" | tee -a "$raw" >&2
    awk -v b="$1" '!/^#/ { print b, 0, $1, $2 }' "$tmp/said" >>"$raw"
}

# Without AVX-512 a quarter of the instances of host_forward.json run: those for such CPUs are added there.
repeat_job() { # FILE: the job, with KSWEEP_REPEAT_ROUNDS as measure.rounds.max
    "$python" - "$here/data/repeat.json" "${KSWEEP_REPEAT_ROUNDS:-}" "${KSWEEP_REPEAT_PROBLEMS:-}" >"$1" <<'END'
import json, os, sys
here = os.path.dirname(os.path.abspath(sys.argv[1]))
job = json.load(open(sys.argv[1]))
if " avx512f " not in open("/proc/cpuinfo").read():
    job["kernels"][0]["filter"] = "vector_bytes < 64"
    job["kernels"].append({"config": job["kernels"][0]["config"].replace(".json", "_avx2.json")})
for part in job["kernels"] + job["problems"]:
    for key in ("config", "file"):
        if key in part:
            part[key] = os.path.normpath(os.path.join(here, part[key]))
if sys.argv[2]:
    job["measure"]["rounds"] = {"max": int(sys.argv[2])}
if sys.argv[3]:
    job["problems"] = [{"file": os.path.abspath(name)} for name in sys.argv[3].split(":")]
json.dump(job, sys.stdout, indent=1)
END
}

repeat_sweep() { # BENCH RUN DIR COMMAND...: one sweep, or what is left of it
    local dir=$3 rc
    [ -e "$dir.done" ] && return
    settle "$1" "$2"
    "${@:4}" $([ -d "$dir" ] && echo --resume) >"$tmp/said" 2>&1
    rc=$?
    [ $rc -le 1 ] || { tail -n 20 "$tmp/said" >&2; fail 3 "a sweep fails ($rc); the same command goes on with it"; }
    touch "$dir.done"
}

bench_repeat() { # whether sweeps name the same winners; sweeps are kept, so that it can be cut and gone on with
    local kept=${KSWEEP_REPEAT_DIR:-$out/repeat} n i runs statistics=()
    [ -n "${KSWEEP_REPEAT_STATISTICS:-}" ] && statistics=(--statistics)
    mkdir -p "$kept" || exit 3
    [ -e "$kept/job.json" ] || repeat_job "$kept/job.json" || fail 3 "no job for $1"
    ksweep build "$kept/job.json" --cache "$kept/cache" >"$tmp/said" 2>&1 || fail 3 "ksweep build fails"
    for ((i = 0; i < ${KSWEEP_REPEAT_SWEEPS:-4}; i++)); do
        for n in ${KSWEEP_REPEAT_RANKS:-1 2}; do
            local command=(ksweep run "$kept/job.json" --out "$kept/n$n-$i" --cache "$kept/cache")
            [ "$n" -eq 1 ] || command=("${launch[@]}" -n "$n" "${command[@]}")
            repeat_sweep "$1-n$n" "$i" "$kept/n$n-$i" "${command[@]}"
        done
    done
    for n in ${KSWEEP_REPEAT_RANKS:-1 2}; do
        runs=()
        for ((i = 0; i < ${KSWEEP_REPEAT_SWEEPS:-4}; i++)); do runs+=("$kept/n$n-$i"); done
        echo "# $1-n$n" | tee -a "$raw" >&2
        "$bin/bench_repeat" "${statistics[@]}" "${runs[@]}" >"$tmp/said" || fail 3 "bench_repeat fails"
        grep '^#' "$tmp/said" | tee -a "$raw" >&2
        awk -v b="$1-n$n" '!/^#/ { print b, 0, $1, $2 }' "$tmp/said" >>"$raw"
    done
}

bench_calibration() { # the oracle of one sweep against all others; kept and gone on with as above
    local job=$here/data/calibration.json i runs=()
    local kept=${KSWEEP_CALIBRATION_DIR:-$out/calibration}
    mkdir -p "$kept" || exit 3
    ksweep build "$job" --cache "$kept/cache" >"$tmp/said" 2>&1 || fail 3 "ksweep build fails"
    for ((i = 0; i < ${KSWEEP_CALIBRATION_SWEEPS:-5}; i++)); do
        repeat_sweep "$1" "$i" "$kept/$i" ksweep run "$job" --out "$kept/$i" --cache "$kept/cache"
        runs+=("$kept/$i")
    done
    "$bin/bench_repeat" "${runs[@]}" >"$tmp/said" || fail 3 "bench_repeat fails"
    grep '^#' "$tmp/said" | tee -a "$raw" >&2
    awk -v b="$1" '!/^#/ { print b, 0, $1, $2 }' "$tmp/said" >>"$raw"
}

compare_sweeps() { # BENCH RUN...: pairs of these sweeps, and two against two
    rm -rf "$tmp/compare"
    mkdir "$tmp/compare" || exit 3
    "$python" "$here/bench_compare.py" "$bin/ksweep-analyze" "$tmp/compare" "${@:2}" >"$tmp/said" ||
        fail 3 "bench_compare.py fails"
    sed -n "s/^#/# $1/p" "$tmp/said" | tee -a "$raw" >&2
    awk -v b="$1" '!/^#/ { print b, 0, $1, $2 }' "$tmp/said" >>"$raw"
}

bench_compare() { # sweeps of the same thing, and with slowdowns planted; with KSWEEP_COMPARE_SWEEPS recorded ones, too
    local i runs=() recorded
    for ((i = 0; i < 4; i++)); do
        ksweep run "$here/data/compare.json" --out "$tmp/sim$i" >"$tmp/said" 2>&1 || {
            tail -n 20 "$tmp/said" >&2
            fail 3 "a simulated sweep fails"
        }
        runs+=("$tmp/sim$i")
    done
    compare_sweeps "$1-sim" "${runs[@]}"
    if [ -z "${KSWEEP_COMPARE_SWEEPS:-}" ]; then
        echo "# $1: no recorded sweeps, KSWEEP_COMPARE_SWEEPS is not set" >>"$raw"
        return
    fi
    IFS=: read -ra recorded <<<"$KSWEEP_COMPARE_SWEEPS"
    compare_sweeps "$1-recorded" "${recorded[@]}"
}

bench_onednn() { # a comparison for each of data/onednn_*.json
    local job which
    for job in "$here"/data/onednn_*.json; do
        which=$(basename "$job" .json)
        which=${which//_/-}
        ksweep build "$job" --cache "$tmp/cache" >/dev/null || fail 3 "ksweep build $job fails"
        settle "$which" 0
        OMP_NUM_THREADS=1 "$bin/bench_onednn" "$job" "$tmp/cache" >"$tmp/said" ||
            fail 3 "bench_onednn fails"
        sed "s/^/# $which /" "$tmp/said" >>"$raw"
        awk -v b="$which" '$1 == "#" && $5 == "ratio" {
            print b, 0, $2 ".n", $4; print b, 0, $2 ".ratio", $6; print b, 0, $2 ".least", $8 }
            $2 == "without_instance" { print b, 0, "without_instance", $3 }' "$tmp/said" >>"$raw"
    done
}

{
    echo "# $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), $(nproc) cores"
    echo "# $(sed -n 's/^flags[^:]*: //p' /proc/cpuinfo | head -n 1 | tr ' ' '\n' |
        grep -E '^(avx|fma|sha)' | sort | paste -sd ' ')"
    echo "# $(uname -sr), $(cc --version | head -n 1), $(mpirun --version | head -n 1)"
    echo "# $(awk '/MemTotal/ { printf "%.0f GiB", $2 / 1048576 }' /proc/meminfo) of memory"
    echo "# bench run key value"
} >"$raw"
for name in "${names[@]}"; do
    load "$name"
    "bench_${name//-/_}" "$name"
done
echo "# end: load $(cut -d ' ' -f 1-3 /proc/loadavg)" >>"$raw"

"$python" "$here/figures.py" table "$raw" | tee "$out/table.md"
exit "${PIPESTATUS[0]}"
