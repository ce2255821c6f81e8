/* SPDX-License-Identifier: MIT */
/* ck.c - reads CSV results of Composable Kernel's grouped convolutions */
/* 17 and 24 columns, and the 18 of the C++ sweep. */
#include "analysis/import/intake.h"
#include "analysis/import/peak.h"
#include "base/file.h"
#include "grid/ck_rows.h"
#include "grid/family.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct ck {
    struct ks_intake *im;
    struct ks_family family; /* names and traits of its kernels */
    struct ks_buf text;
    uint64_t last_problem;
    bool is_begun;
};

/* ---- instances ---- */

/* "grouped_conv_forward_bf16_2d_16x64x64_compv3": an instance of the family that ksweep's own
 * configs enumerate, with the same id; a name that it does not know is only a name. */
static int put_named(struct ck *c, const char *name, uint32_t *kernel_out, struct ks_err *err)
{
    struct ks_instance instance;
    struct ks_err why;

    ks_buf_clear(&c->text);
    if (ks_instance_parse_name(&c->family, name, &instance, &why) == 0) {
        ks_instance_record_text(&c->family, &instance, &c->text);
        name = instance.name;
    } else {
        if (strcspn(name, " \t|=") != strlen(name) || strlen(name) > 63)
            return ks_intake_fail(c->im, err, "'%.80s' is not the name of a kernel", name);
        c->im->counts.n_unknown_names++;
        ks_buf_printf(&c->text, "family=ck_unknown abi=1 name=%s", name);
    }
    if (!ks_buf_ok(&c->text))
        return ks_fail(err, KS_ENOMEM, "out of memory for a kernel's name");
    return ks_stage_add_instance(c->im->stage, c->im->run, name, ks_buf_text(&c->text), kernel_out,
                                 err);
}

/* Tile and pipeline of the C++ sweep. */
static int put_tile(struct ck *c, const struct ks_ck_row *row, uint32_t *kernel_out,
                    struct ks_err *err)
{
    char name[192];

    for (size_t i = KS_CK_TILE_M; i <= KS_CK_PIPELINE; i++)
        if (!row->field[i] || !row->field[i][0] || strlen(row->field[i]) > 31 ||
            strpbrk(row->field[i], " \t|="))
            return ks_intake_fail(c->im, err,
                                  "neither a kernel nor tile_m, tile_n, tile_k and pipeline");
    snprintf(name, sizeof(name), "%.31sx%.31sx%.31s_%.31s", row->field[KS_CK_TILE_M],
             row->field[KS_CK_TILE_N], row->field[KS_CK_TILE_K], row->field[KS_CK_PIPELINE]);
    ks_buf_clear(&c->text);
    ks_buf_printf(&c->text, "family=ck_sweep abi=1 tile_m=%s tile_n=%s tile_k=%s pipeline=%s",
                  row->field[KS_CK_TILE_M], row->field[KS_CK_TILE_N], row->field[KS_CK_TILE_K],
                  row->field[KS_CK_PIPELINE]);
    if (!ks_buf_ok(&c->text))
        return ks_fail(err, KS_ENOMEM, "out of memory for a kernel's name");
    return ks_stage_add_instance(c->im->stage, c->im->run, name, ks_buf_text(&c->text), kernel_out,
                                 err);
}

/* ---- rows ---- */

/* 0 = the column is not there. */
static int read_number(const struct ck *c, const struct ks_ck_row *row, enum ks_ck_field field,
                       double *out, struct ks_err *err)
{
    const char *text = row->field[field];

    if (!text)
        return 0;
    return ks_intake_number(text, out)
               ? 1
               : ks_intake_fail(c->im, err, "'%.60s' is not a number >= 0", text);
}

static int read_time(const struct ck *c, const struct ks_ck_row *row, double *ns_out,
                     struct ks_err *err)
{
    int rc = read_number(c, row, KS_CK_LATENCY_MS, ns_out, err);

    if (rc > 0)
        *ns_out *= 1e6;
    if (rc == 0) {
        rc = read_number(c, row, KS_CK_LATENCY_US, ns_out, err);
        if (rc > 0)
            *ns_out *= 1e3;
    }
    return rc == 0 ? ks_intake_fail(c->im, err, "neither latency_ms nor latency_us") : rc;
}

static int on_row(void *ctx, const struct ks_ck_row *row, struct ks_err *err)
{
    struct ck *c = ctx;
    const struct ks_operator *op = ks_operators[row->p->op];
    struct ks_problem p = *row->p;
    struct ks_intake_row r = { .outcome = KS_O_OK, .most_over_peak = 1, .dtype = p.dtype };
    double non_zero = 0;
    int rc;

    c->im->in->line = row->line;
    p.name[0] = '\0';
    rc = read_time(c, row, &r.time_ns, err);
    if (rc > 0)
        rc = read_number(c, row, KS_CK_NON_ZERO, &non_zero, err);
    if (rc > 0) {
        r.n_elements = (uint64_t)op->extents(&p).c;
        r.n_non_zero = (uint64_t)(non_zero < 9e15 ? non_zero : 9e15);
    }
    r.flops = op->work(&p).flops;
    r.output_bytes = (double)op->extents(&p).c * (double)ks_dtype_bytes(p.dtype);
    if (rc >= 0)
        rc = ks_stage_add_problem(c->im->stage, &p, &r.problem, err);
    if (rc < 0)
        return rc;
    c->im->counts.n_lists += !c->is_begun || c->last_problem != p.id;
    c->last_problem = p.id;
    c->is_begun = true;
    rc = row->field[KS_CK_KERNEL] ? put_named(c, row->field[KS_CK_KERNEL], &r.kernel, err)
                                  : put_tile(c, row, &r.kernel, err);
    return rc < 0 ? rc : ks_intake_put(c->im, &r, err);
}

/* ---- the file ---- */

/* Its columns do not name the device: the file's name may. */
static int find_device(struct ks_intake *im, struct ks_err *err)
{
    const char *given = im->options->device, *name = given ? given : ks_path_base(im->path);
    char arch[64];
    uint32_t n_units;

    for (const char *at = strstr(name, "gfx"); at; at = strstr(at + 1, "gfx"))
        if (ks_peak_arch(at, arch, sizeof(arch), &n_units))
            return ks_intake_device(im, arch, "", n_units, given ? "the user" : "the file's name",
                                    err);
    return given ? ks_intake_device(im, "", given, 0, "the user", err) : 0;
}

static int load_family(struct ck *c, struct ks_err *err)
{
    char path[1024];
    int rc = ks_data_path(path, sizeof(path), "kernels/ck/grouped_conv.family.json", err);

    return rc == 0 ? ks_family_load(path, &c->family, err) : rc;
}

static int take_text(struct ks_text_in *in, struct ks_buf *text, struct ks_err *err)
{
    int c = 0;

    while ((c = ks_text_in_next(in, err)) >= 0)
        ks_buf_u8(text, (uint8_t)c);
    if (c < -1)
        return c + 1;
    return ks_buf_ok(text) ? 0 : ks_fail(err, KS_ENOMEM, "out of memory for '%s'", in->name);
}

static int ck_read(struct ks_intake *im, struct ks_err *err)
{
    struct ck c = { .im = im };
    struct ks_buf text;
    int rc = find_device(im, err);

    ks_buf_init(&text);
    ks_buf_init(&c.text);
    im->note = "mean time of the benchmark's launches; runs, warm-up and clocks not stated";
    if (rc == 0)
        rc = load_family(&c, err);
    if (rc == 0)
        rc = take_text(im->in, &text, err);
    if (rc == 0)
        rc = ks_ck_rows(ks_buf_text(&text), text.len, im->path, on_row, &c, err);
    ks_family_release(&c.family);
    ks_buf_release(&c.text);
    ks_buf_release(&text);
    return rc;
}

const struct ks_intake_format ks_intake_ck = {
    .name = "ck",
    .about = "CSV of Composable Kernel's benchmarks: 17, 24 or 18 columns",
    .sniff = ks_ck_rows_sniff,
    .read = ck_read,
};
