/* SPDX-License-Identifier: MIT */
/* simt_async.h - shared memory as two kinds of access see it, and copies that land late. Part of
 * the emulator; kernels see simt.h only.
 *
 * Threads read and write one image of it, wgmma reads another (the asynchronous proxy's). What an
 * asynchronous copy writes is undefined (0xff) in both from its start, in the first until it lands,
 * in the second until a thread makes it visible: the one that copied it or, behind a barrier,
 * another. What threads store by themselves never reaches the second: no kernel here multiplies it
 * by wgmma. */
#ifndef KS_SIMT_ASYNC_H
#define KS_SIMT_ASYNC_H

#include "simt.h"

#include <stdbool.h>

#define KS_SIMT_MAX_COPIES                                                                         \
    128                         /* of a thread under way at a time; what goes beyond lands at once \
                                 */
#define KS_SIMT_MAX_WRITTEN 512 /* of a thread landed, not visible; older ones never become it */

/* The shared memory of a block: both images begin at address 0 of the block. */
struct ks_simt_memory {
    char *seen, *async; /* [KS_SIMT_MAX_SHARED], the block's own bytes at their end */
    size_t bytes;       /* of the block; 0: it has not asked for them */
};

/* Copies of a thread. All zero: none. */
struct ks_simt_copies {
    unsigned n, n_groups;
    uint64_t n_written, n_handed; /* landed; of those, before this thread's last barrier */
    struct ks_simt_copy {
        uint32_t at, bytes;
        const void *src;
        unsigned group;
    } under_way[KS_SIMT_MAX_COPIES], written[KS_SIMT_MAX_WRITTEN];
};

/* Begins a copy to address `at`, which lies in the block's memory; is_late: it lands when it is
 * waited for, else at once. */
void ks_simt_copies_begin(struct ks_simt_copies *c, const struct ks_simt_memory *m, uint32_t at,
                          const void *src, uint32_t bytes, bool is_late);
void ks_simt_copies_wait(struct ks_simt_copies *c, const struct ks_simt_memory *m, int n_pending);
/* What has landed is now visible to the asynchronous proxy. */
void ks_simt_copies_show(struct ks_simt_copies *c, const struct ks_simt_memory *m);
/* The thread is at a barrier. */
void ks_simt_copies_hand_over(struct ks_simt_copies *c);
/* What had landed when the thread was at its last barrier is now visible. */
void ks_simt_copies_show_handed(struct ks_simt_copies *c, const struct ks_simt_memory *m);

#endif
