#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# usage: examples/plugin/build.sh ARCH [DIR]
# Builds naive_conv.so for ARCH (gfx90a, gfx942 ... or emu) into DIR (default: this folder).
#   HIP_LIB      what to link for hip*: default -lamdhip64, or a path
#   HIP_CFLAGS   where hip/hip_runtime_api.h lies, as -I/opt/rocm/include
#   HIP_CLANG    compiler of the device's half, default clang-19
set -eu
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
[ $# -ge 1 ] || { sed -n '3,7s/^# //p' "$0" >&2; exit 2; }
arch=$1
out=$(mkdir -p "${2:-$here}" && cd "${2:-$here}" && pwd)
gpu=$top/kernels/gpu

case $arch in
emu)
    ${CC:-cc} -O2 -fPIC -shared -DKS_GPU_PASS=1 -DKS_GPU_TARGET=3 -I"$gpu" -o "$out/naive_conv.co" \
        -x c "$here/naive_conv.k" "$gpu"/emu/*.c
    ;;
gfx*)
    ${HIP_CLANG:-clang-19} -x hip --cuda-device-only --offload-arch="$arch" -nogpulib -nogpuinc \
        --no-gpu-bundle-output -mcode-object-version=4 -O3 -DKS_GPU_PASS=1 -DKS_GPU_TARGET=1 \
        -I"$gpu" -o "$out/naive_conv.co" "$here/naive_conv.k"
    ;;
*)
    echo "build.sh: '$arch' is no architecture of AMD's, and not emu" >&2
    exit 2
    ;;
esac
# shellcheck disable=SC2086
(cd "$out" && ${CC:-cc} -O2 -fPIC -shared -D__HIP_PLATFORM_AMD__ ${HIP_CFLAGS:-} -I"$top" -I"$here" \
    -o naive_conv.so "$here/naive_conv.c" ${HIP_LIB:--lamdhip64})
rm "$out/naive_conv.co"
echo "$out/naive_conv.so"
