/* SPDX-License-Identifier: MIT */
/* input.c - what oracle and compare share: loading runs, choosing a statistic, printing times */
#include "analysis/cmd/input.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>

const char *const ks_input_formats[] = { "report", "csv", "text", "markdown", "json", NULL };

const char *const ks_input_statistics[] = {
    [KS_INPUT_LABEL] = "label",
    [1 + KS_STATISTIC_MEDIAN] = KS_STATISTIC_NAME_MEDIAN,
    [1 + KS_STATISTIC_LOW] = KS_STATISTIC_NAME_LOW,
    [1 + KS_STATISTIC_GROUPS] = KS_STATISTIC_NAME_GROUPS,
    [1 + KS_STATISTIC_MINIMUM] = KS_STATISTIC_NAME_MINIMUM,
    [1 + KS_N_STATISTICS] = NULL,
};

const struct ks_format *ks_input_writer(unsigned format)
{
    static const struct ks_format *const writers[] = { NULL, &ks_format_csv, &ks_format_text,
                                                       &ks_format_markdown, &ks_format_json };

    return writers[format];
}

/* The detector of runs that differ knows no options. */
static int label_statistic(struct ks_input *in, struct ks_err *err)
{
    struct ks_err why = { 0 };
    int rc = ks_sweeps_statistic(&in->sweeps, &in->statistic, &why);

    return rc == 0 ? 0
                   : ks_fail(err, (enum ks_code)rc,
                             "%s: choose one statistic for all of them with --statistic", why.text);
}

int ks_input_load(struct ks_input *in, const char *const *paths, size_t n, unsigned statistic,
                  unsigned over, struct ks_err *err)
{
    int rc = 0;

    *in = (struct ks_input){ .sweeps = { 0 } };
    for (size_t i = 0; rc == 0 && i < n; i++) {
        rc = ks_sweeps_load(&in->sweeps, paths[i], err);
        if (rc < 0)
            ks_err_context(err, rc, "reading '%s'", paths[i]);
    }
    if (statistic != KS_INPUT_LABEL)
        in->statistic = (enum ks_statistic)(statistic - 1);
    else if (rc == 0)
        rc = label_statistic(in, err);
    if (rc < 0)
        return rc;
    ks_sweeps_sort(&in->sweeps);
    rc = ks_trials_make(&in->sweeps, in->statistic, over, &in->trials, err);
    if (rc == 0 && in->trials.n_trials == 0)
        rc = ks_fail(err, KS_EINVAL,
                     "'%s'%s: no usable row has samples, so the variation of times is unknown; "
                     "'ksweep-analyze report' works without samples",
                     n ? paths[0] : "", n > 1 ? " and the others" : "");
    return rc;
}

void ks_input_release(struct ks_input *in)
{
    ks_trials_release(&in->trials);
    ks_sweeps_release(&in->sweeps);
}

uint32_t ks_input_sweeps_of(const struct ks_input *in, const char *const *paths, size_t n)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < in->sweeps.n_sweeps; i++)
        for (size_t k = 0; k < n; k++)
            if (in->sweeps.sweeps[i].path == paths[k]) {
                count++;
                break;
            }
    return count;
}

void ks_input_label_text(unsigned statistic, unsigned over, char *out, size_t cap)
{
    static const char *const names[] = { [KS_STATISTIC_MEDIAN] = "medians",
                                         [KS_STATISTIC_LOW] = "10 % quantiles",
                                         [KS_STATISTIC_GROUPS] = "medians of minima of 8",
                                         [KS_STATISTIC_MINIMUM] = "minima" };

    snprintf(out, cap, "%s of the rounds' %s", ks_over_names[over], names[statistic]);
}

void ks_input_time_text(double ns, char *out, size_t cap)
{
    static const char *const units[] = { "ns", "us", "ms", "s" };
    size_t unit = 0;

    while (unit < 3 && ns >= 1000) {
        ns /= 1000;
        unit++;
    }
    snprintf(out, cap, "%.4g %s", ns, units[unit]);
}

void ks_input_put_name(struct ks_buf *to, const char *name)
{
    ks_text_put(to, name, strlen(name), KS_LINES_NONE);
}
