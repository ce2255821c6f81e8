/* SPDX-License-Identifier: MIT */
/* peaks.c - reads the table of device peaks, and finds or estimates those of a device */
#include "analysis/trace/peaks.h"

#include "base/file.h"
#include "json/json.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct entry {
    const char *name;                       /* of the document */
    const struct ks_node *match;            /* list of texts */
    int64_t major, minor, n_sms, warp_size; /* 0: not given */
    double memory_gib;
    double flop_per_s[KS_N_UNITS], bytes_per_s;
};

struct ks_peaks {
    struct ks_json *doc;
    struct entry *entries;
    size_t n;
};

/* ---- reading ---- */

static int read_real(const struct ks_json *doc, const struct ks_node *n, double unit, double *out,
                     struct ks_err *err)
{
    int rc = n ? ks_node_real(doc, n, out, err) : 0;

    if (rc == 0 && !(*out >= 0 && *out < 1e9))
        return ks_node_fail(doc, n, err, "must be a number from 0 to 1e9");
    *out *= unit;
    return rc;
}

static int read_units(const struct ks_json *doc, const struct ks_node *n, struct entry *e,
                      struct ks_err *err)
{
    int rc = ks_node_only(doc, n,
                          (const char *const[]){ "fp64", "fp64_matrix", "fp32", "fp32_matrix",
                                                 "tf32", "fp16", "bf16", "fp8", "int8", NULL },
                          err);

    for (int u = 1; rc == 0 && u < KS_N_UNITS; u++)
        rc = read_real(doc, ks_node_at(n, ks_units_names[u]), 1e12, &e->flop_per_s[u], err);
    return rc;
}

static int read_texts(const struct ks_json *doc, const struct ks_node *list, struct ks_err *err)
{
    const char *text;
    int rc = 0;

    for (const struct ks_node *n = ks_node_first(list); rc == 0 && n; n = ks_node_next(n))
        rc = ks_node_str(doc, n, &text, err);
    return rc;
}

static int read_whole(const struct ks_json *doc, const struct ks_node *n, int64_t *out,
                      struct ks_err *err)
{
    return n ? ks_node_int(doc, n, out, err) : 0;
}

static int read_entry(const struct ks_json *doc, const struct ks_node *n, struct entry *e,
                      struct ks_err *err)
{
    static const char *const keys[] = { "name",          "match",    "major",      "minor",
                                        "units",         "warp",     "memory_gib", "tflops",
                                        "sparse_tflops", "gb_per_s", "source",     NULL };
    int rc = ks_node_only(doc, n, keys, err);

    if (rc == 0)
        rc = ks_node_str(doc, ks_node_at(n, "name"), &e->name, err);
    e->match = ks_node_at(n, "match");
    if (rc == 0)
        rc = read_texts(doc, e->match, err);
    if (rc == 0)
        rc = read_whole(doc, ks_node_at(n, "major"), &e->major, err);
    if (rc == 0)
        rc = read_whole(doc, ks_node_at(n, "minor"), &e->minor, err);
    if (rc == 0)
        rc = read_whole(doc, ks_node_at(n, "units"), &e->n_sms, err);
    if (rc == 0)
        rc = read_whole(doc, ks_node_at(n, "warp"), &e->warp_size, err);
    if (rc == 0)
        rc = read_real(doc, ks_node_at(n, "memory_gib"), 1, &e->memory_gib, err);
    if (rc == 0)
        rc = read_real(doc, ks_node_at(n, "gb_per_s"), 1e9, &e->bytes_per_s, err);
    if (rc == 0 && ks_node_at(n, "tflops"))
        rc = read_units(doc, ks_node_at(n, "tflops"), e, err);
    return rc;
}

static int read_entries(struct ks_peaks *p, struct ks_err *err)
{
    const struct ks_node *list = ks_node_at(ks_json_root(p->doc), "devices");
    int rc = 0;

    if (!list || ks_node_kind(list) != KS_JSON_ARRAY)
        return ks_fail(err, KS_EINVAL, "%s: list 'devices' is missing; see docs/traces.md",
                       ks_json_name(p->doc));
    p->entries = calloc(ks_node_size(list) + 1, sizeof(*p->entries));
    if (!p->entries)
        return ks_fail(err, KS_ENOMEM, "out of memory");
    for (const struct ks_node *n = ks_node_first(list); rc == 0 && n; n = ks_node_next(n))
        rc = read_entry(p->doc, n, &p->entries[p->n++], err);
    return rc;
}

int ks_peaks_open(const char *path, struct ks_peaks **out, struct ks_err *err)
{
    struct ks_peaks *p = calloc(1, sizeof(*p));
    char shipped[4096];
    int rc = p ? 0 : ks_fail(err, KS_ENOMEM, "out of memory");

    if (rc == 0 && !path)
        rc = ks_data_path(shipped, sizeof(shipped), "analysis/peaks.json", err);
    if (rc == 0)
        rc = ks_json_open(path ? path : shipped, &p->doc, err);
    if (rc == 0)
        rc = read_entries(p, err);
    if (rc < 0)
        ks_peaks_close(p);
    else
        *out = p;
    return rc;
}

void ks_peaks_close(struct ks_peaks *p)
{
    if (!p)
        return;
    free(p->entries);
    ks_json_close(p->doc);
    free(p);
}

/* ---- finding ---- */

/* Lower-case letters and digits only: "NVIDIA A100-SXM4-80GB" and "a100 sxm4 80 gb" are alike. */
static void fold(const char *text, char *out, size_t cap)
{
    size_t n = 0;

    for (; *text && n + 1 < cap; text++)
        if (isalnum((unsigned char)*text))
            out[n++] = (char)tolower((unsigned char)*text);
    out[n] = '\0';
}

static bool is_named(const struct entry *e, const char *folded)
{
    for (const struct ks_node *n = ks_node_first(e->match); n; n = ks_node_next(n)) {
        const char *text = "";
        char want[128];

        if (ks_node_str(NULL, n, &text, NULL) == 0) {
            fold(text, want, sizeof(want));
            if (*want && strstr(folded, want))
                return true;
        }
    }
    return false;
}

static bool is_alike(const struct entry *e, const struct ks_trace_device *d)
{
    const double gib = (double)d->memory_bytes / (1024.0 * 1024 * 1024);

    return e->n_sms > 0 && e->major == d->major && e->minor == d->minor && e->n_sms == d->n_sms &&
           (e->warp_size == 0 || e->warp_size == d->warp_size) &&
           fabs(gib - e->memory_gib) <= 0.1 * e->memory_gib;
}

static void take(const struct entry *e, enum ks_peak_match match, struct ks_peak *out)
{
    out->match = match;
    snprintf(out->name, sizeof(out->name), "%s", e->name);
    memcpy(out->flop_per_s, e->flop_per_s, sizeof(out->flop_per_s));
    out->bytes_per_s = e->bytes_per_s;
}

/* FLOPs per unit and cycle: dense fp32 of the vector units, fp16 of the matrix units.
 * Source: the architecture papers of the vendors. */
static const struct {
    int warp, major, minor; /* minor -1: any */
    double fp32, fp16;
} rates[] = {
    { 32, 7, -1, 128, 1024 }, { 32, 8, 0, 128, 2048 },   { 32, 8, -1, 256, 1024 },
    { 32, 9, -1, 256, 4096 }, { 32, 10, -1, 256, 8192 }, { 32, 12, -1, 256, 1024 },
    { 64, 9, 0, 128, 1024 },  { 64, 9, 4, 256, 2048 },   { 64, 9, 5, 256, 4096 },
};

static void estimate(const struct ks_trace_device *d, struct ks_peak *out)
{
    const double hz = d->clock_khz ? d->clock_khz * 1e3 : 1.5e9;

    for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
        if (rates[i].warp != d->warp_size || rates[i].major != d->major ||
            (rates[i].minor >= 0 && rates[i].minor != d->minor))
            continue;
        out->match = KS_PEAK_ESTIMATE;
        snprintf(out->name, sizeof(out->name), "estimated: %d units at %s%.2f GHz", d->n_sms,
                 d->clock_khz ? "" : "an assumed ", hz / 1e9);
        out->flop_per_s[KS_UNITS_FP32] = rates[i].fp32 * d->n_sms * hz;
        out->flop_per_s[KS_UNITS_FP16] = out->flop_per_s[KS_UNITS_BF16] =
            rates[i].fp16 * d->n_sms * hz;
        if (d->warp_size == 32 && d->major == 7)
            out->flop_per_s[KS_UNITS_BF16] = 0;
        return;
    }
}

void ks_peaks_find(const struct ks_peaks *p, const struct ks_trace_device *d, struct ks_peak *out)
{
    char folded[128];

    memset(out, 0, sizeof(*out));
    fold(d->name, folded, sizeof(folded));
    for (size_t i = 0; *folded && i < p->n; i++)
        if (is_named(&p->entries[i], folded)) {
            take(&p->entries[i], KS_PEAK_NAME, out);
            return;
        }
    for (size_t i = 0; i < p->n; i++)
        if (is_alike(&p->entries[i], d)) {
            take(&p->entries[i], KS_PEAK_UNITS, out);
            return;
        }
    if (d->n_sms > 0)
        estimate(d, out);
}
