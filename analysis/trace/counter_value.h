/* SPDX-License-Identifier: MIT */
/* counter_value.h - numbers and units as profilers print them for people. */
#ifndef KS_TRACE_COUNTER_VALUE_H
#define KS_TRACE_COUNTER_VALUE_H

#include <stdbool.h>
#include <stddef.h>

/* What one printed number tells of its locale. */
enum ks_number_style {
    KS_STYLE_NONE,   /* no number: "n/a", a word */
    KS_STYLE_EITHER, /* a number that reads differently: 27, 1.234 */
    KS_STYLE_POINT,  /* the decimal point is '.': 1,215,000.00, 65.77 */
    KS_STYLE_COMMA   /* the decimal point is ',': 27.595.520, 65,77 */
};
enum ks_number_style ks_number_style(const char *text);

/* The number, with the decimal point of `style` (KS_STYLE_EITHER: '.'); groups of three digits may
 * be separated by the other sign, blanks, no-break spaces or apostrophes. false: it is none. */
bool ks_number_read(const char *text, enum ks_number_style style, double *value_out);

enum { KS_UNIT_MAX = 32 };
/* Units of Nsight Compute and Nsight Systems to base units: bytes, hz, ns for times, and "/s" for
 * rates: "Mbyte/second" is 1e6 byte/s, "usecond" 1e3 ns. K, M, G are powers of 1000, Ki, Mi, Gi of
 * 1024. An unknown unit is its own base: scale 1. base_out [KS_UNIT_MAX]. */
double ks_unit_base(const char *unit, char *base_out);

#endif
