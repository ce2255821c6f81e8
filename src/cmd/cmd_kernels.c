/* SPDX-License-Identifier: MIT */
#include "base/hash.h"
#include "cmd/cmd_util.h"
#include "grid/family.h"
#include "json/json.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct config {
    const char *arch, *filter, *export;
    bool list, count, json;
};
#define AT(member) offsetof(struct config, member)
static const struct ks_opt opts[] = {
    { .name = "arch",
      .type = KS_OPT_STR,
      .offset = AT(arch),
      .arg = "ARCH",
      .help = "what instances may need: native (default), x86-64, x86-64-v2, x86-64-v3, "
              "x86-64-v4, or a GPU such as gfx942" },
    { .name = "filter",
      .type = KS_OPT_STR,
      .offset = AT(filter),
      .arg = "EXPR",
      .help = "keep instances for which the expression over trait names holds" },
    { .name = "list",
      .type = KS_OPT_BOOL,
      .offset = AT(list),
      .def = "no",
      .help = "print id, name and what is missing (the default)" },
    { .name = "count",
      .type = KS_OPT_BOOL,
      .offset = AT(count),
      .def = "no",
      .help = "print how many there are, how many can run, and what the rules exclude" },
    { .name = "export",
      .type = KS_OPT_STR,
      .offset = AT(export),
      .arg = "FILE",
      .help = "write a CSV with one column per trait" },
    { .name = "json", .type = KS_OPT_BOOL, .offset = AT(json), .def = "no", .help = "print JSON" },
    KS_OPT_END
};
#undef AT

static uint32_t count_missing(const struct ks_kernel_set *set)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < set->n_instances; i++)
        n += set->instances[i].missing[0] != '\0';
    return n;
}

static void print_list(const struct ks_kernel_set *set, struct ks_buf *b)
{
    for (uint32_t i = 0; i < set->n_instances; i++) {
        const struct ks_instance *k = &set->instances[i];
        char hex[17];

        ks_hex64(k->id, hex);
        ks_buf_printf(b, "%s  %s%s%s\n", hex, k->name, k->missing[0] ? "  # " : "", k->missing);
    }
}

static void print_traits_json(const struct ks_family *f, const struct ks_instance *k,
                              struct ks_jw *w)
{
    ks_jw_open(w, "traits", '{');
    for (uint32_t t = 0; t < f->n_traits; t++) {
        if (f->traits[t].kind == KS_TRAIT_NAME)
            ks_jw_str(w, f->traits[t].name, f->traits[t].text[k->value[t]]);
        else
            ks_jw_int(w, f->traits[t].name, f->traits[t].value[k->value[t]]);
    }
    ks_jw_close(w, '}');
}

static void print_list_json(const struct ks_kernel_set *set, struct ks_buf *b)
{
    struct ks_jw w;

    ks_jw_init(&w, b, true);
    ks_jw_open(&w, NULL, '[');
    for (uint32_t i = 0; i < set->n_instances; i++) {
        const struct ks_instance *k = &set->instances[i];
        const struct ks_family *f = &set->families[k->i_family];
        char hex[17];

        ks_hex64(k->id, hex);
        ks_jw_open(&w, NULL, '{');
        ks_jw_str(&w, "id", hex);
        ks_jw_str(&w, "family", f->name);
        ks_jw_str(&w, "name", k->name);
        print_traits_json(f, k, &w);
        ks_jw_str(&w, "missing", k->missing[0] ? k->missing : NULL);
        ks_jw_close(&w, '}');
    }
    ks_jw_close(&w, ']');
    ks_buf_printf(b, "\n");
}

static void print_counts(const struct ks_kernel_set *set, uint64_t n_excluded, struct ks_buf *b)
{
    ks_buf_printf(b, "families     %" PRIu32 "\n", set->n_families);
    ks_buf_printf(b, "instances    %" PRIu32 "\n", set->n_instances);
    ks_buf_printf(b, "can run      %" PRIu32 "\n", set->n_instances - count_missing(set));
    ks_buf_printf(b, "excluded     %" PRIu64 "\n", n_excluded);
    for (uint32_t i = 0; i < set->n_families; i++)
        for (uint32_t r = 0; r < set->families[i].n_rules; r++)
            if (set->families[i].rules[r].n_excluded)
                ks_buf_printf(b, "  %10" PRIu64 "  %s: %s\n", set->families[i].rules[r].n_excluded,
                              set->families[i].name, set->families[i].rules[r].why);
}

static void print_counts_json(const struct ks_kernel_set *set, uint64_t n_excluded,
                              struct ks_buf *b)
{
    struct ks_jw w;

    ks_jw_init(&w, b, true);
    ks_jw_open(&w, NULL, '{');
    ks_jw_u64(&w, "families", set->n_families);
    ks_jw_u64(&w, "instances", set->n_instances);
    ks_jw_u64(&w, "can_run", set->n_instances - count_missing(set));
    ks_jw_u64(&w, "excluded", n_excluded);
    ks_jw_open(&w, "rules", '[');
    for (uint32_t i = 0; i < set->n_families; i++)
        for (uint32_t r = 0; r < set->families[i].n_rules; r++) {
            ks_jw_open(&w, NULL, '{');
            ks_jw_str(&w, "family", set->families[i].name);
            ks_jw_str(&w, "when", set->families[i].rules[r].when);
            ks_jw_str(&w, "why", set->families[i].rules[r].why);
            ks_jw_u64(&w, "excluded", set->families[i].rules[r].n_excluded);
            ks_jw_close(&w, '}');
        }
    ks_jw_close(&w, ']');
    ks_jw_close(&w, '}');
    ks_buf_printf(b, "\n");
}

/* The union of all families' traits, in the order in which they are met. */
static uint32_t list_traits(const struct ks_kernel_set *set, const char **names, uint32_t cap)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < set->n_families; i++)
        for (uint32_t t = 0; t < set->families[i].n_traits; t++) {
            uint32_t k = 0;

            while (k < n && strcmp(names[k], set->families[i].traits[t].name) != 0)
                k++;
            if (k == n && n < cap)
                names[n++] = set->families[i].traits[t].name;
        }
    return n;
}

static void print_row(const struct ks_kernel_set *set, const struct ks_instance *k,
                      const char *const *names, uint32_t n_names, struct ks_buf *b)
{
    const struct ks_family *f = &set->families[k->i_family];
    char hex[17];

    ks_hex64(k->id, hex);
    ks_buf_printf(b, "%s,%s,%s", hex, f->name, k->name);
    for (uint32_t i = 0; i < n_names; i++) {
        int t = ks_family_trait(f, names[i]);

        ks_buf_printf(b, ",%s", t < 0 ? "" : f->traits[t].text[k->value[t]]);
    }
    ks_buf_printf(b, ",\"%s\"\n", k->missing);
}

static int print_csv(const struct ks_kernel_set *set, struct ks_buf *b, struct ks_err *err)
{
    uint32_t cap = set->n_families * KS_TRAITS_MAX, n;
    const char **names = calloc(cap ? cap : 1, sizeof *names);

    if (!names)
        return ks_fail(err, KS_ENOMEM, "out of memory");
    n = list_traits(set, names, cap);
    ks_buf_printf(b, "id,family,name");
    for (uint32_t i = 0; i < n; i++)
        ks_buf_printf(b, ",%s", names[i]);
    ks_buf_printf(b, ",missing\n");
    for (uint32_t i = 0; i < set->n_instances; i++)
        print_row(set, &set->instances[i], names, n, b);
    free(names);
    return 0;
}

static int emit(const struct ks_kernel_set *set, const struct config *cfg, uint64_t n_excluded,
                struct ks_err *err)
{
    struct ks_buf b;
    int rc = 0;

    ks_buf_init(&b);
    if (cfg->export)
        rc = print_csv(set, &b, err);
    else if (cfg->count && cfg->json)
        print_counts_json(set, n_excluded, &b);
    else if (cfg->count)
        print_counts(set, n_excluded, &b);
    else if (cfg->json)
        print_list_json(set, &b);
    else
        print_list(set, &b);
    if (rc == 0)
        rc = ks_cmd_emit(&b, cfg->export, err);
    ks_buf_release(&b);
    return rc;
}

static int add_all(struct ks_kernel_set *set, const struct config *cfg, const char **configs, int n,
                   uint64_t *n_excluded_out, struct ks_err *err)
{
    int rc = 0;

    for (int i = 0; rc == 0 && i < n; i++) {
        uint64_t n_excluded = 0;

        rc = ks_kernel_set_add(set, configs[i], cfg->filter, &n_excluded, err);
        *n_excluded_out += n_excluded;
    }
    return rc;
}

static int run(struct ks_cmd_ctx *ctx, int argc, char **argv)
{
    const char **configs = calloc((size_t)argc, sizeof *configs);
    struct ks_kernel_set set = { 0 };
    struct config cfg = { 0 };
    struct ks_buf flags;
    uint64_t n_excluded = 0;
    int n_configs = 0, rc;

    ks_buf_init(&flags);
    if (!configs) {
        rc = ks_fail(&ctx->err, KS_ENOMEM, "out of memory");
        goto out;
    }
    rc = ks_cmd_parse(&ks_cmd_kernels, &cfg, argc, argv, configs, 1, 0, &n_configs, &ctx->err);
    if (rc == 0 && cfg.list + cfg.count + (cfg.export != NULL) > 1)
        rc = ks_fail(&ctx->err, KS_EINVAL, "only one of --list, --count and --export");
    if (rc == 0)
        rc = ks_kernel_set_arch(&set, cfg.arch ? cfg.arch : "native", &flags, &ctx->err);
    if (rc == 0)
        rc = add_all(&set, &cfg, configs, n_configs, &n_excluded, &ctx->err);
    if (rc == 0)
        rc = emit(&set, &cfg, n_excluded, &ctx->err);
out:
    ks_kernel_set_release(&set);
    ks_buf_release(&flags);
    free(configs);
    return rc;
}

const struct ks_command ks_cmd_kernels = {
    .name = "kernels",
    .summary = "Expand kernel configs: the instances, what this CPU lacks, what the rules exclude.",
    .usage = "kernels CONFIG... [--arch A] [--filter EXPR] [--list | --count | --export FILE] "
             "[--json]",
    .opts = opts,
    .run = run,
};
