#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What jobs/quickstart.sh relies on, and what it says where it may not install. The whole of it takes
# longer than a test may.
. "$(dirname "$0")/tap.sh"
cd "$tap_tmp" || exit 1
jobs=$KSWEEP_SOURCE_DIR/jobs

# --- its job

ok 'ksweep plan reads quickstart.json' ksweep plan "$jobs/quickstart.json" --devices 2
like "$(cat out)" '^8 problems x ' 'it has eight problems'
like "$(cat out)" ' on [0-9]+ s with 2 devices' 'and takes seconds, not minutes, on two cores'

# name, count and what is left: the layer itself
cut -d, -f1-27 "$jobs"/problems/{resnet50,resnext50_32x4d,mobilenet_v2}.csv | sort -u >layers
is "$(cut -d, -f1-27 "$jobs/problems/quickstart.csv" | sort -u | comm -23 - layers)" '' \
    'each of its problems stands in one of the three lists'
is "$(sed 1d "$jobs/problems/quickstart.csv" | cut -d, -f1-27 | sort -u | wc -l)" 8 'none twice'

# --- a machine that lacks packages, without root

mkdir bin
printf '#!/bin/sh\necho 1000\n' >bin/id
printf '#!/bin/sh\nexit 1\n' >bin/sudo
printf '#!/bin/sh\nfor p; do :; done\n[ $p = cmake ] || [ $p = libhdf5-dev ] || echo "install ok installed"\n' \
    >bin/dpkg-query
printf '#!/bin/sh\necho "called: $*" >>%s/forbidden\nexit 1\n' "$tap_tmp" | tee bin/apt-get >bin/cmake
chmod +x bin/*
rc_is 2 'without root and with packages missing it stops' env PATH="$tap_tmp/bin:$PATH" \
    "$jobs/quickstart.sh"
like "$(cat err)" 'apt-get install -y cmake libhdf5-dev$' 'and prints the command, with what is missing'
ok 'it has installed and built nothing' test ! -e forbidden

# --- the same with root, but without a network

printf '#!/bin/sh\necho 0\n' >bin/id
rc_is 2 'where apt-get fails it stops' env PATH="$tap_tmp/bin:$PATH" "$jobs/quickstart.sh"
like "$(cat err)" 'apt-get failed.*cmake libhdf5-dev' 'and says what to install'
is "$(grep -c cmake forbidden)" 0 'and does not go on to build'

done_testing
