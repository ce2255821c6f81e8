#!/bin/bash
# SPDX-License-Identifier: MIT
# waits: yes
# group: mpi
# As 60-chaos.sh, with another seed.
KSWEEP_CHAOS_SEED=${KSWEEP_CHAOS_SEED:-20}
. "$(dirname "$0")/60-chaos.sh"
