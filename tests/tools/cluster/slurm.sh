#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# slurm.sh - a private Slurm on this machine: munged, slurmctld and N slurmd, each node with its own
# hostname, network, process and mount namespace, joined by a bridge. Nothing outside
# $KSWEEP_SLURM_DIR is written and no daemon, key or network of the system is touched.
#
#   export KSWEEP_SLURM_DIR=<private directory, absolute>
#   slurm.sh can               0 if this machine lets us, else prints why not
#   slurm.sh up N              node1..nodeN, GPUS (2) fake GPUs and CPUS (4) claimed CPUs each
#   slurm.sh down              ends all of it; nothing is left. The same happens by itself within a
#                              second when the process that called `up` is gone
#   slurm.sh exec COMMAND...   sbatch, squeue, ... on the head node
#   slurm.sh fail nodeK        power-off: the link is cut and every process of the node killed
#   slurm.sh up-again nodeK    power on
#   slurm.sh kill-controller   slurmctld gets SIGKILL
#   slurm.sh start-controller
#
# KSWEEP_SLURM_TIMEOUT: SlurmdTimeout (12 s; a node that fails is noticed after up to twice that).
# Everything lives in the process namespace of one process ("head"): when that dies, all do.
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
self=$here/$(basename "${BASH_SOURCE[0]}")
PATH=$PATH:/usr/sbin:/sbin

die() { echo "slurm.sh: $*" >&2; exit 1; }

can() {
    local p
    for p in slurmctld slurmd munged srun ip unshare nsenter; do
        command -v $p >/dev/null || { echo "$p is not installed"; return 1; }
    done
    [ "$(id -u)" -eq 0 ] || { echo "namespaces of a cluster need root"; return 1; }
    unshare --net --uts --mount --pid --fork --mount-proc true 2>/dev/null ||
        { echo "this machine allows no new namespaces"; return 1; }
    unshare --net ip link add type veth 2>/dev/null ||
        { echo "this machine allows no virtual network links"; return 1; }
}

conf() { # N
    local i
    cat <<END
ClusterName=test
SlurmctldHost=head(10.78.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$dir/munge/socket
CredType=cred/munge
StateSaveLocation=$dir/state
SlurmdSpoolDir=$dir/spool.%n
SlurmctldPidFile=$dir/slurmctld.pid
SlurmdPidFile=$dir/slurmd.%n.pid
SlurmctldLogFile=$dir/log/slurmctld
SlurmdLogFile=$dir/log/%n
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
JobCompType=jobcomp/none
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
TmpFS=$dir/tmp.%n
SlurmdParameters=config_overrides
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=1,bf_interval=1,sched_min_interval=0
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
GresTypes=gpu
KillWait=5
MinJobAge=300
SlurmctldTimeout=30
SlurmdTimeout=${KSWEEP_SLURM_TIMEOUT:-12}
MessageTimeout=10
PropagateResourceLimits=NONE
END
    for ((i = 1; i <= $1; i++)); do
        echo "NodeName=node$i NodeHostname=node$i NodeAddr=10.78.0.$((10 + i))" \
            "CPUs=${CPUS:-4} RealMemory=4096 Gres=gpu:fake:${GPUS:-2} State=UNKNOWN"
    done
    echo "PartitionName=main Nodes=node[1-$1] Default=YES MaxTime=INFINITE State=UP"
}

# Only one device file each makes Slurm set *_VISIBLE_DEVICES.
gres() { # N
    local i g
    for ((i = 1; i <= $1; i++)); do
        for ((g = 0; g < ${GPUS:-2}; g++)); do
            [ -e "$dir/gpu$g" ] || mknod "$dir/gpu$g" c 1 3 || return 1
            echo "NodeName=node$i Name=gpu Type=fake File=$dir/gpu$g"
        done
    done
}

names() { # N: /etc/hosts of all nodes
    local i
    printf '127.0.0.1 localhost\n10.78.0.1 head\n'
    for ((i = 1; i <= $1; i++)); do echo "10.78.0.$((10 + i)) node$i"; done
}

write_files() { # N
    mkdir -p "$dir"/{munge,state,log} && chmod 755 "$dir" "$dir/munge" && chmod 700 "$dir/state"
    dd if=/dev/urandom of="$dir/munge/key" bs=128 count=1 status=none && chmod 400 "$dir/munge/key"
    conf "$1" >"$dir/slurm.conf" && gres "$1" >"$dir/gres.conf"
    names "$1" >"$dir/hosts"
    printf 'CgroupPlugin=cgroup/v1\nCgroupAutomount=no\n' >"$dir/cgroup.conf"
}

# --- inside the head's namespaces

run_head() { # N: the first process of all; it only waits
    local i
    hostname head
    mount --make-rprivate /
    mount --bind "$dir/hosts" /etc/hosts
    ip link set lo up
    ip link add br0 type bridge && ip addr add 10.78.0.1/24 dev br0 && ip link set br0 up
    # --force: the directories above, of a test, are its own, not everybody's to enter.
    munged --force --key-file="$dir/munge/key" --socket="$dir/munge/socket" --pid-file="$dir/munge/pid" \
        --log-file="$dir/munge/log" --seed-file="$dir/munge/seed" --num-threads=2
    slurmctld -f "$dir/slurm.conf"
    for ((i = 1; i <= $1; i++)); do start_node "$i"; done
    : >"$dir/head.up"
    while :; do sleep 3600 & wait $!; done
}

start_node() { # I
    local pid i
    mkdir -p "$dir/spool.node$1" "$dir/tmp.node$1"
    rm -f "$dir/node$1.pid" "$dir/node$1.net"
    setsid unshare --net --uts --mount --pid --fork --mount-proc bash "$self" _node "$1" \
        </dev/null >>"$dir/log/start" 2>&1 &
    for ((i = 0; i < 500; i++)); do
        pid=$(cat "/proc/$!/task/$!/children" 2>/dev/null)
        [ -n "${pid% }" ] && [ "$(readlink "/proc/${pid% }/ns/net")" != "$(readlink /proc/self/ns/net)" ] && break
        sleep 0.01
    done
    echo "${pid% }" >"$dir/node$1.pid"
    ip link add "v$1" type veth peer name eth0 netns "${pid% }" && ip link set "v$1" master br0 up
    : >"$dir/node$1.net"
}

run_node() { # I: the first process of a node
    mount --make-rprivate /
    mount -t tmpfs -o size=1g tmpfs /dev/shm
    hostname "node$1"
    until [ -e "$dir/node$1.net" ]; do sleep 0.01; done
    ip link set lo up
    ip addr add "10.78.0.$((10 + $1))/24" dev eth0 && ip link set eth0 up
    slurmd -D -N "node$1" -f "$dir/slurm.conf" &
    while :; do sleep 3600 & wait $!; done
}

# --- outside

alive() { # PID START: that very process
    [ "$(sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | awk '$1 != "Z" { print $20 }')" = "$2" ]
}
started() { sed 's/.*) //' "/proc/$1/stat" | awk '{ print $20 }'; } # PID

inside() { nsenter -t "$(head_pid)" --net --mount --uts --pid --wdns="$PWD" -- "$@"; }
head_pid() { cat "$dir/head.pid" 2>/dev/null || die "there is no cluster in $dir"; }

up() { # N OWNER
    local i n=$1 unshare_pid
    [ -e "$dir/head.pid" ] && die "there is a cluster in $dir already"
    write_files "$n" || die "cannot write in $dir"
    setsid unshare --net --uts --mount --pid --fork --kill-child --mount-proc \
        bash "$self" _head "$n" </dev/null >"$dir/log/head" 2>&1 &
    unshare_pid=$!
    setsid bash "$self" _guard "$2" "$(started "$2")" $unshare_pid "$(started $unshare_pid)" \
        </dev/null >/dev/null 2>&1 &
    for ((i = 0; i < 500; i++)); do
        [ -e "$dir/head.up" ] && break
        sleep 0.02
    done
    tr -d ' ' <"/proc/$unshare_pid/task/$unshare_pid/children" >"$dir/head.pid"
    wait_idle "$n" || { cat "$dir"/log/* >&2; down; die "the nodes do not answer"; }
}

wait_idle() { # N
    local end=$((SECONDS + 20))
    while [ $SECONDS -lt $end ]; do
        [ "$(timeout 5 nsenter -t "$(head_pid)" --net --mount --uts --pid \
            sinfo -h -t idle -o %D 2>/dev/null)" = "$1" ] && return
        sleep 0.1
    done
    return 1
}

down() {
    local pid i
    [ -e "$dir/head.pid" ] || return 0
    pid=$(cat "$dir/head.pid")
    rm -f "$dir/head.pid" "$dir/head.up"
    kill -KILL "$pid" 2>/dev/null
    for ((i = 0; i < 100; i++)); do
        [ -e "/proc/$pid" ] || return 0
        sleep 0.05
    done
    die "the cluster does not end"
}

# Ends the cluster when its owner is gone; ends itself when the cluster is.
guard() { # OWNER START HEAD START
    while alive "$3" "$4"; do
        alive "$1" "$2" || kill -KILL "$3"
        sleep 0.5
    done
}

fail() { # NODE
    local pid
    pid=$(cat "$dir/$1.pid") || die "no such node '$1'"
    inside ip link set "v${1#node}" down
    inside kill -KILL "$pid"
    inside ip link delete "v${1#node}" 2>/dev/null || true # it may be gone with the node
}

case ${1:-} in
can) can; exit ;;
-h | --help | '') sed -n '3,/^set -u/{/^set -u/d;s/^# \{0,1\}//;p}' "$0"; exit 0 ;;
esac
dir=${KSWEEP_SLURM_DIR:?a private directory}
[ -d "$dir" ] || mkdir -p "$dir" || exit 1
export SLURM_CONF=$dir/slurm.conf
case $1 in
up) up "${2:-2}" "$PPID" ;;
down) down ;;
exec) shift; inside "$@" ;;
fail) fail "$2" ;;
up-again) inside setsid bash "$self" _start "${2#node}" ;;
kill-controller) inside kill -KILL "$(cat "$dir/slurmctld.pid")" ;;
start-controller) inside slurmctld -f "$dir/slurm.conf" ;;
_head) run_head "$2" ;;
_node) run_node "$2" ;;
_start) start_node "$2" ;;
_guard) guard "$2" "$3" "$4" "$5" ;;
*) die "unknown command '$1'; see slurm.sh --help" ;;
esac
