/* SPDX-License-Identifier: MIT */
/* problems_view.c - prints problem sets as CSV and JSON, their counts, and leaks between sets */
#include "cmd/problems_view.h"

#include "base/hash.h"
#include "grid/problem_class.h"
#include "json/json.h"

#include <inttypes.h>
#include <stdio.h>

/* What ksweep derives from a problem stands in front of its columns. */
static void put_derived(struct ks_buf *b, const struct ks_problem *p)
{
    char hex[17];

    ks_hex64(p->id, hex);
    ks_buf_printf(b, "%s,%s,%" PRId64 ",%.0f,%.0f,", hex,
                  ks_problem_class_name(ks_problem_class(p)), ks_operators[p->op]->reduction(p),
                  ks_problem_flops(p), ks_problem_min_bytes(p));
}

/* One more field at the end of the line that was put last. */
static void put_behind(struct ks_buf *b, const char *text)
{
    if (ks_buf_ok(b))
        b->len--; /* the end of the line */
    ks_buf_printf(b, ",%s\n", text);
}

/* A number; empty where it is not known. */
static void put_told(struct ks_buf *b, int64_t v)
{
    char text[24];

    snprintf(text, sizeof(text), "%" PRId64, v);
    put_behind(b, v ? text : "");
}

/* One header per run of problems of the same operator. */
void ks_problems_csv(const struct ks_problem_set *set, bool is_listing, struct ks_buf *b)
{
    const bool has_times = ks_problem_set_has_times(set), has_ranks = ks_problem_set_has_ranks(set);

    for (uint32_t i = 0; i < set->n; i++) {
        const struct ks_problem p = ks_problem_table_get(&set->problems, i);

        if (i == 0 || set->problems.rows[i - 1].op != p.op) {
            ks_buf_printf(b, "%s", is_listing ? "id,class,reduction,flops,min_bytes," : "");
            ks_problem_csv_header(p.op, b);
            if (has_times)
                put_behind(b, "total_time_ns");
            if (has_ranks)
                put_behind(b, "priority_rank");
        }
        if (is_listing)
            put_derived(b, &p);
        ks_problem_csv_row(&p, b);
        if (has_times)
            put_told(b, set->origins[i].time_ns);
        if (has_ranks)
            put_told(b, set->origins[i].rank);
    }
}

static void put_problem_json(struct ks_jw *w, const struct ks_problem *p,
                             const struct ks_origin *from)
{
    char hex[17];

    ks_hex64(p->id, hex);
    ks_jw_open(w, NULL, '{');
    ks_jw_str(w, "id", hex);
    ks_jw_str(w, "operator", ks_operators[p->op]->name);
    ks_jw_str(w, "direction", ks_direction_name(p->direction));
    ks_jw_str(w, "dtype", ks_dtype_name(p->dtype));
    ks_jw_str(w, "layout", ks_layout_name(p->layout));
    for (int d = 0; ks_operators[p->op]->dim_names[d]; d++)
        ks_jw_int(w, ks_operators[p->op]->dim_names[d], p->dim[d]);
    ks_jw_int(w, "count", p->count);
    if (from->time_ns)
        ks_jw_int(w, "total_time_ns", from->time_ns);
    if (from->rank)
        ks_jw_int(w, "priority_rank", from->rank);
    ks_jw_str(w, "name", p->name);
    ks_jw_str(w, "class", ks_problem_class_name(ks_problem_class(p)));
    ks_jw_int(w, "reduction", ks_operators[p->op]->reduction(p));
    ks_jw_real(w, "flops", ks_problem_flops(p));
    ks_jw_real(w, "min_bytes", ks_problem_min_bytes(p));
    ks_jw_close(w, '}');
}

void ks_problems_json(const struct ks_problem_set *set, struct ks_buf *b)
{
    struct ks_jw w;

    ks_jw_init(&w, b, true);
    ks_jw_open(&w, NULL, '[');
    for (uint32_t i = 0; i < set->n; i++) {
        const struct ks_problem p = ks_problem_table_get(&set->problems, i);

        put_problem_json(&w, &p, &set->origins[i]);
    }
    ks_jw_close(&w, ']');
    ks_buf_printf(b, "\n");
}

static void count_classes(const struct ks_problem_set *set, uint32_t n_out[KS_N_PROBLEM_CLASSES])
{
    for (int c = 0; c < KS_N_PROBLEM_CLASSES; c++)
        n_out[c] = 0;
    for (uint32_t i = 0; i < set->n; i++) {
        const struct ks_problem p = ks_problem_table_get(&set->problems, i);

        n_out[ks_problem_class(&p)]++;
    }
}

static void put_refusals_json(struct ks_jw *w, const struct ks_problem_set *set)
{
    ks_jw_open(w, "refusals", '[');
    for (uint32_t i = 0; i < set->n_refusals; i++) {
        ks_jw_open(w, NULL, '{');
        ks_jw_str(w, "file", set->refusals[i].file);
        ks_jw_u64(w, "line", set->refusals[i].line);
        ks_jw_str(w, "reason", set->refusals[i].reason);
        ks_jw_close(w, '}');
    }
    ks_jw_close(w, ']');
}

void ks_problems_counts_json(const struct ks_problem_set *set, const struct ks_problems_tally *t,
                             struct ks_buf *b)
{
    uint32_t n_of[KS_N_PROBLEM_CLASSES];
    struct ks_jw w;

    count_classes(set, n_of);
    ks_jw_init(&w, b, true);
    ks_jw_open(&w, NULL, '{');
    ks_jw_int(&w, "files", t->n_files);
    ks_jw_u64(&w, "lines", set->n_lines);
    ks_jw_u64(&w, "other_lines", set->n_other);
    ks_jw_u64(&w, "commands", set->n_commands);
    ks_jw_u64(&w, "taken", set->n_taken);
    ks_jw_u64(&w, "refused", set->n_refused);
    ks_jw_u64(&w, "problems", set->n_problems_raw);
    ks_jw_u64(&w, "distinct", t->n_distinct);
    ks_jw_u64(&w, "excluded", t->n_excluded);
    ks_jw_u64(&w, "kept", set->n);
    ks_jw_open(&w, "classes", '{');
    for (uint32_t c = 0; c < KS_N_PROBLEM_CLASSES; c++)
        if (n_of[c])
            ks_jw_u64(&w, ks_problem_class_name(c), n_of[c]);
    ks_jw_close(&w, '}');
    put_refusals_json(&w, set);
    ks_jw_close(&w, '}');
    ks_buf_printf(b, "\n");
}

void ks_problems_counts(const struct ks_problem_set *set, const struct ks_problems_tally *t,
                        struct ks_buf *b)
{
    uint32_t n_of[KS_N_PROBLEM_CLASSES];

    count_classes(set, n_of);
    ks_buf_printf(b, "files        %d\n", t->n_files);
    ks_buf_printf(b, "lines        %" PRIu64 " (%" PRIu64 " without a command)\n", set->n_lines,
                  set->n_other);
    ks_buf_printf(b, "commands     %" PRIu64 "\n", set->n_commands);
    ks_buf_printf(b, "taken        %" PRIu64 "\n", set->n_taken);
    ks_buf_printf(b, "refused      %" PRIu64 "\n", set->n_refused);
    ks_buf_printf(b, "problems     %" PRIu64 "\n", set->n_problems_raw);
    ks_buf_printf(b, "distinct     %" PRIu32 "\n", t->n_distinct);
    ks_buf_printf(b, "excluded     %" PRIu32 "\n", t->n_excluded);
    ks_buf_printf(b, "kept         %" PRIu32 "\n", set->n);
    for (uint32_t c = 0; c < KS_N_PROBLEM_CLASSES; c++)
        if (n_of[c])
            ks_buf_printf(b, "  %-16s %" PRIu32 "\n", ks_problem_class_name(c), n_of[c]);
}

/* Writes one leak to whichever of the two is wanted. */
static void put_leak(struct ks_jw *w, struct ks_buf *b, const struct ks_problem_set *training,
                     uint32_t i_training, const struct ks_problem_set *validation,
                     uint32_t i_validation)
{
    uint64_t line[2];
    const char *file[2] = { ks_problem_set_origin(training, i_training, &line[0]),
                            ks_problem_set_origin(validation, i_validation, &line[1]) };
    char hex[17];

    ks_hex64(ks_problem_table_id(&validation->problems, i_validation), hex);
    if (!w) {
        ks_buf_printf(b, "leak         %s %s:%" PRIu64 " %s:%" PRIu64 "\n", hex, file[0], line[0],
                      file[1], line[1]);
        return;
    }
    ks_jw_open(w, NULL, '{');
    ks_jw_str(w, "id", hex);
    ks_jw_str(w, "training_file", file[0]);
    ks_jw_u64(w, "training_line", line[0]);
    ks_jw_str(w, "validation_file", file[1]);
    ks_jw_u64(w, "validation_line", line[1]);
    ks_jw_close(w, '}');
}

/* The problem that stands for all directions, dtypes and layouts of its shape. */
static int shape_of(const struct ks_problem_set *set, uint32_t i, struct ks_problem *shape_out,
                    struct ks_err *err)
{
    *shape_out = ks_problem_table_get(&set->problems, i);
    shape_out->direction = shape_out->dtype = shape_out->layout = 0;
    shape_out->count = 1;
    return ks_problem_finish(shape_out, err);
}

static int put_leaks(struct ks_jw *w, struct ks_buf *b, const struct ks_problem_set *training,
                     const struct ks_problem_set *validation, struct ks_problems_leaks *out,
                     struct ks_err *err)
{
    struct ks_problem_set shapes;
    struct ks_problem shape;
    int rc = 0;

    ks_problem_set_init(&shapes);
    for (uint32_t i = 0; rc == 0 && i < training->n; i++) {
        rc = shape_of(training, i, &shape, err);
        if (rc == 0)
            rc = ks_problem_set_add(&shapes, &shape, err);
    }
    for (uint32_t i = 0; rc == 0 && i < validation->n; i++) {
        int64_t at = ks_problem_set_find(training, ks_problem_table_id(&validation->problems, i));

        rc = shape_of(validation, i, &shape, err);
        if (rc == 0 && at >= 0)
            put_leak(w, b, training, (uint32_t)at, validation, i);
        out->n += at >= 0;
        out->n_same_shape += at < 0 && ks_problem_set_find(&shapes, shape.id) >= 0;
    }
    ks_problem_set_release(&shapes);
    return rc;
}

int ks_problems_leaks(const struct ks_problem_set *training,
                      const struct ks_problem_set *validation, bool as_json, struct ks_buf *b,
                      struct ks_problems_leaks *out, struct ks_err *err)
{
    struct ks_problems_leaks found = { 0 };
    struct ks_jw w;
    int rc;

    ks_jw_init(&w, b, true);
    if (as_json) {
        ks_jw_open(&w, NULL, '{');
        ks_jw_u64(&w, "training", training->n);
        ks_jw_u64(&w, "validation", validation->n);
        ks_jw_open(&w, "leaks", '[');
    } else {
        ks_buf_printf(b, "training     %" PRIu32 "\nvalidation   %" PRIu32 "\n", training->n,
                      validation->n);
    }
    rc = put_leaks(as_json ? &w : NULL, b, training, validation, &found, err);
    if (rc < 0) {
        ks_jw_drop(&w);
        return rc;
    }
    if (as_json) {
        ks_jw_close(&w, ']');
        ks_jw_u64(&w, "n_leaks", found.n);
        ks_jw_u64(&w, "n_same_shape", found.n_same_shape);
        ks_jw_close(&w, '}');
        ks_buf_printf(b, "\n");
    } else {
        ks_buf_printf(b, "leaks        %" PRIu32 "\nsame shape   %" PRIu32 "\n", found.n,
                      found.n_same_shape);
    }
    *out = found;
    return 0;
}
