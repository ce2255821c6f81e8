#!/bin/bash
# SPDX-License-Identifier: MIT
# hosts.sh - several hosts on one machine: h0, h1, ... are namespaces (network, hostname, mounts,
# IPC, processes), joined by a switch that is a namespace too. Files are shared, as on a cluster;
# /dev/shm, /etc/hosts, machine id and boot id are each host's own. Needs root.
#
#   export KSWEEP_HOSTS_DIR=<a private directory>
#   hosts.sh can            0 when this machine lets us, else says why
#   hosts.sh up N           starts h0 .. h(N-1); they end with the process that called this, however
#                           that ends (KSWEEP_HOSTS_OWNER: with that process instead)
#   hosts.sh down           ends everything; 0 when nothing was up, too
#   hosts.sh exec hK COMMAND...  in this directory; ends with COMMAND; its death by SIGKILL is
#                           COMMAND's, too
#   hosts.sh cut hK         no more packets from and to hK;   heal hK   packets again
#   hosts.sh freeze hK      SIGSTOP for every process of hK;  thaw hK   SIGCONT
#   hosts.sh kill hK        power off: every process dies, the network is gone
#   hosts.sh pids hK        its processes, as numbered outside
#   hosts.sh is_up hK
#
#   caller
#   watcher        outside; waits for the end of the caller
#     keeper       process 1 of a process namespace around all hosts; its network is the switch
#       h0         in the keeper's process namespace: setns(2) enters descendants only, and mpirun on
#                  h0 has to enter the others (nsrsh)
#       h1 ...     each process 1 of a namespace of its own
#
# Whoever is above dies: whatever is below is killed by the kernel.
set -eu

me=$(readlink -f "$0")
dir=${KSWEEP_HOSTS_DIR:-}
net=10.77.0

say() { echo "hosts.sh: $*" >&2; }

can() {
    local p
    [ "$(id -u)" -eq 0 ] || { echo "not root"; return 1; }
    for p in ip unshare nsenter setpriv mount setsid; do
        command -v "$p" >/dev/null || { echo "$p is not installed"; return 1; }
    done
    unshare -n -u -m -i -p --fork --kill-child true 2>/dev/null ||
        { echo "namespaces are not allowed here"; return 1; }
    unshare -n sh -c 'ip link add br0 type bridge && ip link add v0 type veth peer name v1' \
        >/dev/null 2>&1 || { echo "no bridge or veth interfaces here"; return 1; }
}

state_of() { # PID: its letter, nothing when it is dead, though perhaps nobody has waited for it
    local stat
    { read -r stat <"/proc/$1/stat"; } 2>/dev/null || return 0
    stat=${stat##*) }
    case $stat in [ZX]*) ;; *) echo "${stat%% *}" ;; esac
}

child_of() { # PID
    local children
    children=$(cat "/proc/$1/task/$1/children" 2>/dev/null)
    echo "${children%% *}"
}

# --- inside ------------------------------------------------------------------------------------

# A file that the whole machine has once, and every host has its own of. Not everywhere allowed.
own_file() { # TEXT PATH FILE
    [ -e "$2" ] || return 0
    echo "$1" >"$3"
    mount --bind "$3" "$2" 2>/dev/null || true
}

host_main() { # hK: the first process of a host
    local k=${1#h} hex
    hex=$(printf '%08x' $((0x68000000 + k)))
    hostname "$1"
    [ "$1" = h0 ] || mount -t proc proc /proc
    mount --bind "$dir/hosts" /etc/hosts
    mount -t tmpfs -o size=2g,mode=1777 tmpfs /dev/shm
    own_file "${hex}00000000000000000000dead" /etc/machine-id "$dir/$1.machine-id"
    own_file "$hex-0000-4000-8000-00000000dead" /proc/sys/kernel/random/boot_id "$dir/$1.boot-id"
    : >"$dir/$1.up"
    sleep infinity &
    wait
}

start_host() { # hK: by the keeper
    local k=${1#h} pid flags=(-n -u -m -i --propagation slave)
    [ "$1" = h0 ] || flags+=(-p --fork --kill-child)
    unshare "${flags[@]}" "$me" host_main "$1" &
    pid=$!
    until [ -e "$dir/$1.up" ]; do
        kill -0 "$pid"
        sleep 0.01
    done
    [ "$1" = h0 ] || pid=$(child_of "$pid")
    ip link add "v$k" type veth peer name eth0 netns "$pid"
    ip link set "v$k" master br0 up
    nsenter -t "$pid" -n sh -c "ip link set lo up; ip addr add $net.$((10 + k))/24 dev eth0
                                ip link set eth0 up"
    echo "$pid" >"$dir/$1.inside"
}

keeper_main() { # N: process 1 around all hosts
    local k
    mount -t proc proc /proc
    ip link add br0 type bridge
    ip link set br0 up
    for ((k = 0; k < $1; k++)); do
        start_host "h$k"
    done
    : >"$dir/ready"
    sleep infinity &
    wait
}

enter_host() { # hK DIRECTORY COMMAND...: in the keeper's process namespace
    local flags=(-n -u -m -i) pid
    pid=$(cat "$dir/$1.inside")
    [ "$1" = h0 ] || flags+=(-p)
    # shellcheck disable=SC2016
    exec nsenter -t "$pid" "${flags[@]}" -- setpriv --pdeathsig KILL \
        /bin/sh -c 'cd "$0" && exec "$@"' "${@:2}"
}

# --- outside -----------------------------------------------------------------------------------

watcher_main() { # OWNER N
    local pid tick
    exec {tick}<> <(:) # never has anything to read: a sleep without a process
    setpriv --pdeathsig KILL unshare -n -u -m -p --fork --kill-child --propagation slave \
        "$me" keeper_main "$2" >"$dir/keeper.log" 2>&1 &
    pid=$!
    until [ -n "$(child_of "$pid")" ]; do
        kill -0 "$pid"
        sleep 0.01
    done
    child_of "$pid" >"$dir/keeper"
    while [ -n "$(state_of "$1")" ] && [ -n "$(state_of "$pid")" ]; do
        read -rt 0.2 -u "$tick" || true
    done
    kill -KILL "$pid" 2>/dev/null || true
    wait "$pid" || true
    forget
}

forget() {
    rm -f "$dir"/h[0-9]* "$dir/hosts" "$dir/keeper" "$dir/ready" "$dir/watcher" "$dir/keeper.log"
}

keeper() { cat "$dir/keeper" 2>/dev/null; }

up() { # N
    local k
    mkdir -p "$dir"
    [ ! -e "$dir/keeper" ] || { say "there are hosts in $dir already"; return 1; }
    rm -f "$dir/ready"
    {
        echo "127.0.0.1 localhost"
        for ((k = 0; k < $1; k++)); do echo "$net.$((10 + k)) h$k"; done
    } >"$dir/hosts"
    setsid "$me" watcher_main "${KSWEEP_HOSTS_OWNER:-$PPID}" "$1" </dev/null >/dev/null 2>&1 &
    echo $! >"$dir/watcher"
    for ((k = 0; k < 1000; k++)); do
        [ ! -e "$dir/ready" ] || return 0
        sleep 0.02
    done
    say "the hosts did not start: $(cat "$dir/keeper.log")"
    down
    return 1
}

down() {
    local k pid
    pid=$(cat "$dir/watcher" 2>/dev/null) || return 0
    kill -KILL "$(keeper)" 2>/dev/null || true
    # with its first process the kernel ends all of a namespace; the watcher waits for that
    for ((k = 0; k < 250; k++)); do
        [ -e "$dir/watcher" ] || break
        kill -0 "$pid" 2>/dev/null || break
        sleep 0.02
    done
    kill -KILL "$pid" 2>/dev/null || true # one that never got a keeper
    forget
}

network_of() { # hK: the name of its network namespace
    local pid
    pid=$(cat "$dir/$1.inside" 2>/dev/null) || return 1
    nsenter -t "$(keeper)" -m -p readlink "/proc/$pid/ns/net" 2>/dev/null
}

in_network() { # NAMESPACE...: processes of these that are not dead, "PID STATE" each
    local path name state
    find /proc -mindepth 3 -maxdepth 3 -path '/proc/[0-9]*/ns/net' -printf '%p %l\n' 2>/dev/null |
        while read -r path name; do
            case " $* " in *" $name "*) ;; *) continue ;; esac
            path=${path#/proc/}
            state=$(state_of "${path%%/*}")
            [ -z "$state" ] || echo "${path%%/*} $state"
        done
}

# Until it holds for all of them: a process may start others meanwhile.
signal_all() { # SIGNAL STATES-TO-LEAVE-ALONE NAMESPACE...
    local signal=$1 skip=$2 pids k
    shift 2
    for ((k = 0; k < 100; k++)); do
        pids=$(in_network "$@" | awk -v skip="$skip" 'index(skip, $2) == 0 { print $1 }')
        [ -n "$pids" ] || return 0
        # shellcheck disable=SC2086
        kill -s "$signal" $pids 2>/dev/null || true
        sleep 0.02
    done
    say "processes do not take SIG$signal: ${pids//$'\n'/ }"
    return 1
}

freeze() { # hK
    local n
    n=$(network_of "$1") || { say "$1 is not up"; return 1; }
    signal_all STOP Tt "$n"
}

# nsenter(1) stops itself with the process that it waits for: those of `exec` stand in the switch.
thaw() { # hK
    local n
    n=$(network_of "$1") || { say "$1 is not up"; return 1; }
    signal_all CONT RSDIXtW "$n" "$(readlink "/proc/$(keeper)/ns/net")"
}

power_off() { # hK
    local n
    n=$(network_of "$1") || return 0
    cable "$1" down
    if [ "$1" != h0 ]; then
        inside kill -KILL "$(cat "$dir/$1.inside")"
    fi
    signal_all KILL '' "$n"
    rm -f "$dir/$1.inside"
}

inside() { # COMMAND...: beside the keeper
    nsenter -t "$(keeper)" -m -p -n -- "$@"
}

cable() { # hK up|down
    inside ip link set "v${1#h}" "$2"
}

run_on() { # hK COMMAND...
    local host=$1
    shift
    [ -e "$dir/$host.inside" ] || { say "$host is not up"; exit 255; }
    exec nsenter -t "$(keeper)" -m -p -n -- setpriv --pdeathsig KILL \
        "$me" enter_host "$host" "$PWD" "$@"
}

command=${1-}
[ $# -gt 0 ] && shift
case $command in
can) can; exit ;;
'') sed -n '3,/^#$/p' "$me" | sed 's/^# \{0,1\}//' >&2; exit 2 ;;
esac
[ -n "$dir" ] || { say "KSWEEP_HOSTS_DIR is not set"; exit 2; }
case $command in
up | down | freeze | thaw) "$command" "$@" ;;
cut) cable "$1" down ;;
heal) cable "$1" up ;;
kill) power_off "$1" ;;
exec) run_on "$@" ;;
pids) in_network "$(network_of "$1")" | cut -d ' ' -f 1 ;;
is_up) [ -e "$dir/$1.inside" ] ;;
watcher_main | keeper_main | host_main | enter_host) "$command" "$@" ;;
*) say "no command '$command'"; exit 2 ;;
esac
