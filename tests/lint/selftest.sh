#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2317
# selftest.sh - each check passes on a small good tree and fails, naming the file, once one violation of
# its kind is planted in it. A check that cannot fail checks nothing.
set -u
dir=$(cd "$(dirname "$0")" && pwd)
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
tree=$tmp/tree build=$tmp/build
n=0 bad=0
spdx='/* SPDX-License-Identifier: MIT */'

report() { # STATUS DESCRIPTION DETAILS
    n=$((n + 1))
    if [ "$1" -eq 0 ]; then
        echo "ok $n - $2"
        return
    fi
    bad=1
    echo "not ok $n - $2"
    printf '# %s\n' "${3//$'\n'/$'\n# '}"
}

put() { # FILE LINE...: a C file with its SPDX line
    local file=$tree/$1
    shift
    [ -d "${file%/*}" ] || mkdir -p "${file%/*}"
    printf '%s\n' "$spdx" "$@" >"$file"
}

# src/base/backend.h with these rows, as clang-format wants them.
# shellcheck disable=SC1003
backend_rows() {
    local text row
    text=$(printf '%-99s\\' '#define KS_BACKENDS(X)')
    for row in "${@:1:$#-1}"; do
        text+=$(printf '\n    %-95s\\' "$row")
    done
    put src/base/backend.h '#ifndef B_H' '#define B_H' "$text" "    ${!#}" '#endif'
}

good_tree() { # made once, then copied
    rm -rf "$tree"
    [ -d "$tmp/good" ] || { make_good_tree && cp -r "$tree" "$tmp/good" && return; }
    cp -r "$tmp/good" "$tree"
}

make_good_tree() {
    mkdir -p "$tree/docs"
    cp "$dir/../../.clang-format" "$tree/"
    put src/base/a.h '#ifndef A_H' '#define A_H' 'int a_of(int x); /* exit(1), strcpy(x) */' '#endif'
    put src/base/a.c '/* a.c - an a */' '#include "base/a.h"' '' '#include <string.h>' '' \
        'static const char *const words[] = { "printf(", "//" };' '' 'int a_of(int x)' '{' \
        '    return x + (int)strlen(words[0]);' '}'
    put src/topo/j.c '/* j.c - a j */' '#include "base/a.h"' '' '#include <hwloc.h>'
    put src/mpi/m.c '/* m.c RANKS - an m that goes on' ' * in another line */' '#include "base/a.h"' '' '#include <mpi.h>'
    put src/op/o.c '/* o.c - an o */' '#include "kernels/abi.h"'
    put src/cmd/cmd_x.c '/* cmd_x.c - an x-command */' '#include <stdio.h>' '#include <stdlib.h>' '' 'void stop(void)' '{' \
        '    puts("x");' '    exit(2);' '}'
    put kernels/abi.h '#pragma once' 'struct abi {' '    int x;' '};'
    put kernels/host/k.k '#include "abi.h"' 'static int KS_FN(run)(int x)' '{' '    return x;' '}'
    backend_rows 'X(host, 0)' 'X(hip, 1)' 'X(cuda, 1)' 'X(sim, 2)'
    put analysis/cmd/main.c '/* main.c - a program */' '#include <stdio.h>' '' 'int main(void)' '{' '    printf("x");' '}'
    put tests/unit/t.c '/* t.c - a test */' '#include <stdlib.h>' '' 'int main(void)' '{' '    exit(0);' '}'
    printf '#!/bin/sh\n# SPDX-License-Identifier: MIT\nmktemp -d XXXXXX\n' >"$tree/tests/run"
    printf '# SPDX-License-Identifier: MIT\n' >"$tree/CMakeLists.txt"
    # shellcheck disable=SC2016
    printf '| `--n N` | 1 |\n' >"$tree/docs/manual.md"
    page README.md '[manual](docs/manual.md), [words](docs/glossary.md#words-to-avoid)' '' '    judge(x)'
    # shellcheck disable=SC2016
    page docs/glossary.md '# Words' '' '## Words to avoid' '' '| instead of | write |' '|---|---|' \
        '| judge, told apart | check |' '' '## After' '' '`judge`, [a name](../README.md), `verify.judge`'
}

page() { # FILE LINE...: a page
    printf '%s\n' "${@:2}" >"$tree/$1"
}

run_check() { # CHECK: output in $out, status in $rc
    out=$(KSWEEP_LINT_ROOT=$tree "$dir/$1.sh" "$build" 2>&1)
    rc=$?
}

passes() { # CHECK DESCRIPTION
    run_check "$1"
    if [ "$rc" -eq 77 ]; then
        n=$((n + 1))
        echo "ok $n - $1: $2 # SKIP $out"
        return
    fi
    report "$rc" "$1: $2" "$out"
}

catches() { # CHECK TEXT DESCRIPTION: it fails, and says TEXT
    local status=1
    run_check "$1"
    if [ "$rc" -eq 77 ]; then
        n=$((n + 1))
        echo "ok $n - $1: $3 # SKIP $out"
        return
    fi
    [ "$rc" -eq 1 ] && grep -qF -- "$2" <<<"$out" && status=0
    report "$status" "$1: $3" "status $rc, wanted 1 and '$2' in: $out"
    good_tree
}

lines() { # NUMBER TEXT
    local i
    for ((i = 0; i < $1; i++)); do
        printf '%s\n' "$2"
    done
}

layers() {
    passes layers 'a good tree'
    put src/base/b.c '#include "json/json.h"'
    catches layers 'src/base/b.c:2: base may not include json/json.h' 'an upward include'
    put src/base/b.c '#  include   <mpi.h>'
    catches layers 'src/base/b.c:2: base may not include <mpi.h>' 'mpi.h outside src/mpi'
    put src/grid/b.h '#include <hdf5_hl.h>'
    catches layers 'src/grid/b.h:2: grid may not include <hdf5_hl.h>' 'HDF5 outside src/store'
    put src/mpi/b.c '#include <hwloc/bitmap.h>'
    catches layers 'mpi may not include <hwloc/bitmap.h>' 'hwloc outside src/topo'
    put src/grid/b.c '#include <cjson/cJSON.h>'
    catches layers 'grid may not include <cjson/cJSON.h>' 'cJSON outside src/json'
    put src/store/b.c '#include <cJSON.h>'
    catches layers 'store may not include <cJSON.h>' 'cJSON outside src/json, by its bare name'
    put src/sched/b.c '#include "kernels/abi.h"'
    catches layers 'sched may not include kernels/abi.h' 'the kernel ABI where it is not wanted'
    put src/base/b.c '#include "a.h"'
    catches layers 'src/base/b.c:2: write "a.h" as module/a.h' 'an include without its module'
    put kernels/host/b.k '#include "base/err.h"'
    catches layers 'kernels may not include base/err.h' 'a kernel that reaches into src'
    put analysis/learn/b.c '#include "analysis/out/b.h"'
    catches layers 'analysis/learn/b.c:2: analysis/learn may not include analysis/out/b.h' \
        'learning that knows its writers'
    put src/base/b.c '#include "analysis/data/b.h"'
    catches layers 'src/base/b.c:2: base may not include analysis/data/b.h' 'src that reaches into analysis'
    put src/newer/b.c ''  '#include <stdio.h>'
    catches layers 'module newer is not in layers.txt' 'an unlisted module'
    # shellcheck disable=SC2016
    page docs/architecture.md '| `src/sched` | base grid op | pure |' '| `src/rtc` | build, base | x |'
    catches layers 'docs/architecture.md:1: src/sched may include base grid (layers.txt)' 'another edge in the docs'
    # shellcheck disable=SC2016
    page docs/architecture.md '| `src/rtc` | build, base | x |'
    catches layers 'docs/architecture.md:1: the table of modules lacks src/sched' 'a module that the docs lack'
}

backends() {
    local c
    passes backends 'a good tree'
    for c in 'strcmp(b, "hip") == 0' 'strcmp ("host", b)' 'strncasecmp(b->name,
    "cuda", 4)' 'memcmp(name_of(b), "sim", 4)'; do
        put src/mpi/b.c "int x = $c;"
        catches backends 'compares with "' "${c//$'\n'/}"
    done
    put src/grid/b.c 'const char *const mine[] = { "host", "cuda" };'
    catches backends 'src/grid/b.c:2: names the backend "cuda"' 'a list of names of its own'
    backend_rows 'X(host, 0)' 'X(npu, 1)'
    put src/mpi/b.c '/* strcmp(b, "npu") */ int x = strcmp(b, "npus");' 'char h[] = "host";'
    passes backends 'other words, comments, and host as a word'
    put src/mpi/b.c 'int x = is(b, "npu");'
    catches backends 'names the backend "npu"' 'the name of a new row'
}

headers() {
    passes headers 'a good tree'
    put src/base/b.h '#ifndef B_H' '#define B_H' 'uint32_t b;' '#endif'
    catches headers 'src/base/b.h:1:' 'a header that needs another before it'
    put kernels/b.h 'struct twice {' '    int x;' '};'
    catches headers 'kernels/b.h:1:' 'a header without a guard'
}

lengths() {
    passes lengths 'a good tree'
    put src/base/b.c 'int f(int x)' '{' "$(lines 58 '    x++;')" '}'
    catches lengths 'src/base/b.c:2: function f has 61 lines' 'a function of 61 lines'
    put src/base/b.c 'int f(int x)' '{' "$(lines 57 '    x++;')" '}'
    passes lengths 'a function of 60 lines'
    good_tree
    put kernels/host/b.k 'KS_INLINE int KS_FN(f)(int x)' '{' "$(lines 58 '    x++;')" '}'
    catches lengths 'kernels/host/b.k:2: function f has 61 lines' 'a long function of a kernel'
    put tests/unit/b.c 'ODD(g)' 'MACROS(h)' '{' "$(lines 60 '    x++;')" '}'
    catches lengths 'tests/unit/b.c:4: a body has 62 lines' 'a long body that is no plain function'
    put src/base/b.c "$(lines 600 'int x;')"
    catches lengths 'src/base/b.c:601: the file has 601 lines' 'a long source'
    put src/base/b.h "$(lines 300 'int x;')"
    catches lengths 'src/base/b.h:301: the file has 301 lines' 'a long header'
}

format() {
    passes format 'a good tree'
    put src/base/b.c 'int  x;'
    catches format 'src/base/b.c:2:' 'two blanks in a source'
    put tests/unit/b.h 'int f(int *  p);'
    catches format 'tests/unit/b.h:2:' 'blanks in a header of the tests'
    echo 'IndentWidth: many' >"$tree/.clang-format"
    catches format '.clang-format:1: clang-format' 'a broken configuration'
}

spdx() {
    passes spdx 'a good tree'
    echo 'int x;' >"$tree/src/base/b.c"
    catches spdx 'src/base/b.c:1: no SPDX line' 'a source'
    printf '#!/bin/sh\necho\n' >"$tree/tests/go"
    catches spdx 'tests/go:1: no SPDX line' 'a script without an extension'
    mkdir -p "$tree/src/base" && echo 'x()' >"$tree/src/base/CMakeLists.txt"
    catches spdx 'src/base/CMakeLists.txt:1: no SPDX line' 'a build file'
    echo '// x' >"$tree/kernels/host/b.k"
    catches spdx 'kernels/host/b.k:1: no SPDX line' 'a kernel'
}

purpose() {
    local line
    passes purpose 'a good tree'
    for line in 'int x;' '/* a.c - of another file */' '/* b - without its ending */' '/* b.c */' \
        '/* b.c - */' '/* b.c: a colon */' '/* b.c -- a b */'; do
        put tests/unit/b.c "$line"
        catches purpose 'tests/unit/b.c:2: the line is not /* b.c - purpose */' "$line"
    done
    put examples/b.c '' '/* b.c - in the third line */'
    catches purpose 'examples/b.c:2:' 'a line too late'
    echo "$spdx" >"$tree/analysis/b.c"
    catches purpose 'analysis/b.c:2:' 'a file of one line'
    mkdir -p "$tree/kernels/gpu/emu" && echo 'int x;' >"$tree/kernels/gpu/emu/simt.c"
    passes purpose 'a source whose bytes are in build ids'
    put kernels/gpu/emu/other.c 'int x;'
    catches purpose 'kernels/gpu/emu/other.c:2:' 'another one beside it'
}

words() {
    local f
    passes words 'a good tree'
    for f in atoi strtok sprintf strcpy gets; do
        put src/cmd/b.c "int x = $f (y);"
        catches words "src/cmd/b.c:2: '$f ' is forbidden" "$f"
    done
    put tests/unit/b.c 'int x = atoi(y);'
    catches words "tests/unit/b.c:2: 'atoi' is forbidden" 'atoi in a test'
    put src/base/b.c '#if 0' '#endif'
    catches words "src/base/b.c:2:" 'dead code'
    for f in exit abort MPI_Abort; do
        put src/mpi/b.c "    $f(2);"
        catches words "src/mpi/b.c:2: '$f' belongs into" "$f in a module"
    done
    put src/store/b.c '    _exit(2);'
    catches words "src/store/b.c:2: '_exit' belongs into" '_exit in a module'
    for f in 'printf("x")' 'puts(x)' 'fprintf(stdout, x)' 'fputs(x, stderr)'; do
        put analysis/b.c "    $f;"
        catches words 'analysis/b.c:2:' "$f in a module"
    done
    put src/build/b.c '    system(x);'
    catches words "src/build/b.c:2: 'system' starts a process" 'system()'
    put src/store/b.c '    clock_gettime(x, y);'
    catches words "src/store/b.c:2: 'clock_gettime' reads a clock" 'another clock'
    for f in TODO FIXME XXX; do
        echo "# $f later" >>"$tree/tests/run"
        catches words "tests/run:4: '$f' is unfinished work" "$f"
    done
    echo 'see "/root/x"' >>"$tree/docs/manual.md"
    catches words 'docs/manual.md:2:' 'a path of one machine'
    put src/base/b.c "const char *p = \"/work/x\";"
    catches words 'src/base/b.c:2:' 'such a path in a string'
    put src/op/b.c '    return fail("a list is wanted here");'
    catches words "src/op/b.c:2: 'is wanted' is not how messages say it" 'a phrase that was replaced'
    put src/op/b.c '    return ks_fail(err, KS_ENOMEM, "units of a build");'
    catches words "src/op/b.c:2: '\"units of a build\"' does not say that memory is missing" 'a vague lack of memory'
}

# shellcheck disable=SC2016
pages() {
    passes pages 'a good tree: code and the list itself may have the words'
    page docs/glossary.md '[x](none.md)'
    catches pages 'docs/glossary.md:1: the link none.md leads to no file' 'a link to no file'
    page docs/manual.md '# One `two` (3)' '[x](#one-two-3) [y](glossary.md#another)'
    catches pages 'docs/manual.md:2: the link glossary.md#another leads to no heading' 'a link to no heading'
    page docs/manual.md '# One `two` (3)' '' '## One `two` (3)' '[x](#one-two-3) [x](#one-two-3-1)'
    passes pages 'links to headings with code, the second of two included'
    page docs/manual.md '`src/base/a.c` and `src/base/*.h`, `src/base/none.c`'
    catches pages 'docs/manual.md:1: there is no src/base/none.c' 'a path that is gone'
    page docs/manual.md 'The judge decides.'
    catches pages "docs/manual.md:1: write check instead of 'judge'" 'a word that the glossary avoids'
    page docs/manual.md '```' 'judge' '```' 'it is told' 'Told apart by name' 'judge.h, the_judge, prejudge'
    catches pages "docs/manual.md:5: write check instead of 'Told apart'" 'two words, behind a block of code'
    mkdir -p "$tree/docs/pictures"
    page docs/pictures/a.py 'import pathlib' 'pathlib.Path(__file__).with_name("a.svg").write_text("<svg/>")'
    echo '<svg></svg>' >"$tree/docs/pictures/a.svg"
    catches pages 'docs/pictures/a.svg:1: not what docs/pictures/a.py draws' 'a picture that was edited by hand'
    page README.md '[words](docs/glossary.md)'
    catches pages 'README.md:1: no link to docs/manual.md' 'a page that README.md does not link'
}

library() { # C-LINE...: BUILD/libks_x.a
    rm -rf "$build"
    mkdir -p "$build"
    printf '%s\n' "$@" >"$build/x.c"
    gcc -fPIC -c "$build/x.c" -o "$build/x.c.o" && ar rcs "$build/libks_x.a" "$build/x.c.o"
}

symbols() {
    library 'const int a = 5; static const char *const b[] = { "x" };' \
        'const char *f(int i) { return b[i]; }'
    passes symbols 'constants and tables of pointers'
    library 'int f(void) { static int counter; return counter++; }'
    catches symbols 'libks_x.a:x.c.o: counter' 'a counter inside a function'
    library 'int state = 7;'
    catches symbols 'libks_x.a:x.c.o: state is file-scope state in .data' 'a global variable'
    library '__attribute__((visibility("hidden"))) _Thread_local int state;'
    catches symbols 'state is file-scope state in .tbss' 'a hidden variable per thread'
    rm -f "$build/libks_x.a"
    catches symbols 'no libks_*.a' 'a build directory without libraries'
}

program() { # NAME LIBRARY...: BUILD/bin/NAME that needs these
    local name=$1 lib
    local -a libs=()
    shift
    mkdir -p "$build/bin"
    for lib in "$@"; do
        gcc -shared -x c /dev/null -Wl,-soname,"$lib" -o "$build/$lib"
        libs+=("$build/$lib")
    done
    echo 'int main(void) { return 0; }' |
        gcc -x c - -x none -o "$build/bin/$name" -Wl,--no-as-needed "${libs[@]}"
}

good_programs() { # made once, too
    rm -rf "$build"
    if [ -d "$tmp/programs" ]; then
        cp -r "$tmp/programs" "$build"
        return
    fi
    program ksweep libhdf5.so.103
    program ksweep-worker
    program ksweep-rtc
    program ksweep-profiler libcjson.so.1
    program ksweep-analyze libhdf5.so.103
    cp -r "$build" "$tmp/programs"
}

links() {
    good_programs
    passes links 'good programs'
    program ksweep libamdhip64.so.5
    catches links 'bin/ksweep:1: needs libamdhip64.so.5' 'ksweep with a GPU runtime'
    good_programs
    program ksweep libcuda.so.1
    catches links 'bin/ksweep:1: needs libcuda.so.1' 'ksweep with the CUDA driver'
    good_programs
    program ksweep-rtc libnvrtc.so.13
    catches links 'bin/ksweep-rtc:1: needs libnvrtc.so.13' 'ksweep-rtc with NVRTC'
    good_programs
    program ksweep libmpi.so.40
    catches links 'bin/ksweep:1: needs libmpi.so.40' 'ksweep with MPI'
    for lib in libmpi.so.40 libhdf5_serial.so.103 libhwloc.so.15 libcjson.so.1; do
        good_programs
        program ksweep-worker "$lib"
        catches links "bin/ksweep-worker:1: needs $lib" "ksweep-worker with $lib"
    done
    good_programs
    program ksweep-analyze libmpi.so.40
    catches links 'bin/ksweep-analyze:1: needs libmpi.so.40' 'ksweep-analyze with MPI'
    good_programs
    rm "$build/bin/ksweep-worker"
    catches links 'bin/ksweep-worker:1: not built' 'a missing program'
}

talker() { # NAME ROW...: a program that prints these rows
    mkdir -p "$build/bin"
    printf '#!/bin/sh\ncat <<"X"\n%s\nX\n' "$2" >"$build/bin/$1"
    chmod +x "$build/bin/$1"
}

manual() {
    rm -rf "$build"
    # shellcheck disable=SC2016
    local row='| `--n N` | 1 |' other='| `--m N` | 2 |' p
    good_manual() { printf '%s\n' "$row" '' '# analyze' '' '# worker' '' '# profiler' '' '# gpu' >"$tree/docs/manual.md"; }
    talker ksweep "$row"
    for p in analyze worker profiler gpu; do
        talker "ksweep-$p" "# $p"
    done
    good_manual
    passes manual 'the same lines'
    talker ksweep-analyze "$other"
    catches manual "no such line: $other" 'an option that no page tells'
    talker ksweep-analyze '# analyze'
    good_manual
    echo "$other" >>"$tree/docs/manual.md"
    catches manual "no program prints this line: $other" 'a page of an option that is gone'
    rm "$build/bin/ksweep-worker"
    good_manual
    catches manual "'ksweep-worker help --markdown' fails" 'a program without a manual'
}

whole() {
    local out rc
    good_tree
    good_programs
    rm -rf "$build"
    out=$(KSWEEP_LINT_ROOT=$tree "$dir/run.sh")
    rc=$?
    report "$rc" 'run.sh passes on the good tree' "$out"
    grep -q '^ok 12 - manual # SKIP no build directory given' <<<"$out"
    report $? 'run.sh skips what needs a build' "$out"
    put src/base/b.c 'int  x;'
    ! out=$(KSWEEP_LINT_ROOT=$tree "$dir/run.sh")
    report $? 'run.sh fails when a check fails' "$out"
    mkdir -p "$build"
    ! out=$(KSWEEP_LINT_ROOT=$tree "$dir/run.sh" "$build")
    report $? 'run.sh fails on an empty build directory' "$out"
}

good_tree
for check in layers backends headers lengths format spdx purpose words pages symbols links manual whole; do
    $check
done
echo "1..$n"
exit $bad
