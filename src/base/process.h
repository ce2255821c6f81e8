/* SPDX-License-Identifier: MIT */
/* process.h - telling a process apart from all that ever had its number: host, boot, namespace,
 * number and start time; and its standard descriptors. */
#ifndef KS_BASE_PROCESS_H
#define KS_BASE_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct ks_process {
    pid_t pid, parent, group;
    char state;       /* R S D T Z X ... */
    char name[16];    /* cut to 15 bytes by the kernel */
    uint64_t started; /* in clock ticks since boot: tells processes with the same number apart */
};
/* What /proc/PID/stat says; false when there is no such process. A zombie is one. Allocates
 * nothing. */
bool ks_process_read(pid_t pid, struct ks_process *out);
/* When it was started, as above; false when no such process runs. A zombie does not run. */
bool ks_process_start(pid_t pid, uint64_t *start_out);

/* This host and boot, cut to `cap`. "" when unknown. */
void ks_process_host(char *host_out, size_t cap);
void ks_process_boot(char *boot_id_out, size_t cap);

/* The namespace of process numbers, of which a container may have its own: an inode number, 0 when
 * unknown. */
uint64_t ks_process_space(void);

/* First thing in main: descriptors 0 to 2 that are closed become /dev/null. Otherwise the next file
 * that is opened gets such a number, and what is meant for stderr is written into a journal. */
void ks_process_fill_fds(void);

/* KSWEEP_BARE is 1: the user goes on in a container that lacks call filters, seals of memory files
 * or parent-death signals (`ksweep-gpu machine` names what it lacks). For test runs: a kernel is
 * then not kept from harming others. */
bool ks_process_is_bare(void);

#endif
