/* SPDX-License-Identifier: MIT */
/* host_peak.h - how many FLOPs a core was seen to do; private to src/device. */
#ifndef KS_DEVICE_HOST_PEAK_H
#define KS_DEVICE_HOST_PEAK_H

/* The most that short loops of the widest multiply-adds this CPU has reached here and now: fp32,
 * and bf16 where the compiler knows the instruction. Blocks for some 2 ms. 0: no loop for this
 * architecture. */
double ks_host_peak_measure(void);

#endif
