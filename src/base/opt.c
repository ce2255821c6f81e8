/* SPDX-License-Identifier: MIT */
/* opt.c - parses option tables: defaults, job keys and argv, with ranges, units and choices */
#include "base/opt.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static char fold(char c)
{
    return c == '_' ? '-' : c;
}

static bool same_name(const char *entry, const char *word, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (!entry[i] || fold(entry[i]) != fold(word[i]))
            return false;
    return !entry[len];
}

static const struct ks_opt *find_name(const struct ks_opt *t, const char *name, size_t len)
{
    for (; t->name; t++)
        if (same_name(t->name, name, len))
            return t;
    return NULL;
}

static const struct ks_opt *find_letter(const struct ks_opt *t, char letter)
{
    for (; t->name; t++)
        if (letter && t->letter == letter)
            return t;
    return NULL;
}

/* Both zero means that the type is the only limit. */
static bool has_range(const struct ks_opt *o)
{
    return o->min != 0 || o->max != 0;
}

static int in_range(const struct ks_opt *o, double v, struct ks_err *err)
{
    if (has_range(o) && (v < o->min || v > o->max))
        return ks_fail(err, KS_EINVAL, "%.12g is not in the range %.12g to %.12g", v, o->min,
                       o->max);
    return 0;
}

static int parse_whole(const struct ks_opt *o, const char *s, uint64_t limit, uint64_t *out,
                       struct ks_err *err)
{
    bool is_hex = s[0] == '0' && (s[1] == 'x' || s[1] == 'X');
    char *end;
    uint64_t v;
    int rc;

    if (!isdigit((unsigned char)s[0]))
        return ks_fail(err, KS_EINVAL, "'%s' is not a whole number >= 0", s);
    errno = 0;
    v = strtoull(s, &end, is_hex ? 16 : 10);
    if (*end)
        return ks_fail(err, KS_EINVAL, "'%s' is not a whole number", s);
    if (errno == ERANGE || v > limit)
        return ks_fail(err, KS_EINVAL, "%s is too large", s);
    rc = in_range(o, (double)v, err);
    if (rc < 0)
        return rc;
    *out = v;
    return 0;
}

/* Hexadecimal floats, "inf" and "nan" are words to strtod but never an option's value. */
static bool is_decimal(const char *s)
{
    if (*s == '-' || *s == '+')
        s++;
    return (isdigit((unsigned char)*s) || *s == '.') && !strpbrk(s, "xX");
}

static int parse_real(const char *s, double *out, char **end_out, struct ks_err *err)
{
    double v;

    if (!is_decimal(s))
        return ks_fail(err, KS_EINVAL, "'%s' is not a number", s);
    v = strtod(s, end_out);
    if (*end_out == s || !isfinite(v))
        return ks_fail(err, KS_EINVAL, "'%s' is not a finite number", s);
    *out = v;
    return 0;
}

static int parse_f64(const struct ks_opt *o, const char *s, double *out, struct ks_err *err)
{
    char *end;
    double v;
    int rc = parse_real(s, &v, &end, err);

    if (rc < 0)
        return rc;
    if (*end)
        return ks_fail(err, KS_EINVAL, "'%s' is not a number", s);
    rc = in_range(o, v, err);
    if (rc < 0)
        return rc;
    *out = v;
    return 0;
}

static int parse_duration(const struct ks_opt *o, const char *s, uint32_t *ms_out,
                          struct ks_err *err)
{
    static const struct {
        const char *unit;
        double ms;
    } units[] = { { "ms", 1 }, { "s", 1e3 }, { "m", 6e4 }, { "h", 3.6e6 } };
    double v, scale = 0;
    char *end;
    int rc = parse_real(s, &v, &end, err);

    if (rc < 0)
        return rc;
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
        if (!strcmp(end, units[i].unit))
            scale = units[i].ms;
    if (!*end && v != 0) /* 0 needs none */
        return ks_fail(err, KS_EINVAL, "'%s' has no unit: write %.40ss, %.40sm or %.40sh", s, s, s,
                       s);
    if (*end && scale == 0)
        return ks_fail(err, KS_EINVAL, "'%s' has an unknown unit; use ms, s, m or h", s);
    /* Decimal fractions such as 0.3s are not exact in binary. */
    v = nearbyint(v * scale * 1e3) / 1e3;
    if (v != floor(v) || v < 0 || v > UINT32_MAX)
        return ks_fail(err, KS_EINVAL, "'%s' is not a whole number of milliseconds", s);
    if (has_range(o) && (v < o->min || v > o->max))
        return ks_fail(err, KS_EINVAL, "'%s' is not in the range %.12gms to %.12gms", s, o->min,
                       o->max);
    *ms_out = (uint32_t)v;
    return 0;
}

static int parse_bool(const char *s, bool *out, struct ks_err *err)
{
    bool is_yes = !strcmp(s, "yes") || !strcmp(s, "true");

    if (!is_yes && strcmp(s, "no") && strcmp(s, "false"))
        return ks_fail(err, KS_EINVAL, "'%s' is neither yes nor no", s);
    *out = is_yes;
    return 0;
}

static int parse_enum(const struct ks_opt *o, const char *s, unsigned *out, struct ks_err *err)
{
    const char *near;
    struct ks_buf known;
    int rc;

    for (unsigned i = 0; o->choices[i]; i++)
        if (!strcmp(o->choices[i], s)) {
            *out = i;
            return 0;
        }
    near = ks_nearest(s, o->choices);
    ks_buf_init(&known);
    for (unsigned i = 0; o->choices[i]; i++)
        ks_buf_printf(&known, "%s%s", i ? ", " : "", o->choices[i]);
    rc = ks_fail(err, KS_EINVAL, "unknown value '%s'%s%s%s known are %s", s,
                 near ? "; did you mean '" : "", near ? near : "", near ? "'?" : ";",
                 ks_buf_text(&known));
    ks_buf_release(&known);
    return rc;
}

/* NULL, the default: none. */
static int add_text(struct ks_opt_list *list, const char *value, struct ks_err *err)
{
    const char **text = NULL;

    if (!value) {
        *list = (struct ks_opt_list){ .n = 0 };
        return 0;
    }
    text = realloc(list->text, (list->n + 1u) * sizeof(*text));
    if (!text)
        return ks_fail(err, KS_ENOMEM, "out of memory");
    list->text = text;
    list->text[list->n++] = value;
    return 0;
}

static int store(const struct ks_opt *o, void *cfg, const char *value, struct ks_err *err)
{
    void *slot = (char *)cfg + o->offset;
    uint64_t v = 0;
    int rc;

    switch (o->type) {
    case KS_OPT_BOOL:
        return parse_bool(value, slot, err);
    case KS_OPT_U32:
        rc = parse_whole(o, value, UINT32_MAX, &v, err);
        if (rc == 0)
            *(uint32_t *)slot = (uint32_t)v;
        return rc;
    case KS_OPT_U64:
        return parse_whole(o, value, UINT64_MAX, slot, err);
    case KS_OPT_F64:
        return parse_f64(o, value, slot, err);
    case KS_OPT_DURATION_MS:
        return parse_duration(o, value, slot, err);
    case KS_OPT_ENUM:
        return parse_enum(o, value, slot, err);
    case KS_OPT_STR:
        *(const char **)slot = value;
        return 0;
    case KS_OPT_LIST:
        return add_text(slot, value, err);
    }
    return ks_fail(err, KS_EINVAL, "unknown type");
}

static int check_entry(const struct ks_opt *table, const struct ks_opt *o, struct ks_err *err)
{
    if (!o->help || !*o->help)
        return ks_fail(err, KS_EINVAL, "no help text");
    if (!o->def && o->type != KS_OPT_STR && o->type != KS_OPT_LIST)
        return ks_fail(err, KS_EINVAL, "no default");
    if (!o->arg != (o->type == KS_OPT_BOOL))
        return ks_fail(err, KS_EINVAL, "'arg' is missing, which only booleans do without");
    if (o->type == KS_OPT_ENUM && (!o->choices || !o->choices[0]))
        return ks_fail(err, KS_EINVAL, "no choices");
    if (o->min > o->max)
        return ks_fail(err, KS_EINVAL, "'min' is greater than 'max'");
    if (find_name(table, o->name, strlen(o->name)) != o)
        return ks_fail(err, KS_EINVAL, "duplicate name");
    if (o->letter && find_letter(table, o->letter) != o)
        return ks_fail(err, KS_EINVAL, "duplicate letter '%c'", o->letter);
    return 0;
}

int ks_opt_defaults(const struct ks_opt *table, void *cfg, struct ks_err *err)
{
    for (const struct ks_opt *o = table; o->name; o++) {
        int rc = check_entry(table, o, err);

        if (rc == 0)
            rc = store(o, cfg, o->def, err);
        if (rc < 0)
            return ks_err_context(err, rc, "option table, entry '%s'", o->name);
    }
    return 0;
}

const char *ks_opt_text(const struct ks_opt *o, const void *cfg)
{
    const char *text;

    memcpy(&text, (const char *)cfg + o->offset, sizeof(text));
    return text;
}

void ks_opt_release(const struct ks_opt *table, void *cfg)
{
    for (const struct ks_opt *o = table; o->name; o++) {
        struct ks_opt_list *list = (void *)((char *)cfg + o->offset);

        if (o->type != KS_OPT_LIST)
            continue;
        free(list->text);
        *list = (struct ks_opt_list){ .n = 0 };
    }
}

static int unknown(const struct ks_opt *table, const char *shown, const char *name, size_t len,
                   struct ks_err *err)
{
    const char *names[128] = { NULL }, *near;
    char word[64];
    size_t n = 0;

    for (const struct ks_opt *o = table; o->name && n < 127; o++)
        names[n++] = o->name;
    if (len >= sizeof(word))
        len = sizeof(word) - 1;
    memcpy(word, name, len);
    word[len] = '\0';
    near = ks_nearest(word, names);
    if (near)
        return ks_fail(err, KS_EINVAL, "unknown option '%s'; did you mean '%s%s'?", shown,
                       shown[0] == '-' ? "--" : "", near);
    return ks_fail(err, KS_EINVAL, "unknown option '%s'", shown);
}

int ks_opt_set(const struct ks_opt *table, void *cfg, const char *name, const char *value,
               struct ks_err *err)
{
    const struct ks_opt *o = find_name(table, name, strlen(name));
    int rc;

    if (!o)
        return unknown(table, name, name, strlen(name), err);
    rc = store(o, cfg, value, err);
    return rc < 0 ? ks_err_context(err, rc, "%s", name) : 0;
}

/* One option of argv, split: which entry, how the user wrote it, and the text after '=' or -x. */
struct word {
    const struct ks_opt *opt;
    const char *value;
    int shown; /* length of the name as written */
};

static int split(const struct ks_opt *table, const char *a, struct word *out, struct ks_err *err)
{
    struct word w = { .shown = 2 };

    if (a[1] == '-') {
        size_t len = strcspn(a + 2, "=");

        w.opt = find_name(table, a + 2, len);
        w.value = a[2 + len] ? a + 3 + len : NULL;
        w.shown = (int)len + 2;
        if (!w.opt)
            return unknown(table, a, a + 2, len, err);
    } else {
        w.opt = find_letter(table, a[1]);
        w.value = a[2] ? a + 2 : NULL;
        if (!w.opt)
            return ks_fail(err, KS_EINVAL, "unknown option '%.2s'", a);
        if (w.value && w.opt->type == KS_OPT_BOOL)
            return ks_fail(err, KS_EINVAL, "'%s': -%c takes no value", a, a[1]);
    }
    *out = w;
    return 0;
}

static int set_from_argv(const struct ks_opt *table, void *cfg, int argc, char *const argv[],
                         int *i, struct ks_err *err)
{
    const char *a = argv[*i];
    struct word w = { 0 };
    int rc = split(table, a, &w, err);

    if (rc < 0)
        return rc;
    if (!w.value && w.opt->type == KS_OPT_BOOL)
        w.value = "yes";
    else if (!w.value && *i + 1 < argc)
        w.value = argv[++*i];
    if (!w.value)
        return ks_fail(err, KS_EINVAL, "%s needs %s", a, w.opt->arg ? w.opt->arg : "a value");
    rc = store(w.opt, cfg, w.value, err);
    return rc < 0 ? ks_err_context(err, rc, "%.*s", w.shown, a) : 0;
}

int ks_opt_argv(const struct ks_opt *table, void *cfg, int argc, char *const argv[],
                const char **operands_out, int *n_operands_out, bool *help_out, struct ks_err *err)
{
    bool is_ended = false;
    int n = 0;

    *help_out = false;
    *n_operands_out = 0;
    for (int i = 1; i < argc; i++) {
        const char *a = argv[i];
        int rc;

        if (is_ended || a[0] != '-' || !a[1]) {
            operands_out[n++] = a;
            continue;
        }
        if (!strcmp(a, "--")) {
            is_ended = true;
            continue;
        }
        if (!strcmp(a, "--help") || (!strcmp(a, "-h") && !find_letter(table, 'h'))) {
            *help_out = true;
            break;
        }
        rc = set_from_argv(table, cfg, argc, argv, &i, err);
        if (rc < 0)
            return rc;
    }
    *n_operands_out = n;
    return 0;
}
