/* SPDX-License-Identifier: MIT */
/* label.c - reads rows from a frame; defines usable rows, scaled times, ties and winners */
#include "analysis/learn/label.h"

#include <string.h>

/* Which column fills which member. */
enum kind { ROW_NUMBER, ID, NUMBER, REAL, TEXT };
static const struct {
    const char *name, *number_as;
    enum kind kind;
    size_t offset;
} columns[] = {
#define MEMBER(name_, kind_, member)                                                               \
    {                                                                                              \
        name_, NULL, kind_, offsetof(struct ks_obs, member)                                        \
    }
#define WORD(name_, member)                                                                        \
    {                                                                                              \
        name_, name_ " number", NUMBER, offsetof(struct ks_obs, member)                            \
    }
    MEMBER("run", ROW_NUMBER, run),
    MEMBER("problem", ROW_NUMBER, problem),
    MEMBER("kernel", ROW_NUMBER, kernel),
    MEMBER("device", ROW_NUMBER, device),
    MEMBER("block", ROW_NUMBER, block),
    MEMBER("instance_id", ID, instance_id),
    MEMBER("condition_id", ID, condition_id),
    MEMBER("representative_id", ID, representative_id),
    WORD("outcome", outcome),
    WORD("outcome_flags", flags),
    MEMBER("n_samples", NUMBER, n_samples),
    MEMBER("reason", TEXT, reason),
    MEMBER("time_median_ns", REAL, median_ns),
    MEMBER("time_se_ns", REAL, se_ns),
    MEMBER("time_ci95_lo_ns", REAL, lo95_ns),
    MEMBER("time_ci95_hi_ns", REAL, hi95_ns),
    MEMBER("time_over_anchor", REAL, time_over_anchor),
    MEMBER("/blocks/anchor_ns", REAL, anchor_ns),
    MEMBER("anchor_drift", REAL, anchor_drift),
#undef MEMBER
#undef WORD
};
#define N_COLUMNS (sizeof(columns) / sizeof(columns[0]))
_Static_assert(N_COLUMNS <= KS_OBS_COLUMNS, "struct ks_obs_reader has room");

static const enum ks_df_type types[] = { [ROW_NUMBER] = KS_DF_I64,
                                         [ID] = KS_DF_I64,
                                         [NUMBER] = KS_DF_I64,
                                         [REAL] = KS_DF_F64,
                                         [TEXT] = KS_DF_TEXT };

int ks_obs_need(struct ks_sources *sources, const struct ks_store_file *f, struct ks_err *err)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < N_COLUMNS; i++)
        rc = ks_sources_need(sources, f, columns[i].name, columns[i].number_as, err);
    return rc;
}

int ks_obs_bind(const struct ks_df *f, struct ks_obs_reader *reader_out, struct ks_err *err)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < N_COLUMNS; i++)
        rc = ks_df_need(f, columns[i].number_as ? columns[i].number_as : columns[i].name,
                        types[columns[i].kind], &reader_out->column[i], err);
    return rc;
}

static void read_member(const struct ks_df_column *c, enum kind kind, size_t row, void *to)
{
    uint32_t u32;
    uint64_t u64;
    double f64;
    const char *text;

    switch (kind) {
    case ROW_NUMBER:
    case NUMBER:
        u32 = (uint32_t)ks_df_i64(c, row, kind == NUMBER ? 0 : (int64_t)KS_OBS_NONE);
        memcpy(to, &u32, sizeof(u32));
        break;
    case ID:
        u64 = (uint64_t)ks_df_i64(c, row, 0);
        memcpy(to, &u64, sizeof(u64));
        break;
    case REAL:
        f64 = ks_df_f64(c, row, KS_NOT_KNOWN);
        memcpy(to, &f64, sizeof(f64));
        break;
    default:
        text = ks_df_text(c, row);
        text = text ? text : "";
        memcpy(to, &text, sizeof(text));
        break;
    }
}

void ks_obs_read(const struct ks_obs_reader *reader, size_t row, struct ks_obs *out)
{
    for (size_t i = 0; i < N_COLUMNS; i++)
        read_member(reader->column[i], columns[i].kind, row, (char *)out + columns[i].offset);
}

/* ---- definitions ---- */

bool ks_is_usable(const struct ks_obs *row)
{
    return row->outcome == KS_O_OK && row->median_ns > 0 && row->kernel != KS_OBS_NONE;
}

int ks_usable_rows(const struct ks_df *f, uint32_t *rows_out, size_t *n_out, struct ks_err *err)
{
    struct ks_obs_reader reader;
    struct ks_obs row;
    size_t n = 0;
    int rc = ks_obs_bind(f, &reader, err);

    if (rc < 0)
        return rc;
    for (size_t i = 0; i < f->n_rows; i++) {
        ks_obs_read(&reader, i, &row);
        if (ks_is_usable(&row) && row.problem != KS_OBS_NONE)
            rows_out[n++] = (uint32_t)i;
    }
    *n_out = n;
    return 0;
}

bool ks_needs_scaling(const struct ks_obs *rows, size_t n)
{
    const struct ks_obs *first = NULL;
    bool differ = false;

    for (size_t i = 0; i < n; i++) {
        if (!ks_is_usable(&rows[i]))
            continue;
        if (rows[i].anchor_ns <= 0)
            return false;
        first = first ? first : &rows[i];
        differ = differ || rows[i].block != first->block;
    }
    return differ;
}

struct ks_timed ks_scaled_time(const struct ks_obs *row, double reference_ns)
{
    bool is_scaled = reference_ns > 0 && row->anchor_ns > 0;
    double scale = is_scaled ? reference_ns / row->anchor_ns : 1;
    struct ks_timed t = { .row = row };

    t.stats.n = row->n_samples;
    t.stats.median = row->median_ns * scale;
    t.stats.se = row->se_ns * scale;
    t.stats.lo95 = row->lo95_ns * scale;
    t.stats.hi95 = row->hi95_ns * scale;
    if (row->lo95_ns <= 0) /* one imported time without an interval: a tie only with an equal one */
        t.stats.lo95 = t.stats.hi95 = t.stats.median;
    t.drift = row->anchor_drift > 0 ? row->anchor_drift : 0;
    return t;
}

bool ks_is_tied(const struct ks_timed *a, const struct ks_timed *best)
{
    double drift = a->drift > best->drift ? a->drift : best->drift;

    return ks_stats_tie(&a->stats, &best->stats, drift * best->stats.median);
}

size_t ks_winner(const struct ks_timed *t, size_t n)
{
    size_t best = 0;

    for (size_t i = 1; i < n; i++)
        if (t[i].stats.median < t[best].stats.median)
            best = i;
    return best;
}
