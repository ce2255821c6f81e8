#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Inputs that are no files, and environments that a sweep cannot live in: refused at once, before
# anything is on disk, with 2; what is harmless just works.
. "$(dirname "$0")/tap.sh"
need_program cc timeout
. "$(dirname "$0")/sweep.sh"
cd "$tap_tmp" || exit 1
unset KSWEEP_CC

# refused WHAT REGEX COMMAND...: within 20 s, one line that names the place and the fix, no file left
refused() {
    local what=$1 regex=$2
    shift 2
    rm -rf w
    mkdir w
    (cd w && XDG_CACHE_HOME=${cache_home-$PWD} timeout 20 "$@" >../w.out 2>../w.err)
    is $? 2 "$what: exit 2"
    like "$(cat w.err)" "$regex" "$what: it names the place and the fix"
    is "$(wc -l <w.err) $(find w -mindepth 1 | wc -l)" '1 0' "$what: in one line, no file is left"
}

# --- what is no file

mkfifo pipe
mkdir dir
ln -s loop loop
truncate -s 1T endless
long=$(printf 'n%.0s' $(seq 300))
for f in "pipe|is a pipe" "/dev/zero|is a device" "dir|is a directory" "loop|symbolic links" "$long|too long" \
    "endless|[er] than [0-9]+ MiB" "/proc/self/pagemap|larger than 16 MiB"; do
    path=${f%|*}
    [ "${path#/}" = "$path" ] && path=../$path
    for c in 'run' 'problems' 'kernels' 'build' 'plan'; do
        refused "$c of ${f%%|*}" "${f#*|}" ksweep "$c" "$path"
    done
done
for c in status gather check; do
    refused "$c of a pipe" "pipe'" ksweep $c ../pipe
done
refused 'cell of a pipe' "pipe'" ksweep cell ../pipe 0:0
refused 'check of a device' 'is a device' ksweep check /dev/zero
refused 'ksweep-analyze of a pipe' 'is a pipe' ksweep-analyze table ../pipe
job() { # KEY FILE: a job that names a file which is none
    sed "s|../../kernels|$KSWEEP_SOURCE_DIR/kernels|; s|\"tiny.csv\"|\"$KSWEEP_SOURCE_DIR/tests/data/tiny.csv\"|" "$tiny_job" |
        sed -E "s#\"$1\": *\"[^\"]*\"#\"$1\": \"$2\"#" >job.json
}
job file "$PWD/pipe"
refused 'a problem list that is a pipe' 'job.json.*is a pipe' ksweep run ../job.json
job config "$PWD/pipe"
refused 'a config that is a pipe' 'job.json.*is a pipe' ksweep run ../job.json
echo "{\"family\": \"$PWD/pipe\", \"instances\": [{}]}" >config.json
job config "$PWD/config.json"
refused 'a family that is a pipe' 'is a pipe' ksweep run ../job.json
mkdir -p segment/journal
mkfifo segment/journal/0001.ksj
refused 'a segment that is a pipe' 'is a pipe' ksweep status ../segment
refused 'a path that is too long' 'path is too long' ksweep run "$tiny_job" --cache "$(printf 'n/%.0s' {1..3000})"
refused 'an output that cannot be made' "'/proc/x'" ksweep run "$tiny_job" --out /proc/x --cache "$tiny_cache"

# --- no place for the cache

cache_home='' refused 'a home that takes nothing' "/proc/.cache'" env HOME=/proc ksweep run "$tiny_job"
cache_home='' refused 'a home that is a device' "/dev/null" env HOME=/dev/null ksweep run "$tiny_job"
cache_home='' refused 'a home that is no path' "HOME is 'x'.*--cache" env HOME=x ksweep run "$tiny_job"
cache_home=./x refused 'a cache that is no path' "XDG_CACHE_HOME is './x'.*--cache" ksweep run "$tiny_job"

# --- compilers that are none

for cc in /bin/true /bin/ls /bin/cat; do
    refused "the compiler $cc" "KSWEEP_CC" env KSWEEP_CC=$cc ksweep run "$tiny_job"
done
refused 'a compiler that is missing for all' 'nothing can be measured' env PATH=/nowhere "$KSWEEP_BIN/ksweep" run "$tiny_job"
refused 'a compiler that is not there' 'KSWEEP_CC' env KSWEEP_CC=/no/cc ksweep run "$tiny_job"

# --- limits

cat >limited <<'EOF'
#!/bin/bash
ulimit $1 && shift && exec "$@"
EOF
chmod +x limited
refused 'ulimit -v' 'ulimit -v is 100000, at least' ../limited '-v 100000' ksweep run "$tiny_job"
refused 'ulimit -v below what the job gives its workers' 'isolate.memory_mib needs' ../limited '-v 600000' ksweep run "$tiny_job"
refused 'ulimit -f' 'ulimit -f is 100, at least' ../limited '-f 100' ksweep run "$tiny_job"
refused 'ulimit -s' 'ulimit -s is 128, at least' ../limited '-s 128' ksweep run "$tiny_job"
refused 'ulimit -n' 'ulimit -n is 24, at least' ../limited '-n 24' ksweep run "$tiny_job"
soft() { (ulimit -S -s 128 && ulimit -S -n 20 && ulimit -S -f 100 && tiny 0 soft) }
soft >soft.out 2>soft.err
is "$(exit_of soft)" 0 'limits that may be raised are'

# --- an empty environment; ranks that are left over

env -i "$KSWEEP_BIN/ksweep" run "$tiny_job" --out bare --cache "$PWD/bare-cache" >bare.out 2>bare.err
is "$? $(exit_of bare)" '0 0' 'in an empty environment a sweep is built and measured'
for v in OMPI_COMM_WORLD_RANK=7 SLURM_PROCID=3 'PMIX_RANK=2 PMIX_NAMESPACE=x PMIX_SERVER_URI4=x.0;tcp4://127.0.0.1:1'; do
    dir=left-${v%%=*}
    # shellcheck disable=SC2086
    env $v ksweep run "$tiny_job" --out "$dir" --cache "$tiny_cache" >left.out 2>left.err
    is "$? $(exit_of "$dir")" '0 0' "$v: measured as one process"
    ok "$v: with results" test -s "$dir/results.h5"
    like "$(cat left.err)" "${v%% *} is set, but no launcher answers" "$v: and a warning"
    # shellcheck disable=SC2086
    like "$(env $v ksweep build "$tiny_job" --cache "$tiny_cache" 2>&1)" 'built' "$v: ksweep build tells what it built"
done
refused 'several ranks without a launcher' 'OMPI_COMM_WORLD_SIZE=4.*unset' env OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_RANK=0 \
    ksweep run "$tiny_job"

# --- kernels with threads have the cores of their domain

sed "s|../../kernels/configs/[a-z_]*.json|threads.json|; s|, *\"filter\": *\"[^\"]*\"||; s|tiny.csv|$KSWEEP_SOURCE_DIR/tests/data/tiny.csv|" \
    "$tiny_job" >threads-job.json
echo "{\"family\": \"$KSWEEP_SOURCE_DIR/tests/fake/threads.family.json\", \"instances\": [{\"threads\": [1, 2]}]}" >threads.json
for domain in core socket; do
    TINY_JOB=threads-job.json tiny 0 threads-$domain --host-domain $domain >threads.out 2>threads.err
    is "$(exit_of threads-$domain)" 0 "OpenMP, $domain: complete" || tap_note "$(cat threads.err)"
    is "$(field threads-$domain build_failed)" '' "OpenMP, $domain: linked"
done
cpus() { strings -a "$1"/journal/*.ksj | sed -n 's/^.*threads [12] cpus \([0-9,]*\).*$/\1/p' | sort -u; }
mine=$(taskset -cp $$ | sed 's/.*: *//')
all() { # "0-1,4" as "0,1,4"
    local part
    for part in ${1//,/ }; do seq "${part%-*}" "${part#*-}"; done | paste -sd ,
}
if [ "$(ls -d /sys/devices/system/node/node* | wc -l)" -eq 1 ]; then
    is "$(cpus threads-socket)" "$(all "$mine")" 'OpenMP, socket: threads may use all its cores'
fi
done_testing
