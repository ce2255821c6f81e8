/* SPDX-License-Identifier: MIT */
/* process.h - telling a process apart from all that ever had its number: host, boot, number and
 * start time. */
#ifndef KS_BASE_PROCESS_H
#define KS_BASE_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Start time in clock ticks (field 22 of /proc/PID/stat); false when no such process runs. A zombie
 * does not run. */
bool ks_process_start(pid_t pid, uint64_t *start_out);

/* This host and boot, cut to `cap`. "" when unknown. */
void ks_process_host(char *host_out, size_t cap);
void ks_process_boot(char *boot_id_out, size_t cap);

#endif
