#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# first_hour.sh - tests/gpu/run.sh on a lent, bare machine, in calls of at most 8 minutes:
#
#   first_hour.sh prepare DIR         beforehand, where nvcc (or clang) is: programs and kernels into DIR
#   first_hour.sh 1|2|3|4 [--dry-run]   there: 1 build, conformance, verify; 2 sweep, repeat; 3 gemm, peer;
#                                     4 faults
#   first_hour.sh PART:SECONDS.. [--dry-run]   there: these parts of run.sh, each with that limit
#
# Nothing is kept between calls: each unpacks what it needs into a folder of its own. Each part has its
# own limit; as it ends its report is put into $OUT (./first-hour) and all rows so far into rows.tar.gz there.
# --dry-run: what would be run, and for how long. Exit: 0 all as it should be, 1 not, 2 usage, 77 no GPU.
#
# KSWEEP_FIRST_HOUR: what `prepare` wrote, default first-hour.tar beside this script's repository. Without
# it, and for parts that it has no kernels of, everything is compiled there.
# prepare: KSWEEP_GPU_BUILD: a build folder with ksweep-gpu; KSWEEP_GPU_BACKEND, KSWEEP_GPU_ARCH: default
# cuda, sm_90; KSWEEP_FIRST_HOUR_GRIDS: default "conformance sweep gemm verify faults"; repeat's and peer's
# kernels are those of sweep. What is carried has at most 50 MiB.
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
carried=${KSWEEP_FIRST_HOUR:-$root/first-hour.tar}
inputs=${KSWEEP_GPU_INPUTS:-$here}
carried_mib=50
call_s=480 # of one call

say() { printf '%s\n' "first_hour.sh: $*" >&2; }
usage() {
    sed -n '3,21s/^# \{0,1\}//p' "$0" >&2
    exit 2
}

# PART SECONDS, a line each
parts_of() { # CALL | PART:SECONDS..
    case $1 in
        1) set -- build:75 conformance:75 verify:315 ;;
        2) set -- sweep:260 repeat:205 ;;
        3) set -- gemm:145 peer:320 ;;
        4) set -- faults:240 ;;
    esac
    printf '%s\n' "${@/:/ }"
}

# --- prepare

# A stand-in has the identity of the compiler that it stands in for, so that the cache knows its kernels
# again where there is no such compiler; it compiles nothing.
stand_in() { # NAME COMMAND
    $2 --version >"$stage/tools/$1.version" 2>&1 || return 1
    cat >"$stage/tools/$1" <<'EOT'
#!/bin/sh
case " $* " in
*" --version "*) exec cat "$0.version" ;;
*" --dryrun "*) exit 0 ;;
esac
echo "error: $0 stands in for a compiler of another machine" >&2
exit 1
EOT
    chmod 755 "$stage/tools/$1"
}

find_nvcc() {
    local f
    for f in "${KSWEEP_NVCC:-}" "$(command -v nvcc)" "${CUDA_HOME:-${CUDA_PATH:-/usr/local/cuda}}/bin/nvcc" /opt/cuda/bin/nvcc; do
        [ -n "$f" ] && [ -x "$f" ] && { echo "$f"; return; }
    done
    python3 -c 'import glob, sys
print(next(f for d in sys.path for f in glob.glob(d + "/nvidia/cu*/bin/nvcc")))' 2>/dev/null
}

prepare() { # DIR
    local backend=${KSWEEP_GPU_BACKEND:-cuda} arch=${KSWEEP_GPU_ARCH:-sm_90} grid file nvcc bytes
    local bin=${KSWEEP_GPU_BUILD:-$root/build}/bin
    [ -x "$bin/ksweep-gpu" ] || { say "no $bin/ksweep-gpu: build it, or set KSWEEP_GPU_BUILD"; exit 2; }
    mkdir -p "$1" && stage=$(mktemp -d) || exit 2
    trap 'rm -rf "$stage"' EXIT
    mkdir -m 700 "$stage/bin" "$stage/tools" "$stage/cache"
    cp "$bin/ksweep-gpu" "$bin/ksweep-worker" "$bin/ksweep-gpu-peer.so" "$stage/bin/" && strip "$stage"/bin/* || exit 2
    echo "$backend $arch" >"$stage/device"
    for grid in ${KSWEEP_FIRST_HOUR_GRIDS:-conformance sweep gemm verify faults}; do
        for file in "$inputs/$grid".grid "$inputs/${grid}"_*.grid; do
            [ -e "$file" ] || continue
            "$bin/ksweep-gpu" build "$file" --backend "$backend" --arch "$arch" --cache "$stage/cache" ||
                { say "$file: not all of it can be built"; exit 1; }
        done
        case $grid in sweep) echo sweep repeat peer ;; *) echo "$grid" ;; esac >>"$stage/parts"
    done
    stand_in cc "${KSWEEP_CC:-cc}" || { say 'no C compiler'; exit 2; }
    if [ "$arch" != emu ]; then
        nvcc=$(find_nvcc)
        [ "$backend" != cuda ] || stand_in nvcc "$nvcc" || { say 'no nvcc'; exit 2; }
    fi
    tar -C "$stage" -czf "$1/first-hour.tar" . || exit 2
    bytes=$(stat -c %s "$1/first-hour.tar")
    say "$1/first-hour.tar: $((bytes >> 10)) KiB, kernels of: $(paste -sd ' ' "$stage/parts")"
    [ "$bytes" -le $((carried_mib << 20)) ] || { say "more than $carried_mib MiB: prepare fewer grids"; exit 1; }
}

# --- there

# What was prepared, where its programs start here.
unpack() {
    prepared=
    [ -e "$carried" ] || { say "no $carried: everything is compiled here"; return; }
    tar -C "$work" -xzf "$carried" && "$work/bin/ksweep-gpu" help >/dev/null 2>&1 ||
        { say "$carried: its programs do not start here: everything is compiled here"; return; }
    local backend arch here_is
    read -r backend arch <"$work/device"
    export KSWEEP_DATA_DIR=$root KSWEEP_GPU_BACKEND=$backend
    prepared=$(paste -sd ' ' "$work/parts")
    here_is=$(timeout 60 "$work/bin/ksweep-worker" --probe "$backend" 2>/dev/null | sed -n 's/^arch=//p')
    [ -z "$here_is" ] || [ "$here_is" = "$arch" ] && return
    say "$carried has kernels of $arch, this device is $here_is: they are compiled here"
    : >"$work/parts"
}

has_kernels() { # PART
    [ -n "$prepared" ] && grep -qw "$1" "$work/parts"
}

run_part() { # PART SECONDS
    local -a env=(OUT="$work/out" KSWEEP_GPU_LIMIT="$(($2 - 10))" KSWEEP_GPU_CACHE="$work/cache.$1")
    # Call 1 has built programs of this machine; the others have none but those that are carried.
    [ -x "$work/out/build/bin/ksweep-gpu" ] && env+=(KSWEEP_GPU_BUILD="$work/out/build")
    [ ! -x "$work/out/build/bin/ksweep-gpu" ] && [ -n "$prepared" ] && env+=(KSWEEP_GPU_BUILD="$work")
    mkdir -m 700 -p "$work/cache.$1"
    if has_kernels "$1"; then
        env+=(KSWEEP_GPU_CACHE="$work/cache" KSWEEP_CC="$work/tools/cc")
        [ ! -e "$work/tools/nvcc" ] || env+=(KSWEEP_NVCC="$work/tools/nvcc")
    fi
    timeout -k 5 "$2" env "${env[@]}" "$here/run.sh" "$1"
}

build_part() { # SECONDS
    timeout -k 5 "$1" env OUT="$work/out" "$here/run.sh" build && return
    rm -rf "$work/out/build/bin"
    [ -n "$prepared" ] && say 'does not build here: goes on with the programs that were carried'
    return 1
}

keep() { # PART: its report, and the rows of all parts so far
    local -a rows
    [ ! -e "$work/out/$1.txt" ] || cp "$work/out/$1.txt" "$out/"
    mapfile -t rows < <(cd "$work/out" && find . -maxdepth 1 -name '*.csv' | sort)
    [ ${#rows[@]} -eq 0 ] || tar -C "$work/out" -czf "$out/rows.tar.gz" "${rows[@]}"
}

call() { # as parts_of
    local result=0 part seconds status
    out=${OUT:-./first-hour}
    mkdir -p "$out" && out=$(cd "$out" && pwd) && work=$(mktemp -d) && chmod 700 "$work" || exit 2
    trap 'rm -rf "$work"' EXIT
    mkdir -p "$work/out"
    unpack
    while read -r part seconds; do
        SECONDS=0 status=0
        case $part in
            build) build_part "$seconds" >"$work/out/build.txt" 2>&1 || status=$? ;;
            *) run_part "$part" "$seconds" || status=$? ;;
        esac
        keep "$part"
        echo "$part: exit $status after $SECONDS s of $seconds" | tee -a "$out/first-hour.txt"
        [ $status -ne 77 ] || exit 77
        [ $status -eq 0 ] || result=1
    done < <(parts_of "$@")
    return $result
}

dry_run() { # as parts_of
    local part seconds total=0 from='compiled there'
    [ ! -e "$carried" ] || from="with $carried"
    while read -r part seconds; do
        echo "$part: at most $seconds s, $from: run.sh $part"
        total=$((total + seconds))
    done < <(parts_of "$@")
    echo "together at most $total s of $call_s"
    [ $total -le $call_s ]
}

case ${1:-} in
    prepare)
        [ $# -eq 2 ] || usage
        prepare "$2"
        exit
        ;;
    1 | 2 | 3 | 4) [ $# -eq 1 ] || [ "$*" = "$1 --dry-run" ] || usage ;;
    *:*) ;;
    *) usage ;;
esac
do=call
[ "${*: -1}" != --dry-run ] || { do=dry_run; set -- "${@:1:$#-1}"; }
for part; do
    [[ $part =~ ^([1234]|[a-z]+:[1-9][0-9]*)$ ]] || usage
done
$do "$@"
