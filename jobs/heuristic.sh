#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# heuristic.sh - from a sweep to a linked selector on this machine: sweeps a training list of 96 shapes
# with the CPU's quick set of instances, trains, writes selector.c, and runs the convolutions of
# ResNet-50, ResNeXt-50 and MobileNetV2, which are not among the 96, with the best fixed instance, the
# selector and the oracle (examples/dispatch). About 3 minutes on 2 cores. What it makes lies in
# build/heuristic; what is there already is not made again.
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root" || exit 1
out=build/heuristic
networks=(jobs/problems/resnet50.csv jobs/problems/resnext50_32x4d.csv jobs/problems/mobilenet_v2.csv)

say() { printf 'heuristic: %s\n' "$*" >&2; }
die() {
    say "$*"
    exit 1
}

build() {
    if [ ! -f build/CMakeCache.txt ]; then
        cmake --preset release >/dev/null || die "cmake failed; docs/install.md lists what is needed"
    fi
    cmake --build build --target ksweep ksweep-worker ksweep-analyze >build/heuristic.log 2>&1 ||
        die "the build failed: see build/heuristic.log"
}

# One rank per core, two at most.
sweep() {
    local -a again=()
    local n
    [ -s $out/sweep/results.h5 ] && build/bin/ksweep status $out/sweep --exit-code >/dev/null 2>&1
    [ $? -le 1 ] && [ -s $out/sweep/results.h5 ] && return 0
    [ -e $out/sweep ] && again=(--resume)
    n=$(nproc)
    say "sweeping 96 shapes x 14 instances"
    build/bin/ksweep run jobs/heuristic.json -n $((n < 2 ? n : 2)) --out $out/sweep \
        ${again[@]+"${again[@]}"} >&2
    [ $? -le 1 ] || die "the sweep is not complete; ./jobs/heuristic.sh goes on with it"
}

build
mkdir -p $out
trap : INT TERM # ksweep gets them, too; the sweep stops by itself and says how to go on
sweep
trap - INT TERM
if [ ! -d $out/model ]; then
    say "training"
    build/bin/ksweep-analyze train $out/sweep/results.h5 -o $out/model --class-folds=no \
        --settings 2 >$out/train.txt
    [ $? -le 1 ] || die "training failed"
fi
cat $out/train.txt
rm -rf $out/selector
echo
build/bin/ksweep-analyze select $out/model -o $out/selector || exit
say "compiling the selector and its dispatcher"
cc="${CC:-cc}"
$cc -std=c99 -O2 -c $out/selector/selector.c -o $out/selector.o &&
    $cc -std=c11 -D_GNU_SOURCE -O2 -I. -I$out/selector examples/dispatch/dispatch.c $out/selector.o \
        -o $out/dispatch -ldl -lm || die "the selector does not compile"
build/bin/ksweep build jobs/heuristic.json --manifest $out/kernels.csv >/dev/null ||
    die "the kernels were not built"
echo
$out/dispatch $out/kernels.csv "${networks[@]}" || exit
echo
echo "selector: $out/selector/selector.c, selector.h; figures: $out/train.txt"
