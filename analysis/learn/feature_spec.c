/* SPDX-License-Identifier: MIT */
/* feature_spec.c - feature_spec.json. */
#include "analysis/learn/features_impl.h"
#include "base/file.h"
#include "base/hash.h"
#include "json/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FORMAT "ksweep feature_spec"

static const char *const kinds[] = { "problem", "instance", "pair" };

/* ---- writing ---- */

static void put_number(struct ks_jw *w, const char *key, double v)
{
    if (isfinite(v))
        ks_jw_real(w, key, v);
    else
        ks_jw_null(w, key);
}

static void put_numbers(struct ks_jw *w, const char *key, const double *v, size_t n)
{
    ks_jw_open(w, key, '[');
    for (size_t i = 0; i < n; i++)
        put_number(w, NULL, v[i]);
    ks_jw_close(w, ']');
}

static void put_feature(struct ks_jw *w, const struct ks_feature *f)
{
    ks_jw_open(w, NULL, '{');
    ks_jw_str(w, "name", f->name);
    ks_jw_str(w, "unit", f->unit);
    ks_jw_str(w, "meaning", f->meaning);
    ks_jw_str(w, "kind", kinds[f->kind]);
    ks_jw_close(w, '}');
}

static void put_needs(struct ks_jw *w, const struct ks_fx_instance *x)
{
    ks_jw_open(w, "needs", '[');
    for (int k = 0; k < KS_FX_NEEDS && x->need[k].kind != KS_FX_NEED_NONE; k++) {
        ks_jw_int(w, NULL, x->need[k].kind);
        ks_jw_int(w, NULL, x->need[k].quantity);
        ks_jw_int(w, NULL, x->need[k].factor);
        ks_jw_int(w, NULL, x->need[k].value);
    }
    ks_jw_close(w, ']');
}

static void put_instance(struct ks_jw *w, const struct ks_feature_instance *x, size_t n_values)
{
    char id[17];

    ks_hex64(x->id, id);
    ks_jw_open(w, NULL, '{');
    ks_jw_str(w, "id", id);
    ks_jw_str(w, "name", x->name);
    ks_jw_str(w, "family", x->family);
    ks_jw_open(w, "domain", '[');
    ks_jw_int(w, NULL, x->fx.direction);
    ks_jw_int(w, NULL, x->fx.dtype);
    ks_jw_int(w, NULL, x->fx.layout);
    ks_jw_int(w, NULL, x->fx.ndim);
    ks_jw_close(w, ']');
    put_numbers(w, "traits", x->fx.trait, KS_FX_N_TRAITS);
    put_needs(w, &x->fx);
    put_numbers(w, "values", x->value, n_values);
    ks_jw_close(w, '}');
}

static void put_device(struct ks_jw *w, const struct ks_feature_spec *s)
{
    const double v[] = { s->device.units,        s->device.fast_bytes,   s->device.launch_ns,
                         s->device.flops_per_ns, s->device.bytes_per_ns, s->device.fast_per_ns };

    put_numbers(w, "device", v, 6);
    ks_jw_bool(w, "is_calibrated", s->is_calibrated);
    put_numbers(w, "least", s->lo, KS_FX_N_QUANTITIES);
    put_numbers(w, "most", s->hi, KS_FX_N_QUANTITIES);
}

/* digest NULL: without one, which is the text that the digest is made of. */
static void put_spec(const struct ks_feature_spec *s, const char *digest, struct ks_buf *to)
{
    struct ks_jw w;

    ks_jw_init(&w, to, true);
    ks_jw_open(&w, NULL, '{');
    ks_jw_str(&w, "format", FORMAT);
    ks_jw_int(&w, "version", KS_FEATURE_SPEC_VERSION);
    ks_jw_int(&w, "arithmetic", KS_FX_VERSION);
    ks_jw_str(&w, "operator", ks_operators[s->op]->name);
    if (digest)
        ks_jw_str(&w, "digest", digest);
    ks_jw_open(&w, "features", '[');
    for (size_t i = 0; i < s->n_features; i++)
        put_feature(&w, &s->features[i]);
    ks_jw_close(&w, ']');
    put_device(&w, s);
    ks_jw_open(&w, "instances", '[');
    for (size_t i = 0; i < s->n_instances; i++)
        put_instance(&w, &s->instances[i], s->n_values);
    ks_jw_close(&w, ']');
    ks_jw_close(&w, '}');
    ks_buf_printf(to, "\n");
}

void ks_feature_spec_write(const struct ks_feature_spec *s, struct ks_buf *json_out)
{
    char digest[17];

    ks_hex64(s->digest, digest);
    put_spec(s, digest, json_out);
}

int ks_feature_spec_sign(const struct ks_feature_spec *s, uint64_t *digest_out, struct ks_err *err)
{
    struct ks_buf b;
    int rc = 0;

    ks_buf_init(&b);
    put_spec(s, NULL, &b);
    if (ks_buf_ok(&b))
        *digest_out = ks_id64(b.data, b.len);
    else
        rc = ks_fail(err, KS_ENOMEM, "out of memory for a feature specification");
    ks_buf_release(&b);
    return rc;
}

/* ---- reading ---- */

struct parse {
    const struct ks_json *doc;
    const struct ks_node *root;
    struct ks_feature_spec *s;
    struct ks_err *err;
};

static int no_memory(struct ks_err *err)
{
    return ks_fail(err, KS_ENOMEM, "out of memory for a feature specification");
}

static int get_list(struct parse *r, const struct ks_node *of, const char *key, size_t n,
                    const struct ks_node **list_out)
{
    *list_out = ks_node_at(of, key);
    if (ks_node_kind(*list_out) != KS_JSON_ARRAY || (n != SIZE_MAX && ks_node_size(*list_out) != n))
        return ks_node_fail(r->doc, *list_out ? *list_out : of, r->err,
                            "'%s' must be a list whose length matches the specification", key);
    return 0;
}

static int get_numbers(struct parse *r, const struct ks_node *of, const char *key, double *out,
                       size_t n)
{
    const struct ks_node *list, *at;
    int rc = get_list(r, of, key, n, &list);

    at = rc == 0 ? ks_node_first(list) : NULL;
    for (size_t i = 0; rc == 0 && i < n; i++, at = ks_node_next(at)) {
        out[i] = NAN;
        if (ks_node_kind(at) != KS_JSON_NULL)
            rc = ks_node_real(r->doc, at, &out[i], r->err);
    }
    return rc;
}

static int get_wholes(struct parse *r, const struct ks_node *of, const char *key, int64_t *out,
                      size_t cap, size_t *n_out)
{
    const struct ks_node *list;
    int rc = get_list(r, of, key, SIZE_MAX, &list);

    *n_out = rc == 0 ? ks_node_size(list) : 0;
    if (rc == 0 && *n_out > cap)
        return ks_node_fail(r->doc, list, r->err, "more than %zu numbers", cap);
    list = rc == 0 ? ks_node_first(list) : NULL;
    for (size_t i = 0; rc == 0 && i < *n_out; i++, list = ks_node_next(list))
        rc = ks_node_int(r->doc, list, &out[i], r->err);
    return rc;
}

static int get_text(struct parse *r, const struct ks_node *of, const char *key,
                    const char **text_out)
{
    const struct ks_node *n = ks_node_at(of, key);

    if (!n)
        return ks_node_fail(r->doc, of, r->err, "'%s' is missing", key);
    return ks_node_str(r->doc, n, text_out, r->err);
}

static int get_version(struct parse *r, const char *key, int64_t want)
{
    const struct ks_node *n = ks_node_at(r->root, key);
    int64_t have = 0;
    int rc = n ? ks_node_int(r->doc, n, &have, r->err)
               : ks_node_fail(r->doc, r->root, r->err, "'%s' is missing", key);

    if (rc == 0 && have != want)
        return ks_node_fail(r->doc, n, r->err,
                            "%s %lld, but this version computes %lld: train the model again", key,
                            (long long)have, (long long)want);
    return rc;
}

/* The feature of that kind that the program knows by this name. */
static bool find_known(uint32_t op, uint32_t kind, const char *name, struct ks_feature *out)
{
    const uint32_t n = kind == KS_FEATURE_PROBLEM ? KS_FX_N_QUANTITIES : KS_FX_N_PAIRS;

    for (uint32_t k = 0; k < n; k++) {
        ks_feature_describe(op, kind, k, out);
        if (out->name[0] && strcmp(out->name, name) == 0)
            return true;
    }
    return false;
}

static int get_feature(struct parse *r, const struct ks_node *n)
{
    struct ks_feature_spec *s = r->s;
    struct ks_feature *f = &s->features[s->n_features];
    const char *name = "", *kind = "", *unit = "", *meaning = "";
    uint32_t k = 0;
    int rc = get_text(r, n, "name", &name);

    rc = rc == 0 ? get_text(r, n, "kind", &kind) : rc;
    rc = rc == 0 ? get_text(r, n, "unit", &unit) : rc;
    rc = rc == 0 ? get_text(r, n, "meaning", &meaning) : rc;
    if (rc < 0)
        return rc;
    while (k < KS_N_FEATURE_KINDS && strcmp(kinds[k], kind) != 0)
        k++;
    if (k == KS_N_FEATURE_KINDS)
        return ks_node_fail(r->doc, n, r->err, "unknown kind '%s'", kind);
    if (s->n_features && k < s->features[s->n_features - 1].kind)
        return ks_node_fail(r->doc, n, r->err,
                            "features must be in the order problem, instance, pair");
    if (k != KS_FEATURE_INSTANCE && !find_known(s->op, k, name, f))
        return ks_node_fail(r->doc, n, r->err,
                            "unknown feature '%s': the model is from another version", name);
    if (k == KS_FEATURE_INSTANCE) {
        snprintf(f->name, sizeof(f->name), "%s", name);
        snprintf(f->unit, sizeof(f->unit), "%s", unit);
        snprintf(f->meaning, sizeof(f->meaning), "%s", meaning);
        f->kind = k;
        f->index = (uint32_t)s->n_values++;
    }
    s->n_problem += k == KS_FEATURE_PROBLEM;
    s->n_features++;
    return 0;
}

static int get_features(struct parse *r)
{
    const struct ks_node *list;
    int rc = get_list(r, r->root, "features", SIZE_MAX, &list);

    if (rc < 0)
        return rc;
    if (ks_node_size(list) > KS_FEATURES_MAX || ks_node_size(list) == 0)
        return ks_node_fail(r->doc, list, r->err, "%zu features, but 1 to %d are allowed",
                            ks_node_size(list), KS_FEATURES_MAX);
    r->s->features = calloc(KS_FEATURES_MAX, sizeof(*r->s->features));
    if (!r->s->features)
        return no_memory(r->err);
    for (list = ks_node_first(list); rc == 0 && list; list = ks_node_next(list))
        rc = get_feature(r, list);
    return rc;
}

static int get_needs(struct parse *r, const struct ks_node *n, struct ks_fx_instance *fx)
{
    int64_t v[4 * KS_FX_NEEDS];
    size_t n_v;
    int rc = get_wholes(r, n, "needs", v, 4 * KS_FX_NEEDS, &n_v);

    for (size_t k = 0; rc == 0 && k < n_v / 4; k++) {
        const int64_t *x = &v[4 * k];

        if (x[0] <= KS_FX_NEED_NONE || x[0] > KS_FX_NEED_MOST || x[1] < 0 ||
            x[1] >= KS_FX_N_QUANTITIES || x[2] < 1 || x[2] > INT32_MAX || x[3] > INT32_MAX ||
            x[3] < (x[0] == KS_FX_NEED_MULTIPLE))
            return ks_node_fail(r->doc, n, r->err,
                                "unknown requirement %zu: the model is from another version", k);
        fx->need[k] =
            (struct ks_fx_need){ (int16_t)x[0], (int16_t)x[1], (int32_t)x[2], (int32_t)x[3] };
    }
    return rc;
}

static int get_domain(struct parse *r, const struct ks_node *n, struct ks_fx_instance *fx)
{
    int64_t v[4] = { 0 };
    size_t n_v;
    int rc = get_wholes(r, n, "domain", v, 4, &n_v);

    for (size_t i = 0; rc == 0 && i < 4; i++)
        if (n_v != 4 || v[i] < -1 || v[i] > 3)
            return ks_node_fail(r->doc, n, r->err, "'domain' must be four numbers from -1 to 3");
    fx->op = (int32_t)r->s->op;
    fx->direction = (int32_t)v[0];
    fx->dtype = (int32_t)v[1];
    fx->layout = (int32_t)v[2];
    fx->ndim = (int32_t)v[3];
    return rc;
}

static int get_instance(struct parse *r, const struct ks_node *n)
{
    struct ks_feature_instance *x = &r->s->instances[r->s->n_instances];
    const char *id = "", *name = "", *family = "";
    int rc = get_text(r, n, "id", &id);

    rc = rc == 0 ? get_text(r, n, "name", &name) : rc;
    rc = rc == 0 ? get_text(r, n, "family", &family) : rc;
    if (rc < 0)
        return rc;
    if (!ks_unhex64(id, &x->id))
        return ks_node_fail(r->doc, n, r->err, "'%s' is not an id of 16 hex digits", id);
    r->s->n_instances++;
    x->name = strdup(name);
    x->family = strdup(family);
    x->value = calloc(r->s->n_values + 1, sizeof(*x->value));
    if (!x->name || !x->family || !x->value)
        return no_memory(r->err);
    rc = get_domain(r, n, &x->fx);
    rc = rc == 0 ? get_numbers(r, n, "traits", x->fx.trait, KS_FX_N_TRAITS) : rc;
    rc = rc == 0 ? get_needs(r, n, &x->fx) : rc;
    return rc == 0 ? get_numbers(r, n, "values", x->value, r->s->n_values) : rc;
}

static int get_instances(struct parse *r)
{
    const struct ks_node *list;
    int rc = get_list(r, r->root, "instances", SIZE_MAX, &list);

    if (rc < 0)
        return rc;
    if (ks_node_size(list) == 0)
        return ks_node_fail(r->doc, list, r->err, "there are no instances");
    r->s->instances = calloc(ks_node_size(list), sizeof(*r->s->instances));
    if (!r->s->instances)
        return no_memory(r->err);
    for (list = ks_node_first(list); rc == 0 && list; list = ks_node_next(list))
        rc = get_instance(r, list);
    return rc;
}

static int get_device(struct parse *r)
{
    double v[6];
    struct ks_feature_spec *s = r->s;
    int rc = get_numbers(r, r->root, "device", v, 6);

    if (rc == 0)
        s->device = (struct ks_fx_device){ v[0], v[1], v[2], v[3], v[4], v[5] };
    if (rc == 0 && !(v[0] > 0 && v[1] > 0))
        rc = ks_node_fail(r->doc, r->root, r->err, "'device' has no units or no cache");
    rc = rc == 0
             ? ks_node_bool(r->doc, ks_node_at(r->root, "is_calibrated"), &s->is_calibrated, r->err)
             : rc;
    rc = rc == 0 ? get_numbers(r, r->root, "least", s->lo, KS_FX_N_QUANTITIES) : rc;
    return rc == 0 ? get_numbers(r, r->root, "most", s->hi, KS_FX_N_QUANTITIES) : rc;
}

static int get_head(struct parse *r)
{
    const char *format = "", *op = "";
    int rc = get_text(r, r->root, "format", &format);

    if (rc == 0 && strcmp(format, FORMAT) != 0)
        rc = ks_node_fail(r->doc, r->root, r->err, "'%s' is no '" FORMAT "'", format);
    rc = rc == 0 ? get_version(r, "version", KS_FEATURE_SPEC_VERSION) : rc;
    rc = rc == 0 ? get_version(r, "arithmetic", KS_FX_VERSION) : rc;
    rc = rc == 0 ? get_text(r, r->root, "operator", &op) : rc;
    return rc == 0 ? ks_operator_find(op, &r->s->op, r->err) : rc;
}

static int check_digest(struct parse *r)
{
    const char *text = "";
    uint64_t said = 0;
    int rc = get_text(r, r->root, "digest", &text);

    rc = rc == 0 ? ks_feature_spec_sign(r->s, &r->s->digest, r->err) : rc;
    if (rc == 0 && (!ks_unhex64(text, &said) || said != r->s->digest))
        return ks_node_fail(r->doc, r->root, r->err,
                            "the digest '%s' does not match the content: the file was changed or "
                            "is from another version",
                            text);
    return rc;
}

static int parse_spec(const struct ks_json *doc, struct ks_feature_spec *out, struct ks_err *err)
{
    struct ks_feature_spec s = { 0 };
    struct parse r = { doc, ks_json_root(doc), &s, err };
    int rc = get_head(&r);

    rc = rc == 0 ? get_features(&r) : rc;
    rc = rc == 0 ? get_device(&r) : rc;
    rc = rc == 0 ? get_instances(&r) : rc;
    rc = rc == 0 ? check_digest(&r) : rc;
    if (rc < 0)
        ks_feature_spec_release(&s);
    else
        *out = s;
    return rc;
}

int ks_feature_spec_parse(const char *text, size_t len, const char *name,
                          struct ks_feature_spec *spec_out, struct ks_err *err)
{
    struct ks_json *doc = NULL;
    int rc = ks_json_parse(text, len, name, &doc, err);

    rc = rc == 0 ? parse_spec(doc, spec_out, err) : rc;
    ks_json_close(doc);
    return rc;
}

int ks_feature_spec_read(const char *path, struct ks_feature_spec *spec_out, struct ks_err *err)
{
    struct ks_json *doc = NULL;
    int rc = ks_json_open(path, &doc, err);

    rc = rc == 0 ? parse_spec(doc, spec_out, err) : rc;
    ks_json_close(doc);
    return rc;
}
