/* SPDX-License-Identifier: MIT */
/* launcher.h - ending the launcher that would wait for ever for what is lost. Private to src/spawn.
 */
#ifndef KS_SPAWN_LAUNCHER_H
#define KS_SPAWN_LAUNCHER_H

#include <sys/types.h>

/* The nearest ancestor with one of these names (NULL-terminated); 0: none. */
pid_t ks_launcher_find(const char *const *names);
/* Gives it 3 s to end by itself, then SIGTERM, and once more half a second later: mpirun waits for
 * lost daemons after the first, and ends at the second. Blocks. 0 is fine. */
void ks_launcher_end(pid_t launcher);

#endif
