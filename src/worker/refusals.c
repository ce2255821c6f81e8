/* SPDX-License-Identifier: MIT */
/* refusals.c - answers which kernels reject which problems, without measuring anything */
#include "worker/refusals.h"

#include "base/array.h"
#include "base/buf.h"
#include "base/file.h"
#include "base/lines.h"
#include "device/so_table.h"
#include "op/op.h"
#include "record/request.h"
#include "record/status.h"
#include "worker/cage.h"
#include "worker/sealed.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct object {
    const char *path; /* in the question */
    struct ks_so_table so;
};
struct question {
    struct ks_lines lines;
    struct object *objects;
    uint32_t n_objects, cap_objects;
    const struct ks_abi_entry **entries; /* of kernels */
    uint32_t n_entries, cap_entries;
    struct ks_buf answer;
};

static int read_all(int fd, struct ks_buf *to, struct ks_err *err)
{
    char part[65536];
    ssize_t n;

    while ((n = read(fd, part, sizeof(part))) > 0)
        ks_buf_put(to, part, (size_t)n);
    if (n < 0)
        return ks_fail_errno(err, "a question");
    return ks_buf_ok(to) ? 0 : ks_fail(err, KS_ENOMEM, "out of memory for a question");
}

/* A copy that nobody can change meanwhile, as for measuring. */
static int load(const char *path, struct ks_so_table *out, struct ks_err *err)
{
    struct ks_sealed copy;
    int rc = ks_sealed_open(path, &copy, err);

    if (rc < 0)
        return rc;
    rc = ks_so_table_open(copy.path, out, err);
    if (rc < 0)
        ks_sealed_blame(&copy, path, err);
    return rc;
}

static int find_object(struct question *q, const char *path, const struct ks_so_table **out,
                       struct ks_err *err)
{
    uint32_t i = 0;
    int rc = 0;

    while (i < q->n_objects && strcmp(q->objects[i].path, path) != 0)
        i++;
    if (i == q->n_objects) {
        rc = ks_reserve32(&q->objects, i + 1ul, &q->cap_objects, sizeof(*q->objects), "objects",
                          err);
        if (rc == 0)
            rc = load(path, &q->objects[i].so, err);
        if (rc < 0)
            return rc;
        q->objects[q->n_objects++].path = path;
    }
    *out = &q->objects[i].so;
    return 0;
}

static int take_kernel(struct question *q, struct ks_err *err)
{
    const char *path = ks_lines_text(&q->lines, 0), *entry = ks_lines_text(&q->lines, 1);
    const struct ks_so_table *so;
    uint32_t index;
    int rc = find_object(q, path, &so, err);

    if (rc == 0)
        rc = ks_so_table_find(so, entry, &index, err);
    if (rc == 0)
        rc = ks_reserve32(&q->entries, q->n_entries + 1ul, &q->cap_entries, sizeof(*q->entries),
                          "kernels", err);
    if (rc == 0)
        q->entries[q->n_entries++] = &so->table->entries[index];
    return rc;
}

static int answer(struct question *q, struct ks_err *err)
{
    struct ks_abi_problem abi;
    struct ks_problem p;
    int rc = ks_problem_parse(ks_lines_text(&q->lines, 0), &p, err);

    if (rc < 0)
        return rc;
    ks_operators[p.op]->to_abi(&p, &abi);
    for (uint32_t i = 0; i < q->n_entries; i++)
        ks_buf_u8(&q->answer, q->entries[i]->unsupported(&abi) ? '1' : '0');
    return ks_buf_ok(&q->answer) ? 0 : ks_fail(err, KS_ENOMEM, "out of memory for an answer");
}

static int take_lines(struct question *q, struct ks_err *err)
{
    struct ks_lines *l = &q->lines;
    int rc = 0;

    for (; rc == 0 && ks_lines_is(l, "kernel"); ks_lines_next(l))
        rc = ks_lines_expect(l, "kernel", 2) ? take_kernel(q, err) : l->rc;
    for (; rc == 0 && ks_lines_is(l, "problem"); ks_lines_next(l))
        rc = ks_lines_expect(l, "problem", 1) ? answer(q, err) : l->rc;
    if (rc == 0 && l->key)
        rc = ks_lines_fail(l, "'%s' is not expected here", l->key);
    return rc == 0 ? l->rc : rc;
}

static int ask(struct question *q, int fd_in, int fd_out, struct ks_err *err)
{
    struct ks_buf text;
    int rc;

    ks_buf_init(&text);
    rc = read_all(fd_in, &text, err);
    if (rc == 0) {
        rc = ks_lines_open(&q->lines, ks_buf_text(&text), text.len, "the question",
                           KS_REFUSALS_KIND, KS_REFUSALS_VERSION, err);
        if (rc == 0)
            rc = take_lines(q, err);
    }
    if (rc == 0)
        rc = ks_write_all(fd_out, q->answer.data, q->answer.len, err);
    ks_buf_release(&text);
    return rc;
}

int ks_worker_refusals(int fd_in, int fd_out, struct ks_err *err)
{
    struct ks_status *status = calloc(1, sizeof(*status)); /* lives as long as the filter */
    struct question q = { .n_objects = 0 };
    struct ks_cage cage;
    int rc = status ? ks_cage_open(&cage, status, err) : ks_fail(err, KS_ENOMEM, "out of memory");

    if (rc == 0)
        rc = ks_cage_close(&cage, err);
    if (rc < 0)
        return rc;
    ks_buf_init(&q.answer);
    rc = ask(&q, fd_in, fd_out, err);
    for (uint32_t i = 0; i < q.n_objects; i++)
        ks_so_table_close(&q.objects[i].so);
    ks_lines_close(&q.lines);
    ks_buf_release(&q.answer);
    free(q.entries);
    free(q.objects);
    return rc;
}
