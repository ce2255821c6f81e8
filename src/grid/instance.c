/* SPDX-License-Identifier: MIT */
/* instance.c - an instance's compiler, flags, arguments, canonical text, id and name */
#include "grid/instance.h"

#include "base/hash.h"
#include "op/op.h"

#include <string.h>

int64_t ks_instance_trait(const struct ks_family *f, const struct ks_instance *i, const char *trait)
{
    int t = ks_family_trait(f, trait);

    return t < 0 ? INT64_MIN : f->traits[t].value[i->value[t]];
}

const char *ks_instance_compiler(const struct ks_family *f, const struct ks_instance *i)
{
    int t = ks_family_role(f, KS_ROLE_COMPILER);

    return t < 0 ? NULL : f->traits[t].text[i->value[t]];
}

enum ks_numerics ks_instance_numerics(const struct ks_family *f, const struct ks_instance *i)
{
    int t = ks_family_role(f, KS_ROLE_NUMERICS);

    return t < 0 ? KS_NUMERICS_FP32 : (enum ks_numerics)f->traits[t].value[i->value[t]];
}

uint32_t ks_instance_threads(const struct ks_family *f, const struct ks_instance *i)
{
    int t = ks_family_role(f, KS_ROLE_THREADS);

    return t < 0 ? 1 : (uint32_t)f->traits[t].value[i->value[t]];
}

void ks_instance_flags(const struct ks_family *f, const struct ks_instance *i,
                       struct ks_buf *text_out)
{
    const char *gap = "";

    for (uint32_t t = 0; t < f->n_traits; t++) {
        const char *flags = f->flags + f->traits[t].flags_at[i->value[t]];

        if (f->traits[t].role != KS_ROLE_FLAGS || !flags[0])
            continue;
        ks_buf_printf(text_out, "%s%s", gap, flags);
        gap = " ";
    }
}

void ks_instance_arguments(const struct ks_family *f, const struct ks_instance *i,
                           struct ks_buf *text_out)
{
    const char *gap = "";

    for (uint32_t t = 0; t < f->n_traits; t++) {
        if (f->traits[t].role != KS_ROLE_ARGUMENT)
            continue;
        ks_buf_printf(text_out, "%s%s=%s", gap, f->traits[t].name, f->traits[t].text[i->value[t]]);
        gap = " ";
    }
}

void ks_instance_canonical(const struct ks_family *f, const struct ks_instance *i,
                           struct ks_buf *text_out)
{
    ks_buf_printf(text_out, "family=%s abi=%d", f->name, KS_ABI_MAJOR);
    for (uint32_t t = 0; t < f->n_traits; t++) {
        const char *text = f->traits[t].text[i->value[t]];

        ks_buf_put(text_out, " ", 1);
        ks_buf_put(text_out, f->traits[t].name, strlen(f->traits[t].name));
        ks_buf_put(text_out, "=", 1);
        ks_buf_put(text_out, text, strlen(text));
    }
}

void ks_instance_record_text(const struct ks_family *f, const struct ks_instance *i,
                             struct ks_buf *text_out)
{
    ks_instance_canonical(f, i, text_out);
    for (uint32_t a = 0; a < f->n_attributes; a++)
        ks_buf_printf(text_out, "%s%s=%s", a ? " " : " | ", f->attributes[a].name,
                      f->attributes[a].text[i->value[f->attributes[a].i_trait]]);
}

int ks_instance_name(const struct ks_family *f, const struct ks_name_parts *parts,
                     struct ks_instance *i, struct ks_err *err)
{
    struct ks_buf text;
    bool is_ok;

    ks_buf_init(&text);
    ks_instance_canonical(f, i, &text);
    is_ok = ks_buf_ok(&text);
    if (is_ok) {
        i->id = ks_id64(text.data, text.len);
        ks_name_print(f, parts, i);
    }
    ks_buf_release(&text);
    return is_ok ? 0 : ks_fail(err, KS_ENOMEM, "no memory for an instance's name");
}

int ks_instance_finish(const struct ks_family *f, struct ks_instance *i, struct ks_err *err)
{
    struct ks_name_parts parts;
    int rc = ks_name_parts(f, f->name_pattern, false, &parts, err);

    return rc < 0 ? rc : ks_instance_name(f, &parts, i, err);
}

/* The first of its patterns that fits decides. */
int ks_instance_parse_name(const struct ks_family *f, const char *name, struct ks_instance *out,
                           struct ks_err *err)
{
    struct ks_name_parts own, other;
    struct ks_instance i = { 0 };
    int n_ways, rc = ks_name_parts(f, f->name_pattern, false, &own, err);

    if (rc < 0)
        return rc;
    n_ways = ks_name_read(f, &own, name, &i);
    for (uint32_t k = 0; n_ways == 0 && k < f->n_name_aliases; k++) {
        rc = ks_name_parts(f, f->name_aliases[k], true, &other, err);
        if (rc < 0)
            return rc;
        n_ways = ks_name_read(f, &other, name, &i);
    }
    if (n_ways == 0)
        return ks_fail(err, KS_EINVAL,
                       "'%.200s' is not an instance of family '%s' (names are like %s)", name,
                       f->name, f->name_pattern);
    if (n_ways > 1)
        return ks_fail(
            err, KS_EFORMAT,
            "name '%s' stands for several instances of family '%s': put a letter between "
            "the values in name_pattern",
            name, f->name);
    rc = ks_instance_name(f, &own, &i, err);
    if (rc == 0)
        *out = i;
    return rc;
}
