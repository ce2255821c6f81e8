/* SPDX-License-Identifier: MIT */
#include "base/hash.h"
#include "cmd/cmd_util.h"
#include "grid/problems.h"
#include "json/json.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST_WARNINGS = 20 };

struct config {
    const char *from, *export;
    uint64_t sample, seed;
    bool list, count, json;
};
#define AT(member) offsetof(struct config, member)
static const struct ks_opt opts[] = {
    { .name = "from",
      .type = KS_OPT_STR,
      .offset = AT(from),
      .arg = "KIND",
      .help = "csv or miopen (command lists and logs); default auto: by the file's content" },
    { .name = "sample",
      .type = KS_OPT_U64,
      .offset = AT(sample),
      .def = "0",
      .min = 0,
      .max = 1e9,
      .arg = "N",
      .help = "keep a random choice of N distinct problems; 0 = all" },
    { .name = "seed",
      .type = KS_OPT_U64,
      .offset = AT(seed),
      .def = "0",
      .arg = "S",
      .help = "of the choice" },
    { .name = "list",
      .type = KS_OPT_BOOL,
      .offset = AT(list),
      .def = "no",
      .help = "print the problems as CSV with their ids in front" },
    { .name = "count",
      .type = KS_OPT_BOOL,
      .offset = AT(count),
      .def = "no",
      .help = "print how many commands were taken and refused, and why (the default)" },
    { .name = "export",
      .type = KS_OPT_STR,
      .offset = AT(export),
      .arg = "FILE",
      .help = "write the problems as CSV that ksweep reads" },
    { .name = "json", .type = KS_OPT_BOOL, .offset = AT(json), .def = "no", .help = "print JSON" },
    KS_OPT_END
};
#undef AT

static void put_id(struct ks_buf *b, uint64_t id)
{
    char hex[17];

    ks_hex64(id, hex);
    ks_buf_printf(b, "%s", hex);
}

/* One header per run of problems of the same operator. */
static void print_csv(const struct ks_problem_set *set, bool with_id, struct ks_buf *b)
{
    for (uint32_t i = 0; i < set->n; i++) {
        const struct ks_problem *p = &set->problems[i];

        if (i == 0 || set->problems[i - 1].op != p->op) {
            ks_buf_printf(b, "%s", with_id ? "id," : "");
            ks_problem_csv_header(p->op, b);
        }
        if (with_id) {
            put_id(b, p->id);
            ks_buf_printf(b, ",");
        }
        ks_problem_csv_row(p, b);
    }
}

static void print_problems_json(const struct ks_problem_set *set, struct ks_buf *b)
{
    struct ks_jw w;
    char hex[17];

    ks_jw_init(&w, b, true);
    ks_jw_open(&w, NULL, '[');
    for (uint32_t i = 0; i < set->n; i++) {
        const struct ks_problem *p = &set->problems[i];

        ks_hex64(p->id, hex);
        ks_jw_open(&w, NULL, '{');
        ks_jw_str(&w, "id", hex);
        ks_jw_str(&w, "operator", ks_operators[p->op]->name);
        ks_jw_str(&w, "direction", ks_direction_name(p->direction));
        ks_jw_str(&w, "dtype", ks_dtype_name(p->dtype));
        ks_jw_str(&w, "layout", ks_layout_name(p->layout));
        for (int d = 0; ks_operators[p->op]->dim_names[d]; d++)
            ks_jw_int(&w, ks_operators[p->op]->dim_names[d], p->dim[d]);
        ks_jw_int(&w, "count", p->count);
        ks_jw_str(&w, "name", p->name);
        ks_jw_close(&w, '}');
    }
    ks_jw_close(&w, ']');
    ks_buf_printf(b, "\n");
}

static void print_counts_json(const struct ks_problem_set *set, int n_files, struct ks_buf *b)
{
    struct ks_jw w;

    ks_jw_init(&w, b, true);
    ks_jw_open(&w, NULL, '{');
    ks_jw_int(&w, "files", n_files);
    ks_jw_u64(&w, "lines", set->n_lines);
    ks_jw_u64(&w, "other_lines", set->n_other);
    ks_jw_u64(&w, "commands", set->n_commands);
    ks_jw_u64(&w, "taken", set->n_taken);
    ks_jw_u64(&w, "refused", set->n_refused);
    ks_jw_u64(&w, "problems", set->n_problems_raw);
    ks_jw_u64(&w, "distinct", set->n);
    ks_jw_open(&w, "refusals", '[');
    for (uint32_t i = 0; i < set->n_refusals; i++) {
        ks_jw_open(&w, NULL, '{');
        ks_jw_str(&w, "file", set->refusals[i].file);
        ks_jw_u64(&w, "line", set->refusals[i].line);
        ks_jw_str(&w, "reason", set->refusals[i].reason);
        ks_jw_close(&w, '}');
    }
    ks_jw_close(&w, ']');
    ks_jw_close(&w, '}');
    ks_buf_printf(b, "\n");
}

static void print_counts(const struct ks_problem_set *set, int n_files, struct ks_buf *b)
{
    ks_buf_printf(b, "files        %d\n", n_files);
    ks_buf_printf(b, "lines        %" PRIu64 " (%" PRIu64 " without a command)\n", set->n_lines,
                  set->n_other);
    ks_buf_printf(b, "commands     %" PRIu64 "\n", set->n_commands);
    ks_buf_printf(b, "taken        %" PRIu64 "\n", set->n_taken);
    ks_buf_printf(b, "refused      %" PRIu64 "\n", set->n_refused);
    ks_buf_printf(b, "problems     %" PRIu64 "\n", set->n_problems_raw);
    ks_buf_printf(b, "distinct     %" PRIu32 "\n", set->n);
}

static void warn_refusals(const struct ks_problem_set *set)
{
    for (uint32_t i = 0; i < set->n_refusals && i < MOST_WARNINGS; i++)
        fprintf(stderr, "refused: %s:%" PRIu64 ": %s\n", set->refusals[i].file,
                set->refusals[i].line, set->refusals[i].reason);
    if (set->n_refusals > MOST_WARNINGS)
        fprintf(stderr, "refused: and %" PRIu32 " more; --count --json lists them all\n",
                set->n_refusals - MOST_WARNINGS);
}

static int read_all(struct ks_problem_set *set, const struct config *cfg, const char **files, int n,
                    struct ks_err *err)
{
    int rc = 0;

    for (int i = 0; rc == 0 && i < n; i++)
        rc = ks_problem_set_read(set, files[i], cfg->from ? cfg->from : "auto", false, err);
    if (rc == 0 && set->n_commands == 0)
        rc = ks_fail(err, KS_EINVAL, "no problem in '%s'%s", files[0],
                     n > 1 ? " and the others" : "");
    if (rc == 0 && cfg->sample > 0 && cfg->sample < set->n)
        rc = ks_problem_set_sample(set, (uint32_t)cfg->sample, cfg->seed, err);
    return rc;
}

static int emit(const struct ks_problem_set *set, const struct config *cfg, int n_files,
                struct ks_err *err)
{
    struct ks_buf b;
    int rc;

    ks_buf_init(&b);
    if (cfg->export)
        print_csv(set, false, &b);
    else if (cfg->list && cfg->json)
        print_problems_json(set, &b);
    else if (cfg->list)
        print_csv(set, true, &b);
    else if (cfg->json)
        print_counts_json(set, n_files, &b);
    else
        print_counts(set, n_files, &b);
    rc = ks_cmd_emit(&b, cfg->export, err);
    ks_buf_release(&b);
    return rc;
}

static int run(struct ks_cmd_ctx *ctx, int argc, char **argv)
{
    const char **files = calloc((size_t)argc, sizeof *files);
    struct ks_problem_set set;
    struct config cfg = { 0 };
    int n_files = 0, rc;

    ks_problem_set_init(&set);
    if (!files) {
        rc = ks_fail(&ctx->err, KS_ENOMEM, "out of memory");
        goto out;
    }
    rc = ks_cmd_parse(&ks_cmd_problems, &cfg, argc, argv, files, 1, 0, &n_files, &ctx->err);
    if (rc == 0 && cfg.list + cfg.count + (cfg.export != NULL) > 1)
        rc = ks_fail(&ctx->err, KS_EINVAL, "only one of --list, --count and --export");
    if (rc == 0)
        rc = read_all(&set, &cfg, files, n_files, &ctx->err);
    if (rc == 0)
        rc = emit(&set, &cfg, n_files, &ctx->err);
    if (rc == 0) {
        warn_refusals(&set);
        rc = set.n_refused ? KS_EXIT_LOOK : KS_EXIT_OK;
    }
out:
    ks_problem_set_release(&set);
    free(files);
    return rc;
}

const struct ks_command ks_cmd_problems = {
    .name = "problems",
    .summary =
        "Read problem lists: what they hold, what is refused and why, canonical and distinct.",
    .usage = "problems FILE... [--from KIND] [--sample N --seed S] [--list | --count | --export "
             "FILE] [--json]",
    .opts = opts,
    .run = run,
};
