/* SPDX-License-Identifier: MIT */
/* import_ckprofiler.c - imports command lines of Composable Kernel's profiler */
/* Everything is positional, and K and C count the channels of ONE group. Source:
 * ROCm/composable_kernel profiler/src/profile_{grouped_,}conv_{fwd,bwd_data,bwd_weight}.cpp (order,
 * data types, layouts, number of arguments), profiler_arg_utils.hpp (named arguments). */
#include "grid/import.h"
#include "op/conv.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define PROGRAM "ckProfiler"

/* data type, layout, [index type,] verify, init, log, time, ndim, G N K C, 6 x 3, split_k */
enum { MOST_NUMBERS = 9 + 4 + 18 + 1, MOST_CODES = 9 };

/* A code of the data type: what it is here, or why not. */
struct dtype_code {
    int dtype; /* -1: refused */
    const char *why;
};
#define REFUSED(why)                                                                               \
    {                                                                                              \
        -1, why                                                                                    \
    }
#define FLOATS                                                                                     \
    { KS_FP32, NULL },                                                                             \
    {                                                                                              \
        KS_FP16, NULL                                                                              \
    }
#define BF16                                                                                       \
    {                                                                                              \
        KS_BF16, NULL                                                                              \
    }
static const char int8_why[] = "int8 is not supported",
                  fp8_why[] = "8-bit floats are not supported",
                  tf32_why[] = "tf32 is not supported";
static const struct dtype_code fwd_dtypes[MOST_CODES + 1] = { FLOATS,
                                                              BF16,
                                                              REFUSED(int8_why),
                                                              REFUSED(fp8_why),
                                                              REFUSED(fp8_why),
                                                              REFUSED(fp8_why),
                                                              REFUSED(fp8_why),
                                                              REFUSED(tf32_why) };
static const struct dtype_code bwd_data_dtypes[MOST_CODES + 1] = { FLOATS, BF16,
                                                                   REFUSED(tf32_why) };
static const struct dtype_code plain_dtypes[MOST_CODES + 1] = { FLOATS, BF16, REFUSED(int8_why) };
static const struct dtype_code bwd_weight_dtypes[MOST_CODES + 1] = {
    FLOATS,
    REFUSED("bf16 with fp32 weights is not supported (5 is bf16 throughout)"),
    REFUSED(fp8_why),
    REFUSED(int8_why),
    BF16,
    REFUSED(tf32_why)
};

/* A code of the layout: images and weights by their order of dims. */
struct layout_code {
    const char *name; /* NULL: no such code */
    uint32_t images, weights;
    bool is_group_first; /* G before N: the same as ours only where G is 1 */
};
enum { MOST_LAYOUTS = 5 };
static const struct layout_code grouped_layouts[MOST_LAYOUTS] = {
    { "GNHWC_GKYXC_GNHWK", KS_NHWGC, KS_NHWGC, true },
    { "NHWGC_GKYXC_NHWGK", KS_NHWGC, KS_NHWGC, false },
    { "NGCHW_GKYXC_NGKHW", KS_NGCHW, KS_NHWGC, false },
    { "NGCHW_GKCYX_NGKHW", KS_NGCHW, KS_NGCHW, false },
};
static const struct layout_code bwd_weight_layouts[MOST_LAYOUTS] = {
    { "GNCHW_GKCYX_GNKHW", KS_NGCHW, KS_NGCHW, true },
    { "GNHWC_GKYXC_GNHWK", KS_NHWGC, KS_NHWGC, true },
    { "NHWGC_GKYXC_NHWGK", KS_NHWGC, KS_NHWGC, false },
    { "NGCHW_GKYXC_NGKHW", KS_NGCHW, KS_NHWGC, false },
    { "NGCHW_GKCYX_NGKHW", KS_NGCHW, KS_NGCHW, false },
};
static const struct layout_code plain_layouts[MOST_LAYOUTS] = {
    { "NCHW_KCYX_NKHW", KS_NGCHW, KS_NGCHW, true },
    { "NHWC_KYXC_NHWK", KS_NHWGC, KS_NHWGC, true },
};

/* How the arguments of an operation are laid out; several forms of one name are tried in order. */
struct form {
    const char *op;
    uint32_t direction;
    const struct dtype_code *dtypes;
    const struct layout_code *layouts;
    bool has_index_type, has_groups, has_split_k;
};
static const struct form forms[] = {
    { "grouped_conv_fwd", KS_FORWARD, fwd_dtypes, grouped_layouts, true, true, false },
    { "grouped_conv_bwd_data", KS_BACKWARD_DATA, bwd_data_dtypes, grouped_layouts, false, true,
      false },
    { "grouped_conv_bwd_data", KS_BACKWARD_DATA, bwd_data_dtypes, grouped_layouts, false, true,
      true },
    { "grouped_conv_bwd_weight", KS_BACKWARD_WEIGHT, bwd_weight_dtypes, bwd_weight_layouts, false,
      true, true },
    { "conv_fwd", KS_FORWARD, plain_dtypes, plain_layouts, false, true, false },
    { "conv_fwd", KS_FORWARD, plain_dtypes, plain_layouts, false, false, false },
    { "conv_bwd_data", KS_BACKWARD_DATA, plain_dtypes, plain_layouts, false, true, false },
    { "conv_bwd_data", KS_BACKWARD_DATA, plain_dtypes, plain_layouts, false, false, false },
    { "conv_bwd_weight", KS_BACKWARD_WEIGHT, plain_dtypes, plain_layouts, false, true, true },
    { "conv_bwd_weight", KS_BACKWARD_WEIGHT, plain_dtypes, plain_layouts, false, false, true },
};
enum { N_FORMS = sizeof forms / sizeof forms[0] };

struct command {
    const char *op;
    int64_t number[MOST_NUMBERS];
    size_t n;
    bool ends_in_all; /* the last one is the word "all": only as split_k */
};

static bool is_conv(const char *word)
{
    return strncmp(word, "conv_", 5) == 0 || strncmp(word, "grouped_conv_", 13) == 0;
}

/* Words that name an instance or a mode stand anywhere and say nothing of the problem. */
static bool skip_named(const char *word, char **args)
{
    if (strcmp(word, "--instance") == 0) {
        ks_import_word(args);
        return true;
    }
    return strcmp(word, "--list-instances") == 0 || strcmp(word, "--raw-invocation") == 0;
}

/* NULL, or why the words are no arguments (why_out is filled where needed). */
static const char *read_numbers(char *args, struct command *c, char *why_out, size_t cap)
{
    char *word;

    while ((word = ks_import_word(&args)) != NULL) {
        const char *wrong;

        if (skip_named(word, &args))
            continue;
        if (c->n == MOST_NUMBERS || c->ends_in_all)
            return "too many arguments";
        c->ends_in_all = strcmp(word, "all") == 0;
        wrong = c->ends_in_all ? NULL : ks_import_number(word, &c->number[c->n]);
        if (wrong) {
            snprintf(why_out, cap, "argument %zu: '%.40s' %s", c->n + 2, word, wrong);
            return why_out;
        }
        c->n++;
    }
    return NULL;
}

/* Position of ndim among the numbers. */
static size_t at_ndim(const struct form *f)
{
    return f->has_index_type ? 7 : 6;
}

static size_t wanted_numbers(const struct form *f, int64_t ndim)
{
    return at_ndim(f) + 1 + (f->has_groups ? 4 : 3) + 6 * (size_t)ndim + f->has_split_k;
}

/* The form that wants as many arguments; NULL: why_out says how many are wanted. */
static const struct form *find_form(const struct command *c, char *why_out, size_t cap)
{
    size_t used = 0;

    snprintf(why_out, cap, "unknown operation '%s'", c->op);
    for (int i = 0; i < N_FORMS; i++) {
        const struct form *f = &forms[i];
        int64_t ndim;

        if (strcmp(f->op, c->op) != 0)
            continue;
        if (c->n <= at_ndim(f)) {
            snprintf(why_out, cap, "too few arguments");
            continue;
        }
        ndim = c->number[at_ndim(f)];
        if (ndim < 1 || ndim > 3) {
            snprintf(why_out, cap, "argument %zu: ndim = %" PRId64 ", must be 1, 2 or 3",
                     at_ndim(f) + 2, ndim);
            continue;
        }
        if (c->n == wanted_numbers(f, ndim) && (f->has_split_k || !c->ends_in_all))
            return f;
        used += (size_t)snprintf(why_out + used, cap - used, "%s%zu", used ? " or " : "",
                                 wanted_numbers(f, ndim) + 2);
        if (used < cap)
            snprintf(why_out + used, cap - used, " words are needed for ndim %" PRId64 ", not %zu",
                     ndim, c->n + 2);
    }
    return NULL;
}

/* Helps of 2024 name the index type before the layout, the code has it behind: a layout code that
 * is no index type tells that somebody followed the help. */
static int64_t layout_code(const struct form *f, const struct command *c)
{
    bool is_swapped = f->has_index_type && c->number[2] > 1 && c->number[1] <= 1;

    return c->number[is_swapped ? 2 : 1];
}

/* The problem's layout, where the command's is the same in memory; else why not. */
static const char *read_layout(const struct form *f, int64_t code, const struct ks_problem *p,
                               uint32_t *layout_out)
{
    const int64_t *d = p->dim;
    const struct layout_code *l = &f->layouts[code >= 0 && code < MOST_LAYOUTS ? code : 0];
    bool is_one_tap = d[KS_CONV_Z] == 1 && d[KS_CONV_Y] == 1 && d[KS_CONV_X] == 1;

    if (code < 0 || code >= MOST_LAYOUTS || !l->name)
        return "unknown layout";
    if (l->is_group_first && d[KS_CONV_G] != 1)
        return "layouts with the group as the outermost dimension are not supported for g > 1";
    if (l->images != l->weights && !is_one_tap && d[KS_CONV_C_TOTAL] != d[KS_CONV_G])
        return "images NGCHW with weights GKYXC are not supported";
    *layout_out = l->images;
    return NULL;
}

static const char *read_dtype(const struct form *f, int64_t code, uint32_t *dtype_out)
{
    if (code < 0 || code >= MOST_CODES || (f->dtypes[code].dtype == 0 && code > 0))
        return "unknown data type";
    if (f->dtypes[code].dtype < 0)
        return f->dtypes[code].why;
    *dtype_out = (uint32_t)f->dtypes[code].dtype;
    return NULL;
}

/* Factors below 2^31 give products that fit. Otherwise the channels of one group come back, for
 * check() to refuse; a bad g is refused before them. */
static int64_t total(int64_t groups, int64_t per_group)
{
    bool is_small = groups > 0 && groups <= INT32_MAX && per_group > 0 && per_group <= INT32_MAX;

    return is_small ? groups * per_group : per_group;
}

static void set_dims(const struct form *f, const struct command *c, struct ks_problem *p)
{
    static const int triples[] = { KS_CONV_Z,          KS_CONV_DI,       KS_CONV_STRIDE_D,
                                   KS_CONV_DILATION_D, KS_CONV_PAD_D_LO, KS_CONV_PAD_D_HI };
    const int64_t *at = c->number + at_ndim(f);
    int ndim = (int)*at++;
    int64_t g = f->has_groups ? *at++ : 1;

    p->dim[KS_CONV_NDIM] = ndim;
    p->dim[KS_CONV_G] = g;
    p->dim[KS_CONV_N] = *at++;
    p->dim[KS_CONV_K_TOTAL] = total(g, *at++);
    p->dim[KS_CONV_C_TOTAL] = total(g, *at++);
    for (size_t t = 0; t < sizeof triples / sizeof triples[0]; t++) {
        for (int axis = 3 - ndim; axis < 3; axis++)
            p->dim[triples[t] + axis] = *at++;
        for (int axis = 0; axis < 3 - ndim; axis++)
            p->dim[triples[t] + axis] = t < 4;
    }
}

static int take_command(struct ks_import *im, const struct form *f, const struct command *c)
{
    struct ks_problem p;
    struct ks_err why;
    const char *wrong;
    int rc = ks_import_blank_conv(im, &p);

    if (rc < 0)
        return rc;
    p.direction = f->direction;
    wrong = read_dtype(f, c->number[0], &p.dtype);
    if (wrong)
        return ks_import_refuse(im, "data type %" PRId64 ": %s", c->number[0], wrong);
    set_dims(f, c, &p);
    wrong = read_layout(f, layout_code(f, c), &p, &p.layout);
    if (wrong)
        return ks_import_refuse(im, "layout %" PRId64 ": %s", layout_code(f, c), wrong);
    if (ks_problem_finish(&p, &why) < 0)
        return ks_import_refuse_err(im, &why);
    return ks_import_take(im, &p, 1);
}

/* `ckProfiler <op> <dtype> <layout> <ndim> --instances` lists type names: it has no problem. */
static bool is_listing(const char *args)
{
    const char *at = strstr(args, "--instances");

    return at && (!at[11] || at[11] == ' ' || at[11] == '\t');
}

int ks_import_ckprofiler_command(struct ks_import *im, const char *op, char *args)
{
    struct command c = { .op = op };
    char why[160];
    const char *wrong = read_numbers(args, &c, why, sizeof why);
    const struct form *f = wrong ? NULL : find_form(&c, why, sizeof why);

    return f ? take_command(im, f, &c) : ks_import_refuse(im, "%s", wrong ? wrong : why);
}

static int read_line(struct ks_import *im, char *at)
{
    bool has_command = false;
    struct ks_import_command found;
    int rc = 0;

    while (rc == 0 && ks_import_next_command(&at, PROGRAM, is_conv, &found)) {
        if (is_listing(found.args))
            continue;
        has_command = true;
        rc = ks_import_ckprofiler_command(im, found.word, found.args);
    }
    im->set->n_other += !has_command;
    return rc;
}

static bool ckprofiler_sniff(const char *text, size_t len)
{
    return memmem(text, len, PROGRAM " ", sizeof PROGRAM) != NULL;
}

static int ckprofiler_read(struct ks_problem_set *set, const char *text, size_t len,
                           const char *name, bool strict, struct ks_err *err)
{
    struct ks_import im;
    int rc;

    ks_import_start(&im, set, text, len, name, strict, err);
    rc = ks_import_command_lines(&im, PROGRAM, read_line);
    ks_import_stop(&im);
    return rc;
}

const struct ks_importer ks_import_ckprofiler = { .name = "ckprofiler",
                                                  .sniff = ckprofiler_sniff,
                                                  .read = ckprofiler_read };
