/* SPDX-License-Identifier: MIT */
/* augment.c - a trace with FLOPs, bytes and rates in the args of its kernels and operators. The
 * first pass finds out what and where, the second copies and inserts: every byte of the input
 * stays, in its order. */
#include "analysis/trace/series.h"
#include "analysis/trace/verbs.h"
#include "analysis/trace/view.h"

#include "trace/output.h"
#include "json/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct config {
    const char *output, *peaks;
    bool has_counters, halve_causal;
};
#define AT(member) offsetof(struct config, member)
static const struct ks_opt opts[] = {
    { .name = "output",
      .letter = 'o',
      .type = KS_OPT_STR,
      .offset = AT(output),
      .arg = "FILE",
      .help = "the new trace; gzip where the name ends in .gz; never the input" },
    { .name = "counters",
      .type = KS_OPT_BOOL,
      .offset = AT(has_counters),
      .def = "no",
      .help = "append queue length and copy bandwidth as counter series" },
    KS_OPT_PEAKS(AT(peaks)),
    KS_OPT_HALVE_CAUSAL(AT(halve_causal)),
    KS_OPT_END
};
#undef AT

/* ---- what is inserted ---- */

static void put_key(struct ks_buf *to, const char *key)
{
    ks_buf_printf(to, "%s\"%s\": ", to->len ? ", " : "", key);
}

static void put_number(struct ks_buf *to, const char *key, double v)
{
    char text[32];

    if (!isfinite(v))
        return;
    put_key(to, key);
    ks_f64_text(v, text);
    ks_buf_printf(to, "%s", text);
}

static void put_string(struct ks_buf *to, const char *key, const char *text)
{
    struct ks_jw w;

    put_key(to, key);
    ks_jw_init(&w, to, false);
    ks_jw_str(&w, NULL, text);
}

/* The first two lines of a shape's text are JSON already. */
static void put_shapes(const struct ks_trace *t, uint32_t op, struct ks_buf *to)
{
    const char *text;
    size_t n;

    if (t->ops.shape[op] == KS_TRACE_NONE)
        return;
    text = ks_names_text(&t->shapes, t->ops.shape[op]);
    for (int i = 0; i < 2; i++) {
        n = strcspn(text, "\n");
        if (n) {
            put_key(to, i ? "operator_types" : "operator_dims");
            ks_buf_put(to, text, n);
        }
        text += n + (text[n] == '\n');
    }
}

static double rate(double amount, int64_t ns, double unit)
{
    return ns > 0 ? amount / ((double)ns * 1e-9) / unit : (double)NAN;
}

/* Values that stand in the file and are not zero stay. */
static void put_costs(struct ks_buf *to, double flop, enum ks_known flop_known, double bytes,
                      enum ks_known bytes_known, int64_t ns)
{
    if (flop_known == KS_KNOWN_FORMULA)
        put_number(to, "kernel_flop", flop);
    if (bytes_known == KS_KNOWN_FORMULA || bytes_known == KS_KNOWN_TENSORS)
        put_number(to, "kernel_num_gb", bytes / 1e9);
    if (flop_known)
        put_number(to, "achieved_tflops", rate(flop, ns, 1e12));
    if (bytes_known)
        put_number(to, "achieved_gb_per_s", rate(bytes, ns, 1e9));
}

static void put_roofline(const struct ks_trace_view *v, uint32_t i, struct ks_buf *to)
{
    const struct ks_charge *c = &v->charge;
    const struct ks_trace_gpu *g = &v->t->gpu;
    struct ks_group one = { .device = v->t->streams[g->stream[i]].device,
                            .flop = c->flop[i],
                            .bytes = c->bytes[i],
                            .bytes_with_flop = c->bytes_known[i] ? c->bytes[i] : 0,
                            .flop_ns = c->flop_known[i] ? g->dur_ns[i] : 0,
                            .bytes_ns = c->bytes_known[i] ? g->dur_ns[i] : 0 };
    struct ks_rates r;

    one.units_ns[c->units[i]] = g->dur_ns[i];
    r = ks_group_rates(&one, &v->peak[one.device]);
    put_number(to, "achieved_flops_percent", 100 * r.compute_share);
    put_number(to, "achieved_bandwidth_percent", 100 * r.bandwidth_share);
    put_number(to, "arithmetic_intensity", r.flop_per_byte);
    if (r.bound)
        put_string(to, "roofline_bound", r.bound);
}

static void kernel_text(const struct ks_trace_view *v, uint32_t i, struct ks_buf *to)
{
    const struct ks_charge *c = &v->charge;
    const uint32_t op = v->t->gpu.kind[i] == KS_TRACE_KERNEL ? c->op[i] : KS_TRACE_NONE;

    ks_buf_clear(to);
    if (v->t->gpu.kind[i] != KS_TRACE_KERNEL)
        return;
    put_costs(to, c->flop[i], c->flop_known[i], c->bytes[i], c->bytes_known[i],
              v->t->gpu.dur_ns[i]);
    put_roofline(v, i, to);
    if (op == KS_TRACE_NONE)
        return;
    put_string(to, "operator", ks_trace_name(v->t, v->t->ops.name[op]));
    put_shapes(v->t, op, to);
}

static void op_text(const struct ks_trace_view *v, uint32_t i, struct ks_buf *to)
{
    const struct ks_charge *c = &v->charge;

    ks_buf_clear(to);
    if (c->op_kernels[i] == 0)
        return;
    put_costs(to, c->op_flop[i], c->op_flop_known[i], c->op_bytes[i], c->op_bytes_known[i],
              c->op_ns[i]);
    put_number(to, "kernels", c->op_kernels[i]);
    put_number(to, "kernel_time_us", (double)c->op_ns[i] / 1e3);
}

/* ---- zeros that stand in the file ---- */

/* A number that is 0 in the input cannot be changed by insertion; it is renamed: `"kernel_flop": 0`
 * becomes `"kernel_flop": 4096, "kernel_flop_before": 0`. Places of such numbers, ascending. */
struct zero {
    uint64_t at;
    uint32_t row;
    bool is_op, is_flop;
};
struct zeros {
    struct zero *z;
    size_t n, cap, next;
};

static bool has_zero(const double *values, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (values[i] == 0)
            return true;
    return false;
}

static int add_zero(struct zeros *zs, struct zero z, struct ks_err *err)
{
    if (zs->n == zs->cap) {
        const size_t cap = zs->cap ? 2 * zs->cap : 64;
        struct zero *grown = realloc(zs->z, cap * sizeof(*grown));

        if (!grown)
            return ks_fail(err, KS_ENOMEM, "out of memory");
        zs->z = grown;
        zs->cap = cap;
    }
    zs->z[zs->n++] = z;
    return 0;
}

/* Both args of one event, in their order. */
static int add_zeros(struct zeros *zs, const struct ks_trace_event *ev, uint32_t row, bool is_op,
                     struct ks_err *err)
{
    const size_t first = zs->n;
    int rc = 0;

    for (int i = 0; rc == 0 && i < 2; i++) {
        const enum ks_trace_arg a = i ? KS_TRACE_ARG_KERNEL_GB : KS_TRACE_ARG_KERNEL_FLOP;

        if (ks_trace_has(ev, a) && ev->arg[a].p[-1] != '"')
            rc = add_zero(
                zs,
                (struct zero){ ev->at + (uint64_t)(ev->arg[a].p - ev->raw.p), row, is_op, i == 0 },
                err);
    }
    if (rc == 0 && zs->n == first + 2 && zs->z[first].at > zs->z[first + 1].at) {
        const struct zero swap = zs->z[first];

        zs->z[first] = zs->z[first + 1];
        zs->z[first + 1] = swap;
    }
    return rc;
}

/* Rows are recognised by their place, which the model holds. */
static int find_zeros(const struct ks_trace *t, struct ks_trace_source *s, struct zeros *zs,
                      struct ks_err *err)
{
    struct ks_trace_item *item = malloc(sizeof(*item));
    struct ks_trace_reader *r = NULL;
    uint32_t op = 0, kernel = 0;
    int rc = item ? ks_trace_source_rewind(s, err) : ks_fail(err, KS_ENOMEM, "out of memory");

    if (rc == 0)
        rc = ks_trace_reader_create(s, &r, err);
    while (rc >= 0 && r && (rc = ks_trace_reader_next(r, item, err)) > 0) {
        const uint64_t end = item->event.at + item->event.raw.n;

        if (item->type != KS_TRACE_ITEM_EVENT)
            continue;
        while (op < t->ops.n && t->ops.place[op].at < item->event.at)
            op++;
        while (kernel < t->gpu.n && t->gpu.place[kernel].at < item->event.at)
            kernel++;
        if (op < t->ops.n && t->ops.place[op].at < end)
            rc = add_zeros(zs, &item->event, op, true, err);
        else if (kernel < t->gpu.n && t->gpu.place[kernel].at < end)
            rc = add_zeros(zs, &item->event, kernel, false, err);
    }
    ks_trace_reader_destroy(r);
    free(item);
    return rc;
}

/* Before the old number: the new one and a name for the old. Empty: the number stays. */
static void zero_text(const struct ks_trace_view *v, const struct zero *z, struct ks_buf *to)
{
    const struct ks_charge *c = &v->charge;
    const uint8_t known = z->is_op ? (z->is_flop ? c->op_flop_known : c->op_bytes_known)[z->row]
                                   : (z->is_flop ? c->flop_known : c->bytes_known)[z->row];
    const double value = z->is_op ? (z->is_flop ? c->op_flop : c->op_bytes)[z->row]
                                  : (z->is_flop ? c->flop : c->bytes)[z->row];
    const double old = z->is_op ? (z->is_flop ? v->t->ops.flop : v->t->ops.gb)[z->row]
                                : (z->is_flop ? v->t->gpu.flop : v->t->gpu.gb)[z->row];
    char text[32];

    ks_buf_clear(to);
    if (old != 0 || known == KS_KNOWN_NOT || known == KS_KNOWN_FILE)
        return;
    ks_f64_text(z->is_flop ? value : value / 1e9, text);
    ks_buf_printf(to, "%s, \"%s_before\": ", text, z->is_flop ? "kernel_flop" : "kernel_num_gb");
}

/* ---- copying ---- */

struct copy {
    const struct ks_trace_view *v;
    struct ks_trace_source *source;
    struct ks_trace_output *out;
    struct zeros zeros;
    struct ks_buf text, series;
    uint32_t op, kernel; /* next rows */
    bool is_series_done;
    uint64_t n_inserted; /* events that got something */
    char block[256 << 10];
};

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* The place of the next insertion. */
static uint64_t next_place(const struct copy *c)
{
    const struct ks_trace *t = c->v->t;
    uint64_t at = UINT64_MAX;

    if (c->op < t->ops.n)
        at = least(at, t->ops.place[c->op].at);
    if (c->kernel < t->gpu.n)
        at = least(at, t->gpu.place[c->kernel].at);
    if (c->zeros.next < c->zeros.n)
        at = least(at, c->zeros.z[c->zeros.next].at);
    if (!c->is_series_done && c->series.len)
        at = least(at, t->events_end);
    return at;
}

static int put_text(struct copy *c, const char *text, struct ks_err *err)
{
    return ks_trace_output_put(c->out, text, strlen(text), err);
}

/* c->text into the args that end at this place. */
static int put_args(struct copy *c, struct ks_trace_place place, struct ks_err *err)
{
    static const char *const before[] = { ", \"args\": {", "", ", " };
    int rc;

    if (c->text.len == 0)
        return ks_buf_ok(&c->text) ? 0 : ks_fail(err, KS_ENOMEM, "out of memory");
    c->n_inserted++;
    rc = put_text(c, before[place.has_args], err);
    if (rc == 0)
        rc = ks_trace_output_put(c->out, c->text.data, c->text.len, err);
    return rc == 0 && place.has_args == 0 ? put_text(c, "}", err) : rc;
}

/* Removes `"key": number` and one comma: the key stands in the event already. */
static void drop_key(struct ks_buf *text, const char *key)
{
    char member[64];
    char *at, *end;

    snprintf(member, sizeof(member), "\"%s\": ", key);
    at = text->len ? strstr((char *)text->data, member) : NULL;
    if (!at)
        return;
    end = at + strcspn(at, ",");
    if (*end == ',')
        end += 2;
    memmove(at, end, strlen(end) + 1);
    text->len -= (size_t)(end - at);
}

static int insert(struct copy *c, uint64_t at, struct ks_err *err)
{
    const struct ks_trace *t = c->v->t;

    if (c->zeros.next < c->zeros.n && c->zeros.z[c->zeros.next].at == at) {
        zero_text(c->v, &c->zeros.z[c->zeros.next++], &c->text);
        return ks_trace_output_put(c->out, c->text.data, c->text.len, err);
    }
    if (c->op < t->ops.n && t->ops.place[c->op].at == at) {
        op_text(c->v, c->op, &c->text);
        if (!isnan(t->ops.flop[c->op]))
            drop_key(&c->text, "kernel_flop");
        if (!isnan(t->ops.gb[c->op]))
            drop_key(&c->text, "kernel_num_gb");
        return put_args(c, t->ops.place[c->op++], err);
    }
    if (c->kernel < t->gpu.n && t->gpu.place[c->kernel].at == at) {
        kernel_text(c->v, c->kernel, &c->text);
        if (!isnan(t->gpu.flop[c->kernel]))
            drop_key(&c->text, "kernel_flop");
        if (!isnan(t->gpu.gb[c->kernel]))
            drop_key(&c->text, "kernel_num_gb");
        return put_args(c, t->gpu.place[c->kernel++], err);
    }
    c->is_series_done = true;
    return ks_trace_output_put(c->out, c->series.data, c->series.len, err);
}

static int copy_block(struct copy *c, const char *p, size_t n, uint64_t at, struct ks_err *err)
{
    const uint64_t end = at + n;
    uint64_t place;
    int rc = 0;

    while (rc == 0 && (place = next_place(c)) < end) {
        const size_t before = (size_t)(place - at);

        rc = ks_trace_output_put(c->out, p, before, err);
        p += before;
        at = place;
        if (rc == 0)
            rc = insert(c, place, err);
    }
    return rc == 0 ? ks_trace_output_put(c->out, p, (size_t)(end - at), err) : rc;
}

static int copy_all(struct copy *c, struct ks_err *err)
{
    uint64_t at = 0;
    size_t n = 1;
    int rc = ks_trace_source_rewind(c->source, err);

    while (rc == 0 && n > 0) {
        rc = ks_trace_source_read(c->source, c->block, sizeof(c->block), &n, err);
        if (rc == 0)
            rc = copy_block(c, c->block, n, at, err);
        at += n;
    }
    return rc;
}

static int write_copy(struct copy *c, const struct config *config, const char *input,
                      struct ks_err *err)
{
    const struct ks_trace *t = c->v->t;
    int rc = ks_trace_output_open(config->output, &input, 1, &c->out, err);

    if (rc == 0 && config->has_counters && !t->dirt.is_cut)
        rc = ks_series_put(t, &c->series, err);
    if (rc == 0 && (has_zero(t->gpu.flop, t->gpu.n) || has_zero(t->gpu.gb, t->gpu.n) ||
                    has_zero(t->ops.flop, t->ops.n) || has_zero(t->ops.gb, t->ops.n)))
        rc = find_zeros(t, c->source, &c->zeros, err);
    if (rc == 0)
        rc = copy_all(c, err);
    return ks_trace_output_close(c->out, rc, err);
}

static int augment_source(struct ks_trace_source *source, const struct config *config,
                          const char *input, struct ks_buf *notes, struct ks_err *err)
{
    const struct ks_view_options o = { .peaks = config->peaks,
                                       .rules = { .halve_causal = config->halve_causal } };
    struct ks_trace_view v;
    struct copy *c = calloc(1, sizeof(*c));
    int rc = ks_trace_view_read(source, &o, &v, notes, err);

    if (rc == 0 && !c)
        rc = ks_fail(err, KS_ENOMEM, "out of memory");
    if (rc == 0) {
        c->v = &v;
        c->source = source;
        rc = write_copy(c, config, input, err);
    }
    if (rc == 0)
        ks_buf_printf(notes,
                      "ksweep-analyze trace: %llu events augmented; the copy holds everything "
                      "that the input holds, its metadata and environment included\n",
                      (unsigned long long)c->n_inserted);
    if (c) {
        ks_buf_release(&c->text);
        ks_buf_release(&c->series);
        free(c->zeros.z);
    }
    free(c);
    ks_trace_view_close(&v);
    return rc;
}

static int augment(const void *cfg, const char *const *operands, int n, struct ks_buf *notes,
                   struct ks_err *err)
{
    const struct config *c = cfg;
    struct ks_trace_source *source = NULL;
    int rc;

    (void)n;
    if (!c->output)
        return ks_fail(err, KS_EINVAL, "missing -o FILE; usage: ksweep-analyze %s",
                       ks_trace_verb_augment.usage);
    rc = ks_trace_source_open(operands[0], &source, err);
    if (rc == 0)
        rc = augment_source(source, c, operands[0], notes, err);
    ks_trace_source_close(source);
    return rc;
}

const struct ks_analysis ks_trace_verb_augment = {
    .name = "trace augment",
    .summary =
        "A copy of a trace with FLOPs, bytes, rates and operators in the args of its events.",
    .usage = "trace augment IN -o OUT [--counters] [--peaks FILE] [--halve-causal]",
    .opts = opts,
    .cfg_size = sizeof(struct config),
    .n_min = 1,
    .n_max = 1,
    .run = augment,
};
