#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# cmake -DKSWEEP_WORKER_ONLY=ON builds what a compute node or a machine with a GPU needs, and nothing
# else; also where MPI and HDF5 are not to be had.
. "$(dirname "$0")/tap.sh"
need_program cmake cc
. "$(dirname "$0")/gpu-bare.sh"

cat >without <<'EOF'
#!/bin/sh
[ "$1" = --build ] && exec cmake "$@"
exec cmake -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS_DEBUG=-O0 -DCMAKE_DISABLE_FIND_PACKAGE_MPI=ON -DCMAKE_DISABLE_FIND_PACKAGE_HDF5=ON "$@"
EOF
chmod +x without
check 'with cmake' cmake build CMAKE="$PWD/without"
like "$(cat cmake/build/CMakeCache.txt)" '^KSWEEP_WORKER_ONLY:BOOL=ON$' 'with cmake: nothing else is built'
not_ok 'with cmake: no ksweep is built' test -e cmake/build/bin/ksweep
ok 'with cmake: the worker works' cmake/build/bin/ksweep-worker --probe host
done_testing
