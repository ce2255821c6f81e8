/* SPDX-License-Identifier: MIT */
/* name_text.c - prints names of instances, and reads them back, counting all readings */
#include "grid/name_parts.h"

#include <ctype.h>
#include <string.h>

static size_t put(char *name, size_t used, const char *text, size_t n)
{
    if (n > 0)
        memcpy(name + used, text, n);
    return used + n;
}

static const char *text_of(const struct ks_trait *t, uint32_t i_value)
{
    if (t->is_bool)
        return t->value[i_value] ? "True" : "False";
    return t->text[i_value];
}

/* A character of a value as it stands in names: minus signs, points of numbers, and what texts of
 * other tools may hold. */
static char name_char(char c)
{
    if (c == '-')
        return 'm';
    if (c == '.')
        return 'p';
    return isalnum((unsigned char)c) ? c : '_';
}

static size_t put_value(char *name, size_t used, const char *text)
{
    for (; *text; text++)
        name[used++] = name_char(*text);
    return used;
}

void ks_name_print(const struct ks_family *f, const struct ks_name_parts *parts,
                   struct ks_instance *i)
{
    size_t used = 0;

    for (size_t k = 0; k < parts->n; k++) {
        const struct ks_name_part *p = &parts->part[k];
        const struct ks_trait *t = p->i_trait < 0 ? NULL : &f->traits[p->i_trait];

        if (p->is_suffix && i->value[p->i_trait] == t->i_default)
            continue;
        used = put(i->name, used, p->before, p->n_before);
        if (p->has_value)
            used = put_value(i->name, used, text_of(t, i->value[p->i_trait]));
        used = put(i->name, used, p->after, p->n_after);
    }
    memset(i->name + used, 0, sizeof i->name - used);
}

/* How many ways lead to having read `at` characters with the first k parts; 2 stands for more. Row
 * k has zeros outside low[k] .. high[k] and nothing behind n. */
struct reader {
    const struct ks_family *f;
    const struct ks_name_parts *parts;
    const char *name;
    size_t n;
    size_t low[KS_NAME_PARTS + 1], high[KS_NAME_PARTS + 1];
    uint8_t ways[KS_NAME_PARTS + 1][KS_INSTANCE_NAME];
};

static bool has_at(const struct reader *r, size_t at, const char *text, size_t n)
{
    return n <= r->n - at && (n == 0 || memcmp(r->name + at, text, n) == 0);
}

/* Its values, then their aliases. */
static uint32_t n_choices(const struct reader *r, const struct ks_name_part *p)
{
    const struct ks_trait *t = p->i_trait < 0 ? NULL : &r->f->traits[p->i_trait];

    if (!t)
        return 1;
    return p->has_value ? t->n_values + t->n_aliases : t->n_values;
}

static uint32_t value_of(const struct ks_trait *t, uint32_t choice)
{
    return choice < t->n_values ? choice : t->aliases[choice - t->n_values].i_value;
}

static bool has_value_at(const struct reader *r, const struct ks_trait *t, uint32_t choice,
                         size_t at, size_t *end_out)
{
    const char *text =
        choice < t->n_values ? text_of(t, choice) : t->aliases[choice - t->n_values].text;

    while (*text && at < r->n && r->name[at] == name_char(*text)) {
        text++;
        at++;
    }
    *end_out = at;
    return !*text;
}

/* Where part p ends that begins at `at` with this choice; false: it does not fit. */
static bool takes(const struct reader *r, const struct ks_name_part *p, size_t at, uint32_t choice,
                  size_t *end_out)
{
    const struct ks_trait *t = p->i_trait < 0 ? NULL : &r->f->traits[p->i_trait];
    size_t end = at + p->n_before;

    *end_out = at;
    if (p->is_suffix && value_of(t, choice) == t->i_default)
        return choice < t->n_values;
    if (!has_at(r, at, p->before, p->n_before))
        return false;
    if (p->has_value && !has_value_at(r, t, choice, end, &end))
        return false;
    *end_out = end + p->n_after;
    return has_at(r, end, p->after, p->n_after);
}

static void count_part(struct reader *r, size_t k, size_t at)
{
    const struct ks_name_part *p = &r->parts->part[k];

    for (uint32_t v = 0; v < n_choices(r, p); v++) {
        size_t end;
        unsigned sum;

        if (!takes(r, p, at, v, &end))
            continue;
        sum = (unsigned)r->ways[k + 1][end] + r->ways[k][at];
        r->ways[k + 1][end] = (uint8_t)(sum > 2 ? 2 : sum);
        r->low[k + 1] = end < r->low[k + 1] ? end : r->low[k + 1];
        r->high[k + 1] = end > r->high[k + 1] ? end : r->high[k + 1];
    }
}

static void clear_row(struct reader *r, size_t k)
{
    memset(r->ways[k], 0, r->n + 1);
    r->low[k] = r->n + 1;
    r->high[k] = 0;
}

static void count_ways(struct reader *r)
{
    clear_row(r, 0);
    r->ways[0][0] = 1;
    r->low[0] = 0;
    for (size_t k = 0; k < r->parts->n; k++) {
        clear_row(r, k + 1);
        for (size_t at = r->low[k]; at <= r->high[k]; at++)
            if (r->ways[k][at])
                count_part(r, k, at);
    }
}

/* The one choice of part k after which `end` characters are read; *at_out: where it begins. */
static uint32_t only_choice(const struct reader *r, size_t k, size_t end, size_t *at_out)
{
    const struct ks_name_part *p = &r->parts->part[k];

    for (size_t at = r->low[k]; at <= end && at <= r->high[k]; at++)
        for (uint32_t v = 0; r->ways[k][at] && v < n_choices(r, p); v++) {
            size_t e;

            if (takes(r, p, at, v, &e) && e == end) {
                *at_out = at;
                return v;
            }
        }
    *at_out = 0;
    return 0;
}

int ks_name_read(const struct ks_family *f, const struct ks_name_parts *parts, const char *name,
                 struct ks_instance *i)
{
    struct reader r;
    size_t end;

    r.f = f;
    r.parts = parts;
    r.name = name;
    r.n = end = strlen(name);
    if (r.n >= KS_INSTANCE_NAME)
        return 0;
    count_ways(&r);
    if (r.ways[parts->n][r.n] != 1)
        return r.ways[parts->n][r.n];
    for (uint32_t t = 0; t < f->n_traits; t++)
        i->value[t] = (uint8_t)f->traits[t].i_default;
    for (size_t k = parts->n; k-- > 0;) {
        uint32_t choice = only_choice(&r, k, end, &end);
        int t = parts->part[k].i_trait;

        if (t >= 0)
            i->value[t] = (uint8_t)value_of(&f->traits[t], choice);
    }
    return 1;
}
