/* SPDX-License-Identifier: MIT */
/* hold.h - device files that stay open in the warden, so that a driver stays initialised between
 * workers. Private to src/spawn. */
#ifndef KS_SPAWN_HOLD_H
#define KS_SPAWN_HOLD_H

#include <stdint.h>
#include <sys/types.h>

#define KS_HOLD_MAX   16u /* files */
#define KS_HOLD_BYTES 64u /* of a path, and of a prefix */

/* Zeroed: none. The files are closed when the process ends. */
struct ks_hold {
    uint32_t n;
    char path[KS_HOLD_MAX][KS_HOLD_BYTES];
};

/* ks_hold_files() - opens every file that a process has open and whose path is `prefix` and a
 * number, once each. What cannot be read or opened is left out: it is a convenience. */
void ks_hold_files(struct ks_hold *h, pid_t pid, const char *prefix);

#endif
