#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Names, paths and texts from outside: printed commands can be pasted, nothing reaches a terminal raw
# or forges a line, and a program without standard descriptors measures all the same.
# asan: yes
. "$(dirname "$0")/tap.sh"
need_program cc bash
. "$(dirname "$0")/sweep.sh"
cd "$tap_tmp" || exit 1
export KSWEEP_CC=cc

raw() { LC_ALL=C grep -c $'[\x01-\x08\x0b-\x1f\x7f]' "$@"; } # lines with raw control characters

# --- a directory whose name is a command, and one with an escape sequence and a line of a log

evil="x';touch P;'"
forged=$'y\e[2J\n2026-01-01T00:00:00.000Z error 0 forged'
tiny 0 "$evil" >evil.out 2>evil.err
is "$(exit_of "$evil")" 0 'a sweep into a directory whose name is a command'
cell=$(ksweep-analyze table "$evil/results.h5" | awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
    NR == 2 { print $at["problem_id"] ":" $at["instance_id"] }')
again=$(ksweep cell "$evil" "$cell" | sed -n 's/^to run it again: //p')
ok 'the command that is printed for a cell runs' bash -c "$again --cache '$tiny_cache'"
like "$(cat "$tap_tmp/out")" '^attempt 1' 'and measures it'
command=$(ksweep cell "$evil" "$cell" --command --cache "$tiny_cache")
ok 'so does that of a bare worker' bash -c "$command"
mkdir bin
# shellcheck disable=SC2016
printf '#!/bin/sh\n[ "$1" = --args ] && shift && exec "$@"\n' >bin/gdb
chmod +x bin/gdb
rm -f "$evil"/cells/*/record
PATH=$PWD/bin:$PATH ok 'and --gdb' ksweep cell "$evil" "$cell" --gdb --cache "$tiny_cache"
ok 'whose worker writes its record' test -s "$evil"/cells/*/record
is "$(find . -name P)" '' 'nobody ran a part of the name'

tiny 0 "$forged" >forged.out 2>forged.err
is "$(exit_of "$forged")" 0 'a sweep into a directory with an escape sequence'
ksweep status "$forged" >>forged.out 2>>forged.err
ksweep cell "$forged" "$cell" >>forged.out 2>>forged.err
ksweep check "$forged" >>forged.out 2>>forged.err
ksweep cell "$forged" 0:0 >>forged.out 2>>forged.err
ksweep gather "$forged" -o f.h5 >>forged.out 2>>forged.err
ksweep "$forged" 2>>forged.err
ksweep-analyze table "$forged.h5" 2>>forged.err
is "$(raw forged.out forged.err | paste -sd ' ')" 'forged.out:0 forged.err:0' 'no escape sequence reaches the terminal'
is "$(cat forged.out forged.err "$forged/log" | grep -c '^2026-01-01')" 0 'and no line is forged'
again=$(ksweep cell "$forged" "$cell" | sed -n 's/^to run it again: //p')
ok 'its printed command runs, too' bash -c "$again --cache '$tiny_cache'"

# --- names of problems, and what a compiler says

{ head -n 1 "$KSWEEP_SOURCE_DIR/tests/data/tiny.csv"
  sed -n 2p "$KSWEEP_SOURCE_DIR/tests/data/tiny.csv" | sed $'s/[^,]*$/"a,b"/'; } >names.csv
ksweep problems --list names.csv >list.out
like "$(cat list.out)" ',"a,b"$' 'a name with a comma is quoted'
cat >noisy-cc <<'EOF'
#!/bin/sh
case $*$(grep -s KS_NAME unit.c) in *" -c "*KS_NAME*) printf 'unit.c:1:1: error: \033]0;title\007,"x\r2026-01-01 error 0 forged\n' >&2; exit 1;; esac
exec cc "$@"
EOF
chmod +x noisy-cc
KSWEEP_CC=$PWD/noisy-cc ksweep build "$tiny_job" --cache noisy --manifest noisy.csv >noisy.out 2>noisy.err
is "$(raw noisy.out noisy.err noisy.csv | paste -sd ' ')" 'noisy.out:0 noisy.err:0 noisy.csv:0' \
    "a compiler's escape sequences reach neither the terminal nor the CSV"
is "$(($(wc -l <noisy.csv) - 1))" 5 'which has a line per instance'
like "$(cat noisy.csv)" '\\x1b\]0;title\\x07,""x\\r2026' 'and shows them'

# --- without standard descriptors

(exec 0<&- 1>&- 2>&-; tiny 0 closed)
is "$(exit_of closed)" 0 'with stdin, stdout and stderr closed a sweep is measured'
is "$(field closed ok)" "$(field "$evil" ok)" 'completely'
is "$(grep -c 'torn\|damaged' <(ksweep check closed))" 0 'and its journal is whole'
(exec 2>&-; KSWEEP_LOG=trace tiny 0 quiet >quiet.out)
ok 'with stderr closed no log text is in the journal' ksweep check quiet
is "$(grep -ac 'info' quiet/journal/0001.ksj)" 0 'not a word of it'
(exec 0<&- 1>&- 2>&-; ksweep-analyze table closed/results.h5 -o closed.csv)
is "$(wc -l <closed.csv)" "$(ksweep-analyze table closed/results.h5 | wc -l)" 'ksweep-analyze writes its table'

done_testing
