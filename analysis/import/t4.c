/* SPDX-License-Identifier: MIT */
/* t4.c - reads T4, results of a tuner: schema 1.0.0 of the FAIR auto-tuning effort */
/* As files in the wild have it: "miliseconds"; `compilation` for `compilation_time`; a text
 * ("RuntimeFailedConfig") where a value should be; no `runtimes`; device and problem only in the
 * file's name. */
#include "analysis/import/elements.h"
#include "analysis/import/tuner.h"

#include <stdlib.h>
#include <string.h>

static int on_metadata(struct ks_tuner *t, const struct ks_json *doc, struct ks_err *err)
{
    const struct ks_node *unit = ks_node_at(ks_json_root(doc), "timeunit");
    const char *text = "";
    int rc = unit ? ks_node_str(doc, unit, &text, err) : 0;

    if (rc < 0 || !unit)
        return rc;
    if (t->is_begun)
        return ks_node_fail(doc, unit, err, "the unit of time must come before the results");
    t->unit_ns = ks_tuner_unit_ns(t, text);
    return t->unit_ns > 0 ? 0 : ks_node_fail(doc, unit, err, "unknown unit of time '%s'", text);
}

static int on_member(void *ctx, const char *key, const struct ks_json *doc, struct ks_err *err)
{
    return strcmp(key, "metadata") == 0 ? on_metadata(ctx, doc, err) : 0;
}

static int read_config(struct ks_tuner *t, const struct ks_json *doc, uint32_t *kernel_out,
                       struct ks_err *err)
{
    const struct ks_node *config = ks_node_at(ks_json_root(doc), "configuration");
    int rc = 0;

    ks_tuner_config(t);
    if (ks_node_size(config) == 0 || ks_node_kind(config) != KS_JSON_OBJECT)
        return ks_node_fail(doc, ks_json_root(doc), err, "a result without a configuration");
    for (const struct ks_node *n = ks_node_first(config); rc == 0 && n; n = ks_node_next(n))
        rc = ks_tuner_parameter(t, ks_node_key(n), doc, n, err);
    return rc == 0 ? ks_tuner_instance(t, kernel_out, err) : rc;
}

/* The unit of a measurement: its own, else that of the file. */
static double unit_of(struct ks_tuner *t, const struct ks_json *doc, const struct ks_node *m)
{
    const struct ks_node *unit = ks_node_at(m, "unit");
    const char *text = "";

    if (unit && ks_node_kind(unit) == KS_JSON_STRING)
        (void)ks_node_str(doc, unit, &text, NULL);
    return text[0] ? ks_tuner_unit_ns(t, text) : t->unit_ns;
}

/* The measurement "time": its value, or the outcome that its text stands for. */
static int read_measurement(struct ks_tuner *t, const struct ks_json *doc, double *time_out,
                            uint32_t *outcome_io, const char **reason_io, struct ks_err *err)
{
    const struct ks_node *list = ks_node_at(ks_json_root(doc), "measurements");
    const char *name = "";
    double v, unit_ns;

    for (const struct ks_node *m = ks_node_first(list); m; m = ks_node_next(m)) {
        const struct ks_node *name_node = ks_node_at(m, "name"), *value = ks_node_at(m, "value");
        int rc = 0;

        if (!name_node || ks_node_str(doc, name_node, &name, err) < 0)
            return ks_node_fail(doc, m, err, "a measurement without a name");
        if (strcmp(name, "time") != 0 || !value)
            continue;
        if (ks_node_kind(value) == KS_JSON_STRING) {
            rc = ks_node_str(doc, value, reason_io, err);
            if (rc == 0 && *outcome_io == KS_O_OK)
                *outcome_io = ks_tuner_outcome(*reason_io);
            return rc;
        }
        rc = ks_node_real(doc, value, &v, err);
        if (rc < 0)
            return rc;
        unit_ns = unit_of(t, doc, m);
        if (unit_ns <= 0)
            return ks_node_fail(doc, m, err, "no unit of time");
        if (v < 0)
            return ks_node_fail(doc, value, err, "a negative time");
        *time_out = v * unit_ns;
    }
    return 0;
}

static int read_times(struct ks_tuner *t, const struct ks_json *doc, uint32_t kernel,
                      struct ks_err *err)
{
    const struct ks_node *times = ks_node_at(ks_json_root(doc), "times");
    const struct ks_node *compile = ks_node_at(times, "compilation"),
                         *runtimes = ks_node_at(times, "runtimes");
    double v = 0;
    int rc = 0;

    compile = compile ? compile : ks_node_at(times, "compilation_time");
    if (compile && ks_node_kind(compile) != KS_JSON_STRING)
        rc = ks_node_real(doc, compile, &v, err);
    if (rc < 0)
        return rc;
    if ((v > 0 || runtimes) && t->unit_ns <= 0)
        return ks_node_fail(doc, times, err, "times without a timeunit in the file's metadata");
    if (v > 0 && v * t->unit_ns < 1e18)
        ks_stage_built(t->im->stage, kernel, KS_O_NONE, (uint64_t)(v * t->unit_ns));
    return runtimes ? ks_tuner_samples(t, doc, runtimes, t->unit_ns, err) : 0;
}

static int read_outcome(const struct ks_json *doc, uint32_t *outcome_out, const char **reason_out,
                        struct ks_err *err)
{
    const struct ks_node *n = ks_node_at(ks_json_root(doc), "invalidity"),
                         *correctness = ks_node_at(ks_json_root(doc), "correctness");
    double share = 1;
    int rc;

    if (!n)
        return ks_node_fail(doc, ks_json_root(doc), err, "a result without `invalidity`");
    rc = ks_node_str(doc, n, reason_out, err);
    if (rc < 0)
        return rc;
    *outcome_out = ks_tuner_outcome(*reason_out);
    if (*outcome_out == KS_O_NONE)
        return ks_node_fail(doc, n, err, "unknown invalidity '%s'", *reason_out);
    if (*outcome_out != KS_O_OK)
        return 0;
    *reason_out = NULL;
    if (correctness && ks_node_real(doc, correctness, &share, NULL) == 0 && share <= 0) {
        *outcome_out = KS_O_UNTRUSTED;
        *reason_out = "the source marks it correct, but with a correctness of 0";
    }
    return 0;
}

static int on_result(void *ctx, const char *key, uint64_t line, const struct ks_json *doc,
                     struct ks_err *err)
{
    struct ks_tuner *t = ctx;
    const struct ks_node *stamp = ks_node_at(ks_json_root(doc), "timestamp");
    const char *reason = NULL, *when = "";
    double time_ns = KS_MISSING;
    uint32_t kernel = 0, outcome = KS_O_NONE;
    int rc = t->is_begun ? 0 : ks_tuner_begin(t, "t4", "", "", "", err);

    (void)key;
    (void)line;
    t->im->counts.n_lists++;
    if (rc == 0)
        rc = read_config(t, doc, &kernel, err);
    if (rc == 0)
        rc = read_outcome(doc, &outcome, &reason, err);
    if (rc == 0)
        rc = read_measurement(t, doc, &time_ns, &outcome, &reason, err);
    if (rc == 0)
        rc = read_times(t, doc, kernel, err);
    if (rc == 0 && stamp)
        rc = ks_node_str(doc, stamp, &when, err);
    if (rc == 0 && outcome == KS_O_NONE)
        return ks_node_fail(doc, ks_json_root(doc), err, "unknown result '%s'", reason);
    return rc < 0 ? rc
                  : ks_tuner_put(t, kernel, outcome, reason, time_ns, ks_intake_time(when), err);
}

static int t4_read(struct ks_intake *im, struct ks_err *err)
{
    struct ks_tuner *t = malloc(sizeof(*t));
    struct ks_elements e = {
        .container = "results", .ctx = t, .member = on_member, .element = on_result
    };
    int rc;

    if (!t)
        return ks_fail(err, KS_ENOMEM, "out of memory");
    ks_tuner_init(t, im);
    im->note = "samples are the runtimes of T4, one launch each";
    rc = ks_elements_read(&e, im->in, err);
    ks_tuner_release(t);
    free(t);
    return rc;
}

static bool t4_sniff(const char *head, size_t n)
{
    (void)n;
    return head[strspn(head, " \t\r\n")] == '{' && strstr(head, "\"results\"") &&
           strstr(head, "\"invalidity\"");
}

const struct ks_intake_format ks_intake_t4 = {
    .name = "t4",
    .about = "T4 results of a tuner",
    .sniff = t4_sniff,
    .read = t4_read,
};
