/* SPDX-License-Identifier: MIT */
/* cmd_kernels.c - ksweep kernels: lists, counts and exports the instances of kernel configs */
#include "base/wrap.h"
#include "cmd/cmd_util.h"
#include "cmd/kernels_view.h"
#include "grid/arch.h"
#include "grid/family.h"
#include "grid/filters.h"
#include "grid/kernel_export.h"
#include "grid/t1.h"
#include "json/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum format { AUTO, JSON, CSV, T1 };

struct config {
    const char *arch, *filter, *filter_file, *export;
    bool list, count, traits, json;
    unsigned format; /* enum format */
};
#define AT(member) offsetof(struct config, member)
static const char *const formats[] = { "auto", "json", "csv", "t1", NULL };
static const struct ks_opt opts[] = {
    { .name = "arch",
      .type = KS_OPT_STR,
      .offset = AT(arch),
      .arg = "ARCH",
      .help = "architecture that instances must run on: native (this CPU; default), x86-64, "
              "x86-64-v2, x86-64-v3, x86-64-v4, or a GPU such as gfx942, sm_90, emu" },
    { .name = "filter",
      .type = KS_OPT_STR,
      .offset = AT(filter),
      .arg = "EXPR",
      .help = "keep the instances for which this expression over trait names is true" },
    { .name = "filter-file",
      .type = KS_OPT_STR,
      .offset = AT(filter_file),
      .arg = "FILE",
      .is_input = true,
      .help = "file of expressions, one per line, all of which must be true, with # for comments; "
              "or a Python filter: def filter_config(c): return EXPR" },
    { .name = "list",
      .type = KS_OPT_BOOL,
      .offset = AT(list),
      .def = "no",
      .help = "print only the names; without this option id, name and what is missing" },
    { .name = "count",
      .type = KS_OPT_BOOL,
      .offset = AT(count),
      .def = "no",
      .help = "print how many instances there are, how many rules and filters leave out, and how "
              "many cannot run, by reason" },
    { .name = "traits",
      .type = KS_OPT_BOOL,
      .offset = AT(traits),
      .def = "no",
      .help = "print the names for filters: each trait with its values, those that occur, and its "
              "meaning" },
    { .name = "export",
      .type = KS_OPT_STR,
      .offset = AT(export),
      .arg = "FILE",
      .is_output = true,
      .help = "write all instances with all their traits" },
    { .name = "format",
      .type = KS_OPT_ENUM,
      .offset = AT(format),
      .def = "auto",
      .choices = formats,
      .arg = "FORMAT",
      .help = "format of the export: json (a config), csv (one column per trait), t1 (values and "
              "conditions); auto: csv if FILE ends in .csv, else json" },
    { .name = "json", .type = KS_OPT_BOOL, .offset = AT(json), .def = "no", .help = "print JSON" },
    KS_OPT_END
};
#undef AT

/* What the command works on. */
struct work {
    const struct config *cfg;
    const char **configs; /* [n_configs], NULL-terminated */
    int n_configs;
    struct ks_kernel_set set;
    struct ks_filters filters;
    uint64_t n_excluded;
};

static enum format format_of(const struct config *cfg)
{
    size_t n = strlen(cfg->export);

    if (cfg->format != AUTO)
        return (enum format)cfg->format;
    return n >= 4 && strcmp(cfg->export + n - 4, ".csv") == 0 ? CSV : JSON;
}

/* With the filters, so that T1 can say them. */
static int export_t1(const struct work *w, struct ks_buf *b, struct ks_err *err)
{
    const char **filters = calloc(w->filters.n + 2, sizeof *filters);
    size_t n = 0;
    int rc;

    if (!filters)
        return ks_fail(err, KS_ENOMEM, "out of memory");
    if (w->cfg->filter)
        filters[n++] = w->cfg->filter;
    for (uint32_t i = 0; i < w->filters.n; i++)
        filters[n++] = w->filters.list[i].text;
    rc = ks_t1_export(&w->set, filters, b, err);
    free(filters);
    return rc;
}

static int export(const struct work *w, struct ks_buf *b, struct ks_err *err)
{
    switch (format_of(w->cfg)) {
    case T1:
        return export_t1(w, b, err);
    case CSV:
        ks_kernels_csv(&w->set, b);
        return 0;
    default:
        return ks_kernel_export(&w->set, w->configs, w->cfg->arch ? w->cfg->arch : "native", b,
                                err);
    }
}

/* A JSON export is meant to be a config in itself. */
static void warn_size(const struct work *w, size_t n, const struct ks_log *log)
{
    if (w->cfg->export && format_of(w->cfg) != CSV && n > KS_JSON_MAX_BYTES)
        ks_logf(log, KS_WARN,
                "'%s' has %zu MiB, but ksweep reads at most %d MiB of JSON, so it cannot be used "
                "as a config; add a filter, or export it in parts",
                w->cfg->export, n >> 20, KS_JSON_MAX_BYTES >> 20);
}

static int emit(const struct work *w, const struct ks_log *log, struct ks_err *err)
{
    struct ks_buf b;
    int rc = 0;

    ks_buf_init(&b);
    if (w->cfg->export)
        rc = export(w, &b, err);
    else if (w->cfg->count && w->cfg->json)
        ks_kernels_counts_json(&w->set, w->n_excluded, &b);
    else if (w->cfg->traits)
        ks_kernels_traits(&w->set, ks_wrap_width(STDOUT_FILENO), &b);
    else if (w->cfg->count)
        ks_kernels_counts(&w->set, w->n_excluded, &b);
    else if (w->cfg->json)
        ks_kernels_list_json(&w->set, &b);
    else if (w->cfg->list)
        ks_kernels_names(&w->set, &b);
    else
        ks_kernels_list(&w->set, &b);
    if (rc == 0)
        rc = ks_emit(&b, w->cfg->export, err);
    if (rc == 0)
        warn_size(w, b.len, log);
    ks_buf_release(&b);
    return rc;
}

static int add_all(struct work *w, struct ks_err *err)
{
    int rc = 0;

    if (w->cfg->filter_file) {
        rc = ks_filters_open(w->cfg->filter_file, &w->filters, err);
        w->set.filters = &w->filters;
    }
    for (int i = 0; rc == 0 && i < w->n_configs; i++) {
        uint64_t n_excluded = 0;

        rc = ks_kernel_set_add(&w->set, w->configs[i], w->cfg->filter, &n_excluded, err);
        w->n_excluded += n_excluded;
    }
    return rc;
}

static int check_options(const struct config *c, struct ks_err *err)
{
    if (c->list + c->count + c->traits + (c->export != NULL) > 1)
        return ks_fail(err, KS_EINVAL, "give only one of --list, --count, --traits and --export");
    if (c->traits && c->json)
        return ks_fail(err, KS_EINVAL, "--traits cannot print JSON: use --export FILE.json");
    if (c->format != AUTO && !c->export)
        return ks_fail(err, KS_EINVAL, "--format needs --export FILE");
    return 0;
}

/* An arch is a CPU or a GPU, and so is what a family is for. Native is this CPU: of a GPU only a
 * probe knows, and to list what there is needs none. */
static int check_arch(const struct ks_family *f, const char *arch, struct ks_err *err)
{
    const struct ks_backend *b = ks_family_backend(f);

    if (b && ks_backend_is(b, KS_BACKEND_GPU) && !ks_arch_is_gpu(arch))
        return ks_fail(
            err, KS_EINVAL,
            "--arch %s is %s CPU, but family %s is for GPUs: name a GPU, such as --arch %s", arch,
            strcmp(arch, KS_ARCH_NATIVE) == 0 ? "this" : "a", f->name, ks_arch_example(b->archs));
    if (b && b->archs == KS_ARCHS_CPU && ks_arch_is_gpu(arch))
        return ks_fail(
            err, KS_EINVAL,
            "--arch %s is a GPU, but family %s is for CPUs: name a CPU, such as --arch %s", arch,
            f->name, ks_arch_example(b->archs));
    return 0;
}

static int check_archs(const struct work *w, struct ks_err *err)
{
    int rc = 0;

    for (uint32_t i = 0; rc == 0 && w->cfg->arch && i < w->set.n_families; i++)
        rc = check_arch(&w->set.families[i], w->cfg->arch, err);
    return rc;
}

static int run(struct ks_call *call, struct ks_err *err)
{
    const struct ks_cmd_env *env = call->env;
    const struct config *c = call->cfg;
    struct work w = { .cfg = c, .configs = call->operands, .n_configs = call->n_operands };
    w.set.filter_of = "--filter";
    struct ks_buf flags;
    int rc = check_options(c, err);

    ks_buf_init(&flags);
    if (rc == 0)
        rc = ks_kernel_set_arch(&w.set, c->arch ? c->arch : KS_ARCH_NATIVE, &flags, err);
    if (rc == 0)
        rc = add_all(&w, err);
    if (rc == 0)
        rc = check_archs(&w, err);
    if (rc == 0)
        rc = emit(&w, &env->log, err);
    ks_kernel_set_release(&w.set);
    ks_filters_release(&w.filters);
    ks_buf_release(&flags);
    return rc;
}

const struct ks_command ks_cmd_kernels = {
    .name = "kernels",
    .summary = "Expand kernel configs (ksweep's, Composable Kernel's, T1, exports): list the "
               "instances, which of them cannot run, and what is left out.",
    .usage =
        "kernels CONFIG... [--arch A] [--filter EXPR] [--filter-file FILE] [--list | --count | "
        "--traits | --export FILE [--format F]] [--json]",
    .opts = opts,
    .cfg_size = sizeof(struct config),
    .n_min = 1,
    .run = run,
};
