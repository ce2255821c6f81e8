/* SPDX-License-Identifier: MIT */
/* simt_clock.h - the counters of an emulated compute unit. */
#ifndef KS_SIMT_CLOCK_H
#define KS_SIMT_CLOCK_H

#define KS_SIMT_MHZ 1500u /* cycles in a microsecond */

unsigned long long ks_simt_ns(void); /* the host's monotonic clock */

#endif
