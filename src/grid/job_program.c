/* SPDX-License-Identifier: MIT */
/* job_program.c - reads and prints a job's entry for a program that times its own kernels */
#include "grid/job_program.h"

#include "grid/fields.h"
#include "profiler/adapter.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SILENCE_S = 600, TIMEOUT_S = 7200, MOST_S = 30 * 24 * 3600 };

static int read_number(const struct ks_json *doc, const struct ks_node *obj, const char *key,
                       int64_t lo, int64_t hi, uint32_t otherwise, uint32_t *out,
                       struct ks_err *err)
{
    const struct ks_node *n = ks_node_at(obj, key);
    int64_t v = otherwise;
    int rc = n ? ks_node_int(doc, n, &v, err) : 0;

    if (rc == 0 && (v < lo || v > hi))
        return ks_node_fail(doc, n, err, "must be %lld to %lld", (long long)lo, (long long)hi);
    if (rc == 0)
        *out = (uint32_t)v;
    return rc;
}

static int read_options(const struct ks_json *doc, const struct ks_node *obj,
                        const struct ks_profiler *adapter, struct ks_job_program *p,
                        struct ks_err *err)
{
    const struct ks_node *options = ks_node_at(obj, "options");
    struct ks_profiler_setup *setup = NULL;
    struct ks_buf text;
    int rc = options && ks_node_kind(options) != KS_JSON_OBJECT
                 ? ks_node_fail(doc, options, err, "expected an object { ... }")
                 : ks_profiler_setup_read(adapter, doc, options, &setup, err);

    if (rc < 0)
        return rc;
    ks_buf_init(&text);
    ks_profiler_setup_text(setup, &text);
    ks_profiler_setup_destroy(setup);
    if (!ks_buf_ok(&text))
        rc = ks_fail(err, KS_ENOMEM, "no memory for a job");
    else if (text.len >= sizeof p->options)
        rc = ks_node_fail(doc, options, err, "longer than %zu bytes", sizeof p->options - 1);
    else
        memcpy(p->options, ks_buf_text(&text), text.len + 1);
    ks_buf_release(&text);
    return rc;
}

static bool is_name(const char *key)
{
    return *key && !strchr("0123456789", *key) && !strpbrk(key, "= \t\n");
}

static int read_environment(const struct ks_json *doc, const struct ks_node *obj,
                            struct ks_job_program *p, struct ks_err *err)
{
    const struct ks_node *list = ks_node_at(obj, "environment");
    size_t at = 0;
    int rc = 0;

    if (list && ks_node_kind(list) != KS_JSON_OBJECT)
        return ks_node_fail(doc, list, err, "expected an object { \"NAME\": \"VALUE\" }");
    for (const struct ks_node *n = list ? ks_node_first(list) : NULL; rc == 0 && n;
         n = ks_node_next(n)) {
        const char *value;

        rc = ks_node_str(doc, n, &value, err);
        if (rc == 0 && (!is_name(ks_node_key(n)) || strchr(value, '\n')))
            rc = ks_node_fail(doc, n, err, "not a valid name or value of an environment variable");
        if (rc == 0)
            at += (size_t)snprintf(p->environment + at, sizeof p->environment - at, "%s=%s\n",
                                   ks_node_key(n), value);
        if (rc == 0 && at >= sizeof p->environment)
            rc = ks_node_fail(doc, list, err, "longer than %zu bytes", sizeof p->environment - 1);
    }
    return rc;
}

static int find_adapter(const struct ks_json *doc, const struct ks_node *obj,
                        struct ks_job_program *p, const struct ks_profiler **adapter_out,
                        struct ks_err *err)
{
    const struct ks_node *n = ks_node_at(obj, "program");
    char where[256];
    const char *name;
    int rc = ks_node_str(doc, n, &name, err);

    if (rc < 0)
        return rc;
    rc = ks_profiler_find(name, adapter_out, err);
    if (rc < 0) {
        ks_node_where(doc, n, where, sizeof where);
        return ks_err_context(err, KS_EINVAL, "%s", where);
    }
    snprintf(p->adapter, sizeof p->adapter, "%s", ks_profiler_name(*adapter_out));
    return 0;
}

int ks_job_program_read(const struct ks_json *doc, const struct ks_node *obj,
                        struct ks_job_program *out, struct ks_err *err)
{
    static const char *const keys[] = { "program", "path",      "options",   "environment",
                                        "repeat",  "silence_s", "timeout_s", NULL };
    const struct ks_profiler *adapter = NULL;
    int rc = ks_node_only(doc, obj, keys, err);

    if (rc == 0)
        rc = find_adapter(doc, obj, out, &adapter, err);
    if (rc == 0)
        rc = read_options(doc, obj, adapter, out, err);
    if (rc == 0)
        rc = read_environment(doc, obj, out, err);
    if (rc == 0)
        rc = read_number(doc, obj, "repeat", 1, KS_JOB_REPEATS, 1, &out->repeat, err);
    if (rc == 0)
        rc = read_number(doc, obj, "silence_s", 0, MOST_S, SILENCE_S, &out->silence_s, err);
    return rc < 0 ? rc
                  : read_number(doc, obj, "timeout_s", 1, MOST_S, TIMEOUT_S, &out->timeout_s, err);
}

/* Options are kept as the text that ks_profiler_setup_text() made. */
static void print_options(const char *text, struct ks_jw *w)
{
    struct ks_json *doc = NULL;

    if (ks_json_parse(text, strlen(text), "options", &doc, NULL) == 0)
        ks_jw_node(w, "options", ks_json_root(doc));
    ks_json_close(doc);
}

static void print_environment(const char *lines, struct ks_jw *w)
{
    ks_jw_open(w, "environment", '{');
    for (const char *p = lines; *p;) {
        const size_t n = strcspn(p, "\n"), n_name = strcspn(p, "=");
        char *name = strndup(p, n_name), *value = strndup(p + n_name + 1, n - n_name - 1);

        if (name && value)
            ks_jw_str(w, name, value);
        else
            w->to->failed = true;
        free(name);
        free(value);
        p += n + (p[n] == '\n');
    }
    ks_jw_close(w, '}');
}

void ks_job_program_print(const struct ks_job_program *p, struct ks_jw *w)
{
    ks_jw_str(w, "program", p->adapter);
    ks_jw_str(w, "path", p->path);
    print_options(p->options, w);
    if (p->environment[0])
        print_environment(p->environment, w);
    ks_jw_u64(w, "repeat", p->repeat);
    ks_jw_u64(w, "silence_s", p->silence_s);
    ks_jw_u64(w, "timeout_s", p->timeout_s);
}
