/* SPDX-License-Identifier: MIT */
/* cage_impl.h - what cage.c and cage_filter.c share. Private to them. */
#ifndef KS_WORKER_CAGE_IMPL_H
#define KS_WORKER_CAGE_IMPL_H

#include "worker/cage.h"

#include <linux/filter.h>
#include <stddef.h>
#include <sys/types.h>

#define KS_FILTER_MAX 1024 /* instructions */

/* Write the filter of a list for process `self`. Returns the number of instructions. */
size_t ks_cage_filter(enum ks_cage_list list, pid_t self, struct sock_filter out[KS_FILTER_MAX]);

#endif
