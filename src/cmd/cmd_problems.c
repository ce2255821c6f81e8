/* SPDX-License-Identifier: MIT */
/* cmd_problems.c - ksweep problems: reads, filters, samples, compares and converts problem lists */
#include "base/text.h"
#include "cmd/cmd_util.h"
#include "cmd/problems_view.h"
#include "cmd/problems_write.h"
#include "profiler/ck_arguments.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_WARNINGS = 20 };

struct config {
    const char *from, *export, *leaks, *to, *program, *output;
    int ck_version, compat;
    uint64_t max_ops;
    bool quiet;
    struct ks_opt_list excludes;
    uint64_t sample, seed;
    bool stratified, list, count, json;
};
#define AT(member) offsetof(struct config, member)
static const struct ks_opt opts[] = {
    { .name = "from",
      .type = KS_OPT_STR,
      .offset = AT(from),
      .arg = "KIND",
      .help = "format of the files: csv, ck (CSV of Composable Kernel), generator (JSON), miopen "
              "(command lists and logs), ckprofiler (command lines), fdb (find-db keys), pytorch "
              "(operators for replay, JSON), ck-config (JSON array of Composable Kernel) or trace "
              "(of a profiler); default auto: detected from the content" },
    { .name = "exclude",
      .type = KS_OPT_LIST,
      .offset = AT(excludes),
      .arg = "FILE",
      .is_input = true,
      .help = "leave out the problems of this list; can be repeated" },
    { .name = "sample",
      .type = KS_OPT_U64,
      .offset = AT(sample),
      .def = "0",
      .min = 0,
      .max = 1e9,
      .arg = "N",
      .help = "keep a random sample of N distinct problems; 0 = all" },
    { .name = "seed",
      .type = KS_OPT_U64,
      .offset = AT(seed),
      .def = "0",
      .arg = "S",
      .help = "seed of the random sample" },
    { .name = "stratified",
      .type = KS_OPT_BOOL,
      .offset = AT(stratified),
      .def = "no",
      .help = "give every shape class its share of the sample, and at least one problem" },
    { .name = "list",
      .type = KS_OPT_BOOL,
      .offset = AT(list),
      .def = "no",
      .help = "print the problems as CSV, preceded by id, shape class, products per output "
              "element, operations and bytes of the operands" },
    { .name = "count",
      .type = KS_OPT_BOOL,
      .offset = AT(count),
      .def = "no",
      .help = "print how many commands were taken and refused, and why; so does every call that "
              "asks for nothing else" },
    { .name = "export",
      .type = KS_OPT_STR,
      .offset = AT(export),
      .arg = "FILE",
      .is_output = true,
      .help = "write the problems as CSV for ksweep" },
    { .name = "leaks",
      .type = KS_OPT_STR,
      .offset = AT(leaks),
      .arg = "FILE",
      .is_input = true,
      .help = "print the problems of this validation set that are also in the files; exit status 1 "
              "if there is any" },
    { .name = "to",
      .type = KS_OPT_STR,
      .offset = AT(to),
      .arg = "FORM",
      .help = "write the problems for another program: ck-profiler (command lines), ck-config "
              "(JSON array), miopen (command lines), ck-csv or csv; problems that the program "
              "cannot run are left out and counted; nothing is run" },
    { .name = "ck-version",
      .type = KS_OPT_ENUM,
      .offset = AT(ck_version),
      .def = "2025",
      .choices = ks_ck_version_names,
      .arg = "YEAR",
      .help = "release year of ckProfiler, which determines the arguments" },
    { .name = "compat",
      .type = KS_OPT_ENUM,
      .offset = AT(compat),
      .def = "none",
      .choices = ks_ck_compat_names,
      .arg = "FORM",
      .help = "write what Composable Kernel's converter writes according to its readme or its "
              "code: fp16 and layout 3 for every problem" },
    { .name = "program",
      .type = KS_OPT_STR,
      .offset = AT(program),
      .arg = "PATH",
      .help = "program in the command lines; with --compat readme: directory of the programs" },
    { .name = "max-ops",
      .type = KS_OPT_U64,
      .offset = AT(max_ops),
      .def = "0",
      .max = 1e9,
      .arg = "N",
      .help = "with --to: only the first N problems; 0 = all" },
    { .name = "output",
      .type = KS_OPT_STR,
      .offset = AT(output),
      .arg = "FILE",
      .is_output = true,
      .help = "with --to: write to FILE instead of standard output" },
    { .name = "quiet",
      .type = KS_OPT_BOOL,
      .offset = AT(quiet),
      .def = "no",
      .help = "with --to: print no summary on standard error" },
    { .name = "json", .type = KS_OPT_BOOL, .offset = AT(json), .def = "no", .help = "print JSON" },
    KS_OPT_END
};
#undef AT

static void warn_refusals(const struct ks_problem_set *set)
{
    for (uint32_t i = 0; i < set->n_refusals && i < MOST_WARNINGS; i++) {
        const struct ks_refusal *r = &set->refusals[i];
        char text[sizeof r->file + sizeof r->reason + 32];

        snprintf(text, sizeof text, "%s:%" PRIu64 ": %s", r->file, r->line, r->reason);
        ks_text_print(stderr, "refused", text);
    }
    if (set->n_refusals > MOST_WARNINGS)
        fprintf(stderr, "refused: and %" PRIu32 " more; --count --json lists them all\n",
                set->n_refusals - MOST_WARNINGS);
}

static int read_files(struct ks_problem_set *set, const char *from, const char **files, int n,
                      struct ks_err *err)
{
    int rc = 0;

    for (int i = 0; rc == 0 && i < n; i++)
        rc = ks_problem_set_read(set, files[i], from ? from : "auto", false, err);
    if (rc == 0 && set->n_commands == 0)
        rc = ks_fail(err, KS_EINVAL, "'%s'%s: no problem was found", files[0],
                     n > 1 ? " and the others" : "");
    return rc;
}

/* Lists to be held against the set: what cannot be read of them must be known. */
static int read_others(struct ks_problem_set *others, const char **files, int n,
                       uint64_t *n_refused, struct ks_err *err)
{
    int rc = n > 0 ? read_files(others, NULL, files, n, err) : 0;

    if (rc == 0) {
        warn_refusals(others);
        *n_refused += others->n_refused;
    }
    return rc;
}

static int exclude(struct ks_problem_set *set, const struct ks_opt_list *lists,
                   struct ks_problems_tally *tally, uint64_t *n_refused, struct ks_err *err)
{
    struct ks_problem_set others;
    int rc;

    ks_problem_set_init(&others);
    rc = read_others(&others, lists->text, (int)lists->n, n_refused, err);
    if (rc == 0)
        rc = ks_problem_set_exclude(set, &others, &tally->n_excluded, err);
    ks_problem_set_release(&others);
    return rc;
}

static int choose(struct ks_problem_set *set, const struct config *cfg, struct ks_err *err)
{
    if (cfg->stratified && cfg->sample == 0)
        return ks_fail(err, KS_EINVAL, "--stratified needs --sample");
    if (cfg->sample == 0 || cfg->sample >= set->n)
        return 0;
    return cfg->stratified ? ks_problem_set_stratify(set, (uint32_t)cfg->sample, cfg->seed, err)
                           : ks_problem_set_sample(set, (uint32_t)cfg->sample, cfg->seed, err);
}

static int emit(const struct ks_problem_set *set, const struct config *cfg,
                const struct ks_problems_tally *tally, struct ks_err *err)
{
    struct ks_buf b;
    int rc;

    if (cfg->export && set->n == 0)
        return ks_fail(err, KS_EINVAL, "no problem is left, so '%s' is not written", cfg->export);
    ks_buf_init(&b);
    if (cfg->export)
        ks_problems_csv(set, false, &b);
    else if (cfg->list && cfg->json)
        ks_problems_json(set, &b);
    else if (cfg->list)
        ks_problems_csv(set, true, &b);
    else if (cfg->json)
        ks_problems_counts_json(set, tally, &b);
    else
        ks_problems_counts(set, tally, &b);
    rc = ks_emit(&b, cfg->export, err);
    ks_buf_release(&b);
    return rc;
}

static int report_leaks(const struct ks_problem_set *set, const struct config *cfg,
                        uint64_t *n_refused, uint32_t *n_leaks, struct ks_err *err)
{
    const char *file = cfg->leaks;
    struct ks_problems_leaks leaks = { 0 };
    struct ks_problem_set validation;
    struct ks_buf b;
    int rc;

    ks_problem_set_init(&validation);
    ks_buf_init(&b);
    rc = read_others(&validation, &file, 1, n_refused, err);
    if (rc == 0)
        rc = ks_problems_leaks(set, &validation, cfg->json, &b, &leaks, err);
    if (rc == 0)
        rc = ks_emit(&b, NULL, err);
    *n_leaks = leaks.n;
    ks_buf_release(&b);
    ks_problem_set_release(&validation);
    return rc;
}

/* The list on standard output (or in a file), the summary on standard error. */
static int write_for(const struct ks_problem_set *set, const struct config *cfg, int form,
                     uint64_t *n_left_out, struct ks_err *err)
{
    const struct ks_problems_target t = { .form = form,
                                          .ck_version = cfg->ck_version,
                                          .ck_compat = cfg->compat,
                                          .program = cfg->program,
                                          .max_ops = cfg->max_ops };
    struct ks_problems_written w = { 0 };
    struct ks_buf b, summary;
    int rc;

    ks_buf_init(&b);
    ks_buf_init(&summary);
    rc = ks_problems_write(set, &t, &b, &w, err);
    if (rc == 0 && w.n_written == 0)
        rc = ks_fail(err, KS_EINVAL, "no problem is left to write: %s",
                     w.n_reasons ? w.reasons[0].text : "the list is empty");
    if (rc == 0)
        rc = ks_emit(&b, cfg->output, err);
    if (rc == 0 && !cfg->quiet) {
        ks_problems_write_summary(set, &w, &summary);
        fputs(ks_buf_text(&summary), stderr);
    }
    *n_left_out = w.n_left_out;
    ks_buf_release(&b);
    ks_buf_release(&summary);
    return rc;
}

static int find_form(const char *name, int *out, struct ks_err *err)
{
    const char *near;

    for (int i = 0; ks_problems_form_names[i]; i++)
        if (strcmp(ks_problems_form_names[i], name) == 0) {
            *out = i;
            return 0;
        }
    near = ks_nearest(name, ks_problems_form_names);
    return ks_fail(
        err, KS_EINVAL,
        "--to: unknown format '%.40s'; known are ck-profiler, ck-config, miopen, ck-csv, csv%s%s%s",
        name, near ? "; did you mean '" : "", near ? near : "", near ? "'" : "");
}

static int show(const struct ks_problem_set *set, const struct config *cfg,
                const struct ks_problems_tally *tally, uint64_t *n_look, struct ks_err *err)
{
    uint64_t n_left_out = 0;
    uint32_t n_leaks = 0;
    int form = 0, rc;

    if (cfg->leaks) {
        rc = report_leaks(set, cfg, n_look, &n_leaks, err);
    } else if (cfg->to) {
        rc = find_form(cfg->to, &form, err);
        if (rc == 0)
            rc = write_for(set, cfg, form, &n_left_out, err);
    } else {
        rc = emit(set, cfg, tally, err);
    }
    *n_look += n_leaks + n_left_out;
    return rc;
}

static int work(const struct config *cfg, const char **files, int n_files, struct ks_err *err)
{
    struct ks_problems_tally tally = { .n_files = n_files };
    struct ks_problem_set set;
    uint64_t n_refused = 0;
    int rc;

    ks_problem_set_init(&set);
    rc = read_files(&set, cfg->from, files, n_files, err);
    tally.n_distinct = set.n;
    if (rc == 0)
        warn_refusals(&set);
    if (rc == 0)
        rc = exclude(&set, &cfg->excludes, &tally, &n_refused, err);
    if (rc == 0)
        rc = choose(&set, cfg, err);
    if (rc == 0)
        rc = show(&set, cfg, &tally, &n_refused, err);
    if (rc == 0)
        rc = set.n_refused + n_refused ? KS_EXIT_LOOK : KS_EXIT_OK;
    ks_problem_set_release(&set);
    return rc;
}

static int run(struct ks_call *call, struct ks_err *err)
{
    const struct config *c = call->cfg;

    if (c->list + c->count + (c->export != NULL) + (c->leaks != NULL) + (c->to != NULL) > 1)
        return ks_fail(err, KS_EINVAL,
                       "give only one of --list, --count, --export, --leaks and --to");
    if (!c->to && (c->program || c->output || c->quiet || c->max_ops))
        return ks_fail(err, KS_EINVAL, "--program, --output, --quiet and --max-ops need --to");
    if (c->compat != KS_CK_TRUE && (!c->to || strncmp(c->to, "ck-", 3) != 0))
        return ks_fail(err, KS_EINVAL, "--compat needs --to ck-profiler or --to ck-config");
    return work(c, call->operands, call->n_operands, err);
}

const struct ks_command ks_cmd_problems = {
    .name = "problems",
    .summary = "Read problem lists: print the distinct problems, and what was refused and why.",
    .usage =
        "problems FILE... [--from KIND] [--exclude FILE]... [--sample N --seed S "
        "[--stratified]] [--list | --count | --export FILE | --leaks FILE | --to FORM] [--json]",
    .opts = opts,
    .cfg_size = sizeof(struct config),
    .n_min = 1,
    .run = run,
};
