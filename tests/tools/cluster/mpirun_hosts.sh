#!/bin/bash
# SPDX-License-Identifier: MIT
# mpirun on h0 over the hosts of hosts.sh:
#
#   mpirun_hosts.sh h0:2,h1:2 [MPIRUN-OPTION...] /path/of/PROGRAM ARG...
#
# Its session directories are in each host's own /dev/shm, so that nothing is left behind.
set -eu
here=$(dirname "$(readlink -f "$0")")
hosts=$1
shift
root=()
[ "$(id -u)" -ne 0 ] || root=(--allow-run-as-root)
exec "$here/hosts.sh" exec h0 mpirun ${root[@]+"${root[@]}"} --enable-recovery --bind-to none \
    --host "$hosts" --mca plm rsh --mca plm_rsh_agent "$here/nsrsh" --mca plm_rsh_no_tree_spawn 1 \
    --mca btl_tcp_if_include eth0 --mca oob_tcp_if_include eth0 \
    --mca orte_tmpdir_base /dev/shm "$@"
