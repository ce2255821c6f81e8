#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# run.sh PART.. - the harness on a real GPU, with a compiler and the vendor's toolkit and nothing else.
#
#   build        only the programs
#   conformance  the device keeps the contract of src/device/device.h
#   verify       every instance that the device can run computes the right thing
#   sweep        42 instances x 20 layers in bf16: outcomes, spread, share of time in kernels
#   repeat       half of the layers twice, in another order: do they choose the same winners
#   gemm         square bf16 products (4096, 8192; rcr, rrr) in TFLOP/s
#   peer         the best instances beside cuDNN, and, after gemm, beside cuBLASLt or hipBLASLt
#   limits       after gemm or peer: what limits their best instances, from the counters of ncu (NVIDIA)
#   faults       kernels that misbehave, each between two correct ones: outcomes, and the device afterwards
#
# Each takes at most 8 minutes. Reports: $OUT/PART.txt, else ./gpu-report/PART.txt; rows as CSV beside
# them. Exit: 0 all as it should be, 1 not, 2 usage, 77 there is no GPU.
# KSWEEP_GPU_BACKEND, KSWEEP_GPU_ARCH: instead of what the probe finds. KSWEEP_GPU_BUILD: a build
# folder that has ksweep-gpu and ksweep-worker already. KSWEEP_GPU_INPUTS: a folder with other grids
# (export.sh). KSWEEP_GPU_CACHE: for kernels, default under the reports. KSWEEP_CUDNN: libcudnn.so.9
# or its folder; KSWEEP_CUBLASLT, KSWEEP_HIPBLASLT likewise. KSWEEP_GPU_PROFILED: problems of limits, a regular
# expression. CMAKE: cmake; where it is missing or fails, cc does.
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
out=${OUT:-./gpu-report}
build=${KSWEEP_GPU_BUILD:-}
inputs=${KSWEEP_GPU_INPUTS:-$here}
cmake=${CMAKE:-cmake}
limit=${KSWEEP_GPU_LIMIT:-480}
share=${KSWEEP_GPU_SHARE:-0.75} # of the device's time in samples and warm-up

say() { printf '%s\n' "$*" >&2; }

usage() {
    sed -n '3,23s/^# \{0,1\}//p' "$0" >&2
    exit 2
}

# With cmake; where there is none, or it is too old, or a vendor's header is other than our table of calls
# says, a compiler alone does as well, and what the device answers decides.
compile() {
    [ -n "$build" ] && return
    build=$out/build
    mkdir -p "$build/bin"
    compile_with_cmake >"$out/build.log" 2>&1 && return
    say "run.sh: not with $cmake: $(tail -n 1 "$out/build.log")"
    compile_plainly >>"$out/build.log" 2>&1 && return
    tail -n 20 "$out/build.log" >&2
    say "run.sh: ksweep-gpu does not build; see $out/build.log"
    exit 1
}

compile_with_cmake() {
    "$cmake" -S "$root" -B "$build" -DKSWEEP_WORKER_ONLY=ON -DKSWEEP_WERROR=OFF &&
        "$cmake" --build "$build" -j "$(nproc)"
}

compile_plainly() {
    local -a common=() worker=("$root"/src/worker/*.c) gpu=("$here"/*.c) rtc=("$root"/src/rtc/*.c)
    local m f
    for m in base op grid record spawn build device; do
        for f in $(sources_of "$m"); do common+=("$f"); done
    done
    mkdir -p "$build/objects"
    compile_all "${common[@]}" "${worker[@]}" "${gpu[@]}" && link_all ksweep-worker "${worker[@]}" "${common[@]}" &&
        compile_all "${rtc[@]}" && link_all ksweep-rtc "${rtc[@]}" "${common[@]}" &&
        link_all ksweep-gpu "${gpu[@]}" "${common[@]}" &&
        ${CC:-cc} -std=c11 -shared -fPIC -I"$root" -o "$build/bin/ksweep-gpu-peer.so" "$here/shim/peer_shim.c"
}

sources_of() { # MODULE: where its CMakeLists.txt has a list `plain`, these; other files want JSON
    local dir=$root/src/$1 list f
    list=$(sed -n '/^set(plain/,/)/p' "$dir/CMakeLists.txt" | grep -o '[a-z0-9_]*\.c')
    for f in ${list:-$(cd "$dir" && echo *.c)}; do
        case $f in gpu_check_*) ;; *) printf '%s\n' "$dir/$f" ;; esac
    done
}

object() { # FILE
    local name=${1#"$root"/}
    printf '%s\n' "$build/objects/${name//\//_}.o"
}

compile_all() { # FILE..: as many at a time as there are CPUs
    local flags="-std=c11 -D_GNU_SOURCE -DKS_SOURCE_DIR=\"$root\" -fno-strict-aliasing -I$root/src -I$root"
    local f n=0
    for f; do
        [ $n -lt "$(nproc)" ] || { wait -n || return 1; n=$((n - 1)); }
        # shellcheck disable=SC2086
        ${CC:-cc} $flags ${CFLAGS:--O3} -c -o "$(object "$f")" "$f" &
        n=$((n + 1))
    done
    for (( ; n > 0; n--)); do wait -n || return 1; done
}

link_all() { # PROGRAM FILE..
    local program=$1 f
    local -a objects=()
    shift
    for f; do objects+=("$(object "$f")"); done
    ${CC:-cc} -o "$build/bin/$program" "${objects[@]}" -lm -ldl -lpthread
}

probe() { # backend
    timeout 60 "$build/bin/ksweep-worker" --probe "$1" 2>&1
}

find_device() {
    local b text
    backend=${KSWEEP_GPU_BACKEND:-} arch=${KSWEEP_GPU_ARCH:-}
    for b in ${backend:-cuda hip}; do
        text=$(probe "$b")
        if grep -q '^arch=' <<<"$text"; then
            backend=$b
            arch=${arch:-$(sed -n 's/^arch=//p' <<<"$text")}
            printf '%s\n' "$text" >"$out/device.txt"
            return
        fi
        say "run.sh: $b: $(tail -n 1 <<<"$text")"
    done
    say "run.sh: no GPU"
    exit 77
}

gpu() { # command..: with a limit of its own, so that the report is written
    timeout $((limit / passes)) "$build/bin/ksweep-gpu" "$@" --backend "$backend" --arch "$arch" \
        --cache "$cache" --limit $((limit * 9 / 10 / passes))
}

# What this container lacks is said in every report, and gone on without.
check_machine() {
    lacking=$("$build/bin/ksweep-gpu" machine) && return
    say "$lacking"
    export KSWEEP_BARE=1
}

part_conformance() { gpu conformance "$inputs/conformance.grid"; }

part_verify() {
    local status=0 d
    for d in forward backward_data backward_weight; do
        echo "== $d"
        gpu sweep "$inputs/verify_$d.grid" --out "$out/verify_$d.csv" || status=1
    done
    return $status
}

part_sweep() { gpu sweep "$inputs/sweep.grid" --out "$out/sweep.csv" --share "$share"; }

part_gemm() { gpu sweep "$inputs/gemm.grid" --out "$out/gemm.csv"; }

part_repeat() {
    local status=0 i
    for i in 1 2; do
        echo "== sweep $i"
        gpu sweep "$inputs/repeat.grid" --seed "$i" --out "$out/repeat$i.csv" || status=1
    done
    echo "== winners"
    gpu compare "$out/repeat1.csv" "$out/repeat2.csv" || status=1
    return $status
}

# The folder of the Python package, where pip has put one.
find_cudnn() {
    [ -n "${KSWEEP_CUDNN:-}" ] && return
    local dir
    dir=$(python3 -c 'import nvidia.cudnn as c; print(list(c.__path__)[0] + "/lib")' 2>/dev/null) &&
        export KSWEEP_CUDNN=$dir
}

part_peer() {
    local status=0
    find_cudnn
    gpu sweep "$inputs/peer.grid" --out "$out/peer.csv" || status=1
    echo "== beside the vendor's library"
    gpu peer "$inputs/peer.grid" "$out/peer.csv" || status=1
    [ ! -e "$out/gemm.csv" ] || gpu peer "$inputs/gemm.grid" "$out/gemm.csv" || status=1
    return $status
}

# The best instance of each problem, as the report of PART names it, under ncu.
profile_best() {
    local line problem instance
    while read -r line; do
        problem=$(sed 's/ *[0-9.]* us .*//' <<<"$line")
        instance=${line##* }
        [[ $problem =~ $profiled ]] || continue
        echo "== $line"
        timeout "$profile_s" ncu --clock-control none --target-processes application-only \
            --kernel-name 'regex:kernel0$' --launch-skip 2 --launch-count 1 \
            --section SpeedOfLight --section LaunchStats --section Occupancy --section SchedulerStats \
            --section WarpStateStats --section MemoryWorkloadAnalysis --section ComputeWorkloadAnalysis \
            "$build/bin/ksweep-gpu" one "$inputs/$1.grid" "$instance" "$problem" --calls 3 \
            --backend "$backend" --arch "$arch" --cache "$cache" || status=1
    done < <(sed -n '/^== beside/q; / TFLOP\/s  /p' "$out/$1.txt")
}

part_limits() {
    local status=0 profile_s=60 profiled=${KSWEEP_GPU_PROFILED:-.} part
    command -v ncu >/dev/null || { echo 'no ncu in PATH'; return 1; }
    [ -e "$out/gemm.txt" ] || [ -e "$out/peer.txt" ] || { echo 'neither gemm nor peer was run'; return 1; }
    for part in gemm peer; do
        [ ! -e "$out/$part.txt" ] || profile_best $part
    done
    return $status
}

# The last launch is in a process of its own, behind all that the kernels did.
part_faults() {
    local status=0
    gpu sweep "$inputs/faults.grid" --expect "$here/faults.expect" --out "$out/faults.csv" || status=1
    echo "== the device afterwards"
    probe "$backend" || status=1
    gpu one "$inputs/faults.grid" fault_good faults --calls 5 || status=1
    return $status
}

passes_of() {
    case $1 in verify) echo 3 ;; repeat) echo 2 ;; *) echo 1 ;; esac
}

[ $# -gt 0 ] || usage
for part; do
    case $part in
        build | conformance | verify | sweep | repeat | gemm | peer | limits | faults) ;;
        *) usage ;;
    esac
done
mkdir -p "$out" && out=$(cd "$out" && pwd) || exit 2
cache=${KSWEEP_GPU_CACHE:-$out/cache}
mkdir -p "$cache" && chmod 700 "$cache" || exit 2
compile
[ "$*" = build ] && exit 0
check_machine
find_device
result=0
for part; do
    passes=$(passes_of "$part")
    from=$SECONDS
    {
        echo "$part on $(sed -n 's/^name=//p' "$out/device.txt"), $backend $arch," \
            "$(sed -n 's/^driver=//p' "$out/device.txt")"
        [ -z "$lacking" ] || echo "$lacking"
        "part_$part"
        status=$?
        echo "$part: exit $status after $((SECONDS - from)) s"
        exit $status
    } 2>&1 | tee "$out/$part.txt"
    [ "${PIPESTATUS[0]}" -eq 0 ] || result=1
done
exit $result
