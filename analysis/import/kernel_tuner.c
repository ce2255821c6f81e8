/* SPDX-License-Identifier: MIT */
/* kernel_tuner.c - reads caches of Kernel Tuner */
/* The last brackets are missing while a session runs, and after a kill. */
#include "analysis/import/elements.h"
#include "analysis/import/tuner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PARAMETERS_MOST 64
#define FAILED_MS       1e20 /* the time of what failed, in versions before named failures */

struct cache {
    struct ks_tuner t;
    char kernel[128], device[128], size[128];
    char parameter[PARAMETERS_MOST][32];
    size_t n_parameters;
};

static int copy_text(const struct ks_json *doc, char *out, size_t cap, struct ks_err *err)
{
    const char *text;
    int rc = ks_node_str(doc, ks_json_root(doc), &text, err);

    if (rc == 0)
        snprintf(out, cap, "%.*s", (int)cap - 1, text);
    return rc;
}

/* [4096, 4096] to "4096x4096". */
static int copy_size(const struct ks_json *doc, char *out, size_t cap, struct ks_err *err)
{
    const struct ks_node *root = ks_json_root(doc);
    size_t at = 0;

    if (ks_node_kind(root) != KS_JSON_ARRAY)
        return ks_node_text(doc, root, out, cap, err);
    for (const struct ks_node *n = ks_node_first(root); n && at < cap; n = ks_node_next(n)) {
        char text[48];
        int rc = ks_node_text(doc, n, text, sizeof(text), err);

        if (rc < 0)
            return rc;
        at += (size_t)snprintf(out + at, cap - at, "%s%s", at ? "x" : "", text);
    }
    return 0;
}

static int copy_parameters(struct cache *c, const struct ks_json *doc, struct ks_err *err)
{
    c->n_parameters = 0;
    for (const struct ks_node *n = ks_node_first(ks_json_root(doc)); n; n = ks_node_next(n)) {
        const char *text;
        int rc = ks_node_str(doc, n, &text, err);

        if (rc < 0)
            return rc;
        if (c->n_parameters == PARAMETERS_MOST || strlen(text) > 31)
            return ks_node_fail(doc, n, err,
                                "more than %d parameters, or a name beyond 31 "
                                "characters",
                                PARAMETERS_MOST);
        snprintf(c->parameter[c->n_parameters++], 32, "%s", text);
    }
    return 0;
}

static int on_member(void *ctx, const char *key, const struct ks_json *doc, struct ks_err *err)
{
    struct cache *c = ctx;

    if (strcmp(key, "device_name") == 0)
        return copy_text(doc, c->device, sizeof(c->device), err);
    if (strcmp(key, "kernel_name") == 0)
        return copy_text(doc, c->kernel, sizeof(c->kernel), err);
    if (strcmp(key, "problem_size") == 0)
        return copy_size(doc, c->size, sizeof(c->size), err);
    return strcmp(key, "tune_params_keys") == 0 ? copy_parameters(c, doc, err) : 0;
}

static int read_config(struct cache *c, const struct ks_json *doc, uint32_t *kernel_out,
                       struct ks_err *err)
{
    int rc = 0;

    ks_tuner_config(&c->t);
    for (size_t i = 0; rc == 0 && i < c->n_parameters; i++) {
        const struct ks_node *value = ks_node_at(ks_json_root(doc), c->parameter[i]);

        rc = value ? ks_tuner_parameter(&c->t, c->parameter[i], doc, value, err)
                   : ks_node_fail(doc, ks_json_root(doc), err, "no value of parameter '%s'",
                                  c->parameter[i]);
    }
    return rc == 0 ? ks_tuner_instance(&c->t, kernel_out, err) : rc;
}

/* A time in ms, or the name of a failure. */
static int read_time(const struct ks_json *doc, double *time_out, uint32_t *outcome_out,
                     const char **reason_out, struct ks_err *err)
{
    const struct ks_node *n = ks_node_at(ks_json_root(doc), "time");
    int rc;

    *outcome_out = KS_O_OK;
    if (!n)
        return ks_node_fail(doc, ks_json_root(doc), err, "an entry without `time`");
    if (ks_node_kind(n) == KS_JSON_STRING) {
        rc = ks_node_str(doc, n, reason_out, err);
        *outcome_out = rc == 0 ? ks_tuner_outcome(*reason_out) : KS_O_NONE;
        if (rc == 0 && *outcome_out == KS_O_NONE)
            rc = ks_node_fail(doc, n, err, "unknown result '%s'", *reason_out);
        return rc;
    }
    rc = ks_node_real(doc, n, time_out, err);
    if (rc == 0 && *time_out < 0)
        rc = ks_node_fail(doc, n, err, "a negative time");
    if (rc == 0 && *time_out >= FAILED_MS) {
        *outcome_out = KS_O_LAUNCH_FAILED;
        *reason_out = "failed: a time of 1e20";
        *time_out = KS_MISSING;
        return 0;
    }
    *time_out *= 1e6;
    return rc;
}

static int on_entry(void *ctx, const char *key, uint64_t line, const struct ks_json *doc,
                    struct ks_err *err)
{
    struct cache *c = ctx;
    const struct ks_node *root = ks_json_root(doc), *times = ks_node_at(root, "times"),
                         *compile = ks_node_at(root, "compile_time"),
                         *stamp = ks_node_at(root, "timestamp");
    const char *reason = NULL, *when = "";
    double time_ns = KS_MISSING, ms = 0;
    uint32_t kernel = 0, outcome = KS_O_NONE;
    int rc = c->n_parameters
                 ? 0
                 : ks_intake_fail(c->t.im, err, "`cache` must come after `tune_params_keys`");

    (void)key;
    (void)line;
    if (rc == 0 && !c->t.is_begun)
        rc = ks_tuner_begin(&c->t, "kernel_tuner", c->kernel, c->size, c->device, err);
    c->t.im->counts.n_lists++;
    if (rc == 0)
        rc = read_config(c, doc, &kernel, err);
    if (rc == 0)
        rc = read_time(doc, &time_ns, &outcome, &reason, err);
    if (rc == 0 && times && outcome == KS_O_OK)
        rc = ks_tuner_samples(&c->t, doc, times, 1e6, err);
    if (rc == 0 && compile && ks_node_kind(compile) != KS_JSON_STRING)
        rc = ks_node_real(doc, compile, &ms, err);
    if (rc == 0 && stamp)
        rc = ks_node_str(doc, stamp, &when, err);
    if (rc < 0)
        return rc;
    if (ms > 0 && ms < 1e12)
        ks_stage_built(c->t.im->stage, kernel, KS_O_NONE, (uint64_t)(ms * 1e6));
    return ks_tuner_put(&c->t, kernel, outcome, reason, time_ns, ks_intake_time(when), err);
}

static int cache_read(struct ks_intake *im, struct ks_err *err)
{
    struct cache *c = calloc(1, sizeof(*c));
    struct ks_elements e = {
        .container = "cache", .ctx = c, .member = on_member, .element = on_entry, .may_be_cut = true
    };
    int rc;

    if (!c)
        return ks_fail(err, KS_ENOMEM, "out of memory");
    ks_tuner_init(&c->t, im);
    im->note = "samples are the times of Kernel Tuner's cache in milliseconds, one launch each";
    rc = ks_elements_read(&e, im->in, err);
    im->counts.n_cut = e.n_cut;
    ks_tuner_release(&c->t);
    free(c);
    return rc;
}

static bool cache_sniff(const char *head, size_t n)
{
    (void)n;
    return head[strspn(head, " \t\r\n")] == '{' && strstr(head, "\"tune_params_keys\"");
}

const struct ks_intake_format ks_intake_kernel_tuner = {
    .name = "kernel-tuner",
    .about = "cache of Kernel Tuner, closed or not",
    .sniff = cache_sniff,
    .read = cache_read,
};
