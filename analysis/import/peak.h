/* SPDX-License-Identifier: MIT */
/* peak.h - the highest rates of devices whose files are imported. */
#ifndef KS_ANALYSIS_PEAK_H
#define KS_ANALYSIS_PEAK_H

#include <stdint.h>

/* flop/s of all units at the highest clock the vendor states, by matrix or vector instructions,
 * whichever is more. 0: the arch is not known here, or n_units is 0. */
double ks_peak_flops(const char *arch, double n_units, uint32_t dtype);

/* byte/s that all units together can load or store at that clock, which no kernel's output exceeds
 * whatever the caches hold. 0: likewise. */
double ks_peak_bytes(const char *arch, double n_units);

/* The arch of a name like gfx942130 (compute units in hex) or gfx906_60 (decimal).
 * @arch_out [cap]; *n_units_out: 0 = the name does not say. Returns 0 if it names no arch. */
int ks_peak_arch(const char *name, char *arch_out, uint32_t cap, uint32_t *n_units_out);

#endif
