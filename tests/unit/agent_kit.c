/* SPDX-License-Identifier: MIT */
/* agent_kit.c - a grid made by hand for tests of agent and coordinator; frames as lines of text */
#include "agent_kit.h"

#include "grid/domains.h"
#include "mpi/msg.h"
#include "op_cases.h"
#include "record/frame.h"
#include "record/record.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint32_t count_words(const char *s)
{
    uint32_t n = 0;
    for (s += strspn(s, " "); *s; s += strspn(s, " ")) {
        s += strcspn(s, " ");
        n++;
    }
    return n;
}

static void fill_job(struct ks_job *job)
{
    job->isolate.batch = 20;
    job->isolate.retries = 1;
    job->isolate.kernel_timeout_s = 5;
#ifdef KSWEEP_SANITIZED
    job->isolate.memory_mib = 1u << 26; /* its shadow is address space, too */
#else
    job->isolate.memory_mib = 4096;
#endif
    job->contention.retries = 2;
    job->measure.min_samples = 5;
    job->measure.max_samples = 5;
    job->measure.max_ms = 10;
}

static void fill_instances(struct ks_grid *g, const char *names)
{
    for (uint32_t i = 0; i < g->n_instances; i++) {
        struct ks_instance *k = &g->instances[i];
        names += strspn(names, " ");
        size_t len = strcspn(names, " ");
        snprintf(k->name, sizeof(k->name), "%.*s", (int)len, names);
        k->id = 1000 + i;
        if (strncmp(names, "lack", 4) == 0)
            snprintf(k->missing, sizeof(k->missing), "needs avx9");
        g->by_instance_id[i] = i;
        names += len;
    }
}

static void *zeroed(size_t n, size_t size)
{
    void *p = calloc(n, size);
    assert_non_null(p);
    return p;
}

static int by_id(const void *a, const void *b, void *problems)
{
    const uint64_t x = ks_problem_table_id(problems, *(const uint32_t *)a);
    const uint64_t y = ks_problem_table_id(problems, *(const uint32_t *)b);
    return x < y ? -1 : x > y;
}

struct ks_grid *kit_grid(const char *names, uint32_t n_problems)
{
    struct ks_grid *g = zeroed(1, sizeof(*g));
    g->condition = 77;
    g->digest = 4242;
    g->n_problems = n_problems;
    g->n_instances = count_words(names);
    g->n_families = 1;
    g->instances = zeroed(g->n_instances, sizeof(*g->instances));
    g->families = zeroed(1, sizeof(*g->families));
    g->by_problem_id = zeroed(n_problems, sizeof(*g->by_problem_id));
    g->by_instance_id = zeroed(g->n_instances, sizeof(*g->by_instance_id));
    fill_job(&g->job);
    fill_instances(g, names);
    for (uint32_t i = 0; i < n_problems; i++) {
        char fields[32];
        struct ks_problem p;
        snprintf(fields, sizeof(fields), "hi=%u", 5 + i);
        assert_int_equal(op_case(fields, &p, NULL), 0);
        assert_int_equal(ks_problem_table_add(&g->problems, &p, NULL), 0);
        g->by_problem_id[i] = i;
    }
    qsort_r(g->by_problem_id, n_problems, sizeof(*g->by_problem_id), by_id, &g->problems);
    const struct ks_packed_problem *p = &g->problems.rows[0];
    g->families[0] = (struct ks_family){ .i_op = p->op,
                                         .direction = p->direction,
                                         .dtype = p->dtype,
                                         .layout = p->layout,
                                         .backend = "host" };
    return g;
}

void kit_two_directions(struct ks_grid *g)
{
    struct ks_err err;
    struct ks_family *f = zeroed(2, sizeof(*f));
    f[0] = f[1] = g->families[0];
    f[1].direction = KS_BACKWARD_DATA;
    free(g->families);
    g->families = f;
    g->n_families = 2;
    for (uint32_t i = 1; i < g->n_problems; i += 2)
        g->problems.rows[i].direction = KS_BACKWARD_DATA;
    for (uint32_t i = 1; i < g->n_instances; i += 2)
        g->instances[i].i_family = 1;
    assert_int_equal(ks_domains_create(g, &g->domains, &err), 0);
}

void kit_grid_free(struct ks_grid *g)
{
    if (!g)
        return;
    ks_domains_free(g->domains);
    ks_problem_table_release(&g->problems);
    free(g->instances);
    free(g->families);
    free(g->by_problem_id);
    free(g->by_instance_id);
    free(g);
}

uint32_t kit_instance(const struct ks_grid *g, const char *name)
{
    for (uint32_t i = 0; i < g->n_instances; i++)
        if (strcmp(g->instances[i].name, name) == 0)
            return i;
    fail_msg("no instance is called '%s'", name);
    return 0;
}

static const char *name_of(const struct ks_grid *g, uint64_t id)
{
    return id >= 1000 && id < 1000 + g->n_instances ? g->instances[id - 1000].name : "-";
}

static void put_record(const struct ks_grid *g, const struct ks_record *r, struct ks_buf *to)
{
    static const char *const roles[] = { "done", "anchor", "canary", "control" };
    char flags[128];
    bool is_ended = r->outcome == KS_O_CRASHED || r->outcome == KS_O_EXITED;
    bool is_unconfirmed = r->outcome_flags & KS_FL_UNCONFIRMED;
    ks_buf_printf(to, "%s %s", roles[r->role], name_of(g, r->cell.instance));
    if (r->role != KS_ROLE_ANCHOR) {
        assert_true(is_unconfirmed ? ks_outcome_needs_look(r->outcome)
                                   : !ks_outcome_is_abnormal(r->outcome));
        ks_buf_printf(to, " a%u", r->attempt);
    }
    if (r->round_index)
        ks_buf_printf(to, " r%u", r->round_index);
    assert_int_equal(r->n_visit > 0, r->round_index > 0);
    ks_buf_printf(to, " %s", ks_outcome_text(r->outcome));
    if (is_ended)
        ks_buf_printf(to, "(%d)", r->status_code);
    if (strcmp(r->reason, "heap_corruption") == 0)
        ks_buf_printf(to, " heap");
    ks_flags_text(r->outcome_flags & ~(uint32_t)KS_FL_UNCONFIRMED, flags, sizeof(flags));
    ks_buf_printf(to, "%s%s\n", flags[0] ? " " : "", flags);
}

static void put_start(const struct ks_grid *g, const struct ks_start *s, struct ks_buf *to)
{
    static const char *const why[] = { "lease", "retry", "suspect", "noise",
                                       "void",  "code",  "confirm" };
    for (uint32_t i = 0; i < s->n_cells; i++)
        ks_buf_printf(to, "start %s a%u %s\n", name_of(g, s->cells[i].cell.instance),
                      s->cells[i].attempt, why[s->why]);
}

void kit_line(const struct ks_grid *g, uint16_t type, const void *body, size_t n, struct ks_buf *to)
{
    static struct ks_record r;
    static struct ks_start s;
    struct ks_block b;
    struct ks_event_rec e;
    struct ks_output o;
    const void *bytes;
    size_t n_bytes;
    uint64_t a = 0;
    switch (type) {
    case KS_F_DONE:
        assert_int_equal(ks_record_decode(body, n, &r, NULL, NULL), 0);
        put_record(g, &r, to);
        return;
    case KS_F_START:
        assert_int_equal(ks_start_decode(body, n, &s, NULL), 0);
        put_start(g, &s, to);
        return;
    case KS_F_BLOCK:
        assert_int_equal(ks_block_decode(body, n, &b, NULL), 0);
        assert_int_equal(b.is_closed != 0, b.closed_ns > 0);
        ks_buf_printf(to, "block %u %s %s n%u\n", (unsigned)b.block_id,
                      b.is_closed ? "close" : "open", name_of(g, b.anchor), b.n_cells);
        return;
    case KS_F_EVENT:
        assert_int_equal(ks_event_decode(body, n, &e, NULL), 0);
        ks_buf_printf(to, "event %s\n", ks_event_text(e.kind));
        return;
    case KS_F_OUTPUT:
        assert_int_equal(ks_output_decode(body, n, &o, &bytes, &n_bytes, NULL), 0);
        ks_buf_printf(to, "output %s a%u %u kept %zu\n", name_of(g, o.cell.instance), o.attempt,
                      (unsigned)o.n_total, n_bytes);
        return;
    default:
        assert_true(type == KS_F_MSG_LEASE_END || type == KS_F_MSG_BEAT);
        assert_int_equal(ks_msg_numbers_get(body, n, &a, NULL, NULL), 0);
        if (type == KS_F_MSG_BEAT)
            ks_buf_printf(to, "canary passed\n");
        else
            ks_buf_printf(to, "end %u\n", (unsigned)a);
    }
}
