/* SPDX-License-Identifier: MIT */
/* cmd_cell.c - ksweep cell: prints all that is known of one cell, or runs it again */
#include "base/text.h"
#include "cmd/cell.h"
#include "cmd/cmd_util.h"

#include <stdio.h>
#include <stdlib.h>

struct config {
    bool run, gdb, command, trust_cache;
    const char *cache_dir;
};
#define AT(member) offsetof(struct config, member)
static const struct ks_opt opts[] = {
    { .name = "run",
      .type = KS_OPT_BOOL,
      .offset = AT(run),
      .def = "no",
      .help = "run exactly this cell again, alone" },
    { .name = "gdb",
      .type = KS_OPT_BOOL,
      .offset = AT(gdb),
      .def = "no",
      .help = "run this cell under gdb" },
    { .name = "command",
      .type = KS_OPT_BOOL,
      .offset = AT(command),
      .def = "no",
      .help = "print the shell command that runs this cell in a stand-alone worker, on the GPU "
              "it ran on" },
    { .name = "cache",
      .type = KS_OPT_STR,
      .offset = AT(cache_dir),
      .arg = "DIR",
      .help = "directory of the build cache; default $XDG_CACHE_HOME/ksweep" },
    { .name = "trust-cache",
      .type = KS_OPT_BOOL,
      .offset = AT(trust_cache),
      .def = "no",
      .help = "use a build cache that other users own or can write" },
    KS_OPT_END
};
#undef AT

static void put_view(const struct ks_cell_view *v, struct ks_buf *to)
{
    const struct ks_grid *g = &v->grid;
    const struct ks_problem p = ks_problem_table_get(&g->problems, v->i_problem);
    struct ks_buf text;
    ks_buf_init(&text);
    ks_problem_canonical(&p, &text);
    ks_buf_printf(to, "problem   %016llx %s\n          %s\n", (unsigned long long)v->problem,
                  p.name, ks_buf_text(&text));
    ks_buf_clear(&text);
    const struct ks_instance *in = &g->instances[v->i_instance];
    ks_instance_canonical(&g->families[in->i_family], in, &text);
    ks_buf_printf(to, "instance  %016llx %s\n          %s\n", (unsigned long long)v->instance,
                  in->name, ks_buf_text(&text));
    ks_buf_clear(&text);
    ks_condition_canonical(&g->job, &text);
    ks_buf_printf(to, "condition %016llx %s\n", (unsigned long long)g->condition,
                  ks_buf_text(&text));
    ks_buf_release(&text);
}

/* Where the times of an alias are, or what a control is to be compared with. */
static void put_alias(const struct ks_cell_view *v, struct ks_buf *to)
{
    const struct ks_record *r = v->n_records ? &v->records[v->n_records - 1] : NULL;
    if (!r || !r->representative_id)
        return;
    int64_t i = ks_grid_instance(&v->grid, r->representative_id);
    const char *name = i < 0 ? "an instance that is not in this job" : v->grid.instances[i].name;
    ks_buf_printf(to, "same code as %s\n", name);
    ks_buf_printf(to, "%s: ksweep cell ",
                  r->outcome == KS_O_ALIASED ? "its times are in" : "compare with");
    ks_shell_put(to, v->dir);
    ks_buf_printf(to, " %016llx:%016llx\n", (unsigned long long)v->problem,
                  (unsigned long long)r->representative_id);
    if (r->outcome != KS_O_ALIASED)
        return;
    char job[sizeof(v->dir) + 16];
    snprintf(job, sizeof(job), "%s/job.json", v->dir);
    ks_buf_printf(to, "to measure this and all other aliases: ");
    ks_shell_words(to, (const char *[]){ "ksweep", "run", job, "--out", v->dir, "--resume",
                                         "--retry", "aliased", NULL });
    ks_buf_u8(to, '\n');
}

/* What was run, and where all that it printed is. */
static void put_program(const struct ks_cell_view *v, struct ks_buf *to)
{
    const struct ks_program_run *p = v->program;
    if (!p)
        return;
    ks_buf_printf(to, "command   %s\n", p->command);
    ks_buf_printf(to, "rows      %llu, and %llu other lines of output\n",
                  (unsigned long long)p->n_rows, (unsigned long long)p->n_other);
    if (!p->file[0])
        return;
    char path[sizeof(v->dir) + sizeof(p->file) + 16];
    snprintf(path, sizeof(path), "%s/output/%s", v->dir, p->file);
    ks_buf_printf(to, "output    %llu bytes: zcat ", (unsigned long long)p->n_bytes);
    ks_shell_put(to, path);
    ks_buf_u8(to, '\n');
}

/* The attempt that counts, or the others. */
static void put_attempts(const struct ks_cell_view *v, bool counts, struct ks_buf *to)
{
    bool has_head = !counts || !v->attempt;
    for (uint32_t i = 0; i < v->n_records; i++) {
        const struct ks_record *r = &v->records[i];
        bool is_it = r->role == KS_ROLE_CELL && v->attempt && r->attempt == v->attempt;
        if (is_it != counts)
            continue;
        if (!has_head)
            ks_buf_printf(to, "attempt %u counts\n", v->attempt);
        has_head = true;
        ks_cell_print(r, to);
    }
}

static void put_records(const struct ks_cell_view *v, struct ks_buf *to)
{
    put_attempts(v, true, to);
    put_attempts(v, false, to);
    if (!v->n_records)
        ks_buf_printf(to, "not measured yet\n");
    put_alias(v, to);
    put_program(v, to);
    if (v->output.len) {
        ks_buf_printf(to, "output, last %zu bytes:\n    ", v->output.len);
        ks_text_put(to, ks_buf_text(&v->output), v->output.len, KS_LINES_INDENT);
        ks_buf_u8(to, '\n');
    }
    ks_buf_printf(to, "to run it again: ksweep cell ");
    ks_shell_put(to, v->dir);
    ks_buf_printf(to, " %016llx:%016llx --run\n", (unsigned long long)v->problem,
                  (unsigned long long)v->instance);
}

/* The command for it, or gdb in place of this process. */
static int put_command(struct ks_cell_view *v, const struct ks_cell_options *o, bool is_gdb,
                       struct ks_warden *warden, struct ks_buf *to, struct ks_err *err)
{
    struct ks_cell_launch l;
    int rc = ks_cell_prepare(v, o, warden, &l, to, err);
    if (rc == 0 && is_gdb)
        rc = ks_cell_debug(&l, err);
    else if (rc == 0)
        ks_cell_command(&l, to);
    return rc;
}

static int cell(struct ks_call *call, struct ks_err *err)
{
    const struct ks_cmd_env *env = call->env;
    const struct config *c = call->cfg;
    struct ks_cell_view v;
    int rc = ks_cell_open(call->operands[0], call->operands[1], &v, err);
    if (rc < 0)
        return rc;
    struct ks_cell_options o = { .cache_dir = c->cache_dir, .trust_cache = c->trust_cache };
    struct ks_buf out;
    int exit_code = KS_EXIT_OK;
    ks_buf_init(&out);
    if (c->run) {
        rc = ks_cell_run(&v, &o, env->warden, &out, err);
        exit_code = rc > 0 ? KS_EXIT_LOOK : KS_EXIT_OK;
    } else if (c->command || c->gdb) {
        rc = put_command(&v, &o, c->gdb, env->warden, &out, err);
    } else {
        put_view(&v, &out);
        put_records(&v, &out);
    }
    if (rc >= 0)
        rc = ks_emit(&out, NULL, err);
    ks_buf_release(&out);
    ks_cell_close(&v);
    return rc < 0 ? rc : exit_code;
}

const struct ks_command ks_cmd_cell = {
    .name = "cell",
    .summary = "Show everything known of one cell, or run it again. PROBLEM and INSTANCE are "
               "names, unique parts of names, with \"...\" for what is left out, or ids; INSTANCE "
               "can be best: the fastest of the problem.",
    .usage = "cell DIR PROBLEM:INSTANCE [--run | --gdb | --command]",
    .opts = opts,
    .cfg_size = sizeof(struct config),
    .n_min = 2,
    .n_max = 2,
    .run = cell,
    .needs_warden = true,
};
