#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# waits: yes
# A whole sweep with 0 (no mpirun), 1, 2 and 4 ranks, and what a user meets before it begins.
# group: mpi
# asan: yes
# quick: yes
. "$(dirname "$0")/tap.sh"
need_program mpirun cc
. "$(dirname "$0")/sweep.sh"
n_cells=15
tiny_cache=$tap_tmp/cache # it counts what is compiled
cd "$tap_tmp" || exit 1

# --- help

for c in '' kernels problems plan build run status gather check cell; do
    # shellcheck disable=SC2086
    ok "ksweep $c --help" ksweep $c --help
    like "$(head -n 1 "$tap_tmp/out")" "^usage: ksweep $c" "it shows the usage of '$c'"
    # shellcheck disable=SC2086
    is "$(COLUMNS=60 ksweep $c --help | awk 'length >= 60')" '' "and fits a terminal of 60 columns"
done
like "$(ksweep --version)" '^ksweep [0-9]+\.[0-9]+' 'ksweep --version'

# --- plan touches nothing

mkdir plan
(cd plan && HOME=$PWD XDG_CACHE_HOME=$PWD ksweep plan "$tiny_job" >../plan.out 2>../plan.err)
is $? 0 'plan ends with 0'
like "$(cat plan.out)" "= $n_cells cells" 'plan counts the cells'
like "$(cat plan.out)" 'about [0-9.]+ (s|min|h)' 'plan says how long it may take'
is "$(find plan -mindepth 1)" '' 'plan writes nothing'

# --- build, twice

ok 'build' ksweep build "$tiny_job" --cache "$tiny_cache"
is "$(awk '$1 == "built" { print $2 }' "$tap_tmp/out")" 5 'it compiles the 5 instances'
ok 'build again' ksweep build "$tiny_job" --cache "$tiny_cache"
is "$(awk '$1 == "built" { print $2 }' "$tap_tmp/out")" 0 'a second build compiles nothing'
like "$(cat "$tap_tmp/out")" 'in 0 compiler runs' 'and starts no compiler'
is "$(stat -c %a "$tiny_cache")" 700 "nobody else enters the cache"

# --- runs

grid_of() { # all "problem,instance" of the tiny job
    local p i
    for p in $(ksweep problems --list "$KSWEEP_SOURCE_DIR/tests/data/tiny.csv" | sed '1d;s/,.*//'); do
        for i in $(ksweep kernels --filter 'vector_bytes <= 32' \
            "$KSWEEP_SOURCE_DIR/kernels/configs/host_forward_quick.json" | sed 's/ .*//'); do
            echo "$p,$i"
        done
    done
}

grid_of >grid
is "$(wc -l <grid)" $n_cells 'problems and kernels list the grid'
counts=${KSWEEP_TEST_RANKS:-0 1 2 4} # sanitized fewer
for n in $counts; do
    dir=$tap_tmp/run$n
    KSWEEP_ACK_LOG=$dir.acked tiny $n "$dir" >"$dir.out" 2>"$dir.err"
    is "$(exit_of "$dir")" 0 "$n ranks: status --exit-code"
    is "$(field "$dir" done) $(field "$dir" pending)" "$n_cells 0" "$n ranks: every cell is done"
    is "$(outcomes "$dir")" $n_cells "$n ranks: the outcomes add up to the grid"
    like "$(cat "$dir.out")" "^complete: $n_cells cells" "$n ranks: the result is on stdout"
    ok "$n ranks: journal and results.h5 agree" ksweep check "$dir"
    ok "$n ranks: each cell has one outcome, each acknowledged cell its record" \
        /usr/bin/python3 "$KSWEEP_SOURCE_DIR/tests/tools/journal_audit.py" "$dir" --grid grid \
        --acked "$dir.acked"
    unlike "$(cat "$dir.err")" 'unit [0-9]+/|compil' "$n ranks: nothing is compiled"
    is "$(ls "$dir" | sort | paste -sd ' ')" 'job.json journal log progress results.h5 status.json' \
        "$n ranks: the directory holds what the manual says"
done
ok 'a finished run resumes to nothing' tiny 0 "$tap_tmp/run0" --resume
is "$(wc -l <"$tap_tmp/run0.acked")" $n_cells 'and measures nothing'
is "$(/usr/bin/python3 "$KSWEEP_SOURCE_DIR/tests/tools/journal_audit.py" "$tap_tmp/run0" \
    --grid grid >/dev/null; echo $?)" 0 'and doubles nothing'

# --- one core for four ranks

cpu=$(taskset -cp $$ | sed 's/.*: *\([0-9]*\).*/\1/')
narrow() { taskset -c "$cpu" mpirun "$@"; }
ok_rows() { # DIR COLUMN: of the rows with outcome ok
    ksweep-analyze table "$1/results.h5" |
        awk -F, -v column="$2" 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
                                $at["outcome"] == "ok" { print $at[column] }'
}

MPIRUN=narrow tiny 2 "$tap_tmp/narrow" >/dev/null 2>narrow.err
if [ "$(nproc)" -gt 1 ]; then
    like "$(cat narrow.err)" "cores are shared: rank 0 is bound to CPU $cpu" 'two ranks on one core are refused'
    ok 'and nothing is left behind' test ! -e narrow
fi
MPIRUN=narrow tiny 4 "$tap_tmp/shared" --oversubscribe >/dev/null 2>shared.err
is "$(exit_of shared)" 0 '--oversubscribe: complete'
like "$(field shared ok)" '^[1-9][0-9]*$' 'rows were measured'
is "$(ok_rows shared outcome_flags | grep -c oversubscribed)" "$(field shared ok)" 'each of them is flagged'
unlike "$(cat shared.err)" 'only help building' 'and nobody is idle'

mkdir default
(cd default && ksweep run "$tiny_job" --cache "$tiny_cache" >../default.out 2>&1)
is "$(exit_of default/tiny.ksweep)" 0 'without --out it is ./<job name>.ksweep'

# --- what exists is not touched

before=$(find run0 -type f -exec cksum {} + | sort)
rc_is 2 'a directory that exists is refused' tiny 0 run0
like "$(cat "$tap_tmp/err")" "run0' exists and is complete.*--out" 'and the message says what to do'
is "$(find run0 -type f -exec cksum {} + | sort)" "$before" 'and nothing in it changes'
tiny 2 run0 >/dev/null 2>err2
is "$(grep -c "run0' exists" err2)" 1 'under mpirun one rank tells'
is "$(find run0 -type f -exec cksum {} + | sort)" "$before" 'and nothing in it changes'
rc_is 2 'resuming what does not exist' tiny 0 nowhere --resume
rc_is 3 'status --exit-code without a run' ksweep status nowhere --exit-code
rc_is 2 'status without a run' ksweep status nowhere

# --- input errors: one line that names the place and the fix, exit 2, nothing written

refused() { # DESCRIPTION REGEX COMMAND...
    local what=$1 regex=$2
    shift 2
    rm -rf w
    mkdir w
    (cd w && XDG_CACHE_HOME=$PWD "$@" >../w.out 2>../w.err)
    is $? 2 "$what: exit 2"
    is "$(wc -l <w.err) $(wc -c <w.out)" '1 0' "$what: one line, on stderr"
    like "$(cat w.err)" "$regex" "$what: it names the place and the fix"
    is "$(find w -mindepth 1)" '' "$what: no file is left"
}

sed "s|../../kernels|$KSWEEP_SOURCE_DIR/kernels|" "$tiny_job" >good.json
bad_job() { # SED-EXPRESSION: a job with one mistake
    cp "$KSWEEP_SOURCE_DIR/tests/data/tiny.csv" .
    sed "$1" good.json >bad.json
    cmp -s good.json bad.json && echo "the mistake was not made" >&2
    return 0
}

bad_job 's/"max_ms"/"maxms"/'
refused 'unknown key' "bad.json:7.*maxms.*did you mean 'max_ms'" ksweep run ../bad.json
bad_job 's/"warmup_ms": 1/"warmup_ms": "soon"/'
refused 'value of another kind' 'bad.json:7.*warmup_ms.*number' ksweep run ../bad.json
bad_job 's/"batch": 4/"batch": 20000/'
refused 'value out of range' 'bad.json:9.*batch.*10000' ksweep run ../bad.json
bad_job 's/tiny.csv/gone.csv/'
refused 'missing file' 'bad.json:6.*gone.csv' ksweep run ../bad.json
bad_job 's/vector_bytes/vektor_bytes/'
refused 'filter' "vektor_bytes.*did you mean 'vector_bytes'" ksweep run ../bad.json
bad_job 's/"why"/"why" "why"/'
refused 'no JSON' 'bad.json:3' ksweep run ../bad.json
bad_job 's/"name"/ "name"/'
sed -i 's/,wi,/,width,/' tiny.csv
refused 'unknown column' 'tiny.csv:1.*width' ksweep run ../bad.json
bad_job 's/"name"/ "name"/'
sed -i '3s/,7,7,/,7,x7,/' tiny.csv
refused 'bad number' 'tiny.csv:3.*x7' ksweep run ../bad.json
bad_job 's/"name"/ "name"/'
sed -i '4d' tiny.csv
sed -n 3p tiny.csv >>tiny.csv
ok 'a problem that stands twice is one' ksweep plan bad.json
like "$(cat "$tap_tmp/out")" '^2 problems' 'with its counts added'
refused 'no such job' 'gone.json' ksweep run gone.json
refused 'unknown option' "did you mean '--out'" ksweep run ../good.json --uot x
refused 'missing argument' 'usage: ksweep run JOB' ksweep run
refused 'unknown command' "did you mean 'run'" ksweep rum
refused 'bad duration' '--max-time' ksweep run ../good.json --max-time soon
refused 'unknown outcome' '--retry|retry' ksweep run ../good.json --out ../run0 --cache ../cache --retry krashed

done_testing
