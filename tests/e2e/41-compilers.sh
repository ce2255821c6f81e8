#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Some instances want a compiler that is not installed: a sweep says so at its start and its end, the
# cells are unsupported, and a resume measures them when the compiler has come.
. "$(dirname "$0")/tap.sh"
need_program cc
. "$(dirname "$0")/sweep.sh"
cd "$tap_tmp" || exit 1
export KSWEEP_CC=cc

cp "$KSWEEP_SOURCE_DIR/tests/fake/unit.family.json" "$KSWEEP_SOURCE_DIR"/tests/fake/unit.[hk] .
head -n 2 "$KSWEEP_SOURCE_DIR/tests/data/tiny.csv" >one.csv
echo '{"family": "unit.family.json", "instances": [{"index": [51, 52], "compiler": ["gcc", "nocc"]}]}' >two.config.json
echo '{"name": "two", "operator": "grouped_conv", "kernels": [{"config": "two.config.json"}],
       "problems": [{"file": "one.csv"}], "device": {"backend": "host"},
       "measure": {"warmup_ms": 0, "max_ms": 20}}' >two.json
sweep() { TINY_JOB=$tap_tmp/two.json tiny 0 dir "$@" >out 2>err; }
of() { ksweep status dir --json | sed -n "s/^ *\"$1\": *\([0-9]*\),*\$/\1/p" | head -n 1; }

why='compiler nocc is not installed'
sweep
is "$? $(of cells) $(of unsupported) $(of pending)" "$(exit_of dir) 4 2 0" 'two of four cannot be built'
is "$(grep -c "2 of 4 instances cannot be built: $why" err)" 1 'it is said once at the start'
is "$(grep -c "2 of 4 instances were not built: $why; .* ksweep run .*two.json .*--resume --out dir" err)" 1 \
    'and once at the end, with what to do'
like "$(ksweep-analyze table dir/results.h5)" "$why" \
    'in the words of the table'

sweep --resume
is "$(of unsupported)" 2 'without it a resume changes nothing'
unlike "$(cat err)" 'cells were unsupported' 'and promises nothing'

KSWEEP_CC_NOCC='cc -DOTHER' sweep --resume --max-time 1ms
is "$? $(exit_of dir) $(of pending) $(grep -c '"again": 2' dir/status.json)" '3 3 0 1' \
    'a life too short for it is not complete'
like "$(cat out)" '2 unsupported, 2 not yet measured again' 'and says what is left'
is "$(ksweep status dir | grep -c -e ': stopped, resumable (exit 3)' -e '^again *2 of these')" 2 \
    'as ksweep status does'
is "$(of again)" 2 'as JSON too'

KSWEEP_CC_NOCC='cc -DOTHER' sweep --resume
is "$(of unsupported) $(of pending)" ' 0' 'with it they are measured, without --retry'
like "$(cat err)" '2 cells were unsupported because a compiler' 'it says so'
unlike "$(cat err)" 'not built' 'and lacks nothing any more'
is "$(ksweep status dir | grep -c -e ': complete' -e '^again') $(of again)" '1 0' 'complete, says ksweep status'
done_testing
