/* SPDX-License-Identifier: MIT */
/* expect.c - the outcomes that instances must have, and the comparison */
#include "tests/gpu/expect.h"

#include "base/file.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIELDS 3 /* words of a line before the text */

struct line {
    const char *instance, *backend, *outcomes, *text;
};

struct expectations {
    char *copy;        /* owned; the lines point into it */
    struct line *line; /* owned, [n] */
    size_t n;
};

static bool are_outcomes(const char *list)
{
    char copy[160], *rest = copy, *one;

    if (snprintf(copy, sizeof(copy), "%s", list) >= (int)sizeof(copy))
        return false;
    while ((one = strsep(&rest, "|")) != NULL)
        if (ks_outcome_from(one) == KS_O_NONE)
            return false;
    return true;
}

/* 1: a line, 0: nothing on it. */
static int split(char *text, size_t number, struct line *out, struct ks_err *err)
{
    char *word[FIELDS];

    text[strcspn(text, "#")] = '\0';
    text += strspn(text, " ");
    if (*text == '\0')
        return 0;
    for (size_t i = 0; i < FIELDS; i++) {
        word[i] = text;
        text += strcspn(text, " ");
        if (*text != '\0')
            *text++ = '\0';
        text += strspn(text, " ");
    }
    for (size_t n = strlen(text); n > 0 && text[n - 1] == ' '; n--)
        text[n - 1] = '\0';
    if (!are_outcomes(word[2]))
        return ks_fail(err, KS_EFORMAT, "line %zu: '%s' are no outcomes", number, word[2]);
    *out = (struct line){ word[0], word[1], word[2], text };
    return 1;
}

static int read_lines(const char *path, struct expectations *out, struct ks_err *err)
{
    struct ks_buf text = { 0 };
    size_t number = 0;
    char *rest, *one;
    int rc = ks_file_read(path, &text, err);

    if (rc == 0) {
        out->copy = strdup(ks_buf_text(&text));
        out->line = calloc(text.len / 2 + 1, sizeof(*out->line)); /* more than there are lines */
        rc = out->copy != NULL && out->line != NULL ? 0 : ks_fail(err, KS_ENOMEM, "expectations");
    }
    rest = out->copy;
    while (rc >= 0 && rest != NULL && (one = strsep(&rest, "\n")) != NULL) {
        rc = split(one, ++number, &out->line[out->n], err);
        out->n += rc > 0;
    }
    ks_buf_release(&text);
    return rc < 0 ? rc : 0;
}

static const struct line *find(const struct expectations *l, const char *instance,
                               const char *backend)
{
    for (size_t i = 0; i < l->n; i++)
        if (fnmatch(l->line[i].instance, instance, 0) == 0 &&
            (strcmp(l->line[i].backend, "any") == 0 || strcmp(l->line[i].backend, backend) == 0))
            return &l->line[i];
    return NULL;
}

static bool has_outcome(const char *list, const char *outcome)
{
    const size_t n = strlen(outcome);

    for (const char *at = list; at != NULL; at = strchr(at, '|')) {
        at += *at == '|';
        if (strncmp(at, outcome, n) == 0 && (at[n] == '\0' || at[n] == '|'))
            return true;
    }
    return false;
}

static bool put_cell(const struct line *want, const char *name, const struct row *row,
                     struct ks_buf *out)
{
    const char *is = ks_outcome_text(row->outcome);
    bool is_good = has_outcome(want->outcomes, is) && strstr(row->reason, want->text) != NULL;

    ks_buf_printf(out, "%-6s %-28s %-16s %s", is_good ? "ok" : "not ok", name, is, row->reason);
    if (!is_good)
        ks_buf_printf(out, " [expected: %s%s%s]", want->outcomes, want->text[0] != '\0' ? ", " : "",
                      want->text);
    ks_buf_printf(out, "\n");
    return is_good;
}

/* What an instance should end as on this device; NULL: no line says so. */
static const struct line *wanted(const struct expectations *e, const struct ks_grid *g,
                                 uint32_t i_problem, uint32_t i_instance)
{
    static const struct line unable = { .outcomes = "unsupported", .text = "" };

    return ks_grid_unsupported(g, i_problem, i_instance) != NULL
               ? &unable
               : find(e, g->instances[i_instance].name, ks_job_backend(&g->job)->name);
}

static int check_lines(const struct expectations *e, const struct ks_grid *g, struct ks_err *err)
{
    uint64_t n_compared = 0;

    for (uint32_t p = 0; p < g->n_problems; p++)
        for (uint32_t i = 0; i < g->n_instances; i++) {
            if (!ks_grid_has_cell(g, p, i))
                continue;
            if (wanted(e, g, p, i) == NULL)
                return ks_fail(err, KS_EFORMAT, "no line fits '%s'", g->instances[i].name);
            n_compared += ks_grid_unsupported(g, p, i) == NULL;
        }
    return n_compared > 0 ? 0
                          : ks_fail(err, KS_EINVAL,
                                    "the grid has no cell that this device can run: there is "
                                    "nothing to compare");
}

int expect_open(const char *path, const struct ks_grid *g, struct expectations **out,
                struct ks_err *err)
{
    struct expectations *e = calloc(1, sizeof(*e));
    int rc = e != NULL ? read_lines(path, e, err) : ks_fail(err, KS_ENOMEM, "expectations");

    if (rc == 0)
        rc = check_lines(e, g, err);
    if (rc < 0) {
        expect_close(e);
        return ks_err_context(err, rc, "%s", path);
    }
    *out = e;
    return 0;
}

void expect_close(struct expectations *e)
{
    if (e == NULL)
        return;
    free(e->copy);
    free(e->line);
    free(e);
}

uint64_t expect_check(const struct expectations *e, const struct ks_grid *g, const struct row *rows,
                      struct ks_buf *out)
{
    uint64_t n_bad = 0;

    for (uint32_t p = 0; p < g->n_problems; p++)
        for (uint32_t i = 0; i < g->n_instances; i++)
            if (ks_grid_has_cell(g, p, i))
                n_bad += !put_cell(wanted(e, g, p, i), g->instances[i].name,
                                   &rows[(uint64_t)p * g->n_instances + i], out);
    return n_bad;
}
