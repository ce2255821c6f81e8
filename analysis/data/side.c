/* SPDX-License-Identifier: MIT */
/* side.c - fills a column of a joined table or a trait, as numbers if all its texts are */
#include "analysis/data/side.h"
#include "analysis/data/fill.h"
#include "grid/problem_class.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void ks_side_release(struct ks_side *side)
{
    free(side->values.f64);
    free(side->missing);
    *side = (struct ks_side){ 0 };
}

static int init(struct ks_side *side, uint8_t type, size_t n, struct ks_err *err)
{
    *side = (struct ks_side){ .type = type, .n = n };
    side->values.f64 = calloc(n + 1, sizeof(double));
    side->missing = calloc(n + 1, 1);
    if (side->values.f64 && side->missing)
        return 0;
    ks_side_release(side);
    return ks_fail(err, KS_ENOMEM, "out of memory for a column of %zu rows", n);
}

static bool is_joined(unsigned from)
{
    return from == KS_T_RUNS || from == KS_T_PROBLEMS || from == KS_T_KERNELS ||
           from == KS_T_DEVICES || from == KS_T_BLOCKS || from == KS_FROM_TRAITS ||
           from == KS_FROM_CLASS;
}

size_t ks_side_rows(const struct ks_store_file *f, unsigned from)
{
    const struct ks_store_info *info = ks_store_info(f);
    const size_t rows[KS_N_FROM] = {
        [KS_T_RUNS] = info->n_runs,         [KS_T_PROBLEMS] = info->n_problems,
        [KS_T_KERNELS] = info->n_kernels,   [KS_FROM_TRAITS] = info->n_kernels,
        [KS_T_DEVICES] = info->n_devices,   [KS_T_BLOCKS] = info->n_blocks,
        [KS_FROM_CLASS] = info->n_problems,
    };

    return rows[from];
}

static const char *row_at(const struct ks_store_file *f, unsigned from, uint32_t i)
{
    switch (from) {
    case KS_T_RUNS:
        return (const char *)ks_store_run(f, i);
    case KS_T_PROBLEMS:
        return (const char *)ks_store_problem(f, i);
    case KS_T_KERNELS:
        return (const char *)ks_store_kernel(f, i);
    case KS_T_DEVICES:
        return (const char *)ks_store_device(f, i);
    default:
        return (const char *)ks_store_block(f, i);
    }
}

static const char *text_at(const struct ks_column *def, const char *at)
{
    const char *text = at;

    if (def->type == KS_COL_POINTER)
        memcpy(&text, at, sizeof(text));
    else if (def->type != KS_COL_TEXT) /* of the words only outcomes are in joined tables */
        text = ks_outcome_text((uint32_t)ks_integer_at(def->type, at));
    return text ? text : "";
}

static void put(const struct ks_source *s, const char *at, struct ks_side *side, size_t i)
{
    if (side->type == KS_DF_TEXT) {
        side->values.text[i] = text_at(&s->def, at);
        side->missing[i] = !side->values.text[i][0];
        return;
    }
    if (side->type == KS_DF_F64)
        memcpy(&side->values.f64[i], at, sizeof(double));
    else
        side->values.i64[i] = ks_integer_at(s->def.type, at);
    side->missing[i] = !ks_column_has(&s->def, at);
}

/* Written as this program would write it, so that nothing is lost. */
static bool is_integer(const char *text, int64_t *value_out)
{
    char again[32], *end;

    *value_out = strtoll(text, &end, 10);
    snprintf(again, sizeof(again), "%" PRId64, *value_out);
    return *text && !*end && strcmp(again, text) == 0;
}

/* All texts are numbers: they become numbers in place. */
static void number(struct ks_side *side)
{
    int64_t v;

    for (size_t i = 0; i < side->n; i++)
        if (!side->missing[i] && !is_integer(side->values.text[i], &v))
            return;
    for (size_t i = 0; i < side->n; i++) {
        bool has_value = !side->missing[i] && is_integer(side->values.text[i], &v);

        side->values.i64[i] = has_value ? v : 0;
    }
    side->type = KS_DF_I64;
}

static int fill_trait(const struct ks_store_file *f, const char *key, struct ks_side *side_out,
                      struct ks_err *err)
{
    size_t n = ks_store_info(f)->n_kernels;
    int rc = init(side_out, KS_DF_TEXT, n, err);

    for (uint32_t i = 0; rc == 0 && i < n; i++) {
        const char *v = ks_store_trait_value(f, ks_store_kernel(f, i)->instance_id, key);

        side_out->values.text[i] = v;
        side_out->missing[i] = !v || !v[0];
    }
    if (rc == 0)
        number(side_out);
    return rc;
}

static int fill_class(const struct ks_store_file *f, struct ks_side *side_out, struct ks_err *err)
{
    size_t n = ks_store_info(f)->n_problems;
    int rc = init(side_out, KS_DF_TEXT, n, err);

    for (uint32_t i = 0; rc == 0 && i < n; i++) {
        const struct ks_problem_row *row = ks_store_problem(f, i);

        side_out->values.text[i] =
            row->has_problem ? ks_problem_class_name(ks_problem_class(&row->problem)) : "";
        side_out->missing[i] = !row->has_problem;
    }
    return rc;
}

int ks_side_fill(const struct ks_store_file *f, const struct ks_source *source,
                 struct ks_side *side_out, struct ks_err *err)
{
    size_t n;
    int rc;

    *side_out = (struct ks_side){ 0 };
    if (!is_joined(source->from))
        return ks_fail(err, KS_EINVAL, "'%s' is not a column of a joined table", source->name);
    if (source->from == KS_FROM_TRAITS)
        return fill_trait(f, source->def.name + strlen(KS_TRAIT_PREFIX), side_out, err);
    if (source->from == KS_FROM_CLASS)
        return fill_class(f, side_out, err);
    n = ks_side_rows(f, source->from);
    rc = init(side_out, ks_source_type(source), n, err);
    for (uint32_t i = 0; rc == 0 && i < n; i++)
        put(source, row_at(f, source->from, i) + source->def.offset, side_out, i);
    return rc;
}
