/* SPDX-License-Identifier: MIT */
/* counts.c - how many kernels the instances really are, and why some are none. */
#include "base/order.h"
#include "build/fit.h"
#include "build/plan.h"
#include "json/json.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* "" where the family has no such trait. */
static const char *pipeline_of(const struct ks_family *f, const struct ks_instance *i)
{
    const int t = ks_family_trait(f, "pipeline");
    return t < 0 ? "" : f->traits[t].text[i->value[t]];
}

struct ks_build_count { /* of a group */
    const char *family, *direction, *dtype, *pipeline;
    uint32_t n_ready, n_distinct; /* that can be launched */
    uint32_t n_unfit;             /* ready, but no block of it fits */
};

static int compare_groups(const struct ks_build_item *a, const struct ks_build_item *b)
{
    int rc = strcmp(a->family, b->family);
    if (rc == 0)
        rc = ks_compare_u64(a->domain.direction, b->domain.direction);
    if (rc == 0)
        rc = ks_compare_u64(a->domain.dtype, b->domain.dtype);
    return rc ? rc : strcmp(a->pipeline, b->pipeline);
}

static int compare(const void *x, const void *y)
{
    const struct ks_build_item *a = x, *b = y;
    int rc = compare_groups(a, b);
    if (rc == 0)
        rc = ks_compare_u64(a->code_id.hi, b->code_id.hi);
    return rc ? rc : ks_compare_u64(a->code_id.lo, b->code_id.lo);
}

/* What is built, in the order of groups. */
static uint32_t collect(const struct ks_build *b)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < b->grid->n_instances; i++) {
        const struct ks_instance *inst = &b->grid->instances[i];
        const struct ks_family *f = &b->grid->families[inst->i_family];
        struct ks_build_item *item = &b->items[n];
        if (b->artefacts[i].state != KS_ART_READY)
            continue;
        *item = (struct ks_build_item){ .family = f->name,
                                        .pipeline = pipeline_of(f, inst),
                                        .code_id = b->artefacts[i].code_id,
                                        .is_unfit =
                                            ks_code_object_unfit(&b->artefacts[i].code) != NULL };
        ks_instance_domain(f, inst, &item->domain);
        n++;
    }
    qsort(b->items, n, sizeof(*b->items), compare);
    return n;
}

/* The group that begins at items[*at]; moves *at behind it. A code_id of zero is equal to nothing:
 * each is one more. */
static struct ks_build_count take_group(const struct ks_build_item *items, uint32_t n, uint32_t *at)
{
    const struct ks_build_item *first = &items[*at];
    struct ks_build_count c = { .family = first->family, .pipeline = first->pipeline };
    const uint32_t begin = *at;
    c.direction = ks_direction_name(first->domain.direction);
    c.dtype = ks_dtype_name(first->domain.dtype);
    for (; *at < n && compare_groups(first, &items[*at]) == 0; ++*at) {
        if (items[*at].is_unfit) {
            c.n_unfit++;
            continue;
        }
        c.n_ready++;
        c.n_distinct += *at == begin || ks_id128_is_zero(items[*at].code_id) ||
                        !ks_id128_eq(items[*at].code_id, items[*at - 1].code_id);
    }
    return c;
}

void ks_build_print_codes(const struct ks_build *b, struct ks_buf *text_out)
{
    const uint32_t n = collect(b);
    for (uint32_t at = 0; at < n;) {
        const struct ks_build_count c = take_group(b->items, n, &at);
        ks_buf_printf(text_out, "kernels      %s %s %s%s%s: %" PRIu32 " distinct of %" PRIu32,
                      c.family, c.direction, c.dtype, c.pipeline[0] ? " " : "", c.pipeline,
                      c.n_distinct, c.n_ready);
        if (c.n_unfit > 0)
            ks_buf_printf(text_out, ", %" PRIu32 " cannot be launched", c.n_unfit);
        ks_buf_printf(text_out, "\n");
    }
}

void ks_build_print_counts(const struct ks_build *b, struct ks_jw *w)
{
    const uint32_t n = collect(b);
    ks_jw_open(w, "kernels", '[');
    for (uint32_t at = 0; at < n;) {
        const struct ks_build_count c = take_group(b->items, n, &at);
        ks_jw_open(w, NULL, '{');
        ks_jw_str(w, "family", c.family);
        ks_jw_str(w, "direction", c.direction);
        ks_jw_str(w, "dtype", c.dtype);
        ks_jw_str(w, "pipeline", c.pipeline[0] ? c.pipeline : NULL);
        ks_jw_u64(w, "ready", c.n_ready);
        ks_jw_u64(w, "distinct", c.n_distinct);
        ks_jw_u64(w, "unfit", c.n_unfit);
        ks_jw_close(w, '}');
    }
    ks_jw_close(w, ']');
}

/* Does an earlier instance say the same? */
static bool is_said(const struct ks_build *b, uint32_t i)
{
    for (uint32_t k = 0; k < i; k++)
        if (b->artefacts[k].state == KS_ART_UNSUPPORTED &&
            strcmp(b->artefacts[k].reason, b->artefacts[i].reason) == 0)
            return true;
    return false;
}

void ks_build_print_unsupported(const struct ks_build *b, struct ks_buf *text_out)
{
    for (uint32_t i = 0; i < b->grid->n_instances; i++) {
        uint32_t n = 0;
        if (b->artefacts[i].state != KS_ART_UNSUPPORTED || is_said(b, i))
            continue;
        for (uint32_t k = i; k < b->grid->n_instances; k++)
            n += b->artefacts[k].state == KS_ART_UNSUPPORTED &&
                 strcmp(b->artefacts[k].reason, b->artefacts[i].reason) == 0;
        ks_buf_printf(text_out, "  %" PRIu32 ": %s\n", n, b->artefacts[i].reason);
    }
}
