#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# backends.sh - no code decides by a backend's name: it asks for flags (src/base/backend.h). The names
# are those of the rows of KS_BACKENDS. None may be compared with; and but for "host", which is a word
# of its own, none may be a string at all outside of the device's own file.
. "$(dirname "$0")/lib.sh"
need perl

table=src/base/backend.h
names=$(sed -n 's/^ *X(\([a-z0-9_]*\), .*/\1/p' "$table" 2>/dev/null | paste -sd'|')
[ -n "$names" ] || cannot "$table has no rows"

# shellcheck disable=SC2016
sources 'c h' src analysis tests/gpu | xargs -r env NAMES="$names" perl -0777 -ne '
    my $name = $ENV{NAMES};
    my $own = $ARGV =~ m{^src/base/backend\.[ch]$|^src/device/device_\w+\.c$};
    my $word = join "|", grep { $_ ne "host" } split /\|/, $name;
    my $hwloc = $ARGV eq "src/topo/machine.c"; # components of hwloc have names like ours
    s{("(?:\\.|[^"\\\n])*")|/\*.*?\*/|//[^\n]*}{my $t = $&; $t =~ s/[^\n]/ /g unless defined $1; $t}gse;
    while (m{\b(?:str\w*cmp|memcmp)\s*\([^;{}]*?"($name)"|[!=]=\s*"($name)"}g) {
        my $line = 1 + (substr($_, 0, $+[0]) =~ tr/\n//);
        print "$ARGV:$line: compares with \"", $1 // $2, "\": ask for a flag of base/backend.h\n";
    }
    while (!$own && !$hwloc && $word ne "" && m{"($word)"}g) {
        my $line = 1 + (substr($_, 0, $+[0]) =~ tr/\n//);
        print "$ARGV:$line: names the backend \"$1\": ask for a flag of base/backend.h\n";
    }' | sort -u | verdict
