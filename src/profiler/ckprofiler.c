/* SPDX-License-Identifier: MIT */
/* ckprofiler.c - the adapter of Composable Kernel's ckProfiler: options, protocol, command lines */
/* Composable Kernel's ckProfiler, or its programs for single operations: what to run. */
#include "profiler/ck_arguments.h"
#include "profiler/ck_output.h"
#include "profiler/option.h"
#include "profiler/profiler_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const programs[] = { "ckProfiler", NULL };

/* ---- options ---- */

static const char *const verify_names[] = { "none", "cpu", "gpu", NULL };
static const char *const init_names[] = { "none", "integer", "decimal", NULL };

#define AT(member) offsetof(struct ks_ck_options, member)
static const struct ks_profiler_option table[] = {
    { .key = "version",
      .kind = KS_PROFILER_CHOICE,
      .offset = AT(version),
      .names = ks_ck_version_names },
    { .key = "compat",
      .kind = KS_PROFILER_CHOICE,
      .offset = AT(compat),
      .names = ks_ck_compat_names },
    { .key = "verify", .kind = KS_PROFILER_CHOICE, .offset = AT(verify), .names = verify_names },
    { .key = "init", .kind = KS_PROFILER_CHOICE, .offset = AT(init), .names = init_names },
    { .key = "split_k",
      .kind = KS_PROFILER_INT,
      .offset = AT(split_k),
      .least = -1,
      .most = 4096,
      .word = "all",
      .word_value = KS_CK_SPLIT_K_ALL },
    { .key = NULL }
};
#undef AT

static int options_read(const struct ks_json *doc, const struct ks_node *node, void **options_out,
                        struct ks_err *err)
{
    static const struct ks_ck_options defaults = { .version = KS_CK_2025,
                                                   .init = 1,
                                                   .split_k = KS_CK_SPLIT_K_ALL };

    return ks_profiler_options_read(table, doc, node, &defaults, sizeof defaults, options_out, err);
}

static void options_text(const void *options, struct ks_jw *w)
{
    ks_profiler_options_write(table, options, w);
}

/* Source: StreamConfig of the profilers: 5 launches untimed, the mean of 50; only backward weight
 * flushes the caches. */
static void protocol(const void *options, const struct ks_problem *p,
                     struct ks_profiler_protocol *out)
{
    const struct ks_ck_options *o = options;
    bool is_flushed = p && p->direction == KS_BACKWARD_WEIGHT;

    snprintf(out->version, sizeof out->version, "%s", ks_ck_version_names[o->version]);
    snprintf(out->cache, sizeof out->cache, "%s", !p ? "" : is_flushed ? "flushed" : "warm");
    snprintf(out->statistic, sizeof out->statistic, "mean");
    snprintf(out->verified, sizeof out->verified, "%s", verify_names[o->verify]);
    out->n_warmup = 5;
    out->n_repeats = 50;
}

/* ---- command lines ---- */

static bool program_name(const void *options, const struct ks_problem *p, unsigned i,
                         struct ks_buf *name_out)
{
    const char *operation = ks_ck_operation(p);

    (void)options;
    if (i > 2)
        return false;
    if (i == 2 || !operation)
        ks_buf_printf(name_out, "%s", programs[0]);
    else
        ks_buf_printf(name_out, "%s%s", i == 0 ? "profile_" : "", operation);
    return i == 2 || operation;
}

/* The operation that the program's file name says it is for; NULL: it wants one. */
static const char *single_operation(const char *program)
{
    const char *slash = strrchr(program, '/');
    const char *name = slash ? slash + 1 : program;

    if (strncmp(name, "profile_", 8) == 0)
        return name + 8;
    for (size_t i = 0; ks_ck_operations[i]; i++)
        if (strcmp(ks_ck_operations[i], name) == 0)
            return name;
    return NULL;
}

static int put_operation(const struct ks_ck_arguments *a, const char *program,
                         struct ks_profiler_command *out, struct ks_err *err)
{
    const char *only = single_operation(program);
    int rc = ks_profiler_word(out, program, err);

    if (rc == 0 && only && strcmp(only, a->operation) != 0)
        rc = ks_fail(err, KS_EUNSUPPORTED, "'%.100s' does not run %s", program, a->operation);
    return rc == 0 && !only ? ks_profiler_word(out, a->operation, err) : rc;
}

static int put_numbers(const struct ks_ck_arguments *a, struct ks_profiler_command *out,
                       struct ks_err *err)
{
    const int64_t first[] = { a->data_type, a->layout,    a->index_type, a->verify, a->init, a->log,
                              a->time,      a->n_spatial, a->g,          a->n,      a->k,    a->c };
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < sizeof first / sizeof first[0]; i++)
        if (i != 2 || a->index_type >= 0)
            rc = ks_profiler_number(out, first[i], err);
    for (int t = 0; t < 6; t++)
        for (int64_t i = 0; rc == 0 && i < a->n_spatial; i++)
            rc = ks_profiler_number(out, a->spatial[t][i], err);
    if (rc == 0 && a->has_split_k)
        rc = a->split_k == KS_CK_SPLIT_K_ALL ? ks_profiler_word(out, "all", err)
                                             : ks_profiler_number(out, a->split_k, err);
    return rc;
}

static int put_all(const struct ks_ck_options *o, const struct ks_problem *p, const char *program,
                   struct ks_profiler_command *out, struct ks_err *err)
{
    struct ks_ck_arguments a;
    int rc = ks_ck_arguments_of(o, p, &a, err);

    if (rc == 0)
        rc = put_operation(&a, program, out, err);
    return rc < 0 ? rc : put_numbers(&a, out, err);
}

static int command(const void *options, const struct ks_problem *p, const char *program,
                   const struct ks_profiler_choice *choice, struct ks_profiler_command *out,
                   struct ks_err *err)
{
    const struct ks_ck_options *o = options;
    int rc = put_all(o, p, program, out, err);

    if (rc < 0 || !choice)
        return rc;
    if (o->version < KS_CK_2026)
        return ks_fail(err, KS_EUNSUPPORTED, "ckProfiler of %s cannot choose an instance",
                       ks_ck_version_names[o->version]);
    rc = ks_profiler_word(out, "--instance", err);
    return rc < 0 ? rc : ks_profiler_number(out, choice->index, err);
}

static int list_command(const void *options, const struct ks_problem *p, const char *program,
                        struct ks_profiler_command *out, struct ks_err *err)
{
    const struct ks_ck_options *o = options;
    int rc;

    if (o->version < KS_CK_2026)
        return ks_fail(err, KS_EUNSUPPORTED, "ckProfiler of %s cannot list its instances",
                       ks_ck_version_names[o->version]);
    rc = put_all(o, p, program, out, err);
    return rc < 0 ? rc : ks_profiler_word(out, "--list-instances", err);
}

const struct ks_profiler ks_profiler_ckprofiler = {
    .name = "ckprofiler",
    .summary = "Composable Kernel's ckProfiler: grouped convolutions, one row per instance",
    .programs = programs,
    .options_read = options_read,
    .options_free = free,
    .options_text = options_text,
    .protocol = protocol,
    .program_name = program_name,
    .command = command,
    .list_command = list_command,
    .state_new = ks_ck_state_new,
    .state_free = ks_ck_state_free,
    .line = ks_ck_line,
    .traits = ks_ck_traits,
};
