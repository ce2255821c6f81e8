/* SPDX-License-Identifier: MIT */
/* wire.h - what rank and warden say to each other over their SOCK_SEQPACKET pair. Both ends are the
 * same program on the same machine, so plain structs travel: ks_wire_ask to the warden,
 * ks_child_end back. Private to src/spawn. */
#ifndef KS_SPAWN_WIRE_H
#define KS_SPAWN_WIRE_H

#include "spawn/hold.h"
#include "spawn/warden.h"

#include <sys/types.h>

#define KS_WIRE_FDS (KS_SPAWN_FDS + 2) /* payload, the child's, status page */

enum ks_wire_ask_kind {
    KS_ASK_SPAWN = 1,
    KS_ASK_KILL,
    KS_ASK_PING,    /* answered by an end of child 0, which nobody has */
    KS_ASK_LAUNCHER /* child: the process to end after the rank's death; 0: none */
};

/* rank -> warden. A spawn has its strings (argv, env, cwd, scratch; each with its NUL) in a memfd,
 * which is the first descriptor of the packet: a packet has a size limit, an environment has not.
 */
struct ks_wire_ask {
    uint32_t kind, child;
    uint32_t n_argv, n_env;
    uint64_t n_payload;
    uint64_t deadline_ns, memory_bytes, file_bytes, rss_bytes, memory_nodes;
    uint32_t n_processes;
    bool has_cwd, has_scratch, has_status, is_pinned, is_quiet;
    bool has_fd[KS_SPAWN_FDS];
    char hold_prefix[KS_HOLD_BYTES]; /* "": none */
    cpu_set_t cpus;
};

/* Send one packet with n_fds descriptors. 0, or -1 with errno (EAGAIN: the peer does not read). */
int ks_wire_send(int sock, const void *bytes, size_t n, const int *fds, size_t n_fds);
/* Receive one packet into bytes [n]. Descriptors (close-on-exec) go to fds [KS_WIRE_FDS].
 * Returns the bytes received, 0 at the end of the stream, -1 with errno; EMFILE when descriptors
 * were lost, and then none are left open. */
ssize_t ks_wire_receive(int sock, void *bytes, size_t n, int *fds, size_t *n_fds_out);

#endif
