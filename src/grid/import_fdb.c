/* SPDX-License-Identifier: MIT */
/* import_fdb.c - imports keys of MIOpen's find-db and perf-db: "key=value", one problem each */
/* 2-D  C-H-W-YxX-K-Ho-Wo-N-PHxPW-SHxSW-DHxDW-bias-LAYOUT-DTYPE-DIR
 * 3-D  C-D-H-W-ZxYxX-K-Do-Ho-Wo-N-PDxPHxPW-SDxSHxSW-DDxDHxDW-bias-LAYOUT-DTYPE-DIR
 * LAYOUT is one word, or three (input, weights, output) where it is not the default; DIR is F, B or
 * W with _g<groups>. In B and W the key's input is d_output and its output the input: swapped here.
 * Source: ROCm/MIOpen src/problem_description.cpp, conv/problem_description.cpp (Serialize). */
#include "grid/fdb_key.h"
#include "grid/import.h"
#include "op/conv.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { MOST_PARTS = 24 };

struct key {
    char *part[MOST_PARTS];
    int n;
    int ndim;
    const char *wrong; /* the first thing that is */
    bool is_foreign;   /* it is a key all the same, of a problem that we have no form for */
};

static void refuse(struct key *k, const char *why)
{
    k->is_foreign = k->is_foreign || !k->wrong;
    k->wrong = k->wrong ? k->wrong : why;
}

/* Splits at '-'; too many parts are wrong. */
static void split_key(char *text, struct key *k)
{
    for (char *end = text; end; text = end + 1) {
        end = strchr(text, '-');
        if (end)
            *end = '\0';
        if (k->n == MOST_PARTS) {
            k->wrong = "the key has too many parts";
            return;
        }
        k->part[k->n++] = text;
    }
}

static int64_t number(struct key *k, const char *text)
{
    int64_t v = 0;

    if (ks_import_number(text, &v) && !k->wrong)
        k->wrong = "a part of the key is not a whole number";
    return v;
}

/* "3x3" or "1x3x3" to the axes from 3 - ndim. */
static void read_tuple(struct key *k, char *text, int64_t axes_out[3])
{
    for (int axis = 3 - k->ndim; axis < 3; axis++) {
        char *x = strchr(text, 'x');

        if ((x == NULL) != (axis == 2)) {
            k->wrong =
                k->wrong ? k->wrong : "a part of the key does not have one number per dimension";
            return;
        }
        if (x)
            *x = '\0';
        axes_out[axis] = number(k, text);
        text = x ? x + 1 : text;
    }
}

/* One tensor: channels and extents, `*at` moves behind them. */
static void read_tensor(struct key *k, int *at, int64_t *channels_out, int64_t extent_out[3])
{
    *channels_out = number(k, k->part[(*at)++]);
    for (int axis = 3 - k->ndim; axis < 3; axis++)
        extent_out[axis] = number(k, k->part[(*at)++]);
}

static void read_layout(struct key *k, int at, int n_words, struct ks_problem *p)
{
    const char *channels_first = k->ndim == 2 ? "NCHW" : "NCDHW";
    const char *channels_last = k->ndim == 2 ? "NHWC" : "NDHWC";

    for (int i = 1; i < n_words; i++)
        if (strcmp(k->part[at], k->part[at + i]) != 0)
            refuse(k, "layouts of input, weights and output differ");
    if (strcmp(k->part[at], channels_first) == 0)
        p->layout = KS_NGCHW;
    else if (strcmp(k->part[at], channels_last) == 0)
        p->layout = KS_NHWGC;
    else
        refuse(k, "the layout is not one of NCHW, NCDHW, NHWC, NDHWC");
}

static void read_dtype(struct key *k, const char *text, struct ks_problem *p)
{
    static const char *const names[KS_N_DTYPES] = { "FP32", "FP16", "BF16" };

    for (uint32_t i = 0; i < KS_N_DTYPES; i++)
        if (strcmp(names[i], text) == 0) {
            p->dtype = i;
            return;
        }
    refuse(k, "the data type is not one of FP32, FP16, BF16");
}

/* "F", "B_g4" .. */
static void read_direction(struct key *k, char *text, struct ks_problem *p)
{
    static const char letters[] = "FBW";
    char *suffix = strchr(text, '_'), *next;
    const char *letter;

    if (suffix)
        *suffix++ = '\0';
    letter = text[0] && !text[1] ? strchr(letters, text[0]) : NULL;
    if (!letter && !k->wrong)
        k->wrong = "the direction is not one of F, B, W";
    p->direction = letter ? (uint32_t)(letter - letters) : KS_FORWARD;
    for (; suffix; suffix = next) {
        next = strchr(suffix, '_');
        if (next)
            *next++ = '\0';
        if (suffix[0] == 'g')
            p->dim[KS_CONV_G] = number(k, suffix + 1);
        else
            refuse(k, "conversions to other types are not supported");
    }
}

/* The numbers in the order of the key; the output's extents go to out[3]. */
static void read_geometry(struct key *k, struct ks_problem *p, int64_t out[3])
{
    int64_t *d = p->dim, bias;
    int at = 0;

    read_tensor(k, &at, &d[KS_CONV_C_TOTAL], &d[KS_CONV_DI]);
    read_tuple(k, k->part[at++], &d[KS_CONV_Z]);
    read_tensor(k, &at, &d[KS_CONV_K_TOTAL], out);
    d[KS_CONV_N] = number(k, k->part[at++]);
    read_tuple(k, k->part[at++], &d[KS_CONV_PAD_D_LO]);
    read_tuple(k, k->part[at++], &d[KS_CONV_STRIDE_D]);
    read_tuple(k, k->part[at++], &d[KS_CONV_DILATION_D]);
    memcpy(&d[KS_CONV_PAD_D_HI], &d[KS_CONV_PAD_D_LO], 3 * sizeof *d);
    bias = number(k, k->part[at]);
    if (bias != 0)
        refuse(k, "a bias is not supported");
}

static void swap(int64_t *a, int64_t *b)
{
    int64_t was = *a;

    *a = *b;
    *b = was;
}

/* Parts before the layout. */
static int n_numbers(int ndim)
{
    return ndim == 2 ? 12 : 14;
}

static void read_key(struct key *k, struct ks_problem *p, int64_t out[3])
{
    int n_layouts;

    k->ndim = k->n > 3 && strchr(k->part[3], 'x') ? 2 : 3;
    n_layouts = k->n - n_numbers(k->ndim) - 2;
    if (!k->wrong && n_layouts != 1 && n_layouts != 3)
        k->wrong = "the key does not have the parts of a 2-D or 3-D convolution";
    if (k->wrong)
        return;
    p->dim[KS_CONV_NDIM] = k->ndim;
    p->dim[KS_CONV_DI] = p->dim[KS_CONV_Z] = 1;
    read_geometry(k, p, out);
    read_layout(k, n_numbers(k->ndim), n_layouts, p);
    read_dtype(k, k->part[k->n - 2], p);
    read_direction(k, k->part[k->n - 1], p);
    if (p->direction == KS_FORWARD)
        return;
    swap(&p->dim[KS_CONV_C_TOTAL], &p->dim[KS_CONV_K_TOTAL]);
    for (int axis = 0; axis < 3; axis++)
        swap(&p->dim[KS_CONV_DI + axis], &out[axis]);
}

int ks_fdb_key(char *text, struct ks_problem *p_io, struct ks_err *err)
{
    int64_t out[3] = { 1, 1, 1 };
    struct key k = { .n = 0 };
    struct ks_err why;

    split_key(text, &k);
    read_key(&k, p_io, out);
    if (k.wrong)
        return ks_fail(err, k.is_foreign ? KS_EUNSUPPORTED : KS_EFORMAT, "%s", k.wrong);
    if (ks_problem_finish(p_io, &why) < 0)
        return ks_fail(err, why.code == KS_ENOMEM ? KS_ENOMEM : KS_EUNSUPPORTED, "%s", why.text);
    for (int axis = 0; axis < 3; axis++)
        if (out[axis] != ks_conv_out(p_io, axis))
            return ks_fail(err, KS_EUNSUPPORTED,
                           "the key is inconsistent: its %s is %" PRId64
                           ", but its geometry gives %" PRId64,
                           p_io->direction == KS_FORWARD ? "output" : "d_output", out[axis],
                           ks_conv_out(p_io, axis));
    return 0;
}

static int read_line(struct ks_import *im)
{
    char *text = (char *)im->text.data, *equals = strchr(text, '=');
    struct ks_problem p;
    struct ks_err why;
    int rc = ks_import_blank_conv(im, &p);

    if (rc < 0)
        return rc;
    if (!equals)
        return ks_import_refuse(im, "no '=' after a key");
    *equals = '\0';
    if (ks_fdb_key(text, &p, &why) < 0)
        return ks_import_refuse_err(im, &why);
    return ks_import_take(im, &p, 1);
}

/* Its first line is a key: digits, and enough '-' before the '='. */
static bool fdb_sniff(const char *text, size_t len)
{
    size_t n = 0, n_dashes = 0, at = 0;
    const char *line = ks_import_first_line(text, len, &n);

    while (line && at < n && strchr("0123456789-x", line[at]) && line[at])
        n_dashes += line[at++] == '-';
    return n_dashes >= 12 && memchr(line, '=', n) != NULL;
}

static int fdb_read(struct ks_problem_set *set, const char *text, size_t len, const char *name,
                    bool strict, struct ks_err *err)
{
    struct ks_import im;
    int rc;

    ks_import_start(&im, set, text, len, name, strict, err);
    while ((rc = ks_import_line(&im)) == 1) {
        if (ks_import_is_blank(ks_buf_text(&im.text))) {
            set->n_other++;
            continue;
        }
        rc = read_line(&im);
        if (rc < 0)
            break;
    }
    ks_import_stop(&im);
    return rc;
}

const struct ks_importer ks_import_fdb = { .name = "fdb", .sniff = fdb_sniff, .read = fdb_read };
