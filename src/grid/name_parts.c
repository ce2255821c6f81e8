/* SPDX-License-Identifier: MIT */
/* name_parts.c - splits a family's name pattern and suffixes into the parts of instance names */
#include "grid/name_parts.h"

#include "base/opt.h"

#include <string.h>

struct splitter {
    const struct ks_family *f;
    bool is_alias;
    struct ks_name_parts *to;
    bool is_shown[KS_TRAITS_MAX];
    struct ks_err *err;
};

/* The word between braces, as a trait that has not stood before. */
static int find_trait(struct splitter *s, const char *from, size_t n, int *out)
{
    char word[32];
    const char *names[KS_TRAITS_MAX + 1] = { NULL };
    const char *near;

    if (n == 0 || n >= sizeof word)
        return ks_fail(s->err, KS_EINVAL, "'{%.*s}' is not a trait", (int)n, from);
    memcpy(word, from, n);
    word[n] = '\0';
    *out = ks_family_trait(s->f, word);
    if (*out >= 0)
        return 0;
    for (uint32_t i = 0; i < s->f->n_traits; i++)
        names[i] = s->f->traits[i].name;
    near = ks_nearest(word, names);
    return ks_fail(s->err, KS_EINVAL, "'{%s}' is not a trait%s%s%s", word,
                   near ? ", did you mean '" : "", near ? near : "", near ? "'" : "");
}

static int add_value(struct splitter *s, const char *from, size_t n)
{
    int i_trait = 0;
    int rc = find_trait(s, from, n, &i_trait);

    if (rc < 0)
        return rc;
    if (s->is_shown[i_trait])
        return ks_fail(s->err, KS_EINVAL, "duplicate '{%s}'", s->f->traits[i_trait].name);
    if (s->f->traits[i_trait].suffix[0])
        return ks_fail(s->err, KS_EINVAL, "'{%s}' must not appear: the trait has a suffix",
                       s->f->traits[i_trait].name);
    s->is_shown[i_trait] = true;
    s->to->part[s->to->n++] = (struct ks_name_part){ .i_trait = i_trait, .has_value = true };
    return 0;
}

static int split_pattern(struct splitter *s, const char *pattern)
{
    const char *p = pattern;

    while (*p) {
        size_t n = strcspn(p, "{}");
        int rc;

        if (n > 0) {
            s->to->part[s->to->n++] =
                (struct ks_name_part){ .i_trait = -1, .before = p, .n_before = n };
            p += n;
            continue;
        }
        n = strcspn(p + 1, "{}");
        if (*p == '}' || p[1 + n] != '}')
            return ks_fail(s->err, KS_EINVAL, "unmatched brace at character %zu",
                           (size_t)(p - pattern) + 1);
        rc = add_value(s, p + 1, n);
        if (rc < 0)
            return rc;
        p += n + 2;
    }
    return 0;
}

static struct ks_name_part suffix_part(const struct ks_trait *t, uint32_t i_trait)
{
    const char *hole = strstr(t->suffix, "{}");
    struct ks_name_part part = {
        .i_trait = (int)i_trait, .is_suffix = true, .has_value = hole != NULL, .before = t->suffix
    };

    part.n_before = hole ? (size_t)(hole - t->suffix) : strlen(t->suffix);
    part.after = hole ? hole + 2 : "";
    part.n_after = strlen(part.after);
    return part;
}

static int add_suffixes(struct splitter *s)
{
    for (uint32_t i = 0; i < s->f->n_traits; i++) {
        const struct ks_trait *t = &s->f->traits[i];

        if (t->suffix[0])
            s->to->part[s->to->n++] = suffix_part(t, i);
        else if (!s->is_alias && !s->is_shown[i] && t->n_values > 1)
            return ks_fail(s->err, KS_EINVAL,
                           "trait '%s' has several values but is not in the name: add {%s}, or "
                           "give the trait a suffix",
                           t->name, t->name);
    }
    return 0;
}

static size_t longest(const struct ks_trait *t)
{
    size_t most = t->is_bool ? strlen("False") : 0;

    for (uint32_t i = 0; i < t->n_values; i++)
        if (strlen(t->text[i]) > most)
            most = strlen(t->text[i]);
    return most;
}

int ks_name_parts(const struct ks_family *f, const char *pattern, bool is_alias,
                  struct ks_name_parts *out, struct ks_err *err)
{
    struct splitter s = { .f = f, .is_alias = is_alias, .to = out, .err = err };
    size_t length = 0;
    int rc;

    out->n = 0;
    rc = split_pattern(&s, pattern);
    if (rc == 0)
        rc = add_suffixes(&s);
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < out->n; i++) {
        length += out->part[i].n_before + out->part[i].n_after;
        if (out->part[i].has_value)
            length += longest(&f->traits[out->part[i].i_trait]);
    }
    if (length >= KS_INSTANCE_NAME)
        return ks_fail(err, KS_EINVAL, "names can have up to %zu characters, the limit is %d",
                       length, KS_INSTANCE_NAME - 1);
    return 0;
}
