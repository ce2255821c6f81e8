#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The pages of docs/ and the READMEs: links lead to a file and a heading that exist, so do paths of the tree in code spans,
# README.md links every page of docs/, and no text uses a word that docs/glossary.md lists under "Words to avoid". Code and
# quoted output are not prose. Pictures are what their scripts draw.
. "$(dirname "$0")/lib.sh"
need perl

pages() {
    find README.md docs slurm tests examples -name '*.md' -not -path 'tests/data/*' 2>/dev/null | sort
}

drawn() { # each script of docs/pictures that takes no argument writes pictures beside itself
    local script picture dir
    for script in docs/pictures/*.py; do
        grep -q 'sys.argv' "$script" && continue
        dir=$(mktemp -d) && cp "$script" "$dir/" && python3 "$dir/${script##*/}" || echo "$script:1: it fails"
        for picture in "$dir"/*.svg; do
            cmp -s "$picture" "docs/pictures/${picture##*/}" ||
                echo "docs/pictures/${picture##*/}:1: not what $script draws: run it"
        done
        rm -rf "$dir"
    done
}

linked_and_worded() {
    pages | perl -MFile::Basename -e '
    use strict;
    use warnings;

    # The lines of a page without code: blocks (fenced, or indented by four) and spans become blanks.
    sub prose {
        my ($page) = @_;
        my ($fence, @out) = (0);
        open(my $in, "<", $page) or die "$page: $!";
        while (my $line = <$in>) {
            chomp $line;
            my $is_fence = $line =~ /^\s*```/;
            $fence = !$fence if $is_fence;
            $line = "" if $fence || $is_fence || $line =~ /^ {4}/ || $line =~ /^<!--/;
            push @out, $line;
        }
        return @out;
    }

    sub without_spans {
        my ($line) = @_;
        $line =~ s/``.*?``|`[^`]*`/ /g;
        return $line;
    }

    # Anchors as GitHub makes them: lower case, punctuation dropped, a hyphen for each blank.
    my %anchors;
    sub anchors {
        my ($page) = @_;
        return $anchors{$page} if $anchors{$page};
        my (%of, %seen);
        for (prose($page)) {
            next unless /^#+\s+(.*?)\s*$/;
            my $slug = lc $1;
            $slug =~ s/\[([^\]]*)\]\([^)]*\)/$1/g;
            $slug =~ s/[^\w\- ]//g;
            $slug =~ s/ /-/g;
            my $n = $seen{$slug}++;
            $of{$n ? "$slug-$n" : $slug} = 1;
        }
        return $anchors{$page} = \%of;
    }

    # "a/b/../c" as "a/c"
    sub plain {
        my @parts;
        for (split m{/}, $_[0]) {
            next if $_ eq "." || $_ eq "";
            if ($_ eq ".." && @parts && $parts[-1] ne "..") { pop @parts } else { push @parts, $_ }
        }
        return join "/", @parts;
    }

    # The table under "Words to avoid" of the glossary: the first column, words separated by commas.
    sub avoided {
        my ($is_list, %use) = (0);
        return %use unless -f "docs/glossary.md";
        for (prose("docs/glossary.md")) {
            $is_list = /^## Words to avoid$/ if /^#/;
            next unless $is_list && /^\| (.*?) \| (.*?) \|$/ && $1 ne "instead of" && $1 !~ /^-+$/;
            my $instead = $2;
            $use{lc $_} = $instead for split /, /, $1;
        }
        return %use;
    }

    chomp(my @pages = <STDIN>);
    my %use = avoided();
    my $words = join "|", map { quotemeta } sort { length $b <=> length $a } keys %use;
    my %is_linked;
    for my $page (@pages) {
        my ($n, $is_list, $dir) = (0, 0, dirname($page));
        for my $line (prose($page)) {
            $n++;
            (my $bare = $line) =~ s/``.*?``|`[^`]*`/`/g;
            while ($bare =~ /\]\(([^()\s]+)\)/g) {
                my ($target, $to) = ($1, $1);
                next if $to =~ /^\w+:/;
                my $anchor = $to =~ s/#(.*)$// ? $1 : undef;
                my $file = $to eq "" ? $page : plain("$dir/$to");
                $is_linked{$file} = 1 if $page eq "README.md";
                print "$page:$n: the link $target leads to no file\n" and next unless -e $file;
                print "$page:$n: the link $target leads to no heading\n"
                    if defined $anchor && $file =~ /\.md$/ && !anchors($file)->{$anchor};
            }
            while ($line =~ /`((?:src|analysis|kernels|jobs|tests|docs|examples|slurm|packaging)\/[\w.\/-]+)`/g) {
                print "$page:$n: there is no $1\n" unless -e $1;
            }
            $is_list = $page eq "docs/glossary.md" && $line eq "## Words to avoid" if $line =~ /^#/;
            next if $words eq "" || $is_list || $page eq "docs/results.md" && $line =~ /^\| `/;
            (my $text = without_spans($line)) =~ s/\]\([^()\s]+\)/]/g;
            while ($text =~ /\b($words)\b(?!\.\w|\/)/gi) {
                print "$page:$n: write " . $use{lc $1} . " instead of \x27$1\x27 (docs/glossary.md)\n";
            }
        }
    }
    if (-f "README.md") {
        for (grep { m{^docs/[^/]+\.md$} } @pages) {
            print "README.md:1: no link to $_\n" unless $is_linked{$_};
        }
    }
'
}

{
    linked_and_worded
    if command -v python3 >/dev/null 2>&1; then drawn; fi
} | verdict
