/* SPDX-License-Identifier: MIT */
/* job_print.c - prints a resolved job as JSON, and lists in what two jobs differ */
#include "grid/job.h"
#include "grid/job_program.h"
#include "grid/job_section.h"
#include "op/op.h"
#include "json/json.h"

#include <stdio.h>
#include <string.h>

static void print_value(struct ks_jw *w, const struct ks_opt *o, const void *cfg)
{
    const char *at = (const char *)cfg + o->offset;
    char text[128];

    switch (o->type) {
    case KS_OPT_BOOL:
        ks_jw_bool(w, o->name, *(const bool *)at);
        break;
    case KS_OPT_U32:
    case KS_OPT_DURATION_MS:
        ks_jw_u64(w, o->name, *(const uint32_t *)at);
        break;
    case KS_OPT_U64:
        ks_jw_u64(w, o->name, *(const uint64_t *)at);
        break;
    case KS_OPT_F64:
        ks_jw_real(w, o->name, *(const double *)at);
        break;
    default:
        ks_opt_print(o, cfg, text, sizeof text);
        ks_jw_str(w, o->name, text);
    }
}

static bool is_inside(const struct ks_job_section *s, const char *parent)
{
    return parent ? s->parent && strcmp(s->parent, parent) == 0 : !s->parent;
}

static void print_options(struct ks_jw *w, const struct ks_job_section *s, const struct ks_job *job)
{
    const void *cfg = (const char *)job + s->offset;

    ks_jw_open(w, s->name, '{');
    for (const struct ks_opt *o = s->opts; o->name; o++)
        print_value(w, o, cfg);
}

static void print_sections(struct ks_jw *w, const struct ks_job *job)
{
    for (int i = 0; i < KS_JOB_N_SECTIONS; i++) {
        const struct ks_job_section *s = &ks_job_sections[i];

        if (!is_inside(s, NULL))
            continue;
        print_options(w, s, job);
        for (int k = 0; k < KS_JOB_N_SECTIONS; k++)
            if (is_inside(&ks_job_sections[k], s->name)) {
                print_options(w, &ks_job_sections[k], job);
                ks_jw_close(w, '}');
            }
        ks_jw_close(w, '}');
    }
}

static void print_problems(struct ks_jw *w, const struct ks_job_problems *p)
{
    ks_jw_open(w, NULL, '{');
    ks_jw_str(w, "file", p->file);
    if (p->sample)
        ks_jw_int(w, "sample", p->sample);
    if (p->sample)
        ks_jw_u64(w, "seed", p->seed);
    if (p->is_stratified)
        ks_jw_bool(w, "stratified", true);
    if (p->n_exclude) {
        ks_jw_open(w, "exclude", '[');
        for (uint32_t i = 0; i < p->n_exclude; i++)
            ks_jw_str(w, NULL, p->exclude[i]);
        ks_jw_close(w, ']');
    }
    if (p->layout >= 0)
        ks_jw_str(w, "layout", ks_layout_name((uint32_t)p->layout));
    if (p->dtype >= 0)
        ks_jw_str(w, "dtype", ks_dtype_name((uint32_t)p->dtype));
    if (p->directions) {
        ks_jw_open(w, "directions", '[');
        for (uint32_t i = 0; i < KS_N_DIRECTIONS; i++)
            if (p->directions & (uint32_t)1 << i)
                ks_jw_str(w, NULL, ks_direction_name(i));
        ks_jw_close(w, ']');
    }
    ks_jw_close(w, '}');
}

static void print_kernels(struct ks_jw *w, const struct ks_job_kernels *k)
{
    if (k->program) {
        ks_job_program_print(k->program, w);
        return;
    }
    ks_jw_str(w, "config", k->config);
    ks_jw_str(w, "filter", k->filter);
    if (k->plugin[0])
        ks_jw_str(w, "plugin", k->plugin);
}

void ks_job_print(const struct ks_job *job, struct ks_buf *json_out)
{
    struct ks_jw w;

    ks_jw_init(&w, json_out, true);
    ks_jw_open(&w, NULL, '{');
    ks_jw_str(&w, "name", job->name);
    ks_jw_str(&w, "why", job->why);
    ks_jw_str(&w, "operator", job->op);
    ks_jw_open(&w, "kernels", '[');
    for (uint32_t i = 0; i < job->n_kernels; i++) {
        ks_jw_open(&w, NULL, '{');
        print_kernels(&w, &job->kernels[i]);
        ks_jw_close(&w, '}');
    }
    ks_jw_close(&w, ']');
    ks_jw_open(&w, "problems", '[');
    for (uint32_t i = 0; i < job->n_problems; i++)
        print_problems(&w, &job->problems[i]);
    ks_jw_close(&w, ']');
    print_sections(&w, job);
    ks_jw_close(&w, '}');
    ks_buf_printf(json_out, "\n");
}

static int diff_text(const char *key, const char *was, const char *now, struct ks_buf *out)
{
    if (strcmp(was, now) == 0)
        return 0;
    ks_buf_printf(out, "%s: %s -> %s\n", key, was, now);
    return 1;
}

/* Keys that are not like the rest of their section. Which device verifies does not change what is
 * measured, and a judge that fails is put aside on resume. alpha and margin are what every verdict
 * on a problem's label promises: verdicts of two promises must not stand in one journal, while the
 * limits of visits may be raised. */
static bool is_fatal(const struct ks_job_section *s, const char *key)
{
    static const struct {
        const char *key;
        bool is_fatal;
    } exceptions[] = {
        { "verify.judge", false },
        { "measure.rounds.alpha", true },
        { "measure.rounds.margin", true },
    };

    for (size_t i = 0; i < sizeof exceptions / sizeof exceptions[0]; i++)
        if (strcmp(key, exceptions[i].key) == 0)
            return exceptions[i].is_fatal;
    return s->is_fatal;
}

/* The number of those that are fatal. */
static int diff_section(const struct ks_job_section *s, const struct ks_job *was,
                        const struct ks_job *now, struct ks_buf *fatal, struct ks_buf *harmless)
{
    int n = 0;

    for (const struct ks_opt *o = s->opts; o->name; o++) {
        char key[96], a[128], b[128];

        snprintf(key, sizeof key, "%s%s%s.%s", s->parent ? s->parent : "", s->parent ? "." : "",
                 s->name, o->name);
        ks_opt_print(o, (const char *)was + s->offset, a, sizeof a);
        ks_opt_print(o, (const char *)now + s->offset, b, sizeof b);
        if (is_fatal(s, key))
            n += diff_text(key, a, b, fatal);
        else
            diff_text(key, a, b, harmless);
    }
    return n;
}

int ks_job_diff(const struct ks_job *was, const struct ks_job *now, struct ks_buf *fatal_out,
                struct ks_buf *harmless_out)
{
    int n_fatal = diff_text("operator", was->op, now->op, fatal_out);

    diff_text("name", was->name, now->name, harmless_out);
    diff_text("why", was->why, now->why, harmless_out);
    for (int i = 0; i < KS_JOB_N_SECTIONS; i++)
        n_fatal += diff_section(&ks_job_sections[i], was, now, fatal_out, harmless_out);
    return n_fatal;
}
