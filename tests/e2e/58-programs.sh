#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Programs that time kernels themselves: every line a row, whatever becomes of the program.
# waits: yes
. "$(dirname "$0")/tap.sh"
need_program python3 setsid zcat cc
. "$(dirname "$0")/sweep.sh"
fake=$KSWEEP_SOURCE_DIR/tests/fake/profilers/timer.sh
cd "$tap_tmp" || exit 1
export TMPDIR=$tap_tmp/tmp # where programs run
mkdir "$TMPDIR"

problems() { # FILE K...: one problem for each K
    head -n 1 "$KSWEEP_SOURCE_DIR/tests/data/tiny.csv" >"$1"
    local file=$1 k
    shift
    for k; do
        echo "grouped_conv,forward,fp32,nhwgc,2,1,1,16,$k,1,8,8,1,3,3,1,1,1,1,1,1,0,1,1,0,1,1,1,p$k" >>"$file"
    done
}

job() { # NAME PROGRAM WORDS [FURTHER KEYS]: WORDS of the command, as JSON; $silence and $timeout: seconds
    cat >"$1.json" <<END
{ "name": "$1", "operator": "grouped_conv",
  "kernels": [ { "program": "lines", "path": "$2", "silence_s": ${silence:-100}, "timeout_s": ${timeout:-200},
    "environment": { "MARK": "a b", "NAP": "$$" }${4:-},
    "options": { "command": ["{program}", $3], "output": "json", "version": "1.0",
      "fields": { "instance": "name", "time": "ms", "rate": "tflops" }, "units": { "rate": "TFLOP/s" },
      "start": "^start (?<instance>.*)$", "unimplemented": "not implemented",
      "protocol": { "warmup": 5, "repeats": 50, "cache": "warm", "statistic": "mean", "verified": "none" } } } ],
  "problems": [ { "file": "${problem_list:-$1.csv}" } ],
  "isolate": { "memory_mib": ${memory:-1024} } }
END
}

columns() { # FILE COLUMN...: of a CSV, a blank between them, without the header
    python3 - "$@" <<'END'
import csv, sys
for row in csv.DictReader(open(sys.argv[1])):
    print(*(row[c] for c in sys.argv[2:]))
END
}

table() { # DIR COLUMN...
    local dir=$1
    shift
    ksweep-analyze table "$dir/results.h5" -o "$dir.table" && columns "$dir.table" "$@"
}

counts() { # lines, each once, with its number: "12 ok, 3 timeout"
    sort | uniq -c | sed 's/^ *//' | sed '$!s/$/, /' | tr -d '\n'
}

# --- every line is a row, whatever it looks like

problems good.csv 16 32 48
job good "$fake" '"odd", "0"' ', "repeat": 2'
like "$(ksweep plan good.json)" 'are only known after the run' 'plan says what it cannot know'
is "$(find . -newer good.json -type d ! -name . ! -name tmp)" '' 'and writes nothing'
ok 'a sweep' ksweep run good.json --out good
like "$(cat out)" '^complete: 6 cells, 6 ok' 'two runs per problem'
ok 'its journal and results.h5 agree' ksweep check good
is "$(table good outcome n_rounds n_samples | counts)" '12 ok 2 2' 'four rows per problem, of two runs'
is "$(table good time_median_ns | counts)" '6 15000, 3 1e+08, 3 2e+06' 'with the printed times'
is "$(table good printed_flops_per_s | counts)" '3 , 6 1.25e+13, 3 3e+12' 'and rates'
is "$(table good protocol | counts)" \
    '12 lines version=1.0 warmup=5 repeats=50 cache=warm statistic=mean verified=none' 'and who timed'
is "$(table good exact_check tolerance_check anchor_open_ns floor_ns | counts)" '12    ' \
    'our own checks do not apply'
like "$(table good instance_name | sort -u | grep ^0)" '^0+~[0-9a-f]{16}$' 'a long name is cut, and unique'
is "$(for f in good/output/*.out.gz; do zcat "$f" | tail -c 10; echo; done | counts)" \
    '6 flops": 3}' 'the whole output is kept'
is "$(for f in good/output/*.err.gz; do zcat "$f" | tail -n 1; done | counts)" \
    '6 {"name": "Device<1warning: something' 'and standard error beside it'
one=$(table good problem_id run_instance | sort -u | sed -n "1s/ /:/p")
like "$(ksweep cell good "$one")" 'command +.*timer.sh odd 0' 'the command of a run'
sed 's/\["{program}"/["env", "{program}"/' good.json >env.json
ok 'a command whose first word is looked for in PATH' ksweep run env.json --out env
is "$(table env outcome | counts)" '12 ok' 'runs'
ok 'a finished sweep resumes to nothing' ksweep run good.json --out good --resume
is "$(find good/output -newer good.table | wc -l)" 0 'and starts nothing'
ok 'one more repeat' ksweep run good.json --out good --resume --extend --repeat 3
is "$(table good outcome n_rounds n_samples | counts)" '12 ok 3 3' 'is one more round of each row'

# --- what becomes of a program that goes wrong; a problem for each way, named after it

outcome_of() { # MODE [TABLE]
    columns "${2:-odd.table}" problem_name instance_name outcome status_code reason | sed -n "s/^$1 //p" | counts
}

by_k() { # MODE...: what by_k.sh does for the problems of ways.csv, in their order
    cat >by_k.sh <<END
#!/bin/bash
modes=($*)
exec $fake \${modes[\$1 / 16 - 1]} 2
END
    chmod +x by_k.sh
}

problems ways.csv 16 32 48 64 80 96 112
sed -i 's/,p16$/,crash/; s/,p32$/,forks/; s/,p48$/,garbage/; s/,p64$/,none/; s/,p80$/,exits/; s/,p96$/,library/
    s/,p112$/,unsure/' ways.csv
by_k crash forks garbage none exits library unsure
problem_list=ways.csv job odd "$tap_tmp/by_k.sh" '"{k_total}"'
for mode in silent noisy; do # each ended by its own limit, long after its two rows
    problems $mode.csv 16
    sed -i "s/,p16\$/,$mode/" $mode.csv
    silence=5 timeout=100
    [ $mode = noisy ] && silence=100 timeout=6
    job $mode "$fake" "\"$mode\", \"2\""
    ksweep run $mode.json --out $mode >$mode.out 2>&1 &
done
unset silence timeout
problems eats.csv 16
sed -i 's/,p16$/,eats/' eats.csv
memory=128 job eats "$fake" '"eats", "2"'
ksweep run eats.json --out eats >eats.out 2>&1 &
rc_is 1 'a sweep with runs that go wrong is complete, and needs a look' ksweep run odd.json --out odd
wait
ok 'its journal and results.h5 agree' ksweep check odd
ok 'its table' table odd outcome
table silent outcome >/dev/null
table noisy outcome >/dev/null
table eats outcome >/dev/null
rows='1 Device<1, 128, {2, 1}> [v1] ok  , 1 Device<2, 128, {2, 1}> [v2] ok  '
like "$(outcome_of crash)" "^1 Device<1.* ok .*, 1 Device<2.* ok .*, 1 Device<broken> crashed 11 Segm[^,]*$" \
    'a crash belongs to the instance that ran, what was printed before counts'
is "$(outcome_of silent silent.table | sed 's/lines_[0-9a-f]*/lines_RUN/')" \
    "$rows, 1 lines_RUN_r0 timeout  printed nothing for 5 s (silence_s)" 'silence has an end'
like "$(cat silent.out)" '1 cells, 1 timeout; 2 rows from programs$' 'a run that failed is none of the rows that need a look'
is "$(outcome_of noisy noisy.table | sed 's/lines_[0-9a-f]*/lines_RUN/')" \
    "$rows, 1 lines_RUN_r0 timeout  not done after 6 s (timeout_s)" 'noise, too'
is "$(outcome_of eats eats.table | sed 's/lines_[0-9a-f]*/lines_RUN/')" \
    "$rows, 1 lines_RUN_r0 out_of_memory  more than 128 MiB resident (isolate.memory_mib)" \
    'the memory limit holds, rows before it count'
is "$(outcome_of unsure | sed 's/lines_[0-9a-f]*/lines_RUN/')" \
    "$rows, 1 lines_RUN_r0 exited 1 this data_type & layout is not implemented" \
    'rows printed before "not implemented" stay, and the run has failed'
is "$(outcome_of forks)" "$rows" 'children of the program do not hold up the run'
is "$(pgrep -f "sleep 100[34][.]$$\$" | wc -l)" 0 'nor stay, in whatever session'
like "$(outcome_of garbage)" '^1 lines_[^ ]* unsupported  the program printed no result of an instance$' 'garbage is no row'
like "$(outcome_of none)" '^1 lines_[^ ]* unsupported .*not implemented' 'exit 1 may mean: not implemented'
like "$(outcome_of exits)" '^1 lines_[^ ]* exited 3 it did not work out$' 'another exit is a failure'
like "$(outcome_of library)" '^1 lines_[^ ]* load_failed .*libck.so.1' 'a missing library is named'
work_dirs() { find "$TMPDIR" -mindepth 1 -maxdepth 1 -name 'ksweep-*'; }
has_work_dirs() { [ -n "$(work_dirs)" ]; }
no_work_dirs() { [ -z "$(work_dirs)" ]; }
is "$(work_dirs)" '' 'working directories are gone'
problem_list=place.csv
problems place.csv 16
job nowhere "$fake" '"good", "2"'
rc_is 1 'a working directory that cannot be made' env TMPDIR=/proc/none ksweep run nowhere.json --out nowhere
like "$(table nowhere outcome reason)" "^load_failed .*/proc/none" 'is the end of that run'
unset problem_list

problems killed.csv 16
job killed "$fake" '"silent", "2"'
ksweep run killed.json --out killed >killed.out 2>&1 &
settles 60 has_work_dirs
kill -KILL $!
ok 'also that of a rank that was killed' settles 60 no_work_dirs

by_k good good good good good library unsure
rc_is 1 'runs of one outcome are repeated' ksweep run odd.json --out odd --resume --retry exited
table odd outcome >/dev/null
is "$(outcome_of exits)" "$rows" 'their rows take the place of the failure'
like "$(outcome_of none)" '^1 lines_[^ ]* unsupported .*not implemented' 'the others stay'
like "$(outcome_of crash)" 'Device<broken> crashed 11' 'as they were'

# --- outputs are checked, too

one=$(find odd/output -name '*.out.gz' | head -n 1)
cp "$one" kept
printf 'other' | gzip >"$one"
rc_is 1 'another output than the one in the journal' ksweep check odd
like "$(cat out)" "finding: .*$one: its 5 bytes are not the" 'is found'
head -c -9 kept >"$one"
rc_is 1 'one that is cut off' ksweep check odd
like "$(cat out)" "finding: .*$one: .*truncated" 'is found'
rm "$one"
rc_is 1 'one that is gone' ksweep check odd
like "$(cat out)" "finding: .*$one: .*is missing" 'is found'

# --- a program that fills the disk it runs on

mkdir small
if mount -t tmpfs -o size=1m tmpfs small 2>/dev/null; then
    problems fills.csv 16 32
    job fills "$fake" '"fills", "2"'
    rc_is 1 'a full disk' env TMPDIR="$tap_tmp/small" ksweep run fills.json --out fills
    is "$(table fills outcome status_code reason | sed 's/head:.*: //' | counts)" \
        '2 exited 4 No space left on device, 4 ok  ' 'is the end of each run, and leaves room for the next'
    umount small
else
    tap_note 'no tmpfs can be mounted here: the full disk was not tried'
fi

# --- Composable Kernel's profiler, found in a directory

head -n 1 "$KSWEEP_SOURCE_DIR/tests/data/tiny.csv" >three.csv
for direction in forward backward_data backward_weight; do
    echo "grouped_conv,$direction,fp16,nhwgc,2,1,1,16,16,1,8,8,1,3,3,1,1,1,1,1,1,0,1,1,0,1,1,1,$direction"
done >>three.csv
cat >ck.json <<END
{ "name": "ck", "operator": "grouped_conv", "problems": [ { "file": "three.csv" } ],
  "kernels": [ { "program": "ckprofiler", "path": "$(dirname "$fake")", "options": { "verify": "cpu" } } ] }
END
rc_is 1 'a row with a wrong result needs a look, also if every run is ok' ksweep run ck.json --out ck
like "$(cat out)" '^complete: 3 cells, 2 ok, 1 unsupported; 5 rows from programs .1 needs a look.$' \
    'exit 1 is no failure of a run that came to its end'
is "$(exit_of ck)" 1 'and its status says so'
is "$(table ck problem_name outcome time_median_ns split_k_used trait_split_k trait_ordinal | counts)" \
    "$(printf '%s\n' 'backward_data unsupported    ' 'backward_weight ok 2e+06 4 -1 ' \
        'backward_weight wrong_result  2 2 ' 'forward ok 12340   ' 'forward ok 15   1' \
        'forward unsupported    2' | counts)" 'every line of it, with split-k'

is "$(ksweep plan ck.json --commands | sed "s|$(dirname "$fake")|DIR|; s| .*||" | counts)" '3 DIR/ckProfiler' \
    'plan prints the commands'
ksweep gather ck -o again.h5 >out
like "$(cat out)" '3 of 3 cells,.*5 rows that programs printed, 0 pairs never appeared' 'gather counts rows apart'
ksweep status ck --programs >ck.results
is "$(python3 -c 'import gzip, json
r = json.load(open("ck.results"))
s = r["stats"]
print(s["total"], s["success"], s["failed"], s["skipped"], "%.2f" % s["success_rate"])
for o in sorted(r["results"], key=lambda o: o["operation"]):
    print(o["operation"], o["success"], o["returncode"], o["rows"], o["stdout"], o["priority_rank"],
        len(gzip.open(o["stdout_path"]).read()) > 30)' |
    paste -sd '|')" \
    '3 2 0 1 0.67|grouped_conv_bwd_data False 1 0 None None True|grouped_conv_bwd_weight True 1 2 None None True|grouped_conv_fwd True 0 3 None None True' \
    'results as JSON, in the form of the original script'

cat >years.json <<END
{ "name": "years", "operator": "grouped_conv", "problems": [ { "file": "three.csv" } ], "kernels": [
  { "program": "ckprofiler", "path": "$(dirname "$fake")", "options": { "version": "2024" },
    "environment": { "CK_VERSION": "2024" } },
  { "program": "ckprofiler", "path": "$(dirname "$fake")", "options": { "version": "2026" },
    "environment": { "CK_VERSION": "2026" } } ] }
END
rc_is 1 'other generations' ksweep run years.json --out years
is "$(table years problem_name outcome time_median_ns split_k_used protocol |
    sed 's/ckprofiler version=\([0-9]*\) .*/\1/' | grep -v forward | counts)" \
    "$(printf '%s\n' 'backward_data ok 500000  2024' 'backward_data ok 500000 1 2026' 'backward_data ok 250000 2 2026' \
        'backward_weight ok 2e+06 4 2024' 'backward_weight wrong_result  2 2024' \
        'backward_weight ok 2e+06 4 2026' 'backward_weight wrong_result  2 2026' | counts)" \
    'each has its arguments and lines'
is "$(table years problem_name outcome | grep forward | counts)" '4 forward ok, 2 forward unsupported' 'in each direction'

# --- MIOpen's driver

sed -n '1p; /,forward,/p' three.csv >forward.csv
cat >miopen.json <<END
{ "name": "miopen", "operator": "grouped_conv", "problems": [ { "file": "forward.csv" } ], "kernels": [
  { "program": "miopendriver", "path": "$(dirname "$fake")" },
  { "program": "miopendriver", "path": "$(dirname "$fake")", "options": { "mode": "solutions", "verify": true } } ] }
END
rc_is 1 'miopendriver' ksweep run miopen.json --out miopen
is "$(table miopen instance_name outcome status_code n_samples protocol | sed 's/miopendriver .*verified=//' | counts)" \
    "$(printf '%s\n' 'ConvFast ok  1 none' 'ConvFast ok  1 gpu' 'ConvWinoFuryRxS<2-3> wrong_result  0 gpu' \
        'ConvBroken crashed 11 0 gpu' | counts)" 'the chosen solution, and each one once: a crash has its name'

# --- its surroundings

problems place.csv 16
job place "$fake" '"surroundings", "0"'
ok 'a program sees its surroundings' env INHERITED=yes ksweep run place.json --out place
like "$(table place instance_name)" '^dir=own tmp=own omp=[1-9][0-9]* mark=a b inherited=yes tty=yes$' \
    'a directory of its own, threads of its seat, a terminal'

# --- refused before anything runs

refused() { # PROGRAM REGEX DESCRIPTION
    problem_list=place.csv job bad "$1" '"good", "1"' "${4:-}"
    rc_is 2 "$3" ksweep run bad.json --out bad
    like "$(cat err)" "$2" 'says why'
    not_ok 'and nothing is there' test -e bad
}
mkdir empty
touch plain
refused "$tap_tmp/missing" "kernels\[0\].path: program .*missing' does not exist" 'no program'
refused "$tap_tmp/plain" "kernels\[0\].path.*is not executable" 'no execute bit'
refused "$tap_tmp/empty" "kernels\[0\].path.*directory .* has no program" 'a directory without the program'
printf 'echo hello\n' >script && chmod +x script
# Where it cannot be seen which formats have interpreters (binfmt_misc is not mounted), execve decides.
unknown() { # PROGRAM REGEX DESCRIPTION
    if [ -e /proc/sys/fs/binfmt_misc/status ]; then
        refused "$1" "$2" "$3"
        return
    fi
    problem_list=place.csv job unknown "$1" '"good", "1"'
    rc_is 1 "$3: is left to execve" ksweep run unknown.json --out "unknown.${1##*/}"
    like "$(table "unknown.${1##*/}" outcome reason)" \
        "^load_failed Exec format error: neither a program for this machine nor a script whose line 1 begins with '#!'" \
        'which says why'
}
unknown "$tap_tmp/script" "kernels\[0\].path: .*script': wrong format: neither an ELF program nor a script" 'no #! line'
printf '#!/no/such/shell -e\n' >script
refused "$tap_tmp/script" "script': its interpreter '/no/such/shell' .line 1. is missing" 'no interpreter'
printf '\177ELF\2\1\1\0\0\0\0\0\0\0\0\0\2\0\025\0%044d' 0 >other && chmod +x other
unknown "$tap_tmp/other" "other': wrong format: it was built for ppc64" 'another machine'
head -c 40 other >short && chmod +x short
refused "$tap_tmp/short" "short': wrong format: the ELF file is truncated" 'half a program'
mkdir lib
echo 'int f(void) { return 0; }' | cc -shared -fPIC -Wl,-soname,libck.so.1 -o lib/libck.so.1 -x c - &&
    echo 'int f(void); int main(void) { return f(); }' | cc -o linked -x c - -x none lib/libck.so.1
mv lib/libck.so.1 lib/libck.so.2
refused "$tap_tmp/linked" "linked' needs a shared library that was not found: .*libck.so.1" 'a missing shared library'
ok 'a plan is made on another host, perhaps' ksweep plan bad.json
like "$(cat err)" 'warn .*kernels\[0\].path: .*needs a shared library that was not found: .*libck.so.1' 'and warns'
mv lib/libck.so.2 lib/libck.so.1
sed -i "s|\"MARK\"|\"LD_LIBRARY_PATH\": \"$tap_tmp/lib\", \"MARK\"|" bad.json
ok 'found by the environment of the job' ksweep plan bad.json
unlike "$(cat err)" 'shared library' 'without a warning'
echo 'int f(void); int main(void) { return f(); }' |
    cc -o origin -Wl,-rpath,'$ORIGIN/lib' -x c - -x none lib/libck.so.1
mkdir links && ln -s ../origin links/origin
problem_list=place.csv job bad "$tap_tmp/links/origin" '"good", "1"'
ok 'a link to a program with libraries beside it' ksweep plan bad.json
unlike "$(cat err)" 'shared library' 'has them'
job bad "$tap_tmp/plain" '"good", "1"'
sed -i 's/"lines"/"liness"/' bad.json
rc_is 2 'an unknown program' ksweep run bad.json --out bad
like "$(cat err)" "bad.json:.*program.*lines" 'suggests the nearest'

done_testing
