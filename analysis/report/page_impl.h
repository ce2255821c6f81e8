/* SPDX-License-Identifier: MIT */
/* page_impl.h - what the files that write a page's data share. */
#ifndef KS_REPORT_PAGE_IMPL_H
#define KS_REPORT_PAGE_IMPL_H

#include "analysis/report/page.h"
#include "json/json.h"

/* What keeps the page below 10 MiB whatever its names are; bytes of the finished page, in which
 * each '<', '>' and '&' takes 6. */
#define KS_PAGE_INSTANCE_BYTES ((size_t)2 << 20)
#define KS_PAGE_PROBLEM_BYTES  ((size_t)3 << 20)
#define KS_PAGE_FAILURE_BYTES  ((size_t)3 << 18)
#define KS_PAGE_GROUP_BYTES    ((size_t)1 << 19)
#define KS_PAGE_RUN_BYTES      ((size_t)1 << 18) /* runs with their jobs; as much for devices, facts */
#define KS_PAGE_CLASS_BYTES    ((size_t)1 << 18)
#define KS_PAGE_HEAT_CHARS     ((size_t)3 << 19)
enum {
    KS_PAGE_PROBLEMS = 10000,
    KS_PAGE_INSTANCES = 20000,
    KS_PAGE_BLOCKS = 3000,
    KS_PAGE_GROUPS = 500
};
/* Every list that is cut has its whole length beside it, and the page says how many are left out
 * and what has them. */

/* The order in which the page lists instances, best first, and which problems it lists. */
struct ks_page_order {
    uint32_t *instance; /* [n_instances] number in the page */
    uint32_t *place;    /* [n_instances] where the page lists instance i */
    size_t n_instances; /* listed */
    size_t step;        /* every step-th problem is listed */
    size_t n_problems;  /* listed */
};

/* Room for one part of the page. */
struct ks_page_room {
    size_t at, left; /* at: up to which byte of the buffer is counted */
};
/* Counts what was appended since `at`. False once the room is used up. */
bool ks_page_has_room(struct ks_page_room *r, const struct ks_buf *b);
/* The bytes that a text takes in the finished page, at most. */
size_t ks_page_bytes(const char *text);

/* A number to 5 digits; null when it is not known (< 0). */
void ks_page_real(struct ks_jw *w, const char *key, double v);
/* "key": before a value that is written by itself. */
void ks_page_key(struct ks_buf *to, const char *key);

/* "a": and "b": where, when and how; outcomes. */
void ks_page_put_run(const struct ks_page *p, const char *key, struct ks_buf *to);
/* "heat": speeds of all cells, relative to the best of each problem. KS_ENOMEM. */
int ks_page_put_heat(const struct ks_page *p, const struct ks_page_order *o, struct ks_buf *to,
                     struct ks_err *err);
/* "failures", "groups", "blocks", "spread", "coverage". KS_ENOMEM. */
int ks_page_put_rest(const struct ks_page *p, const struct ks_page_order *o, struct ks_buf *to,
                     struct ks_err *err);

/* The row of /problems of problem i of the page; NULL: its name is lost. */
const struct ks_problem_row *ks_page_problem_row(const struct ks_page *p, size_t i);
/* "grouped_conv forward fp32 nhwgc, 3x3" */
void ks_page_class(const struct ks_problem_row *row, char *out, size_t cap);
/* Where the page lists an instance; -1: it does not. */
int64_t ks_page_place(const struct ks_page_order *o, uint32_t instance);

#endif
