/* SPDX-License-Identifier: MIT */
/* counter_frame.c - the lines of a counter table as a frame of columns */
#include "analysis/trace/counter_lines.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A fixed column: where its value stands in a line, or how it follows from two quantities. */
enum source { FROM_TEXT, FROM_WHOLE, FROM_QUANTITY, FROM_FLOP, FROM_RATE, FROM_INTENSITY };
struct fixed {
    const char *name, *unit;
    enum source source;
    size_t at; /* offset in struct ks_counter_row, or enum ks_quantity */
};
#define TEXT(name, field)                                                                          \
    {                                                                                              \
        name, "", FROM_TEXT, offsetof(struct ks_counter_row, field)                                \
    }
#define WHOLE(name, field)                                                                         \
    {                                                                                              \
        name, "", FROM_WHOLE, offsetof(struct ks_counter_row, field)                               \
    }
enum { FLOP = KS_N_QUANTITIES }; /* a rate of all FLOPs */
static const struct fixed fixed[] = {
    TEXT("file", file),
    WHOLE("rank", rank),
    WHOLE("device", device),
    WHOLE("stream", stream),
    WHOLE("dispatch", dispatch),
    TEXT("kernel", kernel),
    TEXT("op_stack", op_stack),
    TEXT("top_level_op", top_op),
    TEXT("bottom_level_op", bottom_op),
    TEXT("input_dims", dims),
    TEXT("input_types", types),
    WHOLE("launches", launches),
    { "time_ns", "ns", FROM_QUANTITY, KS_Q_TIME_NS },
    { "flop", "FLOP", FROM_FLOP, 0 },
    { "flop_fp16", "FLOP", FROM_QUANTITY, KS_Q_FLOP_FP16 },
    { "flop_fp32", "FLOP", FROM_QUANTITY, KS_Q_FLOP_FP32 },
    { "flop_fp64", "FLOP", FROM_QUANTITY, KS_Q_FLOP_FP64 },
    { "flop_matrix", "FLOP", FROM_QUANTITY, KS_Q_FLOP_MATRIX },
    { "dram_bytes", "B", FROM_QUANTITY, KS_Q_BYTES_DRAM },
    { "l2_bytes", "B", FROM_QUANTITY, KS_Q_BYTES_L2 },
    { "l1_bytes", "B", FROM_QUANTITY, KS_Q_BYTES_L1 },
    { "lds_bytes", "B", FROM_QUANTITY, KS_Q_BYTES_LDS },
    { "flop_per_s", "FLOP/s", FROM_RATE, FLOP },
    { "dram_bytes_per_s", "B/s", FROM_RATE, KS_Q_BYTES_DRAM },
    { "flop_per_dram_byte", "FLOP/B", FROM_INTENSITY, KS_Q_BYTES_DRAM },
    { "flop_per_l2_byte", "FLOP/B", FROM_INTENSITY, KS_Q_BYTES_L2 },
    { "flop_per_l1_byte", "FLOP/B", FROM_INTENSITY, KS_Q_BYTES_L1 },
};
enum { N_FIXED = sizeof(fixed) / sizeof(fixed[0]) };
#undef TEXT
#undef WHOLE

struct ks_counter_frame {
    struct ks_df df;
    const char **texts; /* of the table, for all columns of text */
    void **owned;       /* [2 n_columns] values or codes, and what is missing */
    char **names;       /* [n_columns] of counters with a unit; NULL: borrowed */
};

static bool quotient(double over, bool has_over, double under, bool has_under, double *out)
{
    if (!has_over || !has_under || !(under > 0))
        return false;
    *out = over / under;
    return true;
}

static bool number_of(const struct fixed *c, const struct ks_counter_line *l, double *out)
{
    const struct ks_quantities *q = &l->q;
    const bool is_flop = c->at == FLOP;

    switch (c->source) {
    case FROM_FLOP:
        *out = q->flop;
        return q->has_flop;
    case FROM_QUANTITY:
        *out = q->value[c->at];
        return q->has[c->at];
    case FROM_RATE:
        return quotient(is_flop ? q->flop : q->value[c->at], is_flop ? q->has_flop : q->has[c->at],
                        q->value[KS_Q_TIME_NS] / 1e9, q->has[KS_Q_TIME_NS], out);
    case FROM_INTENSITY:
        return quotient(q->flop, q->has_flop, q->value[c->at], q->has[c->at], out);
    default:
        return false;
    }
}

static int fill_numbers(struct ks_df_column *c, const struct fixed *from,
                        const struct ks_counter_lines *l, void **owned)
{
    double *values = calloc(l->n + 1, sizeof(*values));
    uint8_t *missing = calloc(l->n + 1, 1);

    owned[0] = values;
    owned[1] = missing;
    if (!values || !missing)
        return KS_ENOMEM;
    for (size_t i = 0; i < l->n; i++)
        missing[i] = !number_of(from, &l->at[i], &values[i]);
    c->type = KS_DF_F64;
    c->values.f64 = values;
    c->missing = missing;
    return 0;
}

static int fill_wholes(struct ks_df_column *c, const struct fixed *from,
                       const struct ks_counter_lines *l, void **owned)
{
    int64_t *values = calloc(l->n + 1, sizeof(*values));
    uint8_t *missing = calloc(l->n + 1, 1);

    owned[0] = values;
    owned[1] = missing;
    if (!values || !missing)
        return KS_ENOMEM;
    for (size_t i = 0; i < l->n; i++) {
        memcpy(&values[i], (const char *)&l->at[i].row + from->at, sizeof(values[i]));
        missing[i] = values[i] < 0;
    }
    c->type = KS_DF_I64;
    c->values.i64 = values;
    c->missing = missing;
    return 0;
}

static int fill_texts(struct ks_counter_frame *f, struct ks_df_column *c, const struct fixed *from,
                      const struct ks_counter_table *t, const struct ks_counter_lines *l,
                      void **owned)
{
    uint32_t *code = calloc(l->n + 1, sizeof(*code));

    owned[0] = code;
    if (!code)
        return KS_ENOMEM;
    for (size_t i = 0; i < l->n; i++)
        memcpy(&code[i], (const char *)&l->at[i].row + from->at, sizeof(code[i]));
    c->type = KS_DF_TEXT;
    c->code = code;
    c->values.text = f->texts;
    c->n_values = t->texts.n;
    return 0;
}

static int fill_counter(struct ks_counter_frame *f, size_t at, const struct ks_counter_table *t,
                        uint32_t column, const struct ks_counter_lines *l)
{
    const struct ks_counter_column *from = &t->columns[column];
    const char *name = ks_counter_text_of(t, from->name), *unit = ks_counter_text_of(t, from->unit);
    struct ks_df_column *c = &f->df.columns[at];
    double *values = calloc(l->n + 1, sizeof(*values));
    uint8_t *missing = calloc(l->n + 1, 1);

    f->owned[2 * at] = values;
    f->owned[2 * at + 1] = missing;
    if (*unit && asprintf(&f->names[at], "%s [%s]", name, unit) < 0)
        f->names[at] = NULL;
    if (!values || !missing || (*unit && !f->names[at]))
        return KS_ENOMEM;
    for (size_t i = 0; i < l->n; i++)
        missing[i] = !ks_counter_get(t, l->at[i].source, column, &values[i]);
    *c = (struct ks_df_column){ .name = *unit ? f->names[at] : name,
                                .unit = unit,
                                .type = KS_DF_F64,
                                .n_values = l->n,
                                .values.f64 = values,
                                .missing = missing };
    return 0;
}

static int fill_fixed(struct ks_counter_frame *f, size_t at, const struct ks_counter_table *t,
                      const struct ks_counter_lines *l)
{
    struct ks_df_column *c = &f->df.columns[at];

    *c = (struct ks_df_column){ .name = fixed[at].name, .unit = fixed[at].unit, .n_values = l->n };
    if (fixed[at].source == FROM_TEXT)
        return fill_texts(f, c, &fixed[at], t, l, &f->owned[2 * at]);
    if (fixed[at].source == FROM_WHOLE)
        return fill_wholes(c, &fixed[at], l, &f->owned[2 * at]);
    return fill_numbers(c, &fixed[at], l, &f->owned[2 * at]);
}

int ks_counter_frame_create(const struct ks_counter_table *t, const struct ks_counter_lines *l,
                            struct ks_counter_frame **out, struct ks_err *err)
{
    const size_t n_counters = l->by == KS_LINES_BY_LAUNCH ? t->n_columns : 0,
                 n = N_FIXED + n_counters;
    struct ks_counter_frame *f = calloc(1, sizeof(*f));
    int rc = f ? 0 : KS_ENOMEM;

    if (rc == 0) {
        f->texts = calloc(t->texts.n + 1, sizeof(*f->texts));
        f->owned = calloc(2 * n, sizeof(*f->owned));
        f->names = calloc(n, sizeof(*f->names));
        f->df.columns = calloc(n, sizeof(*f->df.columns));
        rc = f->texts && f->owned && f->names && f->df.columns ? 0 : KS_ENOMEM;
    }
    for (uint32_t i = 0; rc == 0 && i < t->texts.n; i++)
        f->texts[i] = ks_counter_text_of(t, i);
    for (size_t i = 0; rc == 0 && i < n; i++) {
        f->df.n_columns = i + 1;
        rc = i < N_FIXED ? fill_fixed(f, i, t, l)
                         : fill_counter(f, i, t, (uint32_t)(i - N_FIXED), l);
    }
    if (rc < 0) {
        ks_counter_frame_destroy(f);
        return ks_fail(err, KS_ENOMEM, "out of memory for %zu lines of counters", l->n);
    }
    f->df.n_rows = l->n;
    *out = f;
    return 0;
}

const struct ks_df *ks_counter_frame_df(const struct ks_counter_frame *f)
{
    return &f->df;
}

void ks_counter_frame_destroy(struct ks_counter_frame *f)
{
    if (!f)
        return;
    for (size_t i = 0; i < f->df.n_columns && f->owned; i++) {
        free(f->owned[2 * i]);
        free(f->owned[2 * i + 1]);
        free(f->names[i]);
    }
    free(f->owned);
    free(f->names);
    free(f->texts);
    free(f->df.columns);
    free(f);
}
