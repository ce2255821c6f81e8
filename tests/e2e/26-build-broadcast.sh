#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Ranks without a common cache: one of them compiles, the others get it from there.
# waits: yes
# group: mpi
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/sweep.sh"
n_instances=32 # enough for four ranks, and each is compiled up to six times
. "$(dirname "$0")/own-caches.sh"
need_program ksweep ksweep-worker python3 cc mpirun

sweep 4
complete "four caches"
is "$(compiled)" "$n_instances $n_instances" "each instance is compiled once"
is "$(compilers)" 0 "by one rank"
is "$(has 1) $(has 2) $(has 3)" "$n_instances $n_instances $n_instances" "and all have it"
is "$(digests 1) $(digests 3)" "$(digests 0) $(digests 0)" "to the byte"

sweep 4
is "$(wc -l <"$COMPILED")" 0 "the next sweep compiles nothing"

rm -rf "$own_caches/0" "$own_caches/2"
sweep 4
complete "two of them are lost"
is "$(wc -l <"$COMPILED")" 0 "what some have is compiled by nobody"
is "$(has 0) $(has 2)" "$n_instances $n_instances" "and goes to the others"

# --- other compilers are other builds

rm -rf "$own_caches"
OTHER_CC=2 sweep 4
complete "another compiler"
is "$(compilers)" "0 2" "who has it compiles for itself"
is "$(compiled)" "$((2 * n_instances)) $n_instances" "once, too"

# --- what arrives must be what left

prepare
python3 - "$own_caches/1/ksweep/host" <<'END_OF_DAMAGE'
import glob, sys
for path in glob.glob(sys.argv[1] + "/*/manifest.txt")[:1]:
    text = open(path).read()
    open(path, "w").write(text.replace("compiler ", "compiler x", 1))
END_OF_DAMAGE
sweep 3
complete "a damaged unit"
is "$(cut -d ' ' -f 2 "$COMPILED" | sort | uniq -d | wc -l)" 0 "is compiled once more, by one rank"
done_testing
