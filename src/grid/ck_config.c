/* SPDX-License-Identifier: MIT */
/* ck_config.c - reads configs of Composable Kernel's tile engine as products of traits */
/* `variant` and `trait_config` of its grouped convolutions, `tile_config` and `trait_config` of its
 * GEMMs. A key is a trait of our family of that operation; one that is absent means what the
 * trait's "absent" says. */
#include "grid/ck_op.h"
#include "grid/family_expr.h"
#include "grid/fields.h"
#include "grid/find.h"
#include "grid/kernel_set_impl.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { MOST_KEYS = KS_TRAITS_MAX + KS_ATTRIBUTES_MAX, MOST_NUMBERS = 1024 };
_Static_assert(MOST_KEYS <= KS_CK_KEYS_MAX, "ks_ck_only() takes all keys of a family");

struct reader {
    struct ks_adder *a;
    uint32_t i_family;
    const struct ks_family *f;
    struct ks_product p;
};
struct numbers {
    int64_t v[MOST_NUMBERS];
    uint32_t n;
};

static const char *key_of(const struct ks_trait *t)
{
    return t->key[0] ? t->key : t->name;
}

/* What stands in tile_config; everything else stands in trait_config. */
static bool is_of_tile(const char *name)
{
    return strncmp(name, "tile_", 5) == 0 || strncmp(name, "warp_", 5) == 0 ||
           strncmp(name, "wave_", 5) == 0;
}

/* The keys that a section may have. */
enum keys { TILE_KEYS, TRAIT_KEYS, ALL_KEYS };

static void list_keys(const struct ks_family *f, enum keys which, const char **out)
{
    uint32_t n = 0;

    for (uint32_t t = 0; t < f->n_traits; t++)
        if (which == ALL_KEYS || is_of_tile(key_of(&f->traits[t])) == (which == TILE_KEYS))
            out[n++] = key_of(&f->traits[t]);
    for (uint32_t i = 0; which == TILE_KEYS && i < f->n_attributes; i++)
        if (is_of_tile(f->attributes[i].name))
            out[n++] = f->attributes[i].name;
    out[n] = NULL;
}

static bool is_among(const struct numbers *list, int64_t v)
{
    for (uint32_t i = 0; i < list->n; i++)
        if (list->v[i] == v)
            return true;
    return false;
}

static int add_number(const struct reader *r, const struct ks_node *n, int64_t v,
                      struct numbers *out)
{
    if (is_among(out, v))
        return ks_node_fail(r->a->doc, n, r->a->err, "duplicate value '%lld'", (long long)v);
    if (out->n == MOST_NUMBERS)
        return ks_node_fail(r->a->doc, n, r->a->err, "more than %d values", MOST_NUMBERS);
    out->v[out->n++] = v;
    return 0;
}

static int read_list(const struct reader *r, const struct ks_node *list, struct numbers *out)
{
    int64_t v;
    int rc = 0;

    if (ks_node_kind(list) != KS_JSON_ARRAY)
        return ks_node_fail(r->a->doc, list, r->a->err, "expected a list of whole numbers");
    for (const struct ks_node *n = ks_node_first(list); rc == 0 && n; n = ks_node_next(n)) {
        rc = ks_node_int(r->a->doc, n, &v, r->a->err);
        if (rc == 0)
            rc = add_number(r, n, v, out);
    }
    return rc;
}

/* min, min + step, .. up to max, without those of exclude. */
static int read_range(const struct reader *r, const struct ks_node *spec, struct numbers *out)
{
    const struct ks_node *node[3];
    static const char *const names[3] = { "min", "max", "step" };
    struct numbers gaps = { .n = 0 };
    int64_t v[3], n_hit = 0;
    int rc = 0;

    for (int k = 0; rc == 0 && k < 3; k++) {
        rc = ks_grid_field_node(r->a->doc, spec, names[k], KS_JSON_INT, &node[k], r->a->err);
        if (rc == 0)
            rc = ks_node_int(r->a->doc, node[k], &v[k], r->a->err);
    }
    if (rc == 0 && ks_node_at(spec, "exclude"))
        rc = read_list(r, ks_node_at(spec, "exclude"), &gaps);
    if (rc < 0)
        return rc;
    if (v[0] < 0 || v[1] < v[0] || v[1] > INT32_MAX || v[2] < 1 || v[2] > INT32_MAX)
        return ks_node_fail(r->a->doc, spec, r->a->err,
                            "expected 0 <= min <= max and step > 0, all below 2^31");
    for (int64_t x = v[0]; rc == 0 && x <= v[1]; x += v[2]) {
        if (is_among(&gaps, x))
            n_hit++;
        else
            rc = add_number(r, spec, x, out);
    }
    if (rc == 0 && n_hit < gaps.n)
        return ks_node_fail(r->a->doc, ks_node_at(spec, "exclude"), r->a->err,
                            "excludes a value that is not in the range");
    if (rc == 0 && out->n == 0)
        return ks_node_fail(r->a->doc, ks_node_at(spec, "exclude"), r->a->err,
                            "excludes every value of the range");
    return rc;
}

static int check_spec(const struct reader *r, const struct ks_node *spec, bool *is_range_out)
{
    static const char *const lists[] = { "values", NULL };
    static const char *const ranges[] = { "min", "max", "step", "exclude", NULL };
    static const char *const all[] = { "values", "min", "max", "step", "exclude", NULL };
    int rc = ks_node_kind(spec) == KS_JSON_OBJECT
                 ? ks_ck_only(r->a->doc, spec, all, r->a->err)
                 : ks_node_fail(r->a->doc, spec, r->a->err,
                                "expected { \"values\": [..] } or { \"min\", \"max\", \"step\" }");

    if (rc < 0)
        return rc;
    *is_range_out = ks_node_at(spec, "values") == NULL;
    return ks_ck_only(r->a->doc, spec, *is_range_out ? ranges : lists, r->a->err);
}

static int read_trait(struct reader *r, const struct ks_node *spec, uint32_t t)
{
    const struct ks_trait *trait = &r->f->traits[t];
    struct numbers list = { .n = 0 };
    bool is_range;
    int rc = check_spec(r, spec, &is_range);

    if (rc < 0)
        return rc;
    if (r->p.n[t] > 0)
        return ks_node_fail(r->a->doc, spec, r->a->err, "'%s' is given twice", key_of(trait));
    if (!is_range)
        return ks_adder_choices(r->a, r->i_family, ks_node_at(spec, "values"), t, &r->p);
    rc = read_range(r, spec, &list);
    for (uint32_t i = 0; rc == 0 && i < list.n; i++) {
        char text[24];
        int v;

        snprintf(text, sizeof text, "%lld", (long long)list.v[i]);
        v = ks_trait_value(trait, text);
        if (v < 0)
            return ks_node_fail(r->a->doc, spec, r->a->err, "'%s' is not a value of trait '%s'",
                                text, trait->name);
        r->p.choice[t][r->p.n[t]++] = (uint8_t)v;
    }
    return rc;
}

/* Keeps the choices of the attribute's trait that have one of these numbers. */
static int keep(struct reader *r, const struct ks_node *spec, const struct ks_attribute *a,
                const struct numbers *list)
{
    uint8_t *choice = r->p.choice[a->i_trait];
    uint32_t n = 0;

    for (uint32_t i = 0; i < list->n; i++) {
        bool is_there = false;

        for (uint32_t v = 0; v < r->f->traits[a->i_trait].n_values; v++)
            is_there |= a->value[v] == list->v[i];
        if (!is_there)
            return ks_node_fail(r->a->doc, spec, r->a->err, "no %s has %s = %lld",
                                r->f->traits[a->i_trait].name, a->name, (long long)list->v[i]);
    }
    for (uint32_t i = 0; i < r->p.n[a->i_trait]; i++)
        if (is_among(list, a->value[choice[i]]))
            choice[n++] = choice[i];
    r->p.n[a->i_trait] = n;
    return n ? 0
             : ks_node_fail(r->a->doc, spec, r->a->err, "leaves no value of %s",
                            r->f->traits[a->i_trait].name);
}

static int read_attribute(struct reader *r, const struct ks_node *spec,
                          const struct ks_attribute *a)
{
    struct numbers list = { .n = 0 };
    bool is_range;
    int rc = check_spec(r, spec, &is_range);

    if (rc == 0)
        rc =
            is_range ? read_range(r, spec, &list) : read_list(r, ks_node_at(spec, "values"), &list);
    return rc < 0 ? rc : keep(r, spec, a, &list);
}

static int read_keys(struct reader *r, const struct ks_node *section, enum keys which)
{
    const char *keys[MOST_KEYS + 1];
    int rc;

    list_keys(r->f, which, keys);
    rc = ks_ck_only(r->a->doc, section, keys, r->a->err);
    for (uint32_t t = 0; rc == 0 && t < r->f->n_traits; t++) {
        const struct ks_node *spec = ks_node_at(section, key_of(&r->f->traits[t]));

        if (spec)
            rc = read_trait(r, spec, t);
    }
    return rc;
}

static int read_section(struct reader *r, const struct ks_node *root, const char *name,
                        enum keys which)
{
    const struct ks_node *section;
    int rc;

    if (!ks_node_at(root, name))
        return 0;
    rc = ks_grid_field_node(r->a->doc, root, name, KS_JSON_OBJECT, &section, r->a->err);
    return rc < 0 ? rc : read_keys(r, section, which);
}

/* `arch_tile_config` has a tile_config per architecture, which counts there instead of the common
 * one. All are read, so that a mistake is named wherever the config is used. */
static int read_tiles(struct reader *r, const struct ks_node *root)
{
    const struct ks_node *archs = NULL;
    const char *arch = r->a->set->arch ? r->a->set->arch : "";
    struct ks_product common = r->p, here;
    bool has_tiles = ks_node_at(root, "tile_config") != NULL;
    int rc = 0;

    if (ks_node_at(root, "arch_tile_config"))
        rc = ks_grid_field_node(r->a->doc, root, "arch_tile_config", KS_JSON_OBJECT, &archs,
                                r->a->err);
    if (rc == 0)
        rc = read_section(r, root, "tile_config", TILE_KEYS);
    here = r->p;
    for (const struct ks_node *n = ks_node_first(archs); rc == 0 && n; n = ks_node_next(n)) {
        if (ks_node_key(n)[0] == '_')
            continue;
        if (ks_node_kind(n) != KS_JSON_OBJECT)
            return ks_node_fail(r->a->doc, n, r->a->err, "expected an object { ... }");
        r->p = common;
        rc = read_keys(r, n, TILE_KEYS);
        if (strcmp(ks_node_key(n), arch) == 0) {
            here = r->p;
            has_tiles = true;
        }
    }
    r->p = here;
    if (rc == 0 && archs && !has_tiles)
        rc = ks_node_fail(r->a->doc, archs, r->a->err,
                          "has no tiles for arch '%s': add them, or a tile_config for all", arch);
    return rc;
}

static void take_absent(struct reader *r)
{
    for (uint32_t t = 0; t < r->f->n_traits; t++) {
        const struct ks_trait *trait = &r->f->traits[t];

        if (r->p.n[t] > 0)
            continue;
        for (uint32_t v = 0; trait->is_all_when_absent && v < trait->n_values; v++)
            r->p.choice[t][r->p.n[t]++] = (uint8_t)v;
        if (r->p.n[t] == 0)
            r->p.choice[t][r->p.n[t]++] = (uint8_t)trait->i_default;
    }
}

static int read_attributes(struct reader *r, const struct ks_node *root)
{
    const struct ks_node *section = ks_node_at(root, "tile_config");
    int rc = 0;

    for (uint32_t i = 0; section && rc == 0 && i < r->f->n_attributes; i++) {
        const struct ks_attribute *a = &r->f->attributes[i];
        const struct ks_node *spec = is_of_tile(a->name) ? ks_node_at(section, a->name) : NULL;

        if (spec)
            rc = read_attribute(r, spec, a);
    }
    return rc;
}

/* "2d_fwd" says how many dimensions as well. */
static int read_dimensions(struct reader *r, const struct ks_node *n, const char *word)
{
    int t = ks_family_trait(r->f, "ndim");
    int v;

    if (t < 0)
        return 0;
    v = ks_trait_value(&r->f->traits[t], (char[]){ word[0], '\0' });
    if (v < 0 || (r->p.n[t] > 0 && (r->p.n[t] > 1 || r->p.choice[t][0] != v)))
        return ks_node_fail(r->a->doc, n, r->a->err, "'%s' and %s differ", word,
                            key_of(&r->f->traits[t]));
    r->p.choice[t][0] = (uint8_t)v;
    r->p.n[t] = 1;
    return 0;
}

static int read_variant(struct reader *r, const struct ks_node *root)
{
    const struct ks_node *n = ks_node_at(root, "variant");
    int t = ks_family_trait(r->f, "direction"), v, rc;
    const char *word;

    if (!n)
        return t < 0 ? 0
                     : ks_node_fail(r->a->doc, root, r->a->err,
                                    "key 'variant' is missing (a string)");
    rc = ks_node_str(r->a->doc, n, &word, r->a->err);
    if (rc < 0)
        return rc;
    v = ks_trait_value(&r->f->traits[t], word);
    if (v < 0 && word[0] && strchr("123", word[0]) && strncmp(word + 1, "d_", 2) == 0) {
        v = ks_trait_value(&r->f->traits[t], word + 3);
        rc = v < 0 ? 0 : read_dimensions(r, n, word);
    }
    if (rc < 0)
        return rc;
    if (v < 0)
        return ks_adder_choices(r->a, r->i_family, n, (uint32_t)t, &r->p);
    r->p.choice[t][r->p.n[t]++] = (uint8_t)v;
    return 0;
}

/* A value of the whole config is that of its trait. */
static int read_top(struct reader *r, const struct ks_node *root, const char *key)
{
    const struct ks_node *n = ks_node_at(root, key);
    int t = ks_family_name_trait(r->f, key);
    bool is_on = false;
    int rc;

    if (!n)
        return 0;
    if (t >= 0 && r->p.n[t] > 0)
        return ks_node_fail(r->a->doc, n, r->a->err, "'%s' is given twice", key);
    if (t >= 0)
        return ks_adder_choices(r->a, r->i_family, n, (uint32_t)t, &r->p);
    rc = ks_node_bool(r->a->doc, n, &is_on, r->a->err); /* permute_n of another operation */
    if (rc == 0 && is_on)
        rc = ks_node_fail(r->a->doc, n, r->a->err, "only preshuffled GEMMs permute n");
    return rc;
}

/* { "reduction_strategy": ["atomic"] } */
static int read_streamk(struct reader *r, const struct ks_node *root)
{
    static const char *const keys[] = { "reduction_strategy", NULL };
    const struct ks_node *section = ks_node_at(root, "streamk_config"), *n;
    int t = ks_family_trait(r->f, keys[0]), rc;

    if (!section)
        return 0;
    rc = ks_grid_field_node(r->a->doc, root, "streamk_config", KS_JSON_OBJECT, &section, r->a->err);
    if (rc == 0)
        rc = ks_ck_only(r->a->doc, section, keys, r->a->err);
    n = ks_node_at(section, keys[0]);
    if (rc < 0 || !n)
        return rc;
    if (t < 0)
        return ks_node_fail(r->a->doc, n, r->a->err, "only Stream-K GEMMs have it");
    if (r->p.n[t] > 0)
        return ks_node_fail(r->a->doc, n, r->a->err, "'%s' is given twice", keys[0]);
    return ks_adder_choices(r->a, r->i_family, n, (uint32_t)t, &r->p);
}

/* What the problem fixes, as the only value of its trait. */
static int fix(struct reader *r, const struct ks_node *n, const char *name, const char *text)
{
    int t = ks_family_trait(r->f, name);
    const struct ks_trait *trait = &r->f->traits[t];
    int v = text[0] ? ks_trait_value(trait, text) : -1;

    if (!text[0])
        return 0;
    if (v < 0)
        return ks_node_fail(r->a->doc, n, r->a->err, "'%s' is not a value of trait '%s'", text,
                            name);
    if (r->p.n[t] > 0)
        return ks_node_fail(r->a->doc, n, r->a->err, "'%s' is given twice", key_of(trait));
    r->p.choice[t][0] = (uint8_t)v;
    r->p.n[t] = 1;
    return 0;
}

static int read_problem(struct reader *r, const struct ks_node *root)
{
    struct ks_ck_problem p;
    const struct ks_node *n;
    int rc;

    if (!ks_node_at(root, "problem"))
        return 0;
    rc = ks_grid_field_node(r->a->doc, root, "problem", KS_JSON_OBJECT, &n, r->a->err);
    if (rc == 0)
        rc = ks_ck_problem_read(r->a->doc, n, &p, r->a->err);
    if (rc == 0)
        rc = fix(r, n, "matrix_layout", p.layout);
    return rc < 0 ? rc : fix(r, n, "dtype", p.dtype);
}

/* No kernel here has structured sparsity: it may be said. */
static int check_sparsity(const struct reader *r, const struct ks_node *root)
{
    const struct ks_node *n = ks_node_at(root, "structured_sparsity");
    bool is_sparse = false;
    int rc;

    if (!n)
        return 0;
    if (ks_node_kind(n) == KS_JSON_ARRAY && ks_node_size(n) == 1)
        n = ks_node_first(n);
    rc = ks_node_bool(r->a->doc, n, &is_sparse, r->a->err);
    if (rc == 0 && is_sparse)
        rc = ks_node_fail(r->a->doc, n, r->a->err, "structured sparsity is not supported");
    return rc;
}

static bool sniff(const struct ks_node *root)
{
    return ks_node_at(root, "variant") || ks_node_at(root, "trait_config") ||
           ks_node_at(root, "tile_config");
}

static int read_gemm(struct reader *r, const struct ks_node *root)
{
    int rc = read_top(r, root, "k_block_per_cu");

    if (rc == 0)
        rc = read_top(r, root, "permute_n");
    if (rc == 0)
        rc = read_streamk(r, root);
    if (rc == 0)
        rc = read_problem(r, root);
    return rc < 0 ? rc : check_sparsity(r, root);
}

static int read_all(struct reader *r, const struct ks_node *root, bool is_conv)
{
    int rc = read_tiles(r, root);

    if (rc == 0)
        rc = read_section(r, root, "trait_config", TRAIT_KEYS);
    if (rc == 0)
        rc = read_section(r, root, "tunable_params", ALL_KEYS);
    if (rc == 0)
        rc = is_conv ? read_variant(r, root) : read_gemm(r, root);
    if (rc == 0) {
        take_absent(r);
        rc = read_attributes(r, root);
    }
    return rc < 0 ? rc : ks_adder_product(r->a, r->i_family, &r->p);
}

static int find_op(const struct ks_adder *a, const struct ks_node *root,
                   const struct ks_ck_op **op_out)
{
    char path[PATH_MAX];
    bool is_found = ks_find_absolute(a->path, path, sizeof path, NULL) == 0;

    return ks_ck_op_find(a->doc, root, is_found ? path : a->path, op_out, a->err);
}

static int read(struct ks_adder *a, const struct ks_node *root)
{
    static const char *const conv_keys[] = { "variant",   "trait_config", "tile_config",
                                             "operation", "why",          NULL };
    static const char *const gemm_keys[] = { "tile_config",
                                             "trait_config",
                                             "arch_tile_config",
                                             "tunable_params",
                                             "streamk_config",
                                             "problem",
                                             "test_params",
                                             "k_block_per_cu",
                                             "permute_n",
                                             "structured_sparsity",
                                             "operation",
                                             "why",
                                             NULL };
    const struct ks_ck_op *op = NULL;
    struct reader r = { .a = a };
    char why[1024];
    bool is_conv;
    int rc = find_op(a, root, &op);

    if (rc < 0)
        return rc;
    is_conv = strcmp(op->name, "grouped_conv") == 0;
    rc = ks_ck_only(a->doc, root, is_conv ? conv_keys : gemm_keys, a->err);
    if (rc == 0)
        rc = ks_grid_field_text(a->doc, root, "why", "", why, sizeof why, a->err);
    if (rc == 0)
        rc = ks_adder_family_file(a, op->family, root, &r.i_family);
    if (rc < 0)
        return rc;
    r.f = &a->set->families[r.i_family];
    return read_all(&r, root, is_conv);
}

const struct ks_kernel_reader ks_read_ck_config = { sniff, read };
