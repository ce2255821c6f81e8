/* SPDX-License-Identifier: MIT */
/* kernels_view.c - prints kernel sets: names, lists, traits, counts, JSON and CSV */
#include "cmd/kernels_view.h"

#include "base/hash.h"
#include "base/text.h"
#include "base/wrap.h"
#include "grid/kernel_export.h"
#include "json/json.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void ks_kernels_names(const struct ks_kernel_set *set, struct ks_buf *b)
{
    for (uint32_t i = 0; i < set->n_instances; i++)
        ks_buf_printf(b, "%s\n", set->instances[i].name);
}

void ks_kernels_list(const struct ks_kernel_set *set, struct ks_buf *b)
{
    for (uint32_t i = 0; i < set->n_instances; i++) {
        const struct ks_instance *k = &set->instances[i];
        char hex[17];

        ks_hex64(k->id, hex);
        ks_buf_printf(b, "%s  %s%s%s\n", hex, k->name, k->missing[0] ? "  # " : "", k->missing);
    }
}

void ks_kernels_list_json(const struct ks_kernel_set *set, struct ks_buf *b)
{
    struct ks_jw w;

    ks_jw_init(&w, b, true);
    ks_jw_open(&w, NULL, '[');
    for (uint32_t i = 0; i < set->n_instances; i++) {
        const struct ks_instance *k = &set->instances[i];
        const struct ks_family *f = &set->families[k->i_family];
        char hex[17];

        ks_hex64(k->id, hex);
        ks_jw_open(&w, NULL, '{');
        ks_jw_str(&w, "id", hex);
        ks_jw_str(&w, "family", f->name);
        ks_jw_str(&w, "name", k->name);
        ks_kernel_put_traits(f, k, &w);
        ks_jw_str(&w, "missing", k->missing[0] ? k->missing : NULL);
        ks_jw_close(&w, '}');
    }
    ks_jw_close(&w, ']');
    ks_buf_printf(b, "\n");
}

/* ---- traits ---- */

static bool occurs(const struct ks_kernel_set *set, uint32_t i_family, uint32_t t, uint32_t v)
{
    for (uint32_t i = 0; i < set->n_instances; i++)
        if (set->instances[i].i_family == i_family && set->instances[i].value[t] == v)
            return true;
    return false;
}

static void put_trait(const struct ks_kernel_set *set, uint32_t i_family, uint32_t t,
                      unsigned width, struct ks_buf *b)
{
    const struct ks_trait *trait = &set->families[i_family].traits[t];
    struct ks_buf line;
    uint32_t n_absent = 0;

    ks_buf_init(&line);
    for (uint32_t v = 0; v < trait->n_values; v++)
        if (occurs(set, i_family, t, v))
            ks_buf_printf(&line, "%s%s", line.len ? ", " : "", trait->text[v]);
        else
            n_absent++;
    if (n_absent)
        ks_buf_printf(&line, "%sand %u more that do not occur", line.len ? ", " : "", n_absent);
    ks_buf_printf(b, "  %s%s%s%s%s\n    ", trait->name, trait->key[0] ? " (" : "", trait->key,
                  trait->key[0] ? ")" : "", trait->kind == KS_TRAIT_NAME ? "  text" : "");
    ks_wrap_put(b, ks_buf_text(&line), 4, 4, width);
    ks_buf_printf(b, "\n    ");
    ks_wrap_put(b, trait->help, 4, 4, width);
    ks_buf_u8(b, '\n');
    ks_buf_release(&line);
}

static void put_attributes(const struct ks_family *f, struct ks_buf *b)
{
    for (uint32_t a = 0; a < f->n_attributes; a++)
        ks_buf_printf(b, "  %s  follows from %s\n", f->attributes[a].name,
                      f->traits[f->attributes[a].i_trait].name);
}

void ks_kernels_traits(const struct ks_kernel_set *set, unsigned width, struct ks_buf *b)
{
    for (uint32_t i = 0; i < set->n_families; i++) {
        const struct ks_family *f = &set->families[i];

        ks_buf_printf(b, "%s%s: traits for --filter, with values and meaning\n", i ? "\n" : "",
                      f->name);
        for (uint32_t t = 0; t < f->n_traits; t++)
            put_trait(set, i, t, width, b);
        put_attributes(f, b);
    }
}

/* ---- counts ---- */

/* Why instances cannot run, the most frequent reason first. */
struct reason {
    const char *why; /* in the set */
    uint32_t n;
};
struct reasons {
    struct reason *list;
    uint32_t n, n_instances;
};

static int by_number(const void *a, const void *b)
{
    const struct reason *x = a, *y = b;

    if (x->n != y->n)
        return x->n < y->n ? 1 : -1;
    return strcmp(x->why, y->why);
}

static bool note(struct reasons *r, const char *why)
{
    uint32_t i = 0;

    while (i < r->n && strcmp(r->list[i].why, why) != 0)
        i++;
    if (i == r->n) {
        struct reason *more = realloc(r->list, (r->n + 1) * sizeof *more);

        if (!more)
            return false;
        r->list = more;
        r->list[r->n++] = (struct reason){ .why = why };
    }
    r->list[i].n++;
    r->n_instances++;
    return true;
}

static struct reasons find_reasons(const struct ks_kernel_set *set, struct ks_buf *b)
{
    struct reasons r = { 0 };

    for (uint32_t i = 0; i < set->n_instances; i++)
        if (set->instances[i].missing[0])
            b->failed |= !note(&r, set->instances[i].missing);
    if (r.n > 0)
        qsort(r.list, r.n, sizeof *r.list, by_number);
    return r;
}

static uint64_t count_all(const struct ks_kernel_set *set, uint64_t n_excluded)
{
    return set->n_instances + set->n_filtered + n_excluded;
}

void ks_kernels_counts(const struct ks_kernel_set *set, uint64_t n_excluded, struct ks_buf *b)
{
    struct reasons r = find_reasons(set, b);

    ks_buf_printf(b, "families     %" PRIu32 "\n", set->n_families);
    ks_buf_printf(b, "combinations %" PRIu64 "\n", count_all(set, n_excluded));
    ks_buf_printf(b, "excluded     %" PRIu64 "\n", n_excluded);
    for (uint32_t i = 0; i < set->n_families; i++)
        for (uint32_t k = 0; k < set->families[i].n_rules; k++)
            if (set->families[i].rules[k].n_excluded)
                ks_buf_printf(b, "  %10" PRIu64 "  %s: %s\n", set->families[i].rules[k].n_excluded,
                              set->families[i].name, set->families[i].rules[k].why);
    ks_buf_printf(b, "filtered     %" PRIu64 "\n", set->n_filtered);
    ks_buf_printf(b, "instances    %" PRIu32 "\n", set->n_instances);
    ks_buf_printf(b, "can run      %" PRIu32 "\n", set->n_instances - r.n_instances);
    ks_buf_printf(b, "cannot run   %" PRIu32 "\n", r.n_instances);
    for (uint32_t i = 0; i < r.n; i++)
        ks_buf_printf(b, "  %10" PRIu32 "  %s\n", r.list[i].n, r.list[i].why);
    free(r.list);
}

static void put_rules(const struct ks_kernel_set *set, struct ks_jw *w)
{
    ks_jw_open(w, "rules", '[');
    for (uint32_t i = 0; i < set->n_families; i++)
        for (uint32_t k = 0; k < set->families[i].n_rules; k++) {
            const struct ks_rule *rule = &set->families[i].rules[k];

            ks_jw_open(w, NULL, '{');
            ks_jw_str(w, "family", set->families[i].name);
            ks_jw_str(w, "when", rule->when);
            ks_jw_str(w, "why", rule->why);
            ks_jw_u64(w, "excluded", rule->n_excluded);
            ks_jw_close(w, '}');
        }
    ks_jw_close(w, ']');
}

void ks_kernels_counts_json(const struct ks_kernel_set *set, uint64_t n_excluded, struct ks_buf *b)
{
    struct reasons r = find_reasons(set, b);
    struct ks_jw w;

    ks_jw_init(&w, b, true);
    ks_jw_open(&w, NULL, '{');
    ks_jw_u64(&w, "families", set->n_families);
    ks_jw_u64(&w, "combinations", count_all(set, n_excluded));
    ks_jw_u64(&w, "excluded", n_excluded);
    ks_jw_u64(&w, "filtered", set->n_filtered);
    ks_jw_u64(&w, "instances", set->n_instances);
    ks_jw_u64(&w, "can_run", set->n_instances - r.n_instances);
    put_rules(set, &w);
    ks_jw_open(&w, "cannot_run", '[');
    for (uint32_t i = 0; i < r.n; i++) {
        ks_jw_open(&w, NULL, '{');
        ks_jw_str(&w, "why", r.list[i].why);
        ks_jw_u64(&w, "instances", r.list[i].n);
        ks_jw_close(&w, '}');
    }
    ks_jw_close(&w, ']');
    ks_jw_close(&w, '}');
    ks_buf_printf(b, "\n");
    free(r.list);
}

/* ---- CSV ---- */

/* The union of all families' traits, in the order in which they are met. */
static uint32_t list_traits(const struct ks_kernel_set *set, const char **names)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < set->n_families; i++)
        for (uint32_t t = 0; t < set->families[i].n_traits; t++) {
            uint32_t k = 0;

            while (k < n && strcmp(names[k], set->families[i].traits[t].name) != 0)
                k++;
            if (k == n)
                names[n++] = set->families[i].traits[t].name;
        }
    return n;
}

static void put_field(const char *text, struct ks_buf *b)
{
    ks_buf_u8(b, ',');
    ks_csv_put(b, text);
}

static void put_row(const struct ks_kernel_set *set, const struct ks_instance *k,
                    const char *const *names, uint32_t n_names, struct ks_buf *b)
{
    const struct ks_family *f = &set->families[k->i_family];
    char hex[17];

    ks_hex64(k->id, hex);
    ks_buf_printf(b, "%s", hex);
    put_field(f->name, b);
    put_field(k->name, b);
    for (uint32_t i = 0; i < n_names; i++) {
        int t = ks_family_trait(f, names[i]);

        put_field(t < 0 ? "" : f->traits[t].text[k->value[t]], b);
    }
    put_field(k->missing, b);
    ks_buf_printf(b, "\n");
}

void ks_kernels_csv(const struct ks_kernel_set *set, struct ks_buf *b)
{
    const char **names = calloc(set->n_families * KS_TRAITS_MAX + 1, sizeof *names);
    uint32_t n;

    if (!names) {
        b->failed = true;
        return;
    }
    n = list_traits(set, names);
    ks_buf_printf(b, "id,family,name");
    for (uint32_t i = 0; i < n; i++)
        ks_buf_printf(b, ",%s", names[i]);
    ks_buf_printf(b, ",missing\n");
    for (uint32_t i = 0; i < set->n_instances; i++)
        put_row(set, &set->instances[i], names, n, b);
    free(names);
}
