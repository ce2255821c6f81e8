#!/bin/bash
# SPDX-License-Identifier: MIT
# timer.sh MODE ROWS [PAUSE] - stands for a program that times kernels: JSON lines as real ones print
# them, and what real ones do when they go wrong.
mode=$1 rows=$2 pause=${3:-0}

row() { # NUMBER
    printf '{"name": "Device<%s, 128, {2, 1}> [v%s]", "ms": 1.5e-0%s, "tflops": 12.5}\n' "$1" "$1" $(($1 % 9 + 1))
}

some_rows() { # FROM TO
    local i
    for ((i = $1; i <= $2; i++)); do
        echo "start Device<$i, 128, {2, 1}> [v$i]"
        [ "$pause" = 0 ] || sleep "$pause"
        row "$i"
    done
}

case $mode in
good)
    some_rows 1 "$rows"
    ;;
odd) # colours, standard error between the lines, equal names, a long name, no end of the last line
    printf '\033[36mvalids: 4\033[0m\n'
    row 1
    printf '{"name": "Device<1' >&2
    row 1
    printf '{"name": "%0400d", "ms": 2}\n' 7
    printf 'warning: something\n' >&2
    printf '{"name": "last", "ms": 1e+02, "tflops": 3}'
    ;;
crash)
    some_rows 1 "$rows"
    echo 'start Device<broken>'
    kill -SEGV $$
    ;;
silent)
    some_rows 1 "$rows"
    sleep 1000
    ;;
noisy)
    some_rows 1 "$rows"
    while sleep 0.05; do echo 'still at it'; done
    ;;
forks) # children that hold the terminal, one of them in a session of its own
    sleep "1003.$NAP" &
    setsid sleep "1004.$NAP" &
    some_rows 1 "$rows"
    ;;
unsure) # says that it has nothing, behind rows that it has printed
    some_rows 1 "$rows"
    echo 'this data_type & layout is not implemented'
    exit 1
    ;;
eats) # memory that stays resident
    some_rows 1 "$rows"
    exec python3 -c 'import time; b = b"x" * (300 << 20); time.sleep(1000)'
    ;;
fills) # the disk that it runs on
    some_rows 1 "$rows"
    head -c 8000000 /dev/zero >big || exit 4
    ;;
garbage)
    head -c 20000 /dev/urandom
    ;;
none)
    echo 'this data_type & layout is not implemented'
    exit 1
    ;;
exits)
    echo 'it did not work out' >&2
    exit 3
    ;;
library)
    echo 'timer: error while loading shared libraries: libck.so.1: cannot open shared object file' >&2
    exit 127
    ;;
many)
    awk -v n="$rows" 'BEGIN { for (i = 1; i <= n; i++) printf "{\"name\": \"K<%d>\", \"ms\": %g}\n", i, i / 1000 }'
    ;;
surroundings)
    tty=no
    [ -t 1 ] && tty=yes
    printf '{"name": "dir=%s tmp=%s omp=%s mark=%s inherited=%s tty=%s", "ms": 1}\n' \
        "$([ -w "$PWD" ] && echo own)" "$([ "$TMPDIR" = "$PWD" ] && echo own)" "$OMP_NUM_THREADS" "$MARK" "${INHERITED:-no}" \
        "$tty"
    ;;
esac
