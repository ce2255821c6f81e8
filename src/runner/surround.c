/* SPDX-License-Identifier: MIT */
/* surround.c - environment and working directory of a program's run */
#include "runner/surround.h"

#include "base/array.h"
#include "base/file.h"
#include "runner/runner.h"

#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool same_name(const char *a, const char *b)
{
    const size_t n = strcspn(a, "=");

    return strncmp(a, b, n) == 0 && b[n] == '=';
}

/* Takes `text`: "NAME=VALUE". A later one of a name replaces an earlier one. */
static int add(struct ks_surroundings *s, char *text, struct ks_err *err)
{
    int rc = text ? ks_reserve(&s->env, s->n + 2, &s->cap, sizeof *s->env, "variables", err)
                  : ks_fail(err, KS_ENOMEM, "out of memory");

    if (rc < 0) {
        free(text);
        return rc;
    }
    for (size_t i = 0; i < s->n; i++)
        if (same_name(s->env[i], text)) {
            free(s->env[i]);
            s->env[i] = text;
            return 0;
        }
    s->env[s->n++] = text;
    s->env[s->n] = NULL;
    return 0;
}

static int print(struct ks_surroundings *s, struct ks_err *err, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
static int print(struct ks_surroundings *s, struct ks_err *err, const char *fmt, ...)
{
    char *text = NULL;
    va_list ap;

    va_start(ap, fmt);
    if (vasprintf(&text, fmt, ap) < 0)
        text = NULL;
    va_end(ap);
    return add(s, text, err);
}

static int add_inherited(struct ks_surroundings *s, struct ks_err *err)
{
    int rc = 0;

    for (char **e = environ; rc == 0 && *e; e++)
        rc = add(s, strdup(*e), err);
    return rc;
}

static int add_own(const struct ks_runner *r, struct ks_surroundings *s, struct ks_err *err)
{
    const struct ks_profiler_variable *v;
    cpu_set_t cpus;
    int rc = print(s, err, "TMPDIR=%s", s->dir);

    if (rc == 0 && sched_getaffinity(0, sizeof cpus, &cpus) == 0)
        rc = print(s, err, "OMP_NUM_THREADS=%d", CPU_COUNT(&cpus));
    for (unsigned i = 0; rc == 0 && (v = ks_profiler_variable(r->profiler, i)) != NULL; i++) {
        char sub[1400];

        if (!v->is_directory) {
            rc = print(s, err, "%s=%s", v->name, v->value);
            continue;
        }
        snprintf(sub, sizeof sub, "%s/%s", s->dir, v->value);
        rc = ks_mkdirs(sub, 0700, err);
        if (rc == 0)
            rc = print(s, err, "%s=%s", v->name, sub);
    }
    return rc;
}

static int add_asked(const struct ks_runner *r, struct ks_surroundings *s, struct ks_err *err)
{
    int rc = 0;

    for (const char *p = r->program.environment; rc == 0 && *p;) {
        const size_t n = strcspn(p, "\n");

        rc = add(s, strndup(p, n), err);
        p += n + (p[n] == '\n');
    }
    return rc;
}

int ks_surround(const struct ks_runner *r, struct ks_surroundings *out, struct ks_err *err)
{
    int rc;

    *out = (struct ks_surroundings){ .n = 0 };
    snprintf(out->dir, sizeof out->dir, "%s/run", r->program.work_dir);
    rc = ks_mkdirs(out->dir, 0700, err);
    if (rc == 0)
        rc = add_inherited(out, err);
    if (rc == 0)
        rc = add_own(r, out, err);
    return rc < 0 ? rc : add_asked(r, out, err);
}

void ks_surroundings_release(struct ks_surroundings *s)
{
    for (size_t i = 0; i < s->n; i++)
        free(s->env[i]);
    free(s->env);
    if (s->dir[0])
        (void)ks_remove_tree(s->dir, NULL);
    *s = (struct ks_surroundings){ .n = 0 };
}
