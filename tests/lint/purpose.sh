#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# purpose.sh - the second line of every .c file says what it does: /* name.c - purpose */; a program
# may have its arguments behind the name, and the comment may go on in further lines.
. "$(dirname "$0")/lib.sh"

# Their bytes are part of the build ids of all that was compiled for the emulator (src/build/gpu_chain.c):
# a comment would make cached objects and recorded identities those of other code.
exempt=' kernels/gpu/emu/simt.c kernels/gpu/emu/simt_async.c kernels/gpu/emu/simt_warp.c
 kernels/gpu/emu/simt_wgmma.c '

sources c src analysis kernels tests examples | xargs -r awk -v exempt="${exempt//$'\n'/ }" '
    function check(line, file) {
        name = file
        sub(/.*\//, "", name)
        start = "/* " name " "
        if (index(line, start) != 1 || substr(line, length(start)) !~ /^ ([^-].* )?- [^ *]/)
            print file ":2: the line is not /* " name " - purpose */"
    }
    FNR == 1 { n_files++; file[n_files] = FILENAME; line[n_files] = "" }
    FNR == 2 { line[n_files] = $0; nextfile }
    END {
        for (i = 1; i <= n_files; i++)
            if (!index(exempt, " " file[i] " "))
                check(line[i], file[i])
    }' | sort | verdict
