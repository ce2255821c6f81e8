/* SPDX-License-Identifier: MIT */
/* msg.c - encodes and decodes the messages between ranks: greetings, leases, pairs of numbers */
#include "mpi/msg.h"

#include <string.h>

static void put_id(struct ks_buf *b, struct ks_id128 id)
{
    ks_buf_u64(b, id.hi);
    ks_buf_u64(b, id.lo);
}

static struct ks_id128 get_id(struct ks_cur *c)
{
    struct ks_id128 id = { .hi = ks_cur_u64(c) };
    id.lo = ks_cur_u64(c);
    return id;
}

void ks_msg_hello_put(const struct ks_msg_hello *m, struct ks_buf *b)
{
    ks_buf_u32(b, m->rank);
    ks_buf_u32(b, m->local_rank);
    ks_buf_u32(b, m->n_local);
    ks_buf_u32(b, m->measures);
    ks_buf_u32(b, m->n_jobs);
    ks_buf_u64(b, m->grid_digest);
    put_id(b, m->target);
    put_id(b, m->cache);
    ks_buf_u32(b, (uint32_t)m->pid);
    ks_buf_put(b, m->host, sizeof(m->host));
}

int ks_msg_hello_get(const void *body, size_t n, struct ks_msg_hello *out, struct ks_err *err)
{
    struct ks_cur c = ks_cur(body, n);
    struct ks_msg_hello m = { 0 };
    m.rank = ks_cur_u32(&c);
    m.local_rank = ks_cur_u32(&c);
    m.n_local = ks_cur_u32(&c);
    m.measures = ks_cur_u32(&c);
    m.n_jobs = ks_cur_u32(&c);
    m.grid_digest = ks_cur_u64(&c);
    m.target = get_id(&c);
    m.cache = get_id(&c);
    m.pid = (int32_t)ks_cur_u32(&c);
    const void *host = ks_cur_take(&c, sizeof(m.host));
    if (c.failed)
        return ks_fail(err, KS_EPROTO, "hello message of %zu bytes is too short", n);
    memcpy(m.host, host, sizeof(m.host));
    m.host[sizeof(m.host) - 1] = '\0';
    *out = m;
    return 0;
}

void ks_msg_lease_put(const struct ks_msg_lease *m, struct ks_buf *b)
{
    ks_buf_u64(b, m->lease);
    ks_buf_u64(b, m->block_id);
    ks_buf_u32(b, m->i_problem);
    ks_buf_u32(b, m->opens);
    ks_buf_u32(b, m->closes);
    ks_buf_u32(b, m->is_alone);
    ks_buf_u32(b, m->n);
    ks_buf_u32(b, m->n_visit);
    for (uint32_t i = 0; i < m->n; i++) {
        ks_buf_u32(b, m->cells[i].i_instance);
        ks_buf_u32(b, m->cells[i].attempt);
        ks_buf_u32(b, m->cells[i].round);
        ks_buf_u32(b, m->cells[i].alias);
    }
}

int ks_msg_lease_get(const void *body, size_t n, struct ks_msg_lease *out, struct ks_err *err)
{
    struct ks_cur c = ks_cur(body, n);
    struct ks_msg_lease m = { 0 };
    m.lease = ks_cur_u64(&c);
    m.block_id = ks_cur_u64(&c);
    m.i_problem = ks_cur_u32(&c);
    m.opens = ks_cur_u32(&c);
    m.closes = ks_cur_u32(&c);
    m.is_alone = ks_cur_u32(&c);
    m.n = ks_cur_u32(&c);
    m.n_visit = ks_cur_u32(&c);
    if (m.n > (m.n_visit ? KS_VISIT_CELLS : KS_LEASE_CELLS))
        return ks_fail(err, KS_EPROTO, "lease with an invalid number of cells: %u", m.n);
    for (uint32_t i = 0; i < m.n; i++) {
        m.cells[i].i_instance = ks_cur_u32(&c);
        m.cells[i].attempt = ks_cur_u32(&c);
        m.cells[i].round = ks_cur_u32(&c);
        m.cells[i].alias = ks_cur_u32(&c);
    }
    if (c.failed)
        return ks_fail(err, KS_EPROTO, "lease of %zu bytes is too short", n);
    *out = m;
    return 0;
}

uint64_t ks_msg_beat_ns(uint64_t lost_after_ns)
{
    return lost_after_ns / 4 < 1000000000u ? lost_after_ns / 4 : 1000000000u;
}

void ks_msg_numbers_put(uint64_t a, uint64_t b, struct ks_buf *to)
{
    ks_buf_u64(to, a);
    ks_buf_u64(to, b);
}

int ks_msg_numbers_get(const void *body, size_t n, uint64_t *a, uint64_t *b, struct ks_err *err)
{
    struct ks_cur c = ks_cur(body, n);
    uint64_t x = ks_cur_u64(&c), y = ks_cur_u64(&c);
    if (c.failed)
        return ks_fail(err, KS_EPROTO, "message of %zu bytes is too short", n);
    *a = x;
    if (b)
        *b = y;
    return 0;
}
