#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Ranks without a common cache: one of them compiles, the others get it from there, whoever dies.
# group: mpi
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/sweep.sh"
. "$(dirname "$0")/own-caches.sh"
need_program ksweep ksweep-worker python3 cc mpirun
lost_after=3s

sweep() { # RANKS: all of them measure, from caches as they are
    rm -rf "$tap_tmp/run" "$COMPILED"
    : >"$COMPILED"
    timeout 60 "$tap_tmp/launch" "$1" >"$tap_tmp/said" 2>&1
    rc=$?
    [ $rc -ne 124 ] || sed 's/^/# /' "$tap_tmp/said"
}
# In a file of its own, so that `timeout` can start it.
{
    echo '#!/usr/bin/env bash'
    declare -f ranks
    echo "ranks \$1 '$own_host' ksweep run '$own_job' --out '$tap_tmp/run'" \
        "--oversubscribe --lost-after $lost_after"
} >"$tap_tmp/launch"
chmod +x "$tap_tmp/launch"

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

# --- whoever dies

forget_but() { # RANK...: only these have anything
    local r
    for r in 0 1 2 3; do [[ " $* " == *" $r "* ]] || rm -rf "${own_caches:?}/$r"; done
}
prepare() { # rank 1 alone has everything
    rm -rf "$own_caches"
    sweep 2
    forget_but 1
}
prepare
KSWEEP_CHAOS=send:2@1 sweep 3
complete "the sender is killed" 1
read -r n n_different < <(compiled)
ok "what nobody has any more is compiled" [ "$n" -gt 0 ]
is "$n" "$n_different" "once"
is "$(has 0) $(has 2)" "$n_instances $n_instances" "and handed out"

prepare
KSWEEP_CHAOS=send:1:stop@1 sweep 3
complete "the sender stands still" 1
is "$(compiled)" "$n_instances $n_instances" "that is compiled once, too"

prepare
cp -r "$own_caches/1" "$own_caches/2"
KSWEEP_CHAOS=send:1@1 sweep 3
complete "one of two senders is killed" 1
is "$(wc -l <"$COMPILED")" 0 "the other hands it out"

prepare
KSWEEP_CHAOS=fetch:1@2 sweep 4
complete "a receiver is killed" 2
is "$(wc -l <"$COMPILED") $(has 3)" "0 $n_instances" "the others get everything"

rm -rf "$own_caches"
OTHER_CC=0 KILLED_BY_CC=1 sweep 3
complete "who compiles is killed" 1
is "$(compilers)" "0 1 2" "another one does it"
is "$(has 2)" "$n_instances" "all of it"

# --- what arrives must be what left

prepare
python3 - "$own_caches/1/ksweep/host" <<'END_OF_DAMAGE'
import glob, json, sys
for path in glob.glob(sys.argv[1] + "/*/manifest.json")[:1]:  # names nothing that is there
    m = json.load(open(path))
    m["compiler"] = "x" * 5000
    json.dump(m, open(path, "w"))
END_OF_DAMAGE
sweep 3
complete "a damaged unit"
is "$(cut -d ' ' -f 2 "$COMPILED" | sort | uniq -d | wc -l)" 0 "is compiled once more, by one rank"
done_testing
