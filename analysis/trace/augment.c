/* SPDX-License-Identifier: MIT */
/* augment.c - a trace with FLOPs, bytes and rates in the args of its kernels and operators. The
 * first pass finds out what and where, the second copies and inserts: every byte of the input
 * stays, in its order. */
#include "analysis/trace/series.h"
#include "analysis/trace/verbs.h"
#include "analysis/trace/view.h"

#include "trace/output.h"
#include "trace/text.h"
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
      .help =
          "trace to write; compressed with gzip if the name ends in .gz; must not be the input" },
    { .name = "counters",
      .type = KS_OPT_BOOL,
      .offset = AT(has_counters),
      .def = "no",
      .help = "add queue length and copy bandwidth as counter series" },
    KS_OPT_PEAKS(AT(peaks)),
    KS_OPT_HALVE_CAUSAL(AT(halve_causal)),
    KS_OPT_END
};
#undef AT

/* ---- what is inserted ---- */

/* Keys that augment inserts. One that an event has already stays as it is. */
static const char *const keys[] = {
    "kernel_flop",          "kernel_num_gb",          "achieved_tflops",
    "achieved_gb_per_s",    "achieved_flops_percent", "achieved_bandwidth_percent",
    "arithmetic_intensity", "roofline_bound",         "operator",
    "operator_dims",        "operator_types",         "kernels",
    "kernel_time_us"
};
enum { N_KEYS = sizeof(keys) / sizeof(keys[0]) };

/* Bit of a key; 0: none of them. */
static uint16_t bit_of(const char *key, size_t n)
{
    for (int i = 0; i < N_KEYS; i++)
        if (strlen(keys[i]) == n && memcmp(keys[i], key, n) == 0)
            return (uint16_t)(1u << i);
    return 0;
}

/* The members that one event gets. */
struct members {
    struct ks_buf text;
    uint16_t has; /* bits of keys that the event has already */
};

static void put_text(struct ks_buf *to, const char *text)
{
    ks_buf_put(to, text, strlen(text));
}

static bool put_key(struct members *to, const char *key)
{
    if (to->has && (to->has & bit_of(key, strlen(key))))
        return false;
    put_text(&to->text, to->text.len ? ", \"" : "\"");
    put_text(&to->text, key);
    put_text(&to->text, "\": ");
    return true;
}

/* Every digit that tells the number from its neighbours. */
static void put_exact(struct members *to, const char *key, double v)
{
    char text[32];

    if (!isfinite(v) || !put_key(to, key))
        return;
    if (v == floor(v) && fabs(v) < 1e15)
        snprintf(text, sizeof(text), "%lld", (long long)v);
    else
        ks_f64_text(v, text);
    put_text(&to->text, text);
}

/* Nine digits: rates follow from the exact numbers beside them. */
static void put_rate(struct members *to, const char *key, double v)
{
    char text[32];

    if (!isfinite(v) || !put_key(to, key))
        return;
    snprintf(text, sizeof(text), "%.9g", v);
    put_text(&to->text, text);
}

static bool is_plain(const char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < ' ' || (unsigned char)*text > '~' || *text == '"' ||
            *text == '\\')
            return false;
    return true;
}

static void put_string(struct members *to, const char *key, const char *text)
{
    struct ks_jw w;

    if (!put_key(to, key))
        return;
    if (is_plain(text)) {
        put_text(&to->text, "\"");
        put_text(&to->text, text);
        put_text(&to->text, "\"");
        return;
    }
    ks_jw_init(&w, &to->text, false);
    ks_jw_str(&w, NULL, text);
}

/* The first two lines of a shape's text are JSON already. */
static void put_shapes(const struct ks_trace *t, uint32_t op, struct members *to)
{
    const char *text;
    size_t n;

    if (t->ops.shape[op] == KS_TRACE_NONE)
        return;
    text = ks_names_text(&t->shapes, t->ops.shape[op]);
    for (int i = 0; i < 2; i++) {
        n = strcspn(text, "\n");
        if (n && put_key(to, i ? "operator_types" : "operator_dims"))
            ks_buf_put(&to->text, text, n);
        text += n + (text[n] == '\n');
    }
}

static double rate(double amount, int64_t ns, double unit)
{
    return ns > 0 ? amount / ((double)ns * 1e-9) / unit : (double)NAN;
}

/* Values that stand in the file and are not zero stay. */
static void put_costs(struct members *to, double flop, enum ks_known flop_known, double bytes,
                      enum ks_known bytes_known, int64_t ns)
{
    if (flop_known == KS_KNOWN_FORMULA)
        put_exact(to, "kernel_flop", flop);
    if (bytes_known == KS_KNOWN_FORMULA || bytes_known == KS_KNOWN_TENSORS)
        put_exact(to, "kernel_num_gb", bytes / 1e9);
    if (flop_known)
        put_rate(to, "achieved_tflops", rate(flop, ns, 1e12));
    if (bytes_known)
        put_rate(to, "achieved_gb_per_s", rate(bytes, ns, 1e9));
}

static void put_roofline(const struct ks_trace_view *v, uint32_t i, struct members *to)
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
    put_rate(to, "achieved_flops_percent", 100 * r.compute_share);
    put_rate(to, "achieved_bandwidth_percent", 100 * r.bandwidth_share);
    put_rate(to, "arithmetic_intensity", r.flop_per_byte);
    if (r.bound)
        put_string(to, "roofline_bound", r.bound);
}

static void kernel_text(const struct ks_trace_view *v, uint32_t i, struct members *to)
{
    const struct ks_charge *c = &v->charge;
    const uint32_t op = v->t->gpu.kind[i] == KS_TRACE_KERNEL ? c->op[i] : KS_TRACE_NONE;

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

static void op_text(const struct ks_trace_view *v, uint32_t i, struct members *to)
{
    const struct ks_charge *c = &v->charge;

    if (c->op_kernels[i] == 0)
        return;
    put_costs(to, c->op_flop[i], c->op_flop_known[i], c->op_bytes[i], c->op_bytes_known[i],
              c->op_ns[i]);
    put_exact(to, "kernels", c->op_kernels[i]);
    put_exact(to, "kernel_time_us", (double)c->op_ns[i] / 1e3);
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

/* What an input that was augmented before has already. */
struct before {
    struct zeros zeros;
    uint16_t *op_has, *kernel_has; /* [ops.n], [gpu.n] bits of keys */
    bool has_series;
};

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

static uint16_t keys_in(struct ks_span args)
{
    struct ks_trace_walk w = ks_trace_walk(args);
    struct ks_trace_member m;
    uint16_t has = 0;

    while (ks_trace_walk_next(&w, &m))
        has |= bit_of(m.key.p, m.key.n);
    return has;
}

/* Rows are recognised by their place, which the model holds; op and kernel: the next ones. */
static int look_at(const struct ks_trace *t, const struct ks_trace_event *ev, uint32_t *op,
                   uint32_t *kernel, struct before *b, struct ks_err *err)
{
    const uint64_t end = ev->at + ev->raw.n;

    b->has_series |= ev->kind == KS_TRACE_COUNTER && ks_span_is(ev->cat, "ksweep");
    while (*op < t->ops.n && t->ops.place[*op].at < ev->at)
        ++*op;
    while (*kernel < t->gpu.n && t->gpu.place[*kernel].at < ev->at)
        ++*kernel;
    if (*op < t->ops.n && t->ops.place[*op].at < end) {
        b->op_has[*op] = keys_in(ev->args);
        return add_zeros(&b->zeros, ev, *op, true, err);
    }
    if (*kernel < t->gpu.n && t->gpu.place[*kernel].at < end) {
        b->kernel_has[*kernel] = keys_in(ev->args);
        return add_zeros(&b->zeros, ev, *kernel, false, err);
    }
    return 0;
}

static int look_again(const struct ks_trace *t, struct ks_trace_source *s, struct before *b,
                      struct ks_err *err)
{
    struct ks_trace_item *item = malloc(sizeof(*item));
    struct ks_trace_reader *r = NULL;
    uint32_t op = 0, kernel = 0;
    int rc;

    b->op_has = calloc(t->ops.n + (size_t)1, sizeof(*b->op_has));
    b->kernel_has = calloc(t->gpu.n + (size_t)1, sizeof(*b->kernel_has));
    rc = item && b->op_has && b->kernel_has ? ks_trace_source_rewind(s, err)
                                            : ks_fail(err, KS_ENOMEM, "out of memory");
    if (rc == 0)
        rc = ks_trace_reader_create(s, &r, err);
    while (rc >= 0 && r && (rc = ks_trace_reader_next(r, item, err)) > 0)
        if (item->type == KS_TRACE_ITEM_EVENT)
            rc = look_at(t, &item->event, &op, &kernel, b, err);
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
    struct before before;
    struct members members;
    struct ks_buf series;
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
    if (c->before.zeros.next < c->before.zeros.n)
        at = least(at, c->before.zeros.z[c->before.zeros.next].at);
    if (!c->is_series_done && c->series.len)
        at = least(at, t->events_end);
    return at;
}

static int copy_text(struct copy *c, const char *text, struct ks_err *err)
{
    return ks_trace_output_put(c->out, text, strlen(text), err);
}

/* c->members into the args that end at this place. */
static int put_args(struct copy *c, struct ks_trace_place place, struct ks_err *err)
{
    static const char *const before[] = { ", \"args\": {", "", ", " };
    const struct ks_buf *text = &c->members.text;
    int rc;

    if (text->len == 0)
        return ks_buf_ok(text) ? 0 : ks_fail(err, KS_ENOMEM, "out of memory");
    c->n_inserted++;
    rc = copy_text(c, before[place.has_args], err);
    if (rc == 0)
        rc = ks_trace_output_put(c->out, text->data, text->len, err);
    return rc == 0 && place.has_args == 0 ? copy_text(c, "}", err) : rc;
}

static int insert(struct copy *c, uint64_t at, struct ks_err *err)
{
    const struct ks_trace *t = c->v->t;
    struct zeros *zeros = &c->before.zeros;
    const bool is_looked_at = c->before.op_has != NULL;

    ks_buf_clear(&c->members.text);
    if (zeros->next < zeros->n && zeros->z[zeros->next].at == at) {
        zero_text(c->v, &zeros->z[zeros->next++], &c->members.text);
        return ks_trace_output_put(c->out, c->members.text.data, c->members.text.len, err);
    }
    if (c->op < t->ops.n && t->ops.place[c->op].at == at) {
        c->members.has = is_looked_at ? c->before.op_has[c->op] : 0;
        op_text(c->v, c->op, &c->members);
        return put_args(c, t->ops.place[c->op++], err);
    }
    if (c->kernel < t->gpu.n && t->gpu.place[c->kernel].at == at) {
        c->members.has = is_looked_at ? c->before.kernel_has[c->kernel] : 0;
        kernel_text(c->v, c->kernel, &c->members);
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

    if (rc == 0 && t->is_augmented)
        rc = look_again(t, c->source, &c->before, err);
    if (rc == 0 && config->has_counters && !t->dirt.is_cut && !c->before.has_series)
        rc = ks_series_put(t, &c->series, err);
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
                      "ksweep-analyze trace: %llu events augmented; the copy contains everything "
                      "of the input, including metadata and environment\n",
                      (unsigned long long)c->n_inserted);
    if (c) {
        ks_buf_release(&c->members.text);
        ks_buf_release(&c->series);
        free(c->before.zeros.z);
        free(c->before.op_has);
        free(c->before.kernel_has);
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
    .summary = "Copy a trace and add FLOPs, bytes, rates and operators to the args of its events.",
    .usage = "trace augment IN -o OUT [--counters] [--peaks FILE] [--halve-causal]",
    .opts = opts,
    .cfg_size = sizeof(struct config),
    .n_min = 1,
    .n_max = 1,
    .run = augment,
};
