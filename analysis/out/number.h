/* SPDX-License-Identifier: MIT */
/* number.h - numbers as short exact text, fast: the same characters as printf would give. */
#ifndef KS_ANALYSIS_NUMBER_H
#define KS_ANALYSIS_NUMBER_H

#include <stddef.h>
#include <stdint.h>

#define KS_NUMBER_TEXT 32

/* Each writes the text with its NUL and returns its length. */

/* The shortest of %.6g to %.9g that is this float again; v came from a float. */
size_t ks_f32_text(double v, char text_out[KS_NUMBER_TEXT]);
/* As ks_f64_text (base/buf.h): the shortest of %.15g to %.17g that is this double again. */
size_t ks_real_text(double v, char text_out[KS_NUMBER_TEXT]);
size_t ks_i64_text(int64_t v, char text_out[KS_NUMBER_TEXT]);
size_t ks_u64_text(uint64_t v, char text_out[KS_NUMBER_TEXT]);
size_t ks_hex_text(uint64_t v, char text_out[KS_NUMBER_TEXT]); /* 16 digits */

#endif
