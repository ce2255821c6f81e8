/* SPDX-License-Identifier: MIT */
/* bench_units JOB DIR [UNIT_SIZE] - the translation units of a job as the product would compile
 * them, each in DIR/NNN with its source and compile.sh: the same sources, flags and linker call,
 * but nothing else that a build does. UNIT_SIZE instances a unit, default 27. DIR/Makefile does the
 * same: "make objects" compiles, "make all" links, too. Prints how many units. */
#include "base/file.h"
#include "build/plan.h"
#include "build/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int put_file(const char *dir, const char *name, const struct ks_buf *text,
                    struct ks_err *err)
{
    char path[1200];
    int rc = ks_path_join(path, sizeof(path), dir, name, err);

    return rc < 0 ? rc : ks_file_replace(path, text->data, text->len, err);
}

static void put_command(const struct ks_argv *a, struct ks_buf *script)
{
    for (size_t i = 0; i < a->n; i++)
        ks_buf_printf(script, "%s'%s'", i ? " " : "", a->at[i]);
    ks_buf_printf(script, "\n");
}

/* unit: its directory's name, below that of the Makefile */
static void put_rules(const struct ks_argv *compile, const struct ks_argv *link, const char *unit,
                      struct ks_buf *rules)
{
    ks_buf_printf(rules, "objects: %s/unit.o\n%s/unit.o: %s/unit.c\n\t@cd %s && ", unit, unit, unit,
                  unit);
    put_command(compile, rules);
    ks_buf_printf(rules, "all: %s/kernels.so\n%s/kernels.so: %s/unit.o\n\t@cd %s && ", unit, unit,
                  unit, unit);
    put_command(link, rules);
}

static int put_script(const struct ks_toolchain *t, const char *flags, const char *dir,
                      struct ks_buf *rules, struct ks_err *err)
{
    struct ks_argv compile, link;
    struct ks_buf script;
    int rc = ks_toolchain_compile(t, flags, &compile, err);

    if (rc == 0)
        rc = ks_toolchain_link(t, &link, err);
    if (rc < 0)
        return rc;
    put_rules(&compile, &link, ks_path_base(dir), rules);
    ks_buf_init(&script);
    ks_buf_printf(&script, "set -e\ncd '%s'\n", dir);
    put_command(&compile, &script);
    put_command(&link, &script);
    rc = put_file(dir, "compile.sh", &script, err);
    ks_buf_release(&script);
    return rc;
}

static int put_unit(const struct ks_build *b, uint32_t i_unit, const char *dir,
                    struct ks_buf *rules, struct ks_err *err)
{
    const uint32_t *list;
    const uint32_t n = ks_build_unit(b, i_unit, &list);
    const struct ks_unit_members m = { .f =
                                           &b->grid->families[b->grid->instances[list[0]].i_family],
                                       .all = b->grid->instances,
                                       .at = list,
                                       .n = n };
    struct ks_buf text, flags;
    int rc;

    ks_buf_init(&text);
    ks_buf_init(&flags);
    ks_build_flags(b, list[0], &flags);
    rc = ks_unit_text(&m, &text, err);
    if (rc == 0)
        rc = ks_mkdirs(dir, 0777, err);
    if (rc == 0)
        rc = put_file(dir, "unit.c", &text, err);
    if (rc == 0)
        rc = put_script(ks_build_toolchain(b, list[0]), ks_buf_text(&flags), dir, rules, err);
    ks_buf_release(&text);
    ks_buf_release(&flags);
    return rc;
}

static int put_units(const struct ks_build *b, const char *to, struct ks_err *err)
{
    struct ks_buf rules;
    char dir[1100];
    int rc = 0;

    ks_buf_init(&rules);
    ks_buf_printf(&rules, "all:\nobjects:\n.PHONY: all objects\n");
    for (uint32_t u = 0; rc == 0 && u < ks_build_n_units(b); u++) {
        snprintf(dir, sizeof(dir), "%.1000s/%03u", to, u);
        rc = put_unit(b, u, dir, &rules, err);
    }
    if (rc == 0)
        rc = put_file(to, "Makefile", &rules, err);
    ks_buf_release(&rules);
    return rc;
}

static int run(const char *job, const char *to, uint32_t unit_size, struct ks_warden *w,
               uint32_t *n_out, struct ks_err *err)
{
    char cache[1100];
    const struct ks_build_options opt = { .cache_dir = cache, .unit_size = unit_size };
    struct ks_build *b = NULL;
    struct ks_grid g = { 0 };
    int rc = ks_grid_load(job, &g, err);

    snprintf(cache, sizeof(cache), "%.1000s/cache", to);
    if (rc == 0)
        rc = ks_build_create(&g, &opt, w, &b, err);
    if (rc == 0)
        rc = put_units(b, to, err);
    if (rc == 0)
        *n_out = ks_build_n_units(b);
    ks_build_destroy(b);
    ks_grid_release(&g);
    return rc;
}

int main(int argc, char **argv)
{
    uint32_t unit_size = argc > 3 ? (uint32_t)strtoul(argv[3], NULL, 10) : 0, n = 0;
    struct ks_warden *w = NULL;
    struct ks_err err;
    int rc;

    if (argc < 3) {
        fprintf(stderr, "usage: bench_units JOB DIR [UNIT_SIZE]\n");
        return 2;
    }
    rc = ks_warden_start(&w, &err);
    if (rc == 0)
        rc = run(argv[1], argv[2], unit_size, w, &n, &err);
    ks_warden_stop(w);
    if (rc < 0) {
        fprintf(stderr, "bench_units: %s\n", err.text);
        return 1;
    }
    printf("%u\n", n);
    return 0;
}
