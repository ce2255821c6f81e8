/* SPDX-License-Identifier: MIT */
/* family_store.c - the memory of a family: all its lists lie in one block. While a file is read
 * there is room for the most that a family may have; then the lists move into a block of their own
 * size. */
#include "grid/family_store.h"

#include <stdlib.h>
#include <string.h>

/* The lists of a family, and how long they are. */
struct lists {
    struct ks_trait *traits;
    struct ks_attribute *attributes;
    struct ks_rule *rules;
    struct ks_isa_need *needs;
    struct ks_inability *inabilities;
    uint32_t n_traits, n_attributes, n_rules, n_needs, n_inabilities;
};

static const struct lists most = { .n_traits = KS_TRAITS_MAX,
                                   .n_attributes = KS_ATTRIBUTES_MAX,
                                   .n_rules = KS_RULES_MAX,
                                   .n_needs = KS_NEEDS_MAX,
                                   .n_inabilities = KS_NEEDS_MAX };

/* A block that is filled from its beginning; without memory it only counts. */
struct block {
    char *at;
    size_t used;
};

/* The next n elements: those at `from`, or as they are. NULL when nothing is but counted. */
static void *place(struct block *b, const void *from, size_t n, size_t size)
{
    void *to = b->at ? b->at + b->used : NULL;

    b->used += (n * size + 15) / 16 * 16;
    if (to && from && n)
        memcpy(to, from, n * size);
    return to;
}

static void place_trait(struct block *b, struct ks_trait *to, const struct ks_trait *from)
{
    const size_t n = from ? from->n_values : KS_TRAIT_VALUES_MAX;
    int64_t *value = place(b, from ? from->value : NULL, n, sizeof *value);
    char(*text)[KS_VALUE_TEXT] = place(b, from ? from->text : NULL, n, sizeof *text);
    uint16_t *flags_at = place(b, from ? from->flags_at : NULL, n, sizeof *flags_at);

    if (!to)
        return;
    to->value = value;
    to->text = text;
    to->flags_at = flags_at;
}

static void place_attribute(struct block *b, struct ks_attribute *to,
                            const struct ks_attribute *from, size_t n)
{
    int64_t *value = place(b, from ? from->value : NULL, n, sizeof *value);
    char(*text)[KS_VALUE_TEXT] = place(b, from ? from->text : NULL, n, sizeof *text);

    if (!to)
        return;
    to->value = value;
    to->text = text;
}

/* Lists as long as `like` says, with what its own hold where it has any. Without memory in the
 * block only its size is found. */
static void lay_out(struct block *b, const struct lists *like, struct lists *out)
{
    *out = *like;
    out->traits = place(b, like->traits, like->n_traits, sizeof *like->traits);
    out->attributes = place(b, like->attributes, like->n_attributes, sizeof *like->attributes);
    out->rules = place(b, like->rules, like->n_rules, sizeof *like->rules);
    out->needs = place(b, like->needs, like->n_needs, sizeof *like->needs);
    out->inabilities = place(b, like->inabilities, like->n_inabilities, sizeof *like->inabilities);
    for (uint32_t i = 0; i < like->n_traits; i++)
        place_trait(b, out->traits ? &out->traits[i] : NULL,
                    like->traits ? &like->traits[i] : NULL);
    for (uint32_t i = 0; i < like->n_attributes; i++) {
        const struct ks_attribute *from = like->attributes ? &like->attributes[i] : NULL;

        place_attribute(b, out->attributes ? &out->attributes[i] : NULL, from,
                        from ? like->traits[from->i_trait].n_values : KS_TRAIT_VALUES_MAX);
    }
}

static void take(struct ks_family *f, const struct lists *l, void *store)
{
    f->traits = l->traits;
    f->attributes = l->attributes;
    f->rules = l->rules;
    f->needs = l->needs;
    f->inabilities = l->inabilities;
    f->store = store;
}

static int move(struct ks_family *f, const struct lists *like, struct ks_err *err)
{
    struct block b = { NULL, 0 };
    struct lists l;
    void *old = f->store;

    lay_out(&b, like, &l);
    b.at = calloc(1, b.used + 1);
    if (!b.at)
        return ks_fail(err, KS_ENOMEM, "no memory for a kernel family");
    b.used = 0;
    lay_out(&b, like, &l);
    take(f, &l, b.at);
    free(old);
    return 0;
}

int ks_family_begin(struct ks_family *f, struct ks_err *err)
{
    return move(f, &most, err);
}

int ks_family_fit(struct ks_family *f, struct ks_err *err)
{
    const struct lists own = { .traits = f->traits,
                               .attributes = f->attributes,
                               .rules = f->rules,
                               .needs = f->needs,
                               .inabilities = f->inabilities,
                               .n_traits = f->n_traits,
                               .n_attributes = f->n_attributes,
                               .n_rules = f->n_rules,
                               .n_needs = f->n_needs,
                               .n_inabilities = f->n_inabilities };

    return move(f, &own, err);
}

void ks_family_release(struct ks_family *f)
{
    free(f->store);
    *f = (struct ks_family){ .n_traits = 0 };
}

void ks_families_free(struct ks_family *families, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        ks_family_release(&families[i]);
    free(families);
}
