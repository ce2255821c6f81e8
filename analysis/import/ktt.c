/* SPDX-License-Identifier: MIT */
/* ktt.c - reads results of KTT (Kernel Tuning Toolkit), JSON */
/* The time of a configuration is the sum over its kernel functions. */
#include "analysis/import/elements.h"
#include "analysis/import/tuner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct results {
    struct ks_tuner t;
    char device[128];
};

static const char *text_at(const struct ks_json *doc, const struct ks_node *obj, const char *key)
{
    const struct ks_node *n = ks_node_at(obj, key);
    const char *text = "";

    if (n && ks_node_kind(n) == KS_JSON_STRING)
        (void)ks_node_str(doc, n, &text, NULL);
    return text;
}

static int on_member(void *ctx, const char *key, const struct ks_json *doc, struct ks_err *err)
{
    struct results *r = ctx;

    if (strcmp(key, "Metadata") != 0)
        return 0;
    snprintf(r->device, sizeof(r->device), "%.127s", text_at(doc, ks_json_root(doc), "Device"));
    r->t.unit_ns = ks_tuner_unit_ns(&r->t, text_at(doc, ks_json_root(doc), "TimeUnit"));
    return r->t.unit_ns > 0 ? 0 : ks_node_fail(doc, ks_json_root(doc), err, "no known `TimeUnit`");
}

static int read_config(struct results *r, const struct ks_json *doc, uint32_t *kernel_out,
                       struct ks_err *err)
{
    const struct ks_node *list = ks_node_at(ks_json_root(doc), "Configuration");
    int rc = 0;

    ks_tuner_config(&r->t);
    if (ks_node_size(list) == 0)
        return ks_node_fail(doc, ks_json_root(doc), err, "a result without a configuration");
    for (const struct ks_node *n = ks_node_first(list); rc == 0 && n; n = ks_node_next(n)) {
        const struct ks_node *value = ks_node_at(n, "Value");
        const char *name = text_at(doc, n, "Name");

        if (!name[0] || !value)
            return ks_node_fail(doc, n, err, "a parameter without name or value");
        rc = ks_tuner_parameter(&r->t, name, doc, value, err);
    }
    return rc == 0 ? ks_tuner_instance(&r->t, kernel_out, err) : rc;
}

static int sum_durations(const struct results *r, const struct ks_json *doc, double *ns_out,
                         struct ks_err *err)
{
    const struct ks_node *list = ks_node_at(ks_json_root(doc), "ComputationResults");
    double sum = 0, v = 0;

    for (const struct ks_node *n = ks_node_first(list); n; n = ks_node_next(n)) {
        const struct ks_node *duration = ks_node_at(n, "Duration");
        int rc = duration ? ks_node_real(doc, duration, &v, err)
                          : ks_node_fail(doc, n, err, "a kernel function without a duration");

        if (rc < 0)
            return rc;
        if (v < 0)
            return ks_node_fail(doc, duration, err, "a negative time");
        sum += v * r->t.unit_ns;
    }
    *ns_out = ks_node_size(list) ? sum : KS_MISSING;
    return 0;
}

/* Of a single kernel function; what several need is not the sum. */
static void read_code(struct results *r, const struct ks_json *doc, uint32_t kernel)
{
    const struct ks_node *list = ks_node_at(ks_json_root(doc), "ComputationResults");
    const struct ks_node *data = ks_node_at(ks_node_first(list), "CompilationData");
    struct ks_code_rec *code = ks_stage_code(r->t.im->stage, kernel);
    int64_t v;

    if (ks_node_size(list) != 1 || !data)
        return;
    if (ks_node_int(doc, ks_node_at(data, "RegistersCount"), &v, NULL) == 0 && v >= 0 && v < 65536)
        code->vgprs = (int32_t)v;
    if (ks_node_int(doc, ks_node_at(data, "MaxWorkGroupSize"), &v, NULL) == 0 && v > 0 && v < 65536)
        code->max_threads = (int32_t)v;
    if (ks_node_int(doc, ks_node_at(data, "LocalMemorySize"), &v, NULL) == 0 && v >= 0)
        code->lds_bytes = v;
    if (ks_node_int(doc, ks_node_at(data, "PrivateMemorySize"), &v, NULL) == 0 && v >= 0)
        code->scratch_bytes = v;
}

static int on_result(void *ctx, const char *key, uint64_t line, const struct ks_json *doc,
                     struct ks_err *err)
{
    struct results *r = ctx;
    const char *status = text_at(doc, ks_json_root(doc), "Status");
    uint32_t outcome = ks_tuner_outcome(status), kernel = 0;
    double time_ns = KS_MISSING;
    int rc =
        r->t.unit_ns > 0 ? 0 : ks_intake_fail(r->t.im, err, "`Results` must come after `Metadata`");

    (void)key;
    (void)line;
    if (rc == 0 && outcome == KS_O_NONE)
        rc = ks_node_fail(doc, ks_json_root(doc), err, "unknown status '%s'", status);
    if (rc == 0 && !r->t.is_begun)
        rc = ks_tuner_begin(&r->t, "ktt", "", "", r->device, err);
    r->t.im->counts.n_lists++;
    if (rc == 0)
        rc = read_config(r, doc, &kernel, err);
    if (rc == 0)
        rc = sum_durations(r, doc, &time_ns, err);
    if (rc < 0)
        return rc;
    read_code(r, doc, kernel);
    return ks_tuner_put(&r->t, kernel, outcome, outcome == KS_O_OK ? NULL : status, time_ns, 0,
                        err);
}

static int ktt_read(struct ks_intake *im, struct ks_err *err)
{
    struct results *r = calloc(1, sizeof(*r));
    struct ks_elements e = {
        .container = "Results", .ctx = r, .member = on_member, .element = on_result
    };
    int rc;

    if (!r)
        return ks_fail(err, KS_ENOMEM, "out of memory");
    ks_tuner_init(&r->t, im);
    im->note = "the sum of the durations of KTT's kernel functions";
    rc = ks_elements_read(&e, im->in, err);
    ks_tuner_release(&r->t);
    free(r);
    return rc;
}

static bool ktt_sniff(const char *head, size_t n)
{
    (void)n;
    return head[strspn(head, " \t\r\n")] == '{' && strstr(head, "\"KttVersion\"");
}

const struct ks_intake_format ks_intake_ktt = {
    .name = "ktt",
    .about = "results of KTT, JSON",
    .sniff = ktt_sniff,
    .read = ktt_read,
};
