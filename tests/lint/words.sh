#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Functions and words that have no place here. What looks at code looks behind comments and strings.
. "$(dirname "$0")/lib.sh"
need perl

code=$(mktemp -d) || exit 1
trap 'rm -rf "$code"' EXIT

# A copy of the C sources with comments, strings and characters blanked, line by line as before.
strip_tree() {
    CODE=$code perl -MFile::Path=make_path -MFile::Basename -ne '
        chomp;
        my ($from, $to) = ($_, "$ENV{CODE}/$_");
        open(my $in, "<", $from) or die "$from: $!";
        my $text = do { local $/; <$in> };
        $text =~ s{(/\*.*?\*/|//[^\n]*)|"(?:\\.|[^"\\\n])*"|\x27(?:\\.|[^\x27\\\n])*\x27}
                  {my $t = $&; $t =~ s/[^\n]/ /g; $t}gsex;
        make_path(dirname($to));
        open(my $out, ">", $to) or die "$to: $!";
        print $out $text;'
}

code_has() { # PATTERN MESSAGE EXEMPT DIR...: Perl patterns; EXEMPT is matched against file names
    local pattern=$1 message=$2 exempt=$3
    shift 3
    (cd "$code" && sources 'c h k' "$@" | grep -vE "$exempt" | xargs -r grep -HnoP -- "$pattern") |
        sed "s|^\([^:]*:[0-9]*\):\(.*\)|\1: '\2' $message|"
}

text_has() { # PATTERN MESSAGE FILES-FROM-STDIN
    xargs -r grep -IHnoP -- "$1" | sed "s|^\([^:]*:[0-9]*\):\(.*\)|\1: '\2' $2|"
}

# The checks themselves must spell what they look for; raw measurements are as they came.
all_texts() {
    find src analysis kernels jobs slurm tests cmake docs .ci -type f \
        -not -path 'tests/lint/*' -not -path 'docs/measured/*' -not -path 'tests/data/*' \
        -not -path '*/corpus/*' -not -path '*/__pycache__/*' 2>/dev/null
    ls README.md CMakeLists.txt CMakePresets.json 2>/dev/null
}

none='^$'
mains='^src/cmd/|(^|/)([a-z_]*_)?main\.c$|^analysis/cmd/'

strip_tree < <(sources 'c h k' src analysis kernels tests)
{
    code_has '\b(atoi|atol|atoll|atof|strtok|sprintf|vsprintf|strcpy|strcat|gets|alloca|tmpnam|mktemp)\s*(?=\()' \
        'is forbidden' $none src analysis kernels tests
    code_has '^\s*#\s*if\s+0\b' 'keeps dead code' $none src analysis kernels tests
    code_has '\b(exit|abort|quick_exit|MPI_Abort)\s*(?=\()' \
        'belongs into src/cmd and mains only' "$mains" src analysis
    code_has '\b_[eE]xit\s*(?=\()' 'belongs into src/mpi, src/spawn, src/worker and src/cmd only' \
        "$mains|^src/(mpi|spawn|worker)/" src analysis
    code_has '\b(printf|vprintf|puts|putchar|perror)\s*(?=\()|\b(stdout|stderr)\b' \
        'prints outside src/cmd and mains' "$mains|^src/base/(command|log)\.[ch]\$" \
        src analysis
    code_has '\b(fork|vfork|system|popen|posix_spawnp?)\s*(?=\()' \
        'starts a process outside src/spawn' '^src/spawn/' src analysis
    code_has '\b(gettimeofday|clock_gettime)\s*(?=\()' 'reads a clock outside src/base/clock.c' \
        '^src/base/clock\.c$' src analysis
    # Messages: one phrase per thing (docs/glossary.md), and a lack of memory is named.
    sources 'c h' src analysis |
        text_has '"[^"]*\K\b((is|are) wanted|stands? twice|is no known|the judge)\b(?=[^"]*")' \
            'is not how messages say it: expected ..., duplicate ..., not a known ..., verification kernels'
    sources 'c h' src analysis |
        text_has 'KS_ENOMEM,\s*\K"(?!%s"|zstd: |holding a |(agent: )?more than )(?![^"]*memory)[^"]*"' \
            'does not say that memory is missing'
    all_texts | text_has '\b(TODO|FIXME|XXX|HACK)\b' 'is unfinished work'
    all_texts | text_has '(?<![\w.}\)\]*-])/(work|root|home/\w+)/' 'is a path of one machine'
} | sort -u | verdict
