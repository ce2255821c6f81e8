#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# ksweep-rtc over stubs of NVRTC and hipRTC: what they are asked, and by whom; the builder takes it where no
# compiler of the GPU is.
. "$(dirname "$0")/tap.sh"
need_program ksweep ksweep-rtc cc
unset KSWEEP_CC KSWEEP_HIPCC KSWEEP_NVCC
export XDG_CACHE_HOME=$tap_tmp/xdg ROCM_PATH=$tap_tmp/rocm CUDA_HOME=$tap_tmp/cuda HOME=$tap_tmp
export FAKE_RTC_LOG=$tap_tmp/log

cd "$tap_tmp" || exit 1
cc -shared -fPIC -o nvrtc.so "$KSWEEP_SOURCE_DIR/tests/fake/rtc.c" || exit 1
cc -shared -fPIC -DHIP -o hiprtc.so "$KSWEEP_SOURCE_DIR/tests/fake/rtc.c" || exit 1
export KSWEEP_NVRTC_LIBRARY=$tap_tmp/nvrtc.so KSWEEP_HIPRTC_LIBRARY=$tap_tmp/hiprtc.so

# --- the program

rc_is 0 'its version' ksweep-rtc nvrtc --version
like "$(cat out)" '^NVRTC version 13.9, nvrtc.so, [0-9a-f]{32}$' 'has the digest of the library'
version=$(cat out)
rc_is 0 'of the other' ksweep-rtc hiprtc --version
like "$(cat out)" '^hipRTC version 13.9, hiprtc.so, ' 'vendor'
echo 'int x;' >in.c
for vendor in nvrtc hiprtc; do
    : >log
    rc_is 0 "$vendor: a source" ksweep-rtc $vendor -arch=sm_90a -w -I 'a dir' -o out.img in.c
    is "$(cat out.img)" 'code of in.c' 'becomes code'
    is "$(cat log)" "$(printf 'ksweep-rtc compile -arch=sm_90a -w -Ia dir\nksweep-rtc destroy')" 'with its options'
done
FAKE_RTC_FAILS=1 rc_is 1 'one that does not compile' ksweep-rtc nvrtc -o bad.img in.c
like "$(cat err)" 'device.c\(7\): error: ' 'has the log'
like "$(cat err)" 'NVRTC: in.c: FAKE_ERROR_COMPILATION \(6\)' 'and the error'
ok 'and no code' test ! -e bad.img
rc_is 2 'another vendor' ksweep-rtc apple --version
rc_is 2 'no source' ksweep-rtc nvrtc -o out.img
rc_is 1 'a source that does not exist' ksweep-rtc nvrtc -o out.img none.c
like "$(cat err)" 'none.c' 'is named, and the library is not said to be missing'
KSWEEP_NVRTC_LIBRARY=$tap_tmp/none.so rc_is 3 'no library' ksweep-rtc nvrtc --version
like "$(cat err)" 'none.so: cannot open' 'says where it looked'
KSWEEP_NVRTC_LIBRARY=$tap_tmp/hiprtc.so rc_is 3 'another library' ksweep-rtc nvrtc --version
like "$(cat err)" 'has no nvrtcVersion' 'says what it lacks'
mkdir -p py/nvidia/cu13/lib
cp nvrtc.so py/nvidia/cu13/lib/libnvrtc.so.13
if ! PATH=$PATH:/sbin ldconfig -p | grep -q libnvrtc; then
    KSWEEP_NVRTC_LIBRARY='' PYTHONPATH=$tap_tmp/py rc_is 0 'that of a Python package' ksweep-rtc nvrtc --version
    like "$(cat out)" 'libnvrtc.so.13, ' 'is found'
else
    echo "ok $((++tap_n)) - that of a Python package # SKIP libnvrtc is installed, and goes before"
fi

# --- the builder

mkdir k bin
cp "$KSWEEP_SOURCE_DIR"/tests/fake/gpu_unit.{k,h,family.json} k
head -n 2 "$KSWEEP_SOURCE_DIR/jobs/problems/resnet50.csv" >k/one.csv
echo '{"family": "gpu_unit.family.json", "instances": [{"index": 1}]}' >k/config.json
for p in cc gcc as ld ld.bfd sh cat grep; do
    path=$(command -v $p) && ln -s "$path" bin/$p
done
build() { # STATUS WHAT BACKEND ARCH
    echo "{\"name\": \"$3\", \"operator\": \"grouped_conv\", \"kernels\": [{\"config\": \"config.json\"}],
        \"problems\": [{\"file\": \"one.csv\"}], \"device\": {\"backend\": \"$3\", \"arch\": \"$4\"}}" >k/$3.json
    rc_is "$1" "$2" env PATH="$tap_tmp/bin" "$(command -v ksweep)" build k/$3.json
}
: >log
FAKE_RTC_FAILS=1 build 1 'without nvcc NVRTC is asked' cuda sm_90
like "$(cat out)" 'device.c\(7\): error: #error of the fake compiler' 'its errors are told'
like "$(cat out)" "${version//./\\.}" 'the compiler is named by its version and digest'
like "$(cat log)" '^ksweep-rtc compile -arch=sm_90a -w ' 'with the own instructions of the chip'
FAKE_RTC_FAILS=1 build 1 'without clang hipRTC' hip gfx942
like "$(cat log)" '^ksweep-rtc compile --offload-arch=gfx942 -O3 ' 'for that arch'
is "$(cut -d' ' -f1 log | sort -u)" ksweep-rtc 'no other process ever loads them'
export KSWEEP_NVRTC_LIBRARY=$tap_tmp/none.so
build 1 'with neither' cuda sm_90
like "$(cat out)" "no compiler for sm_90 is installed; looked for nvcc in PATH and $tap_tmp/cuda/bin.*; NVRTC was not found either \(KSWEEP_NVRTC_LIBRARY\)" \
    'both are named'
done_testing
