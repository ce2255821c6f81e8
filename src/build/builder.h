/* SPDX-License-Identifier: MIT */
/* builder.h - private to src/build: who builds.
 *
 * Whoever compiles into a cache leaves a file CACHE/host/builders/ID with its host, boot, process
 * and start time, touches it while it works, and puts its ID on what it leaves unfinished: claims
 * and temporary directories. So those who find them can tell whether anybody still works on them.
 * Nothing here is a lock: when two take each other for dead, both build, and one result is kept. */
#ifndef KS_BUILD_BUILDER_H
#define KS_BUILD_BUILDER_H

#include "base/err.h"
#include "base/hash.h"

#include <stdbool.h>
#include <stdint.h>

#define KS_BUILDER_BEAT_NS    5000000000ull    /* between two touches */
#define KS_BUILDER_SILENT_NS  60000000000ull   /* not touched for so long, as we saw it: gone */
#define KS_BUILDER_ANCIENT_NS 3600000000000ull /* the same at first sight, between two clocks */

struct ks_builder { /* this process */
    char dir[576];  /* CACHE/host/builders */
    struct ks_id128 id;
    uint64_t beat_ns; /* of the last touch; 0: there is no file yet */
};

void ks_builder_init(struct ks_builder *b, const char *cache_dir);
/* The file is there and was touched lately; call it often while something is claimed or built. */
int ks_builder_beat(struct ks_builder *b, uint64_t now_ns, struct ks_err *err);
void ks_builder_leave(struct ks_builder *b); /* removes the file */

/* When others were last seen to be touched. Zero-initialise, release. */
struct ks_builder_watch {
    struct ks_builder_seen {
        struct ks_id128 id;
        uint64_t touched_ns; /* as the file says, by the clock of whoever keeps it */
        uint64_t since_ns;   /* we have seen it so since, by our clock */
    } * rows;
    uint32_t n, cap;
};
void ks_builder_watch_release(struct ks_builder_watch *w);

/* Is that builder gone for good? Yes when its file is, or names a process of this host that does
 * not run, or has been silent. w: NULL = decide at first sight. */
bool ks_builder_is_gone(const char *dir, struct ks_id128 id, struct ks_builder_watch *w,
                        uint64_t now_ns);

/* Removes the files of those that are gone. */
void ks_builder_sweep(const char *dir);

#endif
