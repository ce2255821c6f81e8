/* SPDX-License-Identifier: MIT */
/* compat_table.c - the report of PyTorch's script: its table of devices, its statistics (equal
 * measurements of a kernel count once, rates are means over kernels that have one), its layout. */
#include "analysis/trace/compat.h"

#include "base/array.h"
#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- devices ---- */

#define FP8(tops)                                                                                  \
    "torch.float8_e4m3fn: " tops ", torch.float8_e4m3fnuz: " tops ", torch.float8_e5m2: " tops     \
    ", torch.float8_e5m2fnuz: " tops ", torch.float8_e8m0fnu: " tops ", "

/* As Python prints them. Source: torch/_inductor/analysis/device_info.py of 2025-07; some are peaks
 * with sparsity, and the L4's bandwidth is that of the H100. */
static const struct peak {
    const char *name, *alias, *tops, *gb_per_s, *gb;
} peaks[] = {
    { "NVIDIA H100", NULL,
      "torch.float64: 67.0, torch.float32: 67.5, 'torch.tf32': 156.0, torch.bfloat16: 1979.0, "
      "torch.float16: 1979.0, " FP8("3958.0") "torch.int8: 3958.0",
      "3350", "80" },
    { "NVIDIA A100", NULL,
      "torch.float64: 19.5, torch.float32: 19.5, torch.bfloat16: 312.5, torch.float16: 312.5, "
      "torch.int8: 624.0, 'torch.tf32': 156.0",
      "2039.0", "80.0" },
    { "NVIDIA L4", NULL,
      "torch.float64: 15.1, torch.float32: 30.3, 'torch.tf32': 120.0, torch.bfloat16: 242.0, "
      "torch.float16: 242.0, " FP8("485.0") "torch.int8: 485.0",
      "3350", "24" },
    { "AMD MI350X", "AMD INSTINCT MI350X",
      "torch.float64: 72.1, torch.float32: 144.2, 'torch.tf32': 144.2, torch.bfloat16: 2309.6, "
      "torch.float16: 2309.6, " FP8("4614.0") "torch.int8: 4614.0",
      "8000.0", "288.0" },
    { "AMD MI300A", NULL,
      "torch.float64: 122.6, torch.float32: 122.6, 'torch.tf32': 490.3, torch.bfloat16: 980.6, "
      "torch.float16: 980.6, " FP8("1961.2") "torch.int8: 1961.2",
      "5300.0", "128.0" },
    { "AMD MI300X", "AMD INSTINCT MI300X",
      "torch.float64: 163.4, torch.float32: 163.4, 'torch.tf32': 653.7, torch.bfloat16: 1307.4, "
      "torch.float16: 1307.4, " FP8("2614.9") "torch.int8: 2614.9",
      "5300.0", "192.0" },
    { "AMD MI210X", "AMD INSTINCT MI210X",
      "torch.float64: 45.3, torch.float32: 45.3, 'torch.tf32': 45.3, torch.bfloat16: 181.0, "
      "torch.float16: 181.0, " FP8("181.0") "torch.int8: 181.0",
      "1600.0", "64.0" },
};

static const struct peak *peak_of(const char *device)
{
    for (size_t i = 0; i < sizeof(peaks) / sizeof(peaks[0]); i++)
        if (strcmp(peaks[i].name, device) == 0 ||
            (peaks[i].alias && strcmp(peaks[i].alias, device) == 0))
            return &peaks[i];
    return NULL;
}

/* "float" to "torch.float32"; NULL: a word that the script does not know. */
static const char *torch_dtype(const char *word)
{
    static const char *const words[][2] = {
        { "float", "torch.float32" },     { "float32", "torch.float32" },
        { "int", "torch.int32" },         { "int8", "torch.int8" },
        { "int16", "torch.int16" },       { "int32", "torch.int32" },
        { "long", "torch.int64" },        { "long int", "torch.int64" },
        { "bfloat16", "torch.bfloat16" }, { "float16", "torch.float16" },
        { "float64", "torch.float64" }
    };

    for (size_t i = 0; word && i < sizeof(words) / sizeof(words[0]); i++)
        if (strcmp(words[i][0], word) == 0)
            return words[i][1];
    return NULL;
}

/* TFLOP/s of the type that the kernel's name tells, or the command line. */
static int tops_of(const struct peak *p, const char *kernel, const char *word, double *out,
                   struct ks_err *err)
{
    const char *dtype = strstr(kernel, "bfloat16")  ? "torch.bfloat16"
                        : strstr(kernel, "float16") ? "torch.float16"
                                                    : torch_dtype(word);
    char key[64];
    const char *at;

    if (!dtype)
        return ks_fail(err, KS_EINVAL,
                       "'%s' is not one of the script's types: float, float32, float64, float16, "
                       "bfloat16, int, int8, int16, int32, long, 'long int'",
                       word);
    snprintf(key, sizeof(key), "%s: ", dtype);
    at = strstr(p->tops, key);
    if (!at)
        return ks_fail(err, KS_EINVAL, "the script's table has no peak of %s in %s", p->name,
                       dtype);
    *out = strtod(at + strlen(key), NULL);
    return 0;
}

/* ---- statistics ---- */

/* A kernel on a device. */
struct stat {
    size_t device;
    uint32_t name;
    uint64_t n, n_flop, n_gb;
    double flop, gb, us, flop_percent, gb_percent; /* sums */
};
struct stats {
    const struct ks_compat *t;
    struct stat *rows; /* in the order of appearance */
    size_t n, cap;
    struct ks_names keys, seen;
};

static void stats_release(struct stats *s)
{
    free(s->rows);
    ks_names_release(&s->keys);
    ks_names_release(&s->seen);
}

static size_t device_row(const struct ks_compat *t, int64_t id)
{
    size_t i = 0;

    while (i < t->n_devices && t->devices[i].id != id)
        i++;
    return i;
}

static double rate(double amount, int64_t ns)
{
    return isnan(amount) || ns == 0 ? 0 : amount / ((double)ns / 1000.0 / 1e6);
}

static int add_values(struct stats *s, struct stat *row, const struct ks_compat_row *k,
                      const char *word, struct ks_err *err)
{
    const struct peak *p = peak_of(s->t->devices[row->device].name);
    const double flop = rate(k->flop, k->dur_ns), gb = rate(k->gb, k->dur_ns);
    double tops = 1;
    int rc = p ? tops_of(p, ks_names_text(&s->t->names, k->name), word, &tops, err) : 0;

    if (rc < 0)
        return rc;
    row->n++;
    row->us += (double)k->dur_ns / 1000.0;
    if (flop != 0) {
        row->n_flop++;
        row->flop += flop;
        row->flop_percent += p ? 100 * flop / (1e12 * tops) : 0;
    }
    if (gb != 0) {
        row->n_gb++;
        row->gb += gb;
        row->gb_percent += p ? 100 * gb / strtod(p->gb_per_s, NULL) : 0;
    }
    return 0;
}

/* The script keeps measurements in a set: equal ones of a kernel are one. */
static int add_kernel(struct stats *s, const struct ks_compat_row *k, const char *word,
                      struct ks_err *err)
{
    const size_t device = device_row(s->t, k->device);
    const uint64_t key[2] = { device, k->name };
    const uint32_t n = s->keys.n;
    const uint32_t at = ks_names_put(&s->keys, (const char *)key, sizeof(key));
    double value[4] = { at, rate(k->flop, k->dur_ns), rate(k->gb, k->dur_ns), (double)k->dur_ns };
    const uint32_t n_seen = s->seen.n;
    const uint32_t seen = ks_names_put(&s->seen, (const char *)value, sizeof(value));
    int rc;

    if (at == KS_NAME_NONE || seen == KS_NAME_NONE)
        return ks_fail(err, KS_ENOMEM, "out of memory for kernels");
    if (seen < n_seen)
        return 0;
    rc = ks_reserve(&s->rows, (size_t)at + 1, &s->cap, sizeof(*s->rows), "kernels", err);
    if (rc < 0)
        return rc;
    if (at == n)
        s->rows[s->n++] = (struct stat){ .device = device, .name = k->name };
    return add_values(s, &s->rows[at], k, word, err);
}

static int stats_of(const struct ks_compat *t, const char *word, struct stats *out,
                    struct ks_err *err)
{
    int rc = 0;

    *out = (struct stats){ .t = t };
    for (size_t i = 0; rc == 0 && i < t->n_kernels; i++)
        if (t->kernels[i].device != INT64_MIN)
            rc = add_kernel(out, &t->kernels[i], word, err);
    return rc;
}

/* ---- layout ---- */

enum { CELLS = 13 };

struct line {
    char *cell[CELLS];
};
struct grid {
    struct line *lines;
    size_t n, cap, n_cells;
    bool is_ok;
};

static void put_cell(struct grid *g, size_t i, const char *text, size_t bytes)
{
    char **cell = &g->lines[g->n - 1].cell[i];

    *cell = strndup(text, bytes);
    g->is_ok &= *cell != NULL;
}

static void new_line(struct grid *g)
{
    if (ks_reserve(&g->lines, g->n + 1, &g->cap, sizeof(*g->lines), "lines", NULL) < 0) {
        g->is_ok = false;
        return;
    }
    g->lines[g->n++] = (struct line){ { NULL } };
}

static void grid_release(struct grid *g)
{
    for (size_t i = 0; i < g->n; i++)
        for (size_t k = 0; k < CELLS; k++)
            free(g->lines[i].cell[k]);
    free(g->lines);
}

static size_t code_points(const char *text)
{
    return ks_utf8_count(text, strlen(text));
}

/* name[:limit] */
static size_t cut(const char *name, long limit)
{
    const size_t n = code_points(name);
    const size_t keep = limit < 0 ? (n > (size_t)-limit ? n - (size_t)-limit : 0) : (size_t)limit;
    size_t at = 0, seen = 0;

    for (; name[at]; at++) {
        seen += ((unsigned char)name[at] & 0xc0) != 0x80;
        if (seen > keep)
            break;
    }
    return at;
}

static void put_text(struct grid *g, size_t i, const char *text)
{
    put_cell(g, i, text, strlen(text));
}

static void put_mean(struct grid *g, size_t i, double sum, uint64_t n)
{
    char text[400];

    snprintf(text, sizeof(text), "%.4f", n ? sum / (double)n : 0);
    put_text(g, i, n ? text : "0.0");
}

/* row NULL: "Empty" in all cells. */
static void put_row(struct grid *g, size_t first, const struct stat *row)
{
    char text[24];

    for (size_t i = first; !row && i < first + 6; i++)
        put_text(g, i, "Empty");
    if (!row)
        return;
    snprintf(text, sizeof(text), "%llu", (unsigned long long)row->n);
    put_text(g, first, text);
    put_mean(g, first + 1, row->flop, row->n_flop);
    put_mean(g, first + 2, row->gb, row->n_gb);
    put_mean(g, first + 3, row->us, row->n);
    put_mean(g, first + 4, row->flop_percent, row->n_flop);
    put_mean(g, first + 5, row->gb_percent, row->n_gb);
}

static void put_headers(struct grid *g, const char *const *names)
{
    static const char *const headers[] = { "Kernel Count",      "FLOPS",
                                           "Kernel Reads (GB)", "Dur (us)",
                                           "Achieved FLOPS %",  "Achieved Bandwidth %" };

    new_line(g);
    if (!g->is_ok)
        return;
    put_text(g, 0, "Kernel Name");
    for (size_t i = 0; i + 1 < g->n_cells; i++) {
        struct ks_buf text;

        ks_buf_init(&text);
        ks_buf_printf(&text, "%s%s%s", names ? names[i / 6] : "", names ? " " : "", headers[i % 6]);
        g->is_ok &= ks_buf_ok(&text);
        put_text(g, i + 1, ks_buf_text(&text));
        ks_buf_release(&text);
    }
}

static void put_grid(const struct grid *g, struct ks_buf *to)
{
    size_t width[CELLS] = { 0 }, total = g->n_cells * 3 - 1;

    for (size_t i = 0; i < g->n; i++)
        for (size_t k = 0; k < g->n_cells; k++) {
            const size_t n = code_points(g->lines[i].cell[k]);

            width[k] = n > width[k] ? n : width[k];
        }
    for (size_t k = 0; k < g->n_cells; k++)
        total += width[k];
    for (size_t i = 0; i < g->n; i++) {
        ks_buf_printf(to, "%s", i ? "\n" : "");
        for (size_t k = 0; k < g->n_cells; k++)
            ks_buf_printf(to, "%s %s%*s ", k ? "|" : "", g->lines[i].cell[k],
                          (int)(width[k] - code_points(g->lines[i].cell[k])), "");
        if (i == 0)
            ks_buf_printf(to, "\n");
        for (size_t k = 0; i == 0 && k < total; k++)
            ks_buf_u8(to, '-');
    }
}

/* ---- reports ---- */

/* The row of the kernel on the device with this id; NULL: none. */
static const struct stat *find_stat(const struct stats *s, int64_t id, const char *kernel)
{
    const size_t device = device_row(s->t, id);
    const uint32_t name = ks_names_find(&s->t->names, kernel, strlen(kernel));
    const uint64_t key[2] = { device, name };
    uint32_t at;

    if (name == KS_NAME_NONE || device == s->t->n_devices)
        return NULL;
    at = ks_names_find(&s->keys, (const char *)key, sizeof(key));
    return at == KS_NAME_NONE ? NULL : &s->rows[at];
}

/* Kernels of side `own` on a device; second: only those that the first side lacks. */
static void put_side(struct grid *g, const struct stats s[2], int own, int64_t id, long limit)
{
    const bool is_pair = g->n_cells == CELLS;

    for (size_t i = 0; g->is_ok && i < s[own].n; i++) {
        const struct stat *row = &s[own].rows[i];
        const char *kernel = ks_names_text(&s[own].t->names, row->name);

        if (s[own].t->devices[row->device].id != id || (own == 1 && find_stat(&s[0], id, kernel)))
            continue;
        new_line(g);
        if (!g->is_ok)
            return;
        put_cell(g, 0, kernel, cut(kernel, limit));
        put_row(g, 1, own == 0 ? row : NULL);
        if (is_pair)
            put_row(g, 7, own == 1 ? row : find_stat(&s[1], id, kernel));
    }
}

static int put_device(const struct ks_compat_device *d, const struct stats s[2],
                      const char *const *names, long limit, struct ks_buf *to, struct ks_err *err)
{
    const struct peak *p = peak_of(d->name);
    struct grid g = { .n_cells = s[1].t ? CELLS : 7, .is_ok = true };

    ks_buf_printf(to, "%sDevice(%s, %lld): ", to->len ? "\n" : "", d->name, (long long)d->id);
    if (p)
        ks_buf_printf(to, "DeviceInfo(tops={%s}, dram_bw_gbs=%s, dram_gb=%s):\n", p->tops,
                      p->gb_per_s, p->gb);
    else
        ks_buf_printf(to, "None:\n");
    put_headers(&g, s[1].t ? names : NULL);
    put_side(&g, s, 0, d->id, limit);
    if (s[1].t)
        put_side(&g, s, 1, d->id, limit);
    if (g.is_ok)
        put_grid(&g, to);
    grid_release(&g);
    return g.is_ok && ks_buf_ok(to) ? 0 : ks_fail(err, KS_ENOMEM, "out of memory for a table");
}

int ks_compat_report(const struct ks_compat *a, const struct ks_compat *b, const char *const *names,
                     const struct ks_compat_options *o, struct ks_buf *to, struct ks_err *err)
{
    struct stats s[2] = { 0 };
    int rc = stats_of(a, o->dtype, &s[0], err);

    if (rc == 0 && b)
        rc = stats_of(b, o->dtype, &s[1], err);
    for (size_t i = 0; rc == 0 && i < a->n_devices; i++)
        rc = put_device(&a->devices[i], s, names, o->name_limit, to, err);
    for (size_t i = 0; rc == 0 && b && i < b->n_devices; i++)
        if (device_row(a, b->devices[i].id) == a->n_devices)
            rc = put_device(&b->devices[i], s, names, o->name_limit, to, err);
    stats_release(&s[0]);
    stats_release(&s[1]);
    return rc;
}
