/* SPDX-License-Identifier: MIT */
/* bench_units JOB DIR [UNIT_SIZE] - the translation units of a job as the product would compile
 * them, each in DIR/NNN with its source and compile.sh: the same sources, flags and linker call,
 * but nothing else that a build does. UNIT_SIZE instances a unit, default 27. Prints how many
 * units. */
#include "base/file.h"
#include "build/toolchain.h"
#include "build/unit.h"
#include "grid/grid.h"

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

static int put_script(const struct ks_toolchain *t, const struct ks_family *f, const char *dir,
                      struct ks_err *err)
{
    struct ks_argv compile, link;
    struct ks_buf script;
    int rc = ks_toolchain_compile(t, f->extra_flags, &compile, err);

    if (rc == 0)
        rc = ks_toolchain_link(t, &link, err);
    if (rc < 0)
        return rc;
    ks_buf_init(&script);
    ks_buf_printf(&script, "set -e\ncd '%s'\n", dir);
    put_command(&compile, &script);
    put_command(&link, &script);
    rc = put_file(dir, "compile.sh", &script, err);
    ks_buf_release(&script);
    return rc;
}

static int put_unit(const struct ks_grid *g, const struct ks_toolchain *t, uint32_t first,
                    uint32_t n, const char *dir, struct ks_err *err)
{
    const struct ks_family *f = &g->families[g->instances[first].i_family];
    uint32_t *indices = calloc(n, sizeof(*indices));
    struct ks_buf text;
    int rc = indices ? 0 : ks_fail(err, KS_ENOMEM, "out of memory");

    ks_buf_init(&text);
    for (uint32_t i = 0; rc == 0 && i < n; i++)
        indices[i] = first + i;
    if (rc == 0)
        rc = ks_unit_text(f, g->instances, indices, n, &text, err);
    if (rc == 0)
        rc = ks_mkdirs(dir, 0777, err);
    if (rc == 0)
        rc = put_file(dir, "unit.c", &text, err);
    if (rc == 0)
        rc = put_script(t, f, dir, err);
    ks_buf_release(&text);
    free(indices);
    return rc;
}

/* One family only: units do not mix them. */
static int put_units(const char *job, const char *to, uint32_t unit_size, struct ks_warden *w,
                     uint32_t *n_out, struct ks_err *err)
{
    struct ks_grid g = { 0 };
    const char *cc = getenv("KSWEEP_CC");
    struct ks_toolchain t;
    char dir[1100];
    int rc = ks_grid_load(job, &g, err);

    *n_out = 0;
    if (rc == 0 && g.n_families != 1)
        rc = ks_fail(err, KS_EINVAL, "'%s' has %u families, not one", job, g.n_families);
    if (rc == 0)
        rc = ks_toolchain_find(cc && *cc ? cc : "cc", g.job.device.arch_text, w, &t, err);
    for (uint32_t i = 0; rc == 0 && i < g.n_instances; i += unit_size) {
        uint32_t left = g.n_instances - i;

        snprintf(dir, sizeof(dir), "%.1000s/%03u", to, (*n_out)++);
        rc = put_unit(&g, &t, i, left < unit_size ? left : unit_size, dir, err);
    }
    ks_grid_release(&g);
    return rc;
}

int main(int argc, char **argv)
{
    uint32_t unit_size = argc > 3 ? (uint32_t)strtoul(argv[3], NULL, 10) : 27, n = 0;
    struct ks_warden *w = NULL;
    struct ks_err err;
    int rc;

    if (argc < 3 || unit_size == 0) {
        fprintf(stderr, "usage: bench_units JOB DIR [UNIT_SIZE]\n");
        return 2;
    }
    rc = ks_warden_start(&w, &err);
    if (rc == 0)
        rc = put_units(argv[1], argv[2], unit_size, w, &n, &err);
    ks_warden_stop(w);
    if (rc < 0) {
        fprintf(stderr, "bench_units: %s\n", err.text);
        return 1;
    }
    printf("%u\n", n);
    return 0;
}
