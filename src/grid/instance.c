/* SPDX-License-Identifier: MIT */
#include "base/hash.h"
#include "grid/family.h"
#include "grid/name_parts.h"
#include "op/op.h"

#include <string.h>

int64_t ks_instance_trait(const struct ks_family *f, const struct ks_instance *i, const char *trait)
{
    int t = ks_family_trait(f, trait);

    return t < 0 ? INT64_MIN : f->traits[t].value[i->value[t]];
}

void ks_instance_canonical(const struct ks_family *f, const struct ks_instance *i,
                           struct ks_buf *text_out)
{
    ks_buf_printf(text_out, "family=%s abi=%d", f->name, KS_ABI_MAJOR);
    for (uint32_t t = 0; t < f->n_traits; t++)
        ks_buf_printf(text_out, " %s=%s", f->traits[t].name, f->traits[t].text[i->value[t]]);
}

static void append(char *name, size_t *used, const char *text, size_t n)
{
    if (n > 0)
        memcpy(name + *used, text, n);
    *used += n;
    name[*used] = '\0';
}

/* ks_name_parts has made sure that every name fits. */
static void print_name(const struct ks_family *f, const struct ks_name_part *parts, size_t n_parts,
                       struct ks_instance *i)
{
    size_t used = 0;

    for (size_t k = 0; k < n_parts; k++) {
        const struct ks_name_part *p = &parts[k];
        const struct ks_trait *t = p->i_trait < 0 ? NULL : &f->traits[p->i_trait];
        char value[24];

        if (p->is_suffix && i->value[p->i_trait] == t->i_default)
            continue;
        append(i->name, &used, p->before, p->n_before);
        if (t) {
            ks_name_value(t, i->value[p->i_trait], value);
            append(i->name, &used, value, strlen(value));
        }
        append(i->name, &used, p->after, p->n_after);
    }
}

int ks_instance_finish(const struct ks_family *f, struct ks_instance *i, struct ks_err *err)
{
    struct ks_name_part parts[KS_NAME_PARTS];
    struct ks_buf text;
    size_t n_parts;
    int rc = ks_name_parts(f, parts, &n_parts, err);

    if (rc < 0)
        return rc;
    ks_buf_init(&text);
    ks_instance_canonical(f, i, &text);
    if (ks_buf_ok(&text)) {
        i->id = ks_id64(text.data, text.len);
        print_name(f, parts, n_parts, i);
    } else {
        rc = ks_fail(err, KS_ENOMEM, "no memory for an instance's name");
    }
    ks_buf_release(&text);
    return rc;
}

/* How many ways lead to having read `at` characters with the first k parts; 2 stands for more. */
struct reader {
    const struct ks_family *f;
    struct ks_name_part parts[KS_NAME_PARTS];
    size_t n_parts;
    const char *name;
    size_t n;
    uint8_t ways[KS_NAME_PARTS + 1][KS_INSTANCE_NAME];
};

static bool has_at(const struct reader *r, size_t at, const char *text, size_t n)
{
    return n <= r->n - at && (n == 0 || memcmp(r->name + at, text, n) == 0);
}

/* Characters that part k takes at `at` when its trait has value v; false: it does not fit. */
static bool takes(const struct reader *r, const struct ks_name_part *p, size_t at, uint32_t v,
                  size_t *n_out)
{
    char value[24] = "";
    size_t n_value;

    if (p->i_trait >= 0) {
        const struct ks_trait *t = &r->f->traits[p->i_trait];

        if (p->is_suffix && v == t->i_default) {
            *n_out = 0;
            return true;
        }
        ks_name_value(t, v, value);
    }
    n_value = strlen(value);
    *n_out = p->n_before + n_value + p->n_after;
    return has_at(r, at, p->before, p->n_before) && has_at(r, at + p->n_before, value, n_value) &&
           has_at(r, at + p->n_before + n_value, p->after, p->n_after);
}

static uint32_t n_choices(const struct reader *r, const struct ks_name_part *p)
{
    return p->i_trait < 0 ? 1 : r->f->traits[p->i_trait].n_values;
}

static void count_part(struct reader *r, size_t k, size_t at)
{
    for (uint32_t v = 0; v < n_choices(r, &r->parts[k]); v++) {
        size_t n;
        unsigned sum;

        if (!takes(r, &r->parts[k], at, v, &n))
            continue;
        sum = (unsigned)r->ways[k + 1][at + n] + r->ways[k][at];
        r->ways[k + 1][at + n] = (uint8_t)(sum > 2 ? 2 : sum);
    }
}

static void count_ways(struct reader *r)
{
    r->ways[0][0] = 1;
    for (size_t k = 0; k < r->n_parts; k++)
        for (size_t at = 0; at <= r->n; at++)
            if (r->ways[k][at])
                count_part(r, k, at);
}

/* The one value of part k after which `end` characters are read; *at_out: where it begins. */
static uint32_t only_value(const struct reader *r, size_t k, size_t end, size_t *at_out)
{
    for (size_t at = 0; at <= end; at++)
        for (uint32_t v = 0; r->ways[k][at] && v < n_choices(r, &r->parts[k]); v++) {
            size_t n;

            if (takes(r, &r->parts[k], at, v, &n) && at + n == end) {
                *at_out = at;
                return v;
            }
        }
    *at_out = 0;
    return 0;
}

int ks_instance_parse_name(const struct ks_family *f, const char *name, struct ks_instance *out,
                           struct ks_err *err)
{
    struct reader r = { .f = f, .name = name, .n = strlen(name) };
    struct ks_instance i = { 0 };
    size_t end = r.n;
    int rc = ks_name_parts(f, r.parts, &r.n_parts, err);

    if (rc < 0)
        return rc;
    if (r.n < KS_INSTANCE_NAME)
        count_ways(&r);
    if (r.n >= KS_INSTANCE_NAME || !r.ways[r.n_parts][r.n])
        return ks_fail(err, KS_EINVAL, "'%.200s' is no instance of family '%s' (names are like %s)",
                       name, f->name, f->name_pattern);
    if (r.ways[r.n_parts][r.n] > 1)
        return ks_fail(
            err, KS_EFORMAT,
            "name '%s' stands for several instances of family '%s': put a letter between "
            "the values in name_pattern",
            name, f->name);
    for (size_t k = r.n_parts; k-- > 0;) {
        uint32_t v = only_value(&r, k, end, &end);

        if (r.parts[k].i_trait >= 0)
            i.value[r.parts[k].i_trait] = (uint8_t)v;
    }
    rc = ks_instance_finish(f, &i, err);
    if (rc == 0)
        *out = i;
    return rc;
}
