/* SPDX-License-Identifier: MIT */
/* programs.c - makes instances of programs that time their own kernels, and their command lines */
#include "grid/programs.h"

#include "base/hash.h"
#include "base/text.h"
#include "grid/family_store.h"
#include "grid/kernel_set_impl.h"
#include "profiler/find.h"

#include <stdio.h>
#include <string.h>

enum { TRAIT_RUN, TRAIT_REPEAT, N_TRAITS };

static struct ks_trait *add_trait(struct ks_family *f, const char *name, enum ks_trait_kind kind,
                                  const char *help)
{
    struct ks_trait *t = &f->traits[f->n_traits++];

    snprintf(t->name, sizeof t->name, "%s", name);
    snprintf(t->help, sizeof t->help, "%s", help);
    t->kind = kind;
    return t;
}

static void add_value(struct ks_trait *t, int64_t value, const char *text)
{
    snprintf(t->text[t->n_values], KS_VALUE_TEXT, "%s", text);
    t->value[t->n_values++] = value;
}

/* What decides what is printed: where the program is, its options and its environment. */
static uint64_t digest(const struct ks_job_program *p)
{
    struct ks_buf b;
    uint64_t id;

    ks_buf_init(&b);
    ks_buf_printf(&b, "%s\n%s\n%s\n%s", p->adapter, p->path, p->options, p->environment);
    id = ks_id64(b.data, b.len);
    ks_buf_release(&b);
    return id;
}

static int make_family(const struct ks_job *job, const struct ks_job_program *p,
                       struct ks_family *f, struct ks_err *err)
{
    struct ks_trait *t;
    char text[KS_VALUE_TEXT];
    int rc = ks_family_begin(f, err);

    if (rc == 0)
        rc = ks_operator_find(job->op, &f->i_op, err);
    if (rc < 0)
        return rc;
    f->is_program = true;
    ks_hex64(digest(p), text);
    snprintf(f->name, sizeof f->name, "%s_%.8s", p->adapter, text);
    snprintf(f->path, sizeof f->path, "%.1000s:%.16s", p->path, text);
    snprintf(f->why, sizeof f->why, "a program that times kernels itself");
    snprintf(f->op, sizeof f->op, "%s", job->op);
    snprintf(f->name_pattern, sizeof f->name_pattern, "%s_{run}_r{repeat}", p->adapter);
    t = add_trait(f, "run", KS_TRAIT_NAME, "digest of path, options and environment");
    add_value(t, 0, text);
    t = add_trait(f, "repeat", KS_TRAIT_INT, "number of the run of the same problem");
    for (uint32_t k = 0; k < p->repeat; k++) {
        snprintf(text, sizeof text, "%u", k);
        add_value(t, k, text);
    }
    return ks_family_fit(f, err);
}

int ks_programs_add(struct ks_kernel_set *set, const struct ks_job *job, uint32_t i,
                    struct ks_err *err)
{
    const struct ks_job_program *p = job->kernels[i].program;
    struct ks_adder a = { .set = set, .path = p->path, .filter = "", .err = err };
    const uint32_t n_before = set->n_families;
    struct ks_family f = { .n_traits = 0 };
    uint32_t i_family = 0;
    int rc = make_family(job, p, &f, err);

    if (rc < 0)
        ks_family_release(&f);
    else
        rc = ks_adder_family(&a, &f, &i_family);
    if (rc == 0 && set->n_families == n_before)
        rc = ks_fail(err, KS_EINVAL, "duplicate entry: the same program with the same options");
    for (uint32_t k = 0; rc == 0 && k < p->repeat; k++) {
        struct ks_instance one = { .i_family = i_family };

        one.value[TRAIT_REPEAT] = (uint8_t)k;
        rc = ks_adder_instance(&a, i_family, &one);
    }
    ks_adder_release(&a);
    return rc;
}

const struct ks_job_program *ks_programs_of(const struct ks_grid *g, uint32_t i_instance,
                                            uint32_t *repeat_out)
{
    const struct ks_instance *i = &g->instances[i_instance];

    if (!g->families[i->i_family].is_program)
        return NULL;
    *repeat_out = i->value[TRAIT_REPEAT];
    return g->job.kernels[i->i_kernels].program;
}

static int open_setup(const struct ks_job_program *p, struct ks_profiler_setup **out,
                      struct ks_err *err)
{
    const struct ks_profiler *adapter = NULL;
    int rc = ks_profiler_find(p->adapter, &adapter, err);

    return rc < 0 ? rc : ks_profiler_setup_parse(adapter, p->options, out, err);
}

/* The same program for all operations, mostly: it is visited once. */
static int visit(const struct ks_job_program *p, const char *found, char *last, size_t cap,
                 ks_program_fn fn, void *ctx, struct ks_err *err)
{
    struct ks_program_format format;
    int rc;

    if (!fn || strcmp(found, last) == 0)
        return 0;
    snprintf(last, cap, "%s", found);
    rc = ks_program_format(found, &format, err);
    return rc == 0 ? fn(ctx, p, found, &format, err) : rc;
}

static int visit_entry(const struct ks_grid *g, const struct ks_job_program *p, ks_program_fn fn,
                       void *ctx, struct ks_err *err)
{
    struct ks_profiler_setup *setup = NULL;
    char found[KS_PATH_MAX], last[KS_PATH_MAX] = "";
    int rc = open_setup(p, &setup, err);

    for (uint32_t d = 0; rc == 0 && d < ks_grid_n_domains(g); d++) {
        const struct ks_problem problem =
            ks_problem_table_get(&g->problems, ks_grid_domain_problem(g, d));

        rc = ks_profiler_find_program(setup, &problem, p->path, found, sizeof found, err);
        if (rc == 0)
            rc = visit(p, found, last, sizeof last, fn, ctx, err);
    }
    ks_profiler_setup_destroy(setup);
    return rc;
}

int ks_programs_check(const struct ks_grid *g, ks_program_fn fn, void *ctx, struct ks_err *err)
{
    int rc = 0;

    for (uint32_t i = 0; rc == 0 && i < g->job.n_kernels; i++) {
        if (g->job.kernels[i].program)
            rc = visit_entry(g, g->job.kernels[i].program, fn, ctx, err);
        if (rc < 0)
            ks_err_context(err, KS_EINVAL, "job '%s': kernels[%u].path", g->job.path, i);
    }
    return rc < 0 ? KS_EINVAL : 0;
}

static int put_command(const struct ks_profiler_setup *s, const struct ks_problem *problem,
                       const char *path, struct ks_buf *to, uint64_t *n_left_out,
                       struct ks_err *err)
{
    struct ks_profiler_command command = { .n = 0 };
    char found[KS_PATH_MAX];
    int rc = ks_profiler_find_program(s, problem, path, found, sizeof found, err);

    if (rc == 0)
        rc = ks_profiler_command(s, problem, found, NULL, &command, err);
    if (rc == 0) {
        ks_shell_words(to, (const char *const *)command.words);
        ks_buf_u8(to, '\n');
    }
    ks_profiler_command_release(&command);
    if (rc == KS_EUNSUPPORTED)
        ++*n_left_out;
    return rc == KS_EUNSUPPORTED ? 0 : rc;
}

int ks_programs_commands(const struct ks_grid *g, struct ks_buf *text_out, uint64_t *n_left_out,
                         struct ks_err *err)
{
    int rc = 0;

    *n_left_out = 0;
    for (uint32_t k = 0; rc == 0 && k < g->job.n_kernels; k++) {
        const struct ks_job_program *p = g->job.kernels[k].program;
        struct ks_profiler_setup *setup = NULL;

        if (!p)
            continue;
        rc = open_setup(p, &setup, err);
        for (uint32_t i = 0; rc == 0 && i < g->n_problems; i++) {
            const struct ks_problem problem = ks_problem_table_get(&g->problems, i);

            rc = put_command(setup, &problem, p->path, text_out, n_left_out, err);
        }
        ks_profiler_setup_destroy(setup);
    }
    return rc;
}
