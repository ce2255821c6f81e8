/* SPDX-License-Identifier: MIT */
/* miopendriver.c - the adapter of MIOpenDriver: one run of its choice, or one per solution */
/* Source: ROCm/MIOpen driver/conv_driver.hpp (flags, what it prints), driver/main.cpp. */
#include "op/conv.h"
#include "profiler/option.h"
#include "profiler/profiler_impl.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum mode { FIND, IMMEDIATE, SOLUTIONS };
static const char *const mode_names[] = { "find", "immediate", "solutions", NULL };

struct options {
    int mode;
    bool verify, search;
    int64_t iterations;
    char version[32];
};

static const char *const programs[] = { "MIOpenDriver", NULL };

/* ---- options ---- */

#define AT(member) offsetof(struct options, member)
static const struct ks_profiler_option table[] = {
    { .key = "mode", .kind = KS_PROFILER_CHOICE, .offset = AT(mode), .names = mode_names },
    { .key = "verify", .kind = KS_PROFILER_BOOL, .offset = AT(verify) },
    { .key = "search", .kind = KS_PROFILER_BOOL, .offset = AT(search) },
    { .key = "iterations",
      .kind = KS_PROFILER_INT,
      .offset = AT(iterations),
      .least = 1,
      .most = 1000000 },
    { .key = "version",
      .kind = KS_PROFILER_TEXT,
      .offset = AT(version),
      .cap = sizeof((struct options *)0)->version },
    { .key = NULL }
};
#undef AT

static int options_read(const struct ks_json *doc, const struct ks_node *node, void **options_out,
                        struct ks_err *err)
{
    static const struct options defaults = { .iterations = 10 };
    void *options = NULL;
    const struct options *o;
    int rc = ks_profiler_options_read(table, doc, node, &defaults, sizeof defaults, &options, err);

    if (rc < 0)
        return rc;
    o = options;
    if (o->search && o->mode != FIND) {
        free(options);
        return ks_node_fail(doc, node, err, "\"search\" needs \"mode\": \"find\"");
    }
    *options_out = options;
    return 0;
}

static void options_text(const void *options, struct ks_jw *w)
{
    ks_profiler_options_write(table, options, w);
}

/* The time printed is the mean of all iterations but the first, where there are several. */
static void protocol(const void *options, const struct ks_problem *p,
                     struct ks_profiler_protocol *out)
{
    const struct options *o = options;

    (void)p;
    memcpy(out->version, o->version, sizeof out->version);
    snprintf(out->cache, sizeof out->cache, "warm");
    snprintf(out->statistic, sizeof out->statistic, "mean");
    snprintf(out->verified, sizeof out->verified, "%s", o->verify ? "gpu" : "none");
    out->n_warmup = o->iterations > 1;
    out->n_repeats = (int32_t)(o->iterations > 1 ? o->iterations - 1 : 1);
}

/* ---- command lines ---- */

struct flag {
    const char *name;
    int dim;
};
static const struct flag flags_2d[] = {
    { "-n", KS_CONV_N },          { "-c", KS_CONV_C_TOTAL },  { "-H", KS_CONV_HI },
    { "-W", KS_CONV_WI },         { "-k", KS_CONV_K_TOTAL },  { "-y", KS_CONV_Y },
    { "-x", KS_CONV_X },          { "-p", KS_CONV_PAD_H_LO }, { "-q", KS_CONV_PAD_W_LO },
    { "-u", KS_CONV_STRIDE_H },   { "-v", KS_CONV_STRIDE_W }, { "-l", KS_CONV_DILATION_H },
    { "-j", KS_CONV_DILATION_W },
};
static const struct flag flags_depth[] = {
    { "--in_d", KS_CONV_DI },
    { "--fil_d", KS_CONV_Z },
    { "--pad_d", KS_CONV_PAD_D_LO },
    { "--conv_stride_d", KS_CONV_STRIDE_D },
    { "--dilation_d", KS_CONV_DILATION_D },
};
enum {
    N_FLAGS_2D = sizeof flags_2d / sizeof flags_2d[0],
    N_FLAGS_DEPTH = sizeof flags_depth / sizeof flags_depth[0]
};

static int check_problem(const struct ks_problem *p, struct ks_err *err)
{
    const int64_t *d = p->dim;

    if (ks_operators[p->op] != &ks_operator_grouped_conv)
        return ks_fail(err, KS_EUNSUPPORTED, "MIOpenDriver is only used for convolutions");
    if (d[KS_CONV_NDIM] == 1)
        return ks_fail(err, KS_EUNSUPPORTED,
                       "MIOpenDriver has convolutions of 2 and 3 spatial dimensions only");
    for (int axis = 0; axis < 3; axis++)
        if (d[KS_CONV_PAD_D_LO + axis] != d[KS_CONV_PAD_D_HI + axis])
            return ks_fail(err, KS_EUNSUPPORTED,
                           "MIOpenDriver has one padding for both sides, the problem has two");
    return 0;
}

static int put_pair(struct ks_profiler_command *c, const char *name, const char *value,
                    struct ks_err *err)
{
    int rc = ks_profiler_word(c, name, err);

    return rc < 0 ? rc : ks_profiler_word(c, value, err);
}

static int put_flags(struct ks_profiler_command *c, const struct flag *flags, size_t n,
                     const struct ks_problem *p, struct ks_err *err)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < n; i++) {
        rc = ks_profiler_word(c, flags[i].name, err);
        if (rc == 0)
            rc = ks_profiler_number(c, p->dim[flags[i].dim], err);
    }
    return rc;
}

static int put_layout(struct ks_profiler_command *c, const struct ks_problem *p, struct ks_err *err)
{
    static const char *const names[] = { "--in_layout", "--fil_layout", "--out_layout" };
    const char *layout = p->dim[KS_CONV_NDIM] == 3 ? "NDHWC" : "NHWC";
    int rc = 0;

    for (int i = 0; rc == 0 && i < 3 && p->layout == KS_NHWGC; i++)
        rc = put_pair(c, names[i], layout, err);
    return rc;
}

static int put_problem(struct ks_profiler_command *c, const struct ks_problem *p,
                       const char *program, struct ks_err *err)
{
    static const char *const bases[KS_N_DTYPES] = {
        [KS_FP32] = "conv", [KS_FP16] = "convfp16", [KS_BF16] = "convbfp16"
    };
    static const char *const directions[KS_N_DIRECTIONS] = {
        [KS_FORWARD] = "1", [KS_BACKWARD_DATA] = "2", [KS_BACKWARD_WEIGHT] = "4"
    };
    bool is_3d = p->dim[KS_CONV_NDIM] == 3;
    int rc = put_pair(c, program, bases[p->dtype], err);

    if (rc == 0)
        rc = put_flags(c, flags_2d, N_FLAGS_2D, p, err);
    if (rc == 0 && is_3d)
        rc = put_flags(c, flags_depth, N_FLAGS_DEPTH, p, err);
    if (rc == 0 && is_3d)
        rc = put_pair(c, "--spatial_dim", "3", err);
    if (rc == 0)
        rc = put_layout(c, p, err);
    if (rc == 0)
        rc = put_pair(c, "-m", "conv", err);
    if (rc == 0)
        rc = ks_profiler_word(c, "-g", err);
    if (rc == 0)
        rc = ks_profiler_number(c, p->dim[KS_CONV_G], err);
    return rc < 0 ? rc : put_pair(c, "-F", directions[p->direction], err);
}

static int put_steering(struct ks_profiler_command *c, const struct options *o, int64_t iterations,
                        int64_t solution, struct ks_err *err)
{
    int rc = put_pair(c, "-t", "1", err);

    if (rc == 0)
        rc = put_pair(c, "-V", o->verify ? "1" : "0", err);
    if (rc == 0)
        rc = ks_profiler_word(c, "-i", err);
    if (rc == 0)
        rc = ks_profiler_number(c, iterations, err);
    if (rc == 0 && o->search)
        rc = put_pair(c, "-s", "1", err);
    if (rc == 0 && solution >= 0)
        rc = ks_profiler_word(c, "-S", err);
    return rc == 0 && solution >= 0 ? ks_profiler_number(c, solution, err) : rc;
}

static int command(const void *options, const struct ks_problem *p, const char *program,
                   const struct ks_profiler_choice *choice, struct ks_profiler_command *out,
                   struct ks_err *err)
{
    const struct options *o = options;
    int64_t solution = choice ? choice->index : o->mode == FIND ? -1 : 0;
    int rc = check_problem(p, err);

    if (rc == 0)
        rc = put_problem(out, p, program, err);
    return rc < 0 ? rc : put_steering(out, o, o->iterations, solution, err);
}

/* The immediate mode prints all solutions before it runs the fastest. */
static int list_command(const void *options, const struct ks_problem *p, const char *program,
                        struct ks_profiler_command *out, struct ks_err *err)
{
    const struct options *o = options;
    int rc = check_problem(p, err);

    if (rc == 0)
        rc = put_problem(out, p, program, err);
    return rc < 0 ? rc : put_steering(out, o, 1, 0, err);
}

static bool runs_by_choice(const void *options)
{
    return ((const struct options *)options)->mode == SOLUTIONS;
}

/* Its database of the user and its cache of compiled kernels must not be shared by runs that go on
 * at once. */
static const struct ks_profiler_variable *variable(const void *options, unsigned i)
{
    static const struct ks_profiler_variable all[] = {
        { "MIOPEN_USER_DB_PATH", "miopen-db", true },
        { "MIOPEN_CUSTOM_CACHE_DIR", "miopen-cache", true },
    };

    (void)options;
    return i < sizeof all / sizeof all[0] ? &all[i] : NULL;
}

/* ---- output ---- */

struct state {
    bool is_choosing; /* a solution was chosen: it is the row, the listing is not */
    int64_t index;    /* the chosen one */
};

static void *state_new(const void *options, const struct ks_problem *p,
                       const struct ks_profiler_choice *choice)
{
    struct state *s = calloc(1, sizeof *s);

    (void)options;
    (void)p;
    if (s)
        s->is_choosing = choice != NULL;
    if (s)
        s->index = choice ? choice->index : KS_PROFILER_UNTOLD;
    return s;
}

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static int fail_code(const struct ks_err *err)
{
    return (int)err->code;
}

/* "- id: 61 algo: 3, time: 0.5 ms, ws: 0, name: ConvBinWinogradRxSf2x3": what immediate mode has;
 * the time is the library's, of a database, not of this run. */
static int listed_line(struct ks_profiler_reader *r, const char *text, struct ks_err *err)
{
    struct state *s = ks_reader_state(r);
    struct ks_profiler_draft *d;
    const char *name = strstr(text, ", name: "), *ws = strstr(text, ", ws: ");
    int64_t id = strtoll(text + 6, NULL, 10);

    if (!name || !name[8] || s->is_choosing) {
        if (!name)
            ks_reader_count_other(r);
        return 0;
    }
    d = ks_reader_begin(r, err);
    if (!d)
        return fail_code(err);
    d->row.index = id;
    ks_draft_name(d, name + 8, strlen(name + 8));
    if (ws && ws < name)
        ks_draft_trait(d, "workspace_bytes", ws + 6, (size_t)(name - ws - 6));
    return 0;
}

/* "MIOpen Forward Conv. Algorithm: 3, Solution: 139/ConvWinoFuryRxS<2-3>": what was timed; its time
 * follows in a line of its own. */
static int solution_line(struct ks_profiler_reader *r, const char *text, struct ks_err *err)
{
    struct state *s = ks_reader_state(r);
    const char *algorithm = strstr(text, "Algorithm: "), *solution = strstr(text, "Solution: ");
    struct ks_profiler_draft *d;
    char *end;
    int64_t id;

    if (!algorithm || !solution) {
        ks_reader_count_other(r);
        return 0;
    }
    id = strtoll(solution + 10, &end, 10);
    if (*end != '/' || !end[1]) {
        ks_reader_count_other(r);
        return 0;
    }
    d = ks_reader_begin(r, err);
    if (!d)
        return fail_code(err);
    d->row.outcome = KS_O_OK;
    d->row.index = s->is_choosing ? s->index : id;
    ks_draft_name(d, end + 1, strlen(end + 1));
    ks_draft_trait(d, "algorithm", algorithm + 11, strspn(algorithm + 11, "0123456789"));
    return 0;
}

/* "GPU Kernel Time Forward Conv. Elapsed: 0.0123 ms (average)" */
static int time_line(struct ks_profiler_reader *r, const char *text, struct ks_err *err)
{
    static const char unknown[] = "UNKNOWN";
    const struct state *s = ks_reader_state(r);
    struct ks_profiler_draft *d = ks_reader_held(r);
    const char *at = strstr(text, "Elapsed: ");
    double ms = at ? strtod(at + 9, NULL) : 0;

    if (strstr(text, "Bias") || !at || !isfinite(ms) || ms <= 0)
        return 0;
    if (!d || d->row.outcome != KS_O_OK || d->row.time_ns > 0) {
        /* Older drivers do not print the solution: it is the one that was chosen, if any. */
        const char *name = ks_profiler_reader_running(r);

        d = ks_reader_begin(r, err);
        if (!d)
            return fail_code(err);
        d->row.outcome = KS_O_OK;
        d->row.index = s->index;
        ks_draft_name(d, name ? name : unknown, strlen(name ? name : unknown));
    }
    d->row.time_ns = ms * 1e6;
    return 0;
}

/* "Forward Convolution Verifies OK on GPU reference (..)", "Forward Convolution FAILED: 0.3 > .."
 */
static void verify_line(struct ks_profiler_reader *r, const char *text, size_t n)
{
    struct ks_profiler_draft *d = ks_reader_held(r);

    ks_reader_summary(r)->has_end = true;
    if (!d || d->row.outcome != KS_O_OK)
        return;
    if (strstr(text, "Verifies OK") || strstr(text, "Verifies on")) {
        d->row.is_verified = true;
        return;
    }
    d->row.outcome = KS_O_WRONG_RESULT;
    ks_draft_reason(d, text, n);
}

static bool is_known(const char *text)
{
    return begins(text, "stats: ") || begins(text, "PRNG seed:") || begins(text, "MIOpenDriver ") ||
           begins(text, "Wall-clock Time") || begins(text, "Warm-up: ") ||
           begins(text, "Warning: Solution id") || strstr(text, "MIOpen(HIP): ") ||
           strstr(text, "MIOpen: ");
}

static bool is_failed(const char *text)
{
    return begins(text, "RunForwardGPU() FAILED") || begins(text, "RunBackwardGPU() FAILED") ||
           strstr(text, "miopenStatusNotImplemented") || strstr(text, "ret_algo_count == 0");
}

static int line(struct ks_profiler_reader *r, char *text, size_t n, struct ks_err *err)
{
    struct ks_profiler_summary *sum = ks_reader_summary(r);
    const char *count = strstr(text, " solutions available: ");

    n = strlen(text);
    if (begins(text, "- id: "))
        return listed_line(r, text, err);
    if (begins(text, "MIOpen ") && strstr(text, " Conv. Algorithm: "))
        return solution_line(r, text, err);
    if (begins(text, "GPU Kernel Time "))
        return time_line(r, text, err);
    if (strstr(text, "Convolution") && (strstr(text, "Verifies") || strstr(text, "FAILED"))) {
        verify_line(r, text, n);
    } else if (count) {
        int64_t v = strtoll(count + 22, NULL, 10);

        sum->n_found = sum->n_valid = v < 0 ? -1 : v;
    } else if (is_failed(text)) {
        sum->is_unimplemented = sum->is_unimplemented || strstr(text, "NotImplemented") ||
                                strstr(text, "ret_algo_count == 0");
        ks_reader_set_reason(r, text, n);
    } else if (begins(text, "stats: ") && !strstr(text, "stats: name")) {
        sum->has_end = true;
    } else if (!is_known(text)) {
        ks_reader_count_other(r);
    }
    return 0;
}

const struct ks_profiler ks_profiler_miopendriver = {
    .name = "miopendriver",
    .summary = "MIOpenDriver: convolutions; the solution it chooses, or one run per solution",
    .programs = programs,
    .options_read = options_read,
    .options_free = free,
    .options_text = options_text,
    .protocol = protocol,
    .command = command,
    .list_command = list_command,
    .runs_by_choice = runs_by_choice,
    .variable = variable,
    .state_new = state_new,
    .state_free = free,
    .line = line,
};
