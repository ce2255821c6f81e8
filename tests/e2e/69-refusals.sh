#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# waits: yes
# Refused under a launcher: all ranks leave at once, one tells, nothing is left behind, and a directory
# that was to be resumed says 2.
# group: mpi
. "$(dirname "$0")/tap.sh"
need_program mpirun cc timeout
. "$(dirname "$0")/sweep.sh"
cd "$tap_tmp" || exit 1
n_complaints=0
MPIRUN='timeout 40 mpirun' # a rank that waits for another does so for --lost-after, 60 s

refused() { # WHAT RANKS REGEX COMMAND...
    local what=$1 n=$2 regex=$3 rc=0
    shift 3
    ranks "$n" "$@" --lost-after 60s >refused.out 2>refused.err || rc=$?
    isnt_124 $rc "$what: nobody waits for anybody"
    is "$(grep -c "$regex" refused.err)" 1 "$what: one rank tells"
    unlike "$(cat refused.err)" 'this rank exits' "$what: and nobody else"
    grep -q PMIX refused.err && n_complaints=$((n_complaints + 1))
    is "$(pgrep -f "^[^ ]*ksweep run .* --out $tap_tmp/" | wc -l)" 0 "$what: no process is left"
}
isnt_124() {
    [ "$1" -ne 124 ]
    tap_report $? "$2"
}

ksweep build "$tiny_job" --cache "$tiny_cache" >build.out 2>&1
mkdir exists
for i in 1 2 3; do
    refused "a directory that exists, $i" 3 "exists' exists" ksweep run "$tiny_job" --out "$tap_tmp/exists" --cache "$tiny_cache"
done
is "$(find exists -mindepth 1)" '' 'it stays empty'
KSWEEP_CC=/bin/true refused 'no compiler on any rank' 3 KSWEEP_CC ksweep run "$tiny_job" --out "$tap_tmp/none" --cache "$tap_tmp/none-cache"
ok 'nothing was made' test ! -e none -a ! -e none-cache
refused 'no such job' 2 'gone.json' ksweep run gone.json --out "$tap_tmp/none"

# A resume with a job of other measurements: a script that requeues on 3 must not go on.
tiny 0 dir >/dev/null 2>&1
sed "s|../../kernels|$KSWEEP_SOURCE_DIR/kernels|; s|\"tiny.csv\"|\"$KSWEEP_SOURCE_DIR/tests/data/tiny.csv\"|
    s/\"max_ms\": 20/\"max_ms\": 30/" "$tiny_job" >other.json
cp dir/status.json before.json
refused 'a resume with another job' 2 'measured with a different job' ksweep run other.json --out "$tap_tmp/dir" --resume --cache "$tiny_cache"
is "$(exit_of dir)" 2 'its status says 2'
like "$(cat dir/status.json)" '"reason": "refused: .*measured with a different job' 'and why'
is "$(grep -v '"exit"\|"reason"\|"written"' dir/status.json)" "$(grep -v '"exit"\|"reason"\|"written"' before.json)" \
    'with the numbers that it had'
ok 'the right job goes on' tiny 0 dir --resume
is "$(exit_of dir)" 0 'and is complete again'
cp dir/status.json before.json
refused 'a run that would begin again' 2 "dir' exists" ksweep run "$tiny_job" --out "$tap_tmp/dir" --cache "$tiny_cache"
ok 'which leaves the status of the other alone' cmp dir/status.json before.json
# mpirun complains when a rank ends with a code while others are leaving: before, in half of the cases.
ok "the launcher has nothing to complain of ($n_complaints)" test "$n_complaints" -le 1
done_testing
