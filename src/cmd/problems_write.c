/* SPDX-License-Identifier: MIT */
/* problems_write.c - writes problems for ckProfiler, MIOpenDriver and Composable Kernel */
#include "cmd/problems_write.h"

#include "base/text.h"
#include "cmd/problems_view.h"
#include "op/conv.h"
#include "profiler/adapter.h"
#include "profiler/ck_arguments.h"
#include "json/json.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const char *const ks_problems_form_names[] = { "ck-profiler", "ck-config", "miopen",
                                               "ck-csv",      "csv",       NULL };

static void leave_out(struct ks_problems_written *w, const char *why)
{
    uint32_t i = 0;

    w->n_left_out++;
    while (i < w->n_reasons && strncmp(w->reasons[i].text, why, sizeof w->reasons[i].text - 1) != 0)
        i++;
    if (i == KS_PROBLEMS_REASONS)
        i--;
    else if (i == w->n_reasons)
        snprintf(w->reasons[w->n_reasons++].text, sizeof w->reasons[i].text, "%.159s", why);
    w->reasons[i].n++;
}

static void count_written(struct ks_problems_written *w, const struct ks_problem *p)
{
    w->n_written++;
    w->n_of[p->direction]++;
}

/* Problems to go through: of max_ops only the first. */
static uint32_t n_wanted(const struct ks_problem_set *set, const struct ks_problems_target *t)
{
    return t->max_ops && t->max_ops < set->n ? (uint32_t)t->max_ops : set->n;
}

/* ---- command lines ---- */

/* The README's form has a program for each operation in a directory. */
static void put_program(const struct ks_problems_target *t, const struct ks_problem *p,
                        struct ks_buf *out)
{
    const char *operation = ks_ck_operation(p);

    ks_buf_clear(out);
    if (t->form == KS_TO_MIOPEN)
        ks_buf_printf(out, "%s", t->program ? t->program : "MIOpenDriver");
    else if (t->ck_compat == KS_CK_README)
        ks_buf_printf(out, "%s/profile_%s", t->program ? t->program : "./build/bin",
                      operation ? operation : "");
    else if (t->ck_compat == KS_CK_CODE)
        ks_buf_printf(out, "%s", t->program ? t->program : "./build/bin");
    else
        ks_buf_printf(out, "%s", t->program ? t->program : "ckProfiler");
}

static int put_command(const struct ks_profiler_setup *s, const struct ks_problem *p,
                       const char *program, struct ks_buf *b, struct ks_problems_written *w,
                       struct ks_err *err)
{
    struct ks_profiler_command c = { 0 };
    struct ks_err why;
    int rc = ks_profiler_command(s, p, program, NULL, &c, &why);

    if (rc == KS_EUNSUPPORTED) {
        leave_out(w, why.text);
        return 0;
    }
    if (rc < 0)
        return ks_fail(err, why.code, "%s", why.text);
    ks_shell_words(b, (const char *const *)c.words);
    ks_buf_u8(b, '\n');
    ks_profiler_command_release(&c);
    count_written(w, p);
    return 0;
}

static int open_setup(const struct ks_problems_target *t, struct ks_profiler_setup **out,
                      struct ks_err *err)
{
    const struct ks_profiler *a = NULL;
    char options[96] = "";
    int rc = ks_profiler_find(t->form == KS_TO_MIOPEN ? "miopendriver" : "ckprofiler", &a, err);

    if (t->form != KS_TO_MIOPEN)
        snprintf(options, sizeof options, "{\"version\": \"%s\", \"compat\": \"%s\"}",
                 ks_ck_version_names[t->ck_version], ks_ck_compat_names[t->ck_compat]);
    return rc < 0 ? rc : ks_profiler_setup_parse(a, options, out, err);
}

static int write_commands(const struct ks_problem_set *set, const struct ks_problems_target *t,
                          struct ks_buf *b, struct ks_problems_written *w, struct ks_err *err)
{
    struct ks_profiler_setup *s = NULL;
    struct ks_buf program;
    int rc = open_setup(t, &s, err);

    ks_buf_init(&program);
    for (uint32_t i = 0; rc == 0 && i < n_wanted(set, t); i++) {
        const struct ks_problem p = ks_problem_table_get(&set->problems, i);

        put_program(t, &p, &program);
        rc = put_command(s, &p, ks_buf_text(&program), b, w, err);
    }
    ks_buf_release(&program);
    ks_profiler_setup_destroy(s);
    return rc;
}

/* ---- the config array ---- */

/* Importers name problems after PyTorch's operator, with a remark behind it. */
static void take_operator(const struct ks_problem *p, char out[KS_NAME_MAX])
{
    out[0] = 0;
    if (strncmp(p->name, "aten::", 6) == 0)
        snprintf(out, KS_NAME_MAX, "%.*s", (int)strcspn(p->name, " "), p->name);
}

static int write_configs(const struct ks_problem_set *set, const struct ks_problems_target *t,
                         struct ks_buf *b, struct ks_problems_written *w, struct ks_err *err)
{
    const struct ks_ck_options o = {
        .version = t->ck_version, .compat = t->ck_compat, .init = 1, .split_k = KS_CK_SPLIT_K_ALL
    };
    struct ks_jw json;

    (void)err;
    ks_jw_init(&json, b, true);
    ks_jw_open(&json, NULL, '[');
    for (uint32_t i = 0; i < n_wanted(set, t); i++) {
        const struct ks_problem p = ks_problem_table_get(&set->problems, i);
        char operator[KS_NAME_MAX];
        struct ks_ck_metadata m = {
            .priority_rank = set->origins[i].rank, .pytorch_op = operator, .count = p.count };
        struct ks_ck_arguments a;
        struct ks_err why;

        take_operator(&p, operator);
        if (ks_ck_arguments_of(&o, &p, &a, &why) < 0) {
            leave_out(w, why.text);
            continue;
        }
        ks_ck_config_put(&o, &a, &m, &json);
        count_written(w, &p);
    }
    ks_jw_close(&json, ']');
    ks_buf_u8(b, '\n');
    return 0;
}

/* ---- CSV ---- */

/* NULL, or why Composable Kernel's CSV cannot say this problem. */
static const char *csv_obstacle(const struct ks_problem *p)
{
    const int64_t *d = p->dim;

    if (ks_operators[p->op] != &ks_operator_grouped_conv)
        return "CSV of Composable Kernel has grouped convolutions only";
    if (p->layout != KS_NHWGC)
        return "CSV of Composable Kernel has no layout column: only nhwgc can be written";
    if (d[KS_CONV_NDIM] == 1)
        return "CSV of Composable Kernel has convolutions of 2 and 3 spatial dimensions only";
    for (int axis = 0; axis < 3; axis++)
        if (d[KS_CONV_PAD_D_LO + axis] != d[KS_CONV_PAD_D_HI + axis])
            return "CSV of Composable Kernel has one padding for both sides";
    return NULL;
}

static void put_csv_row(const struct ks_problem *p, struct ks_buf *b)
{
    static const int dims[] = {
        KS_CONV_N,          KS_CONV_C_TOTAL,    KS_CONV_K_TOTAL,    KS_CONV_G,
        KS_CONV_DI,         KS_CONV_HI,         KS_CONV_WI,         KS_CONV_Z,
        KS_CONV_Y,          KS_CONV_X,          KS_CONV_STRIDE_D,   KS_CONV_STRIDE_H,
        KS_CONV_STRIDE_W,   KS_CONV_PAD_D_LO,   KS_CONV_PAD_H_LO,   KS_CONV_PAD_W_LO,
        KS_CONV_DILATION_D, KS_CONV_DILATION_H, KS_CONV_DILATION_W, KS_CONV_NDIM,
    };
    static const char *const directions[KS_N_DIRECTIONS] = { [KS_FORWARD] = "forward",
                                                             [KS_BACKWARD_DATA] = "bwd_data",
                                                             [KS_BACKWARD_WEIGHT] = "bwd_weight" };

    for (size_t i = 0; i < sizeof dims / sizeof dims[0]; i++)
        ks_buf_printf(b, "%" PRId64 ",", p->dim[dims[i]]);
    ks_buf_printf(b, "%s,%s\n", directions[p->direction], ks_dtype_name(p->dtype));
}

static void write_ck_csv(const struct ks_problem_set *set, const struct ks_problems_target *t,
                         struct ks_buf *b, struct ks_problems_written *w)
{
    ks_buf_printf(b, "N,C,K,G,Di,Hi,Wi,Z,Y,X,stride_d,stride_h,stride_w,pad_d,pad_h,pad_w,"
                     "dilation_d,dilation_h,dilation_w,ndim_spatial,direction,dtype\n");
    for (uint32_t i = 0; i < n_wanted(set, t); i++) {
        const struct ks_problem p = ks_problem_table_get(&set->problems, i);
        const char *why = csv_obstacle(&p);

        if (why) {
            leave_out(w, why);
            continue;
        }
        put_csv_row(&p, b);
        count_written(w, &p);
    }
}

static void write_csv(const struct ks_problem_set *set, const struct ks_problems_target *t,
                      struct ks_buf *b, struct ks_problems_written *w)
{
    struct ks_problem_set first = *set; /* a view: nothing of it is changed */

    first.n = n_wanted(set, t);
    ks_problems_csv(&first, false, b);
    for (uint32_t i = 0; i < first.n; i++) {
        const struct ks_problem p = ks_problem_table_get(&set->problems, i);

        count_written(w, &p);
    }
}

int ks_problems_write(const struct ks_problem_set *set, const struct ks_problems_target *t,
                      struct ks_buf *b, struct ks_problems_written *out, struct ks_err *err)
{
    struct ks_problems_written w = { 0 };
    int rc = 0;

    if (t->form == KS_TO_CK_PROFILER || t->form == KS_TO_MIOPEN)
        rc = write_commands(set, t, b, &w, err);
    else if (t->form == KS_TO_CK_CONFIG)
        rc = write_configs(set, t, b, &w, err);
    else if (t->form == KS_TO_CK_CSV)
        write_ck_csv(set, t, b, &w);
    else
        write_csv(set, t, b, &w);
    if (rc == 0 && !ks_buf_ok(b))
        rc = ks_fail(err, KS_ENOMEM, "out of memory writing problems");
    if (rc == 0)
        *out = w;
    return rc;
}

void ks_problems_write_summary(const struct ks_problem_set *set,
                               const struct ks_problems_written *w, struct ks_buf *b)
{
    ks_buf_printf(b, "operations   %" PRIu64 "\n", set->n_commands);
    ks_buf_printf(b, "skipped      %" PRIu64 "\n", set->n_refused);
    ks_buf_printf(b, "forward      %" PRIu64 "\n", w->n_of[KS_FORWARD]);
    ks_buf_printf(b, "data         %" PRIu64 "\n", w->n_of[KS_BACKWARD_DATA]);
    ks_buf_printf(b, "weight       %" PRIu64 "\n", w->n_of[KS_BACKWARD_WEIGHT]);
    ks_buf_printf(b, "configs      %" PRIu64 "\n", w->n_written);
    ks_buf_printf(b, "left out     %" PRIu64 "\n", w->n_left_out);
    for (uint32_t i = 0; i < w->n_reasons; i++)
        ks_buf_printf(b, "  %-10" PRIu64 " %s\n", w->reasons[i].n, w->reasons[i].text);
}
