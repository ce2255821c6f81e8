#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# heuristic.sh [--full [--scale N]] - from a sweep to a linked selector on this host: sweeps a
# training list of 96 shapes with the CPU's quick set of instances, trains, sweeps the convolutions of
# ResNet-50, ResNeXt-50 and MobileNetV2, which are not among the 96, validates the model on them, writes
# selector.c, and runs these networks with the best fixed instance, the selector and the oracle
# (examples/dispatch). About 3 minutes on 2 cores. The results are in build/heuristic; steps whose
# results exist are skipped.
#
#   --full     instead 1,200 random shapes with all forward instances of the CPU, evaluated on 300 more and
#              against the ceiling (tests/bench/heuristic_host.sh): about an hour on 2 idle cores. The
#              results are in build/heuristic-full; start it again to continue an interrupted run
#   --scale N  with --full: N percent of the shapes
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
full='' scale=100
while [ $# -gt 0 ]; do
    case $1 in
    --full) full=yes ;;
    --scale)
        case ${2-} in '' | *[!0-9]*) echo "heuristic: --scale needs a number" >&2; exit 2 ;; esac
        scale=$2
        shift ;;
    -h | --help) sed -n '3,/^set -u/{/^set -u/d;s/^# \{0,1\}//;p}' "$0"; exit 0 ;;
    *) echo "heuristic: '$1' is not an option; see heuristic.sh --help" >&2; exit 2 ;;
    esac
    shift
done
cd "$root" || exit 1
out=build/heuristic${full:+-full}
variant='' # of the jobs: most of the usual instances need AVX-512
grep -qw avx512f /proc/cpuinfo || variant=_avx2
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
sweep() { # JOB DIR WHAT
    local -a again=()
    local n
    [ -s "$2/results.h5" ] && build/bin/ksweep status "$2" --exit-code >/dev/null 2>&1
    [ $? -le 1 ] && [ -s "$2/results.h5" ] && return 0
    [ -e "$2" ] && again=(--resume)
    n=$(nproc)
    say "sweeping $3"
    build/bin/ksweep run "$1" -n $((n < 2 ? n : 2)) --out "$2" ${again[@]+"${again[@]}"} >&2
    [ $? -le 1 ] || die "the sweep is not complete; run ./jobs/heuristic.sh again to continue it"
}

quick() { # a model of the quick sweep, judged on the networks
    sweep jobs/heuristic$variant.json $out/sweep "96 shapes x 14 instances"
    if [ ! -d $out/model ]; then
        say "training"
        build/bin/ksweep-analyze train $out/sweep/results.h5 -o $out/model --class-folds=no \
            --settings 2 >$out/train.txt
        [ $? -le 1 ] || die "training failed; see $out/train.txt and the messages above"
    fi
    sweep jobs/heuristic_unseen$variant.json $out/unseen "the networks' layers x 14 instances"
    say "validating"
    build/bin/ksweep-analyze validate $out/model $out/unseen/results.h5 >$out/validate.txt
    [ $? -le 1 ] || die "validation failed; see $out/validate.txt and the messages above"
    {
        echo "validated on the networks' layers, none of which was in training ($out/validate.txt):"
        sed -n '/^[0-9]* problems$/,/^ceiling\|^random/p' $out/validate.txt
    } >$out/figures.txt
}

long() { # a model of tests/bench/heuristic_host.sh; its exit 1: a goal was missed
    [ -d $out/model ] && return
    say "sweeping, training and validating: tests/bench/heuristic_host.sh"
    tests/bench/heuristic_host.sh --build build --out $out/host --minutes 600 --scale "$scale" forward |
        tee $out/figures.txt >&2
    [ "${PIPESTATUS[0]}" -le 1 ] || die "not finished; run ./jobs/heuristic.sh --full again to continue it"
    cp $out/host/forward-train.txt $out/train.txt && cp -r $out/host/forward-model $out/model ||
        die "$out/host has no model; remove the directory and start again"
}

build
mkdir -p $out
trap : INT TERM # ksweep gets them, too; the sweep stops by itself and says how to go on
if [ -n "$full" ]; then long; else quick; fi
trap - INT TERM
cat $out/train.txt
[ ! -s $out/figures.txt ] || { echo && cat $out/figures.txt; }
rm -rf $out/selector
echo
build/bin/ksweep-analyze select $out/model -o $out/selector || exit
say "compiling the selector and its dispatcher"
cc="${CC:-cc}"
$cc -std=c99 -O2 -c $out/selector/selector.c -o $out/selector.o &&
    $cc -std=c11 -D_GNU_SOURCE -O2 -I. -I$out/selector examples/dispatch/dispatch.c $out/selector.o \
        -o $out/dispatch -ldl -lm || die "the selector does not compile"
job=jobs/heuristic$variant.json
[ -z "$full" ] || job=$out/host/forward-train.json
build/bin/ksweep build $job --manifest $out/kernels.csv >/dev/null ||
    die "the kernels were not built; see the messages above"
echo
$out/dispatch $out/kernels.csv "${networks[@]}" || exit
echo
echo "selector: $out/selector/selector.c, selector.h; figures: $out/train.txt, $out/$([ -n "$full" ] && echo figures || echo validate).txt"
