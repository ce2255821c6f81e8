/* SPDX-License-Identifier: MIT */
/* tuner.c - what readers of tuners share: configurations, samples, outcomes, the file's name */
#include "analysis/import/tuner.h"
#include "base/file.h"

#include <stdio.h>
#include <string.h>

void ks_tuner_init(struct ks_tuner *t, struct ks_intake *im)
{
    memset(t, 0, sizeof(*t));
    t->im = im;
    ks_buf_init(&t->text);
    ks_buf_init(&t->name);
}

void ks_tuner_release(struct ks_tuner *t)
{
    ks_buf_release(&t->text);
    ks_buf_release(&t->name);
}

/* ---- what only the name of a file says ---- */

static bool ends_with(const char *text, size_t n, const char *end)
{
    return n > strlen(end) && strncmp(text + n - strlen(end), end, strlen(end)) == 0;
}

static bool is_all_digits(const char *text)
{
    return text[0] && strspn(text, "0123456789") == strlen(text);
}

/* "convolution_milo_MI250X_T4.json" to "convolution_milo" and "MI250X"; "conv_RTX_3090.json" to
 * "conv" and "RTX_3090": the last word with a digit, with the one before it if it is all digits. */
static void split_name(const char *path, char *problem, char *device, size_t cap)
{
    static const char *const ends[] = { "_T4", "_t4", "_results", "_ktcache", "_cache", "_KTT" };
    const char *base = ks_path_base(path), *dot = strchr(base, '.');
    size_t n = dot && dot > base ? (size_t)(dot - base) : strlen(base);
    char *at;

    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
        if (ends_with(base, n, ends[i]))
            n -= strlen(ends[i]);
    snprintf(problem, cap, "%.*s", (int)(n < cap ? n : cap - 1), base);
    device[0] = '\0';
    at = strrchr(problem, '_');
    if (!at || at == problem || strcspn(at, "0123456789") == strlen(at))
        return;
    if (is_all_digits(at + 1)) {
        *at = '\0';
        if (strrchr(problem, '_')) {
            *at = '_';
            while (*--at != '_')
                ;
        } else {
            *at = '_';
        }
    }
    snprintf(device, cap, "%s", at + 1);
    *at = '\0';
}

/* Letters, digits and '_': a family's name is part of a path and of a text with blanks. */
static void put_word(char *out, size_t cap, const char *prefix, const char *text)
{
    size_t n = (size_t)snprintf(out, cap, "%s_%s", prefix, text);

    for (size_t i = 0; i < n && i < cap && out[i]; i++)
        if (!((out[i] >= '0' && out[i] <= '9') || (out[i] >= 'a' && out[i] <= 'z') ||
              (out[i] >= 'A' && out[i] <= 'Z')))
            out[i] = '_';
}

int ks_tuner_begin(struct ks_tuner *t, const char *tool, const char *kernel, const char *size,
                   const char *device, struct ks_err *err)
{
    const struct ks_intake_options *o = t->im->options;
    char from_problem[128], from_device[128], text[512];
    const char *who = device[0] ? "the file" : "the file's name";
    int rc = 0;

    split_name(t->im->path, from_problem, from_device, sizeof(from_problem));
    if (!device[0])
        device = from_device;
    if (o->device) {
        device = o->device;
        who = "the user";
    }
    kernel = kernel[0] ? kernel : from_problem;
    put_word(t->family, sizeof(t->family), tool, kernel);
    snprintf(text, sizeof(text), "tool=%s kernel=%.150s%s%.150s", tool,
             o->problem ? o->problem : kernel, size[0] ? " size=" : "", size);
    if (device[0])
        rc = ks_intake_device(t->im, "", device, 0, who, err);
    if (rc == 0)
        rc = ks_stage_add_foreign(t->im->stage, text, o->problem ? o->problem : kernel, &t->problem,
                                  err);
    t->is_begun = rc == 0;
    return rc;
}

/* ---- a configuration ---- */

void ks_tuner_config(struct ks_tuner *t)
{
    ks_buf_clear(&t->text);
    ks_buf_clear(&t->name);
    t->n_samples = 0;
    ks_buf_printf(&t->text, "family=%s abi=1", t->family);
}

/* A word of a text of words: nothing that would end it. */
static void put_plain(struct ks_buf *to, const char *text)
{
    for (const char *c = text; *c; c++)
        ks_buf_u8(to, *c == ' ' || *c == '|' || *c == '=' || *c == '\n' ? '_' : (uint8_t)*c);
}

int ks_tuner_parameter(struct ks_tuner *t, const char *name, const struct ks_json *doc,
                       const struct ks_node *value, struct ks_err *err)
{
    char text[64];
    int rc = ks_node_text(doc, value, text, sizeof(text), err);

    if (rc < 0)
        return rc;
    if (strlen(name) > 31)
        return ks_intake_fail(t->im, err, "the name of a parameter has more than 31 characters");
    ks_buf_u8(&t->text, ' ');
    put_plain(&t->text, name);
    ks_buf_u8(&t->text, '=');
    put_plain(&t->text, text);
    if (t->name.len)
        ks_buf_u8(&t->name, ',');
    put_plain(&t->name, text);
    return 0;
}

int ks_tuner_instance(struct ks_tuner *t, uint32_t *kernel_out, struct ks_err *err)
{
    if (!ks_buf_ok(&t->text) || !ks_buf_ok(&t->name))
        return ks_fail(err, KS_ENOMEM, "out of memory for a configuration");
    if (t->text.len >= KS_CANONICAL || t->name.len >= 192)
        return ks_intake_fail(t->im, err, "a configuration of more than %d characters",
                              KS_CANONICAL - 1);
    return ks_stage_add_instance(t->im->stage, t->im->run, ks_buf_text(&t->name),
                                 ks_buf_text(&t->text), kernel_out, err);
}

/* ---- results ---- */

double ks_tuner_unit_ns(struct ks_tuner *t, const char *unit)
{
    bool is_odd = false;
    const double ns = ks_intake_unit_ns(unit, &is_odd);

    t->im->counts.n_odd_units |= is_odd;
    return ns;
}

int ks_tuner_samples(struct ks_tuner *t, const struct ks_json *doc, const struct ks_node *list,
                     double unit_ns, struct ks_err *err)
{
    t->n_samples = 0;
    for (const struct ks_node *n = ks_node_first(list); n; n = ks_node_next(n)) {
        double v;
        int rc;

        if (t->n_samples == KS_TUNER_SAMPLES)
            return ks_node_fail(doc, list, err, "more than %u runs", KS_TUNER_SAMPLES);
        rc = ks_node_real(doc, n, &v, err);
        if (rc < 0)
            return rc;
        if (v < 0)
            return ks_node_fail(doc, n, err, "a negative time");
        t->sample_ns[t->n_samples++] = v * unit_ns;
    }
    return 0;
}

uint32_t ks_tuner_outcome(const char *text)
{
    static const struct {
        const char *text;
        uint32_t outcome;
    } words[] = {
        { "correct", KS_O_OK },
        { "timeout", KS_O_TIMEOUT },
        { "compile", KS_O_BUILD_FAILED },
        { "runtime", KS_O_LAUNCH_FAILED },
        { "correctness", KS_O_WRONG_RESULT },
        { "constraints", KS_O_UNSUPPORTED },
        { "InvalidConfig", KS_O_UNSUPPORTED },
        { "CompilationFailedConfig", KS_O_BUILD_FAILED },
        { "RuntimeFailedConfig", KS_O_LAUNCH_FAILED },
        { "Ok", KS_O_OK },
        { "ComputationFailed", KS_O_LAUNCH_FAILED },
        { "ValidationFailed", KS_O_WRONG_RESULT },
        { "CompilationFailed", KS_O_BUILD_FAILED },
        { "DeviceLimitsExceeded", KS_O_UNSUPPORTED },
    };

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (strcmp(words[i].text, text) == 0)
            return words[i].outcome;
    return KS_O_NONE;
}

int ks_tuner_put(struct ks_tuner *t, uint32_t kernel, uint32_t outcome, const char *reason,
                 double time_ns, uint64_t started_ns, struct ks_err *err)
{
    bool is_ok = outcome == KS_O_OK;
    struct ks_intake_row row = { .problem = t->problem,
                                 .kernel = kernel,
                                 .outcome = outcome,
                                 .reason = reason,
                                 .time_ns = is_ok ? time_ns : KS_MISSING,
                                 .sample_ns = t->sample_ns,
                                 .n_samples = is_ok ? t->n_samples : 0,
                                 .started_ns = started_ns };

    if (is_ok && row.n_samples == 0 && time_ns < 0) {
        row.outcome = KS_O_UNTRUSTED;
        row.reason = "the source marks it correct, but has no time";
    }
    return ks_intake_put(t->im, &row, err);
}
