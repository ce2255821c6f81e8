/* SPDX-License-Identifier: MIT */
/* page_data.c - the data of a page: instances, problems, the run beside it */
#include "analysis/report/page_impl.h"

#include "grid/problem_class.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TOP_TIMES = 24000 }; /* of all listed problems */

/* ---- small things ---- */

void ks_page_real(struct ks_jw *w, const char *key, double v)
{
    char text[32];

    if (!(v >= 0) || isinf(v)) {
        ks_jw_null(w, key);
        return;
    }
    snprintf(text, sizeof(text), "%.5g", v);
    ks_jw_real(w, key, strtod(text, NULL));
}

void ks_page_key(struct ks_buf *to, const char *key)
{
    ks_buf_printf(to, ",\n\"%s\":", key);
}

/* JSON escapes control characters and some others as \uNNNN, put_safe() three more. */
static size_t bytes_of(unsigned char c)
{
    if (strchr("\"\\\n\t", c))
        return 2;
    return c < 0x20 || c >= 0x7f || c == '<' || c == '>' || c == '&' ? 6 : 1;
}

size_t ks_page_bytes(const char *text)
{
    size_t n = 0;

    for (; text && *text; text++)
        n += bytes_of((unsigned char)*text);
    return n;
}

bool ks_page_has_room(struct ks_page_room *r, const struct ks_buf *b)
{
    for (; r->at < b->len && r->left; r->at++) {
        const uint8_t c = b->data[r->at];
        const size_t n = c == '<' || c == '>' || c == '&' ? 6 : 1;

        r->left -= r->left < n ? r->left : n;
    }
    return r->left > 0;
}

int64_t ks_page_place(const struct ks_page_order *o, uint32_t instance)
{
    if (instance == KS_NO_ROW || o->place[instance] >= o->n_instances)
        return -1;
    return o->place[instance];
}

const struct ks_problem_row *ks_page_problem_row(const struct ks_page *p, size_t i)
{
    const struct ks_problem_ref *ref = p->summary.problems[i].problem;

    return ref ? ks_store_problem(ks_view_file(p->view), (uint32_t)(ref - p->tables.problems))
               : NULL;
}

void ks_page_class(const struct ks_problem_row *row, char *out, size_t cap)
{
    const char *shape =
        row && row->has_problem ? ks_problem_class_name(ks_problem_class(&row->problem)) : "?";

    if (row)
        snprintf(out, cap, "%s %s %s %s, %s", row->operator, row->direction, row->dtype,
                 row->layout, shape);
    else
        snprintf(out, cap, "not known");
}

/* ---- order ---- */

struct rank {
    uint32_t i, n_wins, n_ok;
    double share;
};

static int by_rank(const void *x, const void *y)
{
    const struct rank *a = x, *b = y;

    if (a->n_wins != b->n_wins)
        return a->n_wins < b->n_wins ? 1 : -1;
    if (a->n_ok != b->n_ok)
        return a->n_ok < b->n_ok ? 1 : -1;
    if (a->share < b->share || a->share > b->share)
        return a->share < b->share ? 1 : -1;
    return a->i < b->i ? -1 : 1;
}

static double share_of(const struct ks_page_instance *k)
{
    return k->n_ok ? exp(k->log_share / k->n_ok) : KS_NOT_KNOWN;
}

static int make_order(const struct ks_page *p, struct ks_page_order *o, struct ks_err *err)
{
    struct rank *ranks = calloc(p->n_instances + 1, sizeof(*ranks));

    *o =
        (struct ks_page_order){ .step = (p->n_problems + KS_PAGE_PROBLEMS - 1) / KS_PAGE_PROBLEMS };
    o->step += o->step == 0;
    o->instance = calloc(p->n_instances + 1, sizeof(*o->instance));
    o->place = calloc(p->n_instances + 1, sizeof(*o->place));
    if (!ranks || !o->instance || !o->place) {
        free(ranks);
        return ks_fail(err, KS_ENOMEM, "out of memory for instances");
    }
    for (uint32_t i = 0; i < p->n_instances; i++)
        ranks[i] = (struct rank){ i, p->instances[i].n_wins, p->instances[i].n_ok,
                                  share_of(&p->instances[i]) };
    qsort(ranks, p->n_instances, sizeof(*ranks), by_rank);
    for (uint32_t i = 0; i < p->n_instances; i++) {
        o->instance[i] = ranks[i].i;
        o->place[ranks[i].i] = i;
    }
    free(ranks);
    return 0;
}

static void release_order(struct ks_page_order *o)
{
    free(o->instance);
    free(o->place);
}

/* ---- instances: [name, id, ok, rows, wins, failed, share] ---- */

static void put_instances(const struct ks_page *p, struct ks_page_order *o, struct ks_buf *to)
{
    struct ks_page_room room = { to->len, KS_PAGE_INSTANCE_BYTES };
    struct ks_jw w;
    size_t i;

    ks_page_key(to, "instances");
    ks_jw_init(&w, to, false);
    ks_jw_open(&w, NULL, '[');
    for (i = 0; i < p->n_instances && i < KS_PAGE_INSTANCES && ks_page_has_room(&room, to); i++) {
        const struct ks_page_instance *k = &p->instances[o->instance[i]];

        ks_jw_open(&w, NULL, '[');
        ks_jw_str(&w, NULL, k->name);
        ks_jw_id(&w, NULL, k->id);
        ks_jw_u64(&w, NULL, k->n_ok);
        ks_jw_u64(&w, NULL, k->n_rows);
        ks_jw_u64(&w, NULL, k->n_wins);
        ks_jw_u64(&w, NULL, k->n_look);
        ks_page_real(&w, NULL, share_of(k));
        ks_jw_close(&w, ']');
    }
    ks_jw_close(&w, ']');
    o->n_instances = i;
}

/* ---- problems ---- */

/* [instance, ns, lo, hi, p10, p90, 1 tied + 2 contaminated, [samples]], samples in 1e-4 of ns. */
static void put_time(struct ks_jw *w, const struct ks_page *p, const struct ks_page_time *t,
                     const struct ks_page_order *o)
{
    ks_jw_open(w, NULL, '[');
    ks_jw_int(w, NULL, ks_page_place(o, t->instance));
    ks_page_real(w, NULL, t->ns);
    ks_page_real(w, NULL, t->lo95_ns);
    ks_page_real(w, NULL, t->hi95_ns);
    ks_page_real(w, NULL, t->p10_ns);
    ks_page_real(w, NULL, t->p90_ns);
    ks_jw_int(w, NULL, t->is_tied + 2 * t->is_contaminated);
    if (t->n_samples) {
        ks_jw_open(w, NULL, '[');
        for (size_t i = 0; i < t->n_samples; i++) {
            double v = ((double)p->samples[t->first_sample + i] / t->ns - 1) * 1e4;

            ks_jw_int(w, NULL, fabs(v) < 1e9 ? (int64_t)llround(v) : 0);
        }
        ks_jw_close(w, ']');
    }
    ks_jw_close(w, ']');
}

/* Of the other run: [ns, lo, hi, its best instance (place or name), ns there of our best,
 * contaminated]. */
static void put_other(struct ks_jw *w, const struct ks_page *p, size_t i,
                      const struct ks_page *other, size_t k, const struct ks_page_order *o)
{
    const struct ks_best *ours = &p->summary.problems[i], *theirs = &other->summary.problems[k];
    const struct ks_page_problem *q = &other->problems[k];
    double of_ours = KS_NOT_KNOWN;
    uint32_t same;

    ks_jw_open(w, "o", '[');
    ks_page_real(w, NULL, theirs->median_ns);
    ks_page_real(w, NULL, theirs->lo95_ns);
    ks_page_real(w, NULL, theirs->hi95_ns);
    same = theirs->kernel
               ? ks_keys_find(&p->instance_keys, &(struct ks_key){ { theirs->kernel->id } })
               : KS_NO_ROW;
    if (ks_page_place(o, same) >= 0)
        ks_jw_int(w, NULL, ks_page_place(o, same));
    else
        ks_jw_str(w, NULL, theirs->kernel ? theirs->kernel->name : NULL);
    for (size_t c = 0; ours->kernel && c < q->n_cells; c++) {
        const struct ks_page_cell *cell = &other->cells[q->first_cell + c];

        if (cell->instance != KS_NO_ROW && cell->ns > 0 && q->best_ns > 0 &&
            other->instances[cell->instance].id == ours->kernel->id)
            of_ours = (double)cell->ns / q->best_ns * theirs->median_ns;
    }
    ks_page_real(w, NULL, of_ours);
    ks_jw_int(w, NULL, theirs->is_contaminated);
    ks_jw_close(w, ']');
}

static void put_problem(struct ks_jw *w, const struct ks_page *p, size_t i,
                        const struct ks_page_order *o, size_t n_top)
{
    const struct ks_best *b = &p->summary.problems[i];
    const struct ks_page_problem *q = &p->problems[i];
    const struct ks_problem_row *row = ks_page_problem_row(p, i);
    char class[128];
    uint32_t winner = KS_NO_ROW;

    ks_page_class(row, class, sizeof(class));
    if (b->kernel)
        winner = ks_keys_find(&p->instance_keys, &(struct ks_key){ { b->kernel->id } });
    ks_jw_str(w, "n", b->problem && b->problem->name[0] ? b->problem->name : "");
    ks_jw_id(w, "i", b->problem ? b->problem->id : 0);
    ks_jw_str(w, "c", class);
    ks_jw_str(w, "x", row ? row->canonical : "");
    ks_page_real(w, "f", row ? row->flops : KS_NOT_KNOWN);
    ks_page_real(w, "b", row ? row->min_bytes : KS_NOT_KNOWN);
    ks_page_real(w, "l", row && row->reduction > 0 ? (double)row->reduction : KS_NOT_KNOWN);
    ks_jw_int(w, "w", ks_page_place(o, winner));
    ks_page_real(w, "t", b->median_ns);
    ks_page_real(w, "lo", b->lo95_ns);
    ks_page_real(w, "hi", b->hi95_ns);
    ks_jw_u64(w, "ti", b->n_tied);
    ks_jw_u64(w, "ok", b->n_ok);
    ks_jw_u64(w, "r", b->n_rows);
    ks_page_real(w, "wb", b->worst_over_best);
    ks_jw_int(w, "co", b->is_contaminated);
    ks_jw_u64(w, "nc", b->n_contaminated);
    ks_jw_open(w, "top", '[');
    for (size_t t = 0; t < q->n_times && t < n_top; t++)
        put_time(w, p, &p->times[q->first_time + t], o);
    ks_jw_close(w, ']');
}

static int find_problems(const struct ks_page *other, struct ks_keys *keys, struct ks_err *err)
{
    uint32_t number;
    bool is_new;
    int rc = 0;

    /* A problem whose name is lost has the key 0 and a number all the same. */
    for (size_t i = 0; rc == 0 && other && i < other->n_problems; i++) {
        const struct ks_problem_ref *ref = other->summary.problems[i].problem;

        rc = ks_keys_add(keys, &(struct ks_key){ { ref ? ref->id : 0, ref ? 0 : i } }, &number,
                         &is_new, err);
    }
    return rc;
}

/* Every step-th problem, while there is room; returns how many of all the list reaches. */
static size_t list_problems(const struct ks_page *p, const struct ks_page *other,
                            const struct ks_keys *keys, struct ks_page_order *o, struct ks_buf *to)
{
    struct ks_page_room room = { to->len, KS_PAGE_PROBLEM_BYTES };
    size_t n = p->n_problems / o->step + 1, i;
    size_t n_top = TOP_TIMES / n < 3 ? 3 : TOP_TIMES / n;
    struct ks_jw w;

    ks_jw_init(&w, to, false);
    ks_jw_open(&w, NULL, '[');
    o->n_problems = 0;
    for (i = 0; i < p->n_problems && ks_page_has_room(&room, to); i += o->step) {
        const struct ks_problem_ref *ref = p->summary.problems[i].problem;
        uint32_t k = ref ? ks_keys_find(keys, &(struct ks_key){ { ref->id, 0 } }) : KS_NO_ROW;

        ks_jw_open(&w, NULL, '{');
        put_problem(&w, p, i, o, n_top);
        if (k < (other ? other->n_problems : 0))
            put_other(&w, p, i, other, k, o);
        ks_jw_close(&w, '}');
        o->n_problems++;
    }
    ks_jw_close(&w, ']');
    return i;
}

/* With a larger step until the list has the last problems, too. */
static int put_problems(const struct ks_page *p, const struct ks_page *other,
                        struct ks_page_order *o, struct ks_buf *to, struct ks_err *err)
{
    struct ks_keys keys = { 0 };
    size_t begin;
    int rc = find_problems(other, &keys, err);

    ks_page_key(to, "problems");
    begin = to->len;
    while (rc == 0 && list_problems(p, other, &keys, o, to) < p->n_problems && ks_buf_ok(to)) {
        to->len = begin;
        o->step *= 2;
    }
    ks_keys_release(&keys);
    return rc;
}

/* ---- all of it ---- */

/* No byte of the data can end the element that holds it, whatever names say: '<', '>' and '&' stand
 * only inside strings of JSON, where their escapes mean the same. */
static void put_safe(struct ks_buf *to, const struct ks_buf *json)
{
    for (size_t i = 0; i < json->len; i++) {
        uint8_t c = json->data[i];

        if (c == '<' || c == '>' || c == '&')
            ks_buf_printf(to, "\\u%04x", c);
        else
            ks_buf_u8(to, c);
    }
}

int ks_page_data(const struct ks_page *p, const struct ks_page *other, struct ks_buf *to,
                 struct ks_err *err)
{
    struct ks_page_order o = { 0 };
    struct ks_buf b;
    int rc = make_order(p, &o, err);

    ks_buf_init(&b);
    ks_buf_printf(&b, "{\"version\":1");
    ks_page_put_run(p, "a", &b);
    if (other)
        ks_page_put_run(other, "b", &b);
    if (rc == 0) {
        put_instances(p, &o, &b);
        rc = put_problems(p, other, &o, &b, err);
    }
    if (rc == 0)
        rc = ks_page_put_heat(p, &o, &b, err);
    if (rc == 0)
        rc = ks_page_put_rest(p, &o, &b, err);
    ks_buf_printf(&b, ",\n\"n_instances\":%zu,\"n_problems\":%zu,\"step\":%zu}\n", p->n_instances,
                  p->n_problems, o.step);
    put_safe(to, &b);
    if (rc == 0 && (!ks_buf_ok(&b) || !ks_buf_ok(to)))
        rc = ks_fail(err, KS_ENOMEM, "out of memory for the page");
    ks_buf_release(&b);
    release_order(&o);
    return rc;
}
