/* SPDX-License-Identifier: MIT */
/* cell.c - a number of a frame as text, as its column is shown */
#include "analysis/out/number.h"
#include "analysis/out/writer.h"

size_t ks_number_cell(const struct ks_df_column *c, size_t at, char *out)
{
    if (c->type == KS_DF_F64)
        return c->show == KS_AS_F32 ? ks_f32_text(c->values.f64[at], out)
                                    : ks_real_text(c->values.f64[at], out);
    switch (c->show) {
    case KS_AS_HEX:
        return ks_hex_text((uint64_t)c->values.i64[at], out);
    case KS_AS_UNSIGNED:
        return ks_u64_text((uint64_t)c->values.i64[at], out);
    default:
        return ks_i64_text(c->values.i64[at], out);
    }
}
