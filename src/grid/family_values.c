/* SPDX-License-Identifier: MIT */
/* family_values.c - looks up a family's traits by name and role, and what its instances compute */
#include "grid/domain_parts.h"
#include "grid/family.h"

#include <string.h>

int ks_family_trait(const struct ks_family *f, const char *trait)
{
    for (uint32_t i = 0; i < f->n_traits; i++)
        if (strcmp(f->traits[i].name, trait) == 0)
            return (int)i;
    return -1;
}

int ks_family_role(const struct ks_family *f, enum ks_trait_role role)
{
    for (uint32_t i = 0; i < f->n_traits; i++)
        if (f->traits[i].role == role)
            return (int)i;
    return -1;
}

int ks_trait_value(const struct ks_trait *t, const char *text)
{
    for (uint32_t i = 0; i < t->n_values; i++)
        if (strcmp(t->text[i], text) == 0)
            return (int)i;
    for (uint32_t i = 0; i < t->n_aliases; i++)
        if (strcmp(t->aliases[i].text, text) == 0)
            return (int)t->aliases[i].i_value;
    return -1;
}

const char *const ks_trait_role_names[] = { "none",     "compiler", "flags", "argument",
                                            "numerics", "threads",  NULL };
_Static_assert(sizeof ks_trait_role_names / sizeof ks_trait_role_names[0] == KS_N_ROLES + 1,
               "a name for each role");

#define ALL_GPUS "gpu"
const char *const ks_family_backends[] = {
    ALL_GPUS,
#define X(name, flags, archs, language) #name,
    KS_BACKENDS(X)
#undef X
        NULL,
};

bool ks_family_serves(const struct ks_family *f, const struct ks_backend *backend)
{
    return strcmp(f->backend, backend->name) == 0 ||
           (ks_backend_is(backend, KS_BACKEND_GPU) && strcmp(f->backend, ALL_GPUS) == 0);
}

const struct ks_backend *ks_family_backend(const struct ks_family *f)
{
    const struct ks_backend *b = ks_backends;

    while (b->name && !ks_family_serves(f, b))
        b++;
    return b->name ? b : NULL;
}

const struct ks_domain_part ks_domain_parts[KS_N_DOMAIN_PARTS] = {
    [KS_DOMAIN_DIRECTION] = { "direction", KS_N_DIRECTIONS, ks_direction_from, ks_direction_name },
    [KS_DOMAIN_DTYPE] = { "dtype", KS_N_DTYPES, ks_dtype_from, ks_dtype_name },
    [KS_DOMAIN_LAYOUT] = { "layout", KS_N_LAYOUTS, ks_layout_from, ks_layout_name },
    [KS_DOMAIN_NDIM] = { "ndim", 4, NULL, NULL },
};

static uint32_t part_of(const struct ks_family *f, const struct ks_instance *i, int k,
                        uint32_t fixed)
{
    uint32_t t = f->domain_trait[k];
    int64_t v;

    if (t == 0)
        return fixed;
    v = f->traits[t - 1].value[i->value[t - 1]];
    return v < 0 || v >= (int64_t)ks_domain_parts[k].n ? ks_domain_parts[k].n : (uint32_t)v;
}

void ks_instance_domain(const struct ks_family *f, const struct ks_instance *i,
                        struct ks_domain *out)
{
    *out = (struct ks_domain){ .i_op = f->i_op,
                               .direction = part_of(f, i, KS_DOMAIN_DIRECTION, f->direction),
                               .dtype = part_of(f, i, KS_DOMAIN_DTYPE, f->dtype),
                               .layout = part_of(f, i, KS_DOMAIN_LAYOUT, f->layout),
                               .ndim = part_of(f, i, KS_DOMAIN_NDIM, f->ndim) };
}

static const char *text_of(const struct ks_family *f, const struct ks_instance *i, int k,
                           uint32_t number)
{
    uint32_t t = f->domain_trait[k];

    return number < ks_domain_parts[k].n ? ks_domain_parts[k].name_of(number)
                                         : f->traits[t - 1].text[i->value[t - 1]];
}

void ks_instance_domain_text(const struct ks_family *f, const struct ks_instance *i,
                             struct ks_buf *text_out)
{
    struct ks_domain d;

    ks_instance_domain(f, i, &d);
    ks_buf_printf(text_out, "%s %s ", text_of(f, i, KS_DOMAIN_DIRECTION, d.direction),
                  text_of(f, i, KS_DOMAIN_DTYPE, d.dtype));
    if (d.ndim)
        ks_buf_printf(text_out, "%ud ", d.ndim);
    ks_buf_printf(text_out, "%s", text_of(f, i, KS_DOMAIN_LAYOUT, d.layout));
}
