/* SPDX-License-Identifier: MIT */
/* compat.c - `ksweep-analyze trace --compat pytorch ...`: the command line, tables and figures of
 * PyTorch's torch/_inductor/analysis/profile_analysis.py. */
#include "analysis/trace/compat.h"

#include "analysis/out/result.h"
#include "analysis/trace/combine.h"
#include "analysis/trace/verbs.h"
#include "base/text.h"
#include "trace/output.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_LIMIT = 40 };

/* Values of the script's options; NULL: not given. */
struct call {
    const char *const *diff, *const *analysis, *const *augment, *const *combine;
    int n_combine;
    long name_limit;
    struct ks_buf *notes;
};

/* ---- arguments ---- */

static bool is_option(const char *word)
{
    return word[0] == '-' && (word[1] < '0' || word[1] > '9') && word[1] != '.';
}

static int parse_limit(const char *text, long *out, struct ks_err *err)
{
    char *end;

    *out = strtol(text, &end, 10);
    if (end == text || *end || *out > 1000000000 || *out < -1000000000)
        return ks_fail(err, KS_EINVAL, "--name_limit '%s': expected a whole number", text);
    *out = *out ? *out : NAME_LIMIT; /* 0 counts as not given */
    return 0;
}

/* An option and its values [n]. */
static int set_option(struct call *c, const char *name, const char *const *values, int n,
                      struct ks_err *err)
{
    static const struct {
        const char *name;
        int n_values; /* -1: one or more */
    } options[] = { { "--diff", 5 }, { "--analysis", 2 }, { "--augment_trace", 3 },
                    { "-a", 3 },     { "--combine", -1 }, { "--name_limit", 1 } };
    const char *const **const to[] = { &c->diff,    &c->analysis, &c->augment,
                                       &c->augment, &c->combine,  NULL };
    size_t i = 0;

    while (i < sizeof(options) / sizeof(options[0]) && strcmp(options[i].name, name) != 0)
        i++;
    if (i == sizeof(options) / sizeof(options[0]))
        return ks_fail(err, KS_EINVAL, "unknown option '%s'; usage: ksweep-analyze %s", name,
                       ks_trace_verb_compat.usage);
    if (options[i].n_values < 0 ? n < 1 : n != options[i].n_values)
        return ks_fail(err, KS_EINVAL, "%s takes %d values, not %d; usage: ksweep-analyze %s", name,
                       abs(options[i].n_values), n, ks_trace_verb_compat.usage);
    if (!to[i])
        return parse_limit(values[0], &c->name_limit, err);
    *to[i] = values;
    if (options[i].n_values < 0)
        c->n_combine = n;
    return 0;
}

static int parse(struct call *c, const char *const *words, int n, struct ks_err *err)
{
    int rc = 0;

    if (n < 1 || strcmp(words[0], "pytorch") != 0)
        return ks_fail(err, KS_EINVAL,
                       "--compat '%s': only pytorch is known; usage: "
                       "ksweep-analyze %s",
                       n < 1 ? "" : words[0], ks_trace_verb_compat.usage);
    for (int i = 1; rc == 0 && i < n;) {
        int n_values = 0;

        if (!is_option(words[i]))
            return ks_fail(err, KS_EINVAL, "unexpected '%s'; usage: ksweep-analyze %s", words[i],
                           ks_trace_verb_compat.usage);
        while (i + 1 + n_values < n && !is_option(words[i + 1 + n_values]))
            n_values++;
        rc = set_option(c, words[i], &words[i + 1], n_values, err);
        i += 1 + n_values;
    }
    return rc;
}

/* ---- reports ---- */

static int load(const char *path, struct ks_compat *out, struct ks_buf *notes, struct ks_err *err)
{
    struct ks_trace_source *source = NULL;
    int rc;

    memset(out, 0, sizeof(*out));
    rc = ks_trace_source_open(path, &source, err);
    if (rc == 0)
        rc = ks_compat_read(source, out, notes, err);
    ks_trace_source_close(source);
    return rc;
}

static int emit(struct ks_buf *text, struct ks_err *err)
{
    struct ks_result result;
    int rc = ks_result_open(&result, NULL, err);

    ks_buf_printf(text, "\n");
    if (rc == 0)
        rc = ks_sink_put(&result.sink, text, err);
    return ks_result_close(&result, rc, err);
}

/* files: a path; or path, name, path, name. */
static int report(const struct call *c, const char *const *files, int n_files, const char *dtype,
                  struct ks_err *err)
{
    const struct ks_compat_options o = { .dtype = dtype, .name_limit = c->name_limit };
    const char *names[] = { n_files == 2 ? files[1] : NULL, n_files == 2 ? files[3] : NULL };
    struct ks_compat t[2] = { 0 };
    struct ks_buf text;
    int rc = load(files[0], &t[0], c->notes, err);

    ks_buf_init(&text);
    if (rc == 0 && n_files == 2)
        rc = load(files[2], &t[1], c->notes, err);
    if (rc == 0)
        rc = ks_compat_report(&t[0], n_files == 2 ? &t[1] : NULL, names, &o, &text, err);
    if (rc == 0)
        rc = emit(&text, err);
    ks_buf_release(&text);
    ks_compat_release(&t[0]);
    ks_compat_release(&t[1]);
    return rc;
}

/* ---- augment ---- */

struct copy {
    const struct ks_compat *t;
    struct ks_trace_output *out;
    size_t op, kernel; /* next rows */
    char block[256 << 10];
};

static const struct ks_compat_row *next_row(const struct copy *c, bool *is_op_out)
{
    const struct ks_compat_row *op = c->op < c->t->n_ops ? &c->t->ops[c->op] : NULL;
    const struct ks_compat_row *kernel =
        c->kernel < c->t->n_kernels ? &c->t->kernels[c->kernel] : NULL;

    *is_op_out = op && (!kernel || op->place.at < kernel->place.at);
    return *is_op_out ? op : kernel;
}

static int put_values(struct copy *c, const struct ks_compat_row *r, struct ks_err *err)
{
    char number[32];
    struct ks_buf text;
    int rc;

    ks_buf_init(&text);
    if (r->is_flop_new && !isnan(r->flop)) {
        ks_f64_text(r->flop, number);
        ks_buf_printf(&text, "%s\"kernel_flop\": %s", r->place.has_args == 2 ? ", " : "", number);
    }
    if (r->is_gb_new && !isnan(r->gb)) {
        ks_f64_text(r->gb, number);
        ks_buf_printf(&text, "%s\"kernel_num_gb\": %s",
                      r->place.has_args == 2 || text.len ? ", " : "", number);
    }
    rc = ks_buf_ok(&text) ? ks_trace_output_put(c->out, ks_buf_text(&text), text.len, err)
                          : ks_fail(err, KS_ENOMEM, "out of memory");
    ks_buf_release(&text);
    return rc;
}

static int copy_block(struct copy *c, const char *p, uint64_t at, uint64_t end, struct ks_err *err)
{
    const struct ks_compat_row *r;
    bool is_op;
    int rc = 0;

    while (rc == 0 && (r = next_row(c, &is_op)) && r->place.at < end) {
        rc = ks_trace_output_put(c->out, p, (size_t)(r->place.at - at), err);
        p += r->place.at - at;
        at = r->place.at;
        if (rc == 0)
            rc = put_values(c, r, err);
        *(is_op ? &c->op : &c->kernel) += 1;
    }
    return rc == 0 ? ks_trace_output_put(c->out, p, (size_t)(end - at), err) : rc;
}

static int copy_all(struct copy *c, struct ks_trace_source *source, struct ks_err *err)
{
    uint64_t at = 0;
    size_t n = 1;
    int rc = ks_trace_source_rewind(source, err);

    while (rc == 0 && n > 0) {
        rc = ks_trace_source_read(source, c->block, sizeof(c->block), &n, err);
        if (rc == 0)
            rc = copy_block(c, c->block, at, at + n, err);
        at += n;
    }
    return rc;
}

static int augment(const char *input, const char *output, struct ks_buf *notes, struct ks_err *err)
{
    struct copy *c = calloc(1, sizeof(*c));
    struct ks_trace_source *source = NULL;
    struct ks_compat t = { 0 };
    int rc = c ? ks_trace_source_open(input, &source, err) : ks_fail(err, KS_ENOMEM, "no memory");

    if (rc == 0)
        rc = ks_compat_read(source, &t, notes, err);
    if (rc == 0) {
        c->t = &t;
        rc = ks_trace_output_open(output, &input, 1, &c->out, err);
        if (rc == 0)
            rc = copy_all(c, source, err);
        rc = ks_trace_output_close(c->out, rc, err);
    }
    ks_compat_release(&t);
    ks_trace_source_close(source);
    free(c);
    return rc;
}

/* ---- combine ---- */

static int combine(const struct call *c, struct ks_err *err)
{
    const int n = c->n_combine - 1;
    struct ks_buf text;
    int rc = 0;

    ks_buf_init(&text);
    if (n < 2)
        ks_buf_printf(&text, "Error: At least 2 input files are required for combining");
    else
        rc = ks_trace_combine(c->combine, (size_t)n, c->combine[n], true, c->notes, err);
    if (n >= 2) {
        ks_buf_printf(&text, "Successfully combined ");
        for (int i = 0; i < n; i++)
            ks_buf_printf(&text, "%s%s", i ? ", " : "", c->combine[i]);
        ks_buf_printf(&text, " into %s", c->combine[n]);
    }
    if (rc == 0)
        rc = emit(&text, err);
    ks_buf_release(&text);
    return rc;
}

/* ---- all ---- */

static int compat(const void *cfg, const char *const *operands, int n, struct ks_buf *notes,
                  struct ks_err *err)
{
    struct call c = { .name_limit = NAME_LIMIT, .notes = notes };
    int rc = parse(&c, operands, n, err);

    (void)cfg;
    if (rc == 0 && c.diff)
        rc = report(&c, c.diff, 2, c.diff[4], err);
    if (rc == 0 && c.analysis)
        rc = report(&c, c.analysis, 1, c.analysis[1], err);
    if (rc == 0 && c.augment)
        rc = augment(c.augment[0], c.augment[1], notes, err);
    if (rc == 0 && c.combine)
        rc = combine(&c, err);
    return rc;
}

const struct ks_analysis ks_trace_verb_compat = {
    .name = "trace --compat",
    .summary = "Print the tables and figures of PyTorch's profile_analysis.py with its options, "
               "including its errors, for comparison.",
    .usage = "trace --compat pytorch [--diff FILE NAME FILE NAME DTYPE] [--analysis FILE DTYPE] "
             "[--augment_trace|-a IN OUT DTYPE] [--combine FILE FILE... OUT] [--name_limit N]",
    .n_min = 1,
    .n_max = 0,
    .has_own_options = true,
    .run = compat,
};
