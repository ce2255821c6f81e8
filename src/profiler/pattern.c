/* SPDX-License-Identifier: MIT */
/* pattern.c - regular expressions with named groups, on top of regcomp(3) */
#include "profiler/pattern.h"

#include "base/buf.h"

#include <stdlib.h>
#include <string.h>

static const char name_letters[] =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";

/* Behind a bracket expression such as "[^]a-z[:digit:]]"; NULL: it has no end. */
static const char *skip_bracket(const char *at)
{
    at += at[1] == '^' ? 2 : 1;
    if (*at == ']')
        at++;
    while (*at && *at != ']') {
        if (at[0] == '[' && at[1] && strchr(":.=", at[1])) {
            const char end[] = { at[1], ']', 0 };
            const char *close = strstr(at + 2, end);

            if (!close)
                return NULL;
            at = close + 2;
        } else {
            at++;
        }
    }
    return *at ? at + 1 : NULL;
}

/* Takes the name of the group whose bracket stands before `*at`. */
static int take_name(const char **at, struct ks_pattern *p, struct ks_err *err)
{
    const char *name = *at + 2;
    size_t n = strspn(name, name_letters);
    char *copy;

    if (n == 0 || name[n] != '>')
        return ks_fail(
            err, KS_EINVAL,
            "the name of a group must consist of letters, digits and _, as in (?<time>..)");
    copy = strndup(name, n);
    if (!copy)
        return ks_fail(err, KS_ENOMEM, "out of memory for a pattern");
    if (ks_pattern_has(p, copy)) {
        free(copy);
        return ks_fail(err, KS_EINVAL, "two groups are named '%.*s'", (int)n, name);
    }
    p->names[p->n_groups - 1] = copy;
    *at = name + n + 1;
    return 0;
}

static int open_group(const char **at, struct ks_pattern *p, struct ks_err *err)
{
    if (p->n_groups == KS_PATTERN_GROUPS)
        return ks_fail(err, KS_EINVAL, "more than %d groups", KS_PATTERN_GROUPS);
    p->n_groups++;
    if (strncmp(*at, "?<", 2) == 0)
        return take_name(at, p, err);
    if (strncmp(*at, "?:", 2) == 0)
        *at += 2;
    else if (**at == '?')
        return ks_fail(err, KS_EINVAL, "'(?' must be followed by '<name>' or ':'");
    return 0;
}

/* The expression without names, as regcomp(3) reads it. */
static int strip_names(const char *at, struct ks_pattern *p, struct ks_buf *to, struct ks_err *err)
{
    while (*at) {
        const char *from = at;

        if (*at == '\\' && at[1])
            at += 2;
        else if (*at == '[')
            at = skip_bracket(at);
        else
            at++;
        if (!at)
            return ks_fail(err, KS_EINVAL, "'[' without a matching ']'");
        ks_buf_put(to, from, (size_t)(at - from));
        if (*from == '(' && open_group(&at, p, err) < 0)
            return err ? (int)err->code : KS_EINVAL;
    }
    return ks_buf_ok(to) ? 0 : ks_fail(err, KS_ENOMEM, "out of memory for a pattern");
}

static int compile(struct ks_pattern *p, const char *text, struct ks_err *err)
{
    char why[128];
    int rc;

    p->compiled = malloc(sizeof *p->compiled);
    if (!p->compiled)
        return ks_fail(err, KS_ENOMEM, "out of memory for a pattern");
    rc = regcomp(p->compiled, text, REG_EXTENDED);
    if (rc == 0)
        return 0;
    regerror(rc, p->compiled, why, sizeof why);
    free(p->compiled);
    p->compiled = NULL;
    if (rc == REG_ESPACE)
        return ks_fail(err, KS_ENOMEM, "out of memory for a pattern");
    return ks_fail(err, KS_EINVAL, "not a POSIX extended regular expression: %s", why);
}

int ks_pattern_compile(const char *source, struct ks_pattern *out, struct ks_err *err)
{
    struct ks_pattern p = { 0 };
    struct ks_buf text;
    int rc;

    ks_buf_init(&text);
    rc = strip_names(source, &p, &text, err);
    if (rc == 0)
        rc = compile(&p, ks_buf_text(&text), err);
    ks_buf_release(&text);
    if (rc < 0)
        ks_pattern_release(&p);
    else
        *out = p;
    return rc;
}

void ks_pattern_release(struct ks_pattern *p)
{
    if (p->compiled)
        regfree(p->compiled);
    free(p->compiled);
    for (size_t i = 0; i < KS_PATTERN_GROUPS; i++)
        free(p->names[i]);
    *p = (struct ks_pattern){ 0 };
}

bool ks_pattern_match(const struct ks_pattern *p, const char *text,
                      regmatch_t groups_out[KS_PATTERN_GROUPS])
{
    regmatch_t all[KS_PATTERN_GROUPS + 1];

    if (!p->compiled || regexec(p->compiled, text, p->n_groups + 1, all, 0) != 0)
        return false;
    memcpy(groups_out, all + 1, p->n_groups * sizeof *groups_out);
    return true;
}

bool ks_pattern_has(const struct ks_pattern *p, const char *name)
{
    for (size_t i = 0; i < p->n_groups; i++)
        if (p->names[i] && strcmp(p->names[i], name) == 0)
            return true;
    return false;
}
