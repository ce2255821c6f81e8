/* SPDX-License-Identifier: MIT */
/* schema.c - the column arrays of all tables, expanded from the lists in src/record */
#include "store/schema.h"

#include <string.h>

/* One column of struct S. */
#define COLUMN(path_, type_, name_, show_, units_, missing_, role_, where_, doc_)                  \
    { .name = #name_,                                                                              \
      .type = KS_COL_##type_,                                                                      \
      .show = KS_SHOW_##show_,                                                                     \
      .role = KS_CR_##role_,                                                                       \
      .is_in_csv = KS_CSV_##where_,                                                                \
      .offset = offsetof(S, path_),                                                                \
      .units = (units_),                                                                           \
      .doc = (doc_),                                                                               \
      KS_COL_##missing_ },
#define TEXT_COLUMN(path_, name_, role_, where_, doc_)                                             \
    { .name = #name_,                                                                              \
      .type = KS_COL_TEXT,                                                                         \
      .role = KS_CR_##role_,                                                                       \
      .is_in_csv = KS_CSV_##where_,                                                                \
      .offset = offsetof(S, path_),                                                                \
      .cap = sizeof(((S *)0)->path_),                                                              \
      .units = "",                                                                                 \
      .doc = (doc_) },

#define C(type, name, ...)  COLUMN(name, type, name, __VA_ARGS__)
#define T(bytes, name, ...) TEXT_COLUMN(name, name, __VA_ARGS__)
#define COLUMNS_OF(list)    list(C, T, COLUMN, TEXT_COLUMN)

#define S struct ks_run_row
static const struct ks_column runs[] = { COLUMNS_OF(KS_RUN_COLUMNS) };
#undef S
#define S struct ks_host_row
static const struct ks_column hosts[] = { COLUMNS_OF(KS_HOST_COLUMNS) };
#undef S
#define S struct ks_device_row
static const struct ks_column devices[] = { COLUMNS_OF(KS_DEVICE_COLUMNS) };
#undef S
#define S struct ks_problem_row
static const struct ks_column problems[] = { COLUMNS_OF(KS_PROBLEM_COLUMNS) };
#undef S
#define S struct ks_kernel_row
static const struct ks_column kernels[] = { COLUMNS_OF(KS_KERNEL_COLUMNS) };
#undef S
#define S struct ks_trait_row
static const struct ks_column traits[] = { COLUMNS_OF(KS_TRAIT_COLUMNS) };
#undef S
#define S struct ks_block_row
static const struct ks_column blocks[] = { COLUMNS_OF(KS_BLOCK_COLUMNS) };
#undef S
#define S struct ks_event_row
static const struct ks_column events[] = { COLUMNS_OF(KS_EVENT_COLUMNS) };
#undef S
#define S struct ks_failure_row
static const struct ks_column failures[] = { COLUMNS_OF(KS_FAILURE_COLUMNS) };
#undef S
#define S struct ks_mismatch_row
static const struct ks_column mismatches[] = { COLUMNS_OF(KS_MISMATCH_COLUMNS) };
#undef S
#undef C
#undef T

/* ---- /measurements and /attempts: the same rows, of which each table has its own ---- */

#define IN_VIEW_ALL(...)      __VA_ARGS__
#define IN_VIEW_BOTH(...)     __VA_ARGS__
#define IN_VIEW_VIEW(...)     __VA_ARGS__
#define IN_VIEW_VIEW_CSV(...) __VA_ARGS__
#define IN_VIEW_ATTEMPTS(...)
#define IN_ATTEMPTS_ALL(...)  __VA_ARGS__
#define IN_ATTEMPTS_BOTH(...) __VA_ARGS__
#define IN_ATTEMPTS_VIEW(...)
#define IN_ATTEMPTS_VIEW_CSV(...)
#define IN_ATTEMPTS_ATTEMPTS(...) __VA_ARGS__

#define M(tag, rtype, type, name, show, units, missing, role, where, doc, ...)                     \
    IN(where)(COLUMN(name, type, name, show, units, missing, role, where, doc))
#define P(tag, kind, path, type, name, show, units, missing, role, where, doc, ...)                \
    IN(where)(COLUMN(name, type, name, show, units, missing, role, where, doc))
#define T(tag, bytes, name, role, where, doc, ...)                                                 \
    IN(where)(TEXT_COLUMN(name, name, role, where, doc))
#define D(type, name, show, units, missing, role, where, doc)                                      \
    IN(where)(COLUMN(name, type, name, show, units, missing, role, where, doc))
#define DT(bytes, name, role, where, doc) IN(where)(TEXT_COLUMN(name, name, role, where, doc))

#define S         struct ks_row
#define IN(where) IN_VIEW_##where
static const struct ks_column measurements[] = { KS_MEASURED(M, T, P, KS_NOTHING, D, DT) };
#undef IN
#define IN(where) IN_ATTEMPTS_##where
static const struct ks_column attempts[] = { KS_MEASURED(M, T, P, KS_NOTHING, D, DT) };
#undef IN
#undef S

#define TABLE(path_, title_, columns_, S)                                                          \
    {                                                                                              \
        .path = (path_), .title = (title_), .columns = (columns_),                                 \
        .n_columns = sizeof(columns_) / sizeof((columns_)[0]), .row_size = sizeof(S)               \
    }
const struct ks_table_def ks_table_defs[KS_T_COUNT] = {
    [KS_T_RUNS] = TABLE("/runs", "runs gathered here", runs, struct ks_run_row),
    [KS_T_HOSTS] = TABLE("/hosts", "provenance of hosts", hosts, struct ks_host_row),
    [KS_T_DEVICES] = TABLE("/devices", "devices that measured", devices, struct ks_device_row),
    [KS_T_PROBLEMS] = TABLE("/problems", "problems", problems, struct ks_problem_row),
    [KS_T_KERNELS] = TABLE("/kernels", "instances as built", kernels, struct ks_kernel_row),
    [KS_T_TRAITS] =
        TABLE("/kernel_traits/long", "traits, one row each", traits, struct ks_trait_row),
    [KS_T_BLOCKS] = TABLE("/blocks", "blocks and their anchors", blocks, struct ks_block_row),
    [KS_T_EVENTS] = TABLE("/events", "events of the runs", events, struct ks_event_row),
    [KS_T_MEASUREMENTS] =
        TABLE("/measurements", "final view, one row per cell", measurements, struct ks_row),
    [KS_T_ATTEMPTS] = TABLE("/attempts", "every attempt and round", attempts, struct ks_row),
    [KS_T_FAILURES] =
        TABLE("/failures", "what failed attempts left behind", failures, struct ks_failure_row),
    [KS_T_MISMATCHES] =
        TABLE("/mismatches", "first wrong elements", mismatches, struct ks_mismatch_row),
};

const struct ks_column *ks_table_column(const struct ks_table_def *def, const char *name)
{
    for (size_t k = 0; k < def->n_columns; k++)
        if (strcmp(def->columns[k].name, name) == 0)
            return &def->columns[k];
    return NULL;
}

struct ks_column ks_dim_column_def(const char *name, uint32_t i)
{
    return (struct ks_column){
        .name = name,
        .type = KS_COL_I64,
        .fill = KS_FILL_MISSING,
        .role = KS_CR_FEATURE,
        .is_in_csv = true,
        .offset = (uint32_t)(offsetof(struct ks_problem_row, dim) + i * sizeof(int64_t)),
        .missing = (double)KS_MISSING_DIM,
        .units = "",
        .doc = "dimension of the problem",
    };
}

static double number_at(const struct ks_column *c, const void *at)
{
    switch (c->type) {
    case KS_COL_U8:
        return *(const uint8_t *)at;
    case KS_COL_U32:
        return *(const uint32_t *)at;
    case KS_COL_I32:
        return *(const int32_t *)at;
    case KS_COL_I64:
        return (double)*(const int64_t *)at;
    case KS_COL_U64:
        return (double)*(const uint64_t *)at;
    default:
        return *(const double *)at;
    }
}

bool ks_column_has(const struct ks_column *c, const void *at)
{
    double v;

    if (c->fill != KS_FILL_MISSING)
        return true;
    v = number_at(c, at);
    return v < c->missing || v > c->missing;
}

size_t ks_col_bytes(uint8_t type)
{
    static const size_t bytes[] = { 1, 4, 8, 4, 8, 8, 4, 0, 0 };

    return bytes[type];
}
