/* SPDX-License-Identifier: MIT */
/* leave.h - end the process at once, without running anything a kernel registered. */
#ifndef KS_WORKER_LEAVE_H
#define KS_WORKER_LEAVE_H

_Noreturn void ks_worker_leave(int status); /* keeps coverage counters when there are any */

#endif
