/* SPDX-License-Identifier: MIT */
/* bench_units.c JOB DIR [UNIT_SIZE] - the translation units of a job as the product would compile
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

struct commands {          /* of one unit */
    struct ks_argv device; /* of a GPU; n 0: there is none */
    struct ks_argv compile, link;
};

static void put_rule(const char *goal, const char *to, const char *from, const char *unit,
                     const struct ks_argv *a, struct ks_buf *rules)
{
    ks_buf_printf(rules, "%s: %s/%s\n%s/%s: %s/%s\n\t@cd %s && ", goal, unit, to, unit, to, unit,
                  from, unit);
    put_command(a, rules);
}

/* unit: its directory's name, below that of the Makefile */
static void put_rules(const struct commands *c, const char *unit, struct ks_buf *rules)
{
    if (c->device.n) {
        put_rule("objects", KS_UNIT_IMAGE, "device.c", unit, &c->device, rules);
        put_rule("objects", "unit.o", KS_UNIT_IMAGE, unit, &c->compile, rules);
    } else {
        put_rule("objects", "unit.o", "unit.c", unit, &c->compile, rules);
    }
    put_rule("all", "kernels.so", "unit.o", unit, &c->link, rules);
}

static int find_commands(const struct ks_build *b, uint32_t i_instance, struct commands *c,
                         struct ks_err *err)
{
    const struct ks_gpu_chain *gpu = ks_build_gpu_chain(b, i_instance);
    const struct ks_toolchain *t = ks_build_toolchain(b, i_instance);
    const struct ks_family *f = &b->grid->families[b->grid->instances[i_instance].i_family];
    const bool is_gpu = gpu->target != KS_GPU_NONE;
    struct ks_buf flags;
    int rc;

    ks_buf_init(&flags);
    ks_build_flags(b, i_instance, &flags);
    rc = ks_toolchain_compile(t, is_gpu ? "" : ks_buf_text(&flags), &c->compile, err);
    if (rc == 0)
        rc = ks_toolchain_link(t, f->link_flags, &c->link, err);
    if (rc == 0 && is_gpu)
        rc = ks_gpu_chain_compile(gpu, ks_buf_text(&flags), &c->device, err);
    ks_buf_release(&flags);
    return rc;
}

static int put_script(const struct commands *c, const char *dir, struct ks_err *err)
{
    struct ks_buf script;
    int rc;

    ks_buf_init(&script);
    ks_buf_printf(&script, "set -e\ncd '%s'\n", dir);
    if (c->device.n)
        put_command(&c->device, &script);
    put_command(&c->compile, &script);
    put_command(&c->link, &script);
    rc = put_file(dir, "compile.sh", &script, err);
    ks_buf_release(&script);
    return rc;
}

/* The size of an image is not known before it is there: none is run here, so it is 0. */
static int put_texts(const struct ks_build *b, const struct ks_unit_members *m, const char *dir,
                     struct ks_err *err)
{
    const int target = (int)ks_build_gpu_chain(b, m->at[0])->target;
    uint32_t *device_of = calloc(m->n, sizeof(*device_of));
    struct ks_buf unit, device;
    int rc = device_of ? 0 : ks_fail(err, KS_ENOMEM, "units");

    ks_buf_init(&unit);
    ks_buf_init(&device);
    if (rc == 0 && target == KS_GPU_NONE) {
        rc = ks_unit_text(m, &unit, err);
    } else if (rc == 0) {
        rc = ks_unit_devices(m, device_of, err);
        if (rc == 0)
            rc = ks_unit_device_text(m, device_of, target, &device, err);
        if (rc == 0)
            rc = ks_unit_host_text(m, device_of, target, 0, &unit, err);
        if (rc == 0)
            rc = put_file(dir, "device.c", &device, err);
    }
    if (rc == 0)
        rc = put_file(dir, "unit.c", &unit, err);
    ks_buf_release(&unit);
    ks_buf_release(&device);
    free(device_of);
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
    struct commands c = { .device = { .n = 0 } };
    int rc = find_commands(b, list[0], &c, err);

    if (rc == 0)
        rc = ks_mkdirs(dir, 0777, err);
    if (rc == 0)
        rc = put_texts(b, &m, dir, err);
    if (rc == 0)
        rc = put_script(&c, dir, err);
    if (rc == 0)
        put_rules(&c, ks_path_base(dir), rules);
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
