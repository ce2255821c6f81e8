#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# package.sh [--base DIR] [--build DIR] [--keep DIR] - builds the Debian package, and uses it in a fresh Debian 12 that has
# nothing else: installed by apt with the dependencies that it declares, run by an ordinary user, removed.
#
#   --base DIR   a root made by debootstrap, which is copied; made there when it does not exist. Without it one
#                is made for this call (60 MB of downloads)
#   --build DIR  where it is built, and kept
#   --keep DIR   leaves the package in DIR
#
# Needs root, cmake, dpkg-dev, file, a Debian mirror ($KSWEEP_MIRROR, http://deb.debian.org/debian), and
# debootstrap or an apt that can download it. Everything that it starts lives in namespaces of its own; on two
# cores it takes about four minutes. Prints TAP; ends with 1 when a check failed, 77 where it cannot run.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/e2e/tap.sh"

base='' keep='' build=$tap_tmp/build
while [ $# -gt 0 ]; do
    case $1 in
    --base | --build | --keep)
        [ $# -ge 2 ] || { echo "package.sh: $1 needs a value" >&2; exit 2; }
        case $1 in --base) base=$2 ;; --build) build=$2 ;; --keep) keep=$2 ;; esac
        shift ;;
    -h | --help) sed -n '3,/^here=/{/^here=/d;s/^# \{0,1\}//;p}' "$0"; exit 0 ;;
    *) echo "package.sh: unknown argument '$1'; see tests/package.sh --help" >&2; exit 2 ;;
    esac
    shift
done
need_program cmake cpack dpkg-deb dpkg-shlibdeps file unshare chroot
[ "$(id -u)" -eq 0 ] || skip_all "a new root wants root"
mirror=${KSWEEP_MIRROR:-http://deb.debian.org/debian}
root=$tap_tmp/root

# --- the package

launcher=()
command -v ccache >/dev/null && launcher=(-DCMAKE_C_COMPILER_LAUNCHER=ccache)
pack() {
    cmake -S "$KSWEEP_SOURCE_DIR" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DBUILD_TESTING=OFF \
        ${launcher[@]+"${launcher[@]}"} && cmake --build "$build" && (cd "$build" && rm -f ksweep_*.deb && cpack -G DEB)
}
ok 'cpack makes a package' pack
deb=$(ls "$build"/ksweep_*.deb 2>/dev/null)
[ -n "$deb" ] || { done_testing; exit; }
[ -z "$keep" ] || { mkdir -p "$keep" && cp "$deb" "$keep"; }
depends=$(dpkg-deb -f "$deb" Depends)
for library in libc6 libhdf5 libhwloc libcjson libopenmpi libxgboost libzstd zlib1g; do
    like "$depends" "(^|, )$library" "it depends on $library"
done
like "$depends" '(^|, )gcc' 'and on a compiler'
like "$(dpkg-deb -f "$deb" Recommends)" 'openmpi-bin' 'it recommends mpirun'
dpkg-deb -c "$deb" >"$tap_tmp/files"
is "$(awk '{ print $6 }' "$tap_tmp/files" | grep -vcE '^\./(usr/.*)?$')" 0 'all of it goes to /usr'
unlike "$(cat "$tap_tmp/files")" '/(test_|bench_|fuzz_|make_journal)' 'and none of it is a test'
for program in ksweep ksweep-worker ksweep-analyze ksweep-profiler ksweep-rtc; do
    like "$(cat "$tap_tmp/files")" "\./usr/bin/$program\$" "it has $program"
done

# --- a root

make_root() { # DIR
    local bootstrap
    bootstrap=$(command -v debootstrap)
    if [ -z "$bootstrap" ]; then
        (cd "$tap_tmp" && apt-get download debootstrap && dpkg -x debootstrap_*.deb bootstrap) || return
        export DEBOOTSTRAP_DIR=$tap_tmp/bootstrap/usr/share/debootstrap
        bootstrap=$tap_tmp/bootstrap/usr/sbin/debootstrap
    fi
    "$bootstrap" --variant=minbase bookworm "$1" "$mirror"
}
# Processes and mounts of the root end with the command.
in_root() {
    # shellcheck disable=SC2016
    unshare --mount --pid --fork --kill-child bash -c '
        mount --make-rprivate / && mount -t proc proc "$1/proc" && mount --rbind /dev "$1/dev" &&
            mount --rbind /sys "$1/sys" || exit 99
        root=$1
        shift
        exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin TERM=dumb LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
            chroot "$root" "$@"' _ "$root" "$@"
}
user() { in_root runuser -u someone -- bash -c "cd && $1"; }

if [ -z "$base" ]; then
    base=$root
else
    mkdir -p "$base" || exit 2
fi
[ -x "$base/usr/bin/apt-get" ] || ok 'debootstrap' make_root "$base"
[ -x "$base/usr/bin/apt-get" ] || { done_testing; exit; }
[ "$base" = "$root" ] || cp -a "$base" "$root"
cp -L /etc/resolv.conf "$root/etc/resolv.conf"
cp "$deb" "$root/ksweep.deb"
like "$(in_root sh -c 'command -v gcc cc mpirun python3; echo none')" '^none$' 'the root has no compiler, no MPI and no Python'

# --- installed

ok 'apt installs it with what it depends on' in_root sh -c \
    'apt-get update -qq && apt-get install -y -qq --no-install-recommends /ksweep.deb'
for program in ksweep ksweep-worker ksweep-analyze ksweep-profiler ksweep-rtc; do
    unlike "$(in_root ldd /usr/bin/$program)" 'not found' "$program finds its libraries"
done
in_root useradd -m someone
ok '--version' user 'ksweep --version'
for line in '^ksweep 0' '^revision [0-9a-f]{7}' '^compiler ' '^MPI Open MPI [45]' '^HDF5 1' '^backends host hip cuda sim$'; do
    like "$(cat "$tap_tmp/out")" "$line" "says $line"
done
ok 'kernels of a config, by its bare name' user 'ksweep kernels host_forward_quick --list'
is "$(wc -l <"$tap_tmp/out")" "$("$build/bin/ksweep" kernels host_forward_quick --list | wc -l)" 'as many as before packing'
ok 'their traits' user 'ksweep kernels host_forward_quick --traits'
ok 'plan of an installed job' user 'ksweep plan quickstart'
like "$(cat "$tap_tmp/out")" '^8 problems x [0-9]+ instances' 'reads its problems'

# --- a sweep by one rank: the quickstart with two problems

cat >"$root/home/someone/small.json" <<'EOF2'
{ "name": "small", "operator": "grouped_conv",
  "kernels": [ {"config": "host_forward_quick"} ],
  "problems": [ {"file": "/usr/share/ksweep/jobs/problems/quickstart.csv", "sample": 2, "seed": 1} ],
  "measure": {"warmup_ms": 5, "max_ms": 50} }
EOF2
rc=0
user 'ksweep run small.json' >"$tap_tmp/said" 2>"$tap_tmp/log" || rc=$?
ok 'run: every cell has an outcome' test "$rc" -le 1 || tap_note "$(tail -n 5 "$tap_tmp/log")"
like "$(cat "$tap_tmp/said")" '^complete: [0-9]+ cells, [0-9]+ ok' 'it is complete'
ok 'status' user 'ksweep status small.ksweep'
ok 'check' user 'ksweep check small.ksweep'
ok 'report' user 'ksweep-analyze report small.ksweep'
like "$(cat "$tap_tmp/out")" '^ +One fixed instance would reach|^  No instance works' 'says what choosing pays'
ok 'report as a page' user 'ksweep-analyze report small.ksweep -o report.html'
ok 'timeline' user 'ksweep-analyze timeline small.ksweep -o sweep.json.gz'
ok 'table' user 'ksweep-analyze table small.ksweep -o training.csv'
ok 'table as Parquet' user 'ksweep-analyze table small.ksweep --format parquet -o training.parquet'
ok 'report as CSV' user 'ksweep-analyze report small.ksweep --format csv -o best.csv'
ok 'the best of a problem, by names' user "ksweep cell small.ksweep '$(sed -n 2p "$root/home/someone/best.csv" | cut -d, -f2):best'"

# --- ranks: without mpirun, and with it

rc=0
user 'ksweep run small.json -n 2 --out ranks' >"$tap_tmp/out" 2>"$tap_tmp/err" || rc=$?
is "$rc" 2 'without mpirun -n 2 is refused'
like "$(cat "$tap_tmp/err")" 'openmpi-bin' 'with the package to install'
ok 'apt installs mpirun' in_root apt-get install -y -qq --no-install-recommends openmpi-bin
rc=0
user 'ksweep run small.json -n 2 --out ranks' >"$tap_tmp/said" 2>"$tap_tmp/log" || rc=$?
ok 'then two ranks measure' test "$rc" -le 1 || tap_note "$(tail -n 5 "$tap_tmp/log")"
like "$(cat "$tap_tmp/said")" '^complete: [0-9]+ cells, [0-9]+ ok' 'every cell'

# --- documents

ok 'apt installs man and bash-completion' in_root apt-get install -y -qq --no-install-recommends man-db bash-completion
for program in ksweep ksweep-worker ksweep-analyze ksweep-profiler; do
    like "$(user "man $program" 2>/dev/null)" "$program" "man $program"
done
like "$(user 'man ksweep' 2>/dev/null)" 'SYNOPSIS' 'which has sections'
is "$(user '. /usr/share/bash-completion/bash_completion && _completion_loader ksweep; COMP_WORDS=(ksweep sta) COMP_CWORD=1; _ksweep; echo "${COMPREPLY[*]}"')" \
    status 'bash completes'
ok 'the documents are there' in_root test -r /usr/share/doc/ksweep/README.md -a -r /usr/share/doc/ksweep/docs/install.md

# --- removed

in_root userdel -r someone 2>/dev/null
ok 'apt removes it' in_root apt-get purge -y -qq ksweep
rm "$root/ksweep.deb"
is "$(in_root find / -xdev \( -path /proc -o -path /sys -o -path /dev \) -prune -o -iname '*ksweep*' -print)" '' 'and nothing of it is left'
done_testing
