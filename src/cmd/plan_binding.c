/* SPDX-License-Identifier: MIT */
/* plan_binding.c - prints which rank gets which device, cores and memory, under the launcher */
#include "cmd/plan_binding.h"

#include "base/buf.h"
#include "base/wrap.h"
#include "cmd/cmd_util.h"
#include "mpi/net.h"
#include "json/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define START_MS 60000u /* as ksweep run waits for MPI */
#define END_MS   5000u

enum {
    TABLE_COLUMNS = 88, /* of the map */
    INDENT = 4          /* of a rank's facts in a list */
};

/* What rank 0 is told of each rank. Plain data. */
struct row {
    uint32_t rank;
    char host[64];
    char role[16];
    bool is_far;
    char device[64], pci[16], cores[64], numa[32], spare[64];
    char visible[128]; /* what its worker will see */
    uint32_t n_neighbours, n_memory_neighbours;
    char unused[128];
};

static const char *role_of(const struct ks_rank_seat *s, uint32_t rank)
{
    if (s->bind.seat == KS_SEAT_SHARED)
        return "shares";
    if (s->bind.seat == KS_SEAT_MEASURE)
        return "measures";
    if (s->map.refusal[0])
        return "no seat";
    return rank == 0 ? "coordinates" : "helps building";
}

static void fill(const struct ks_job *job, const struct ks_net *net, const struct ks_rank_seat *s,
                 struct row *r)
{
    *r = (struct row){ .rank = ks_net_rank(net),
                       .is_far = s->bind.is_far,
                       .n_neighbours = s->bind.n_neighbours,
                       .n_memory_neighbours = s->bind.n_memory_neighbours };
    gethostname(r->host, sizeof(r->host) - 1);
    if (ks_net_local_rank(net) == 0)
        memcpy(r->unused, s->map.unused, sizeof(r->unused));
    snprintf(r->role, sizeof(r->role), "%s", role_of(s, r->rank));
    memcpy(r->spare, s->bind.spare_text, sizeof(r->spare));
    if (s->bind.seat == KS_SEAT_NONE)
        return;
    memcpy(r->cores, s->bind.cores.text, sizeof(r->cores));
    memcpy(r->numa, s->bind.numa, sizeof(r->numa));
    memcpy(r->pci, s->device.pci, sizeof(r->pci));
    if (!ks_seat_is_limited(job))
        snprintf(r->device, sizeof(r->device), "simulated");
    else if (s->device.unique[0])
        memcpy(r->device, s->device.unique, sizeof(r->device));
    else
        snprintf(r->device, sizeof(r->device), "%s", ks_host_domains[s->domain]);
    for (uint32_t i = 0; i < s->visible.n; i++) {
        size_t at = strlen(r->visible);
        snprintf(r->visible + at, sizeof(r->visible) - at, "%s%s", i ? " " : "",
                 s->visible.text[i]);
    }
}

static const char *or_dash(const char *text)
{
    return text[0] ? text : "-";
}

static const char *far_text(const struct row *r)
{
    return r->is_far ? "  (far from its device)" : "";
}

static void put_table(const struct row *rows, uint32_t n, struct ks_buf *to)
{
    ks_buf_printf(to, "%4s  %-16s %-14s %-20s %-10s %-6s %s\n", "rank", "host", "role", "device",
                  "cores", "memory", "spare cores");
    for (uint32_t i = 0; i < n; i++) {
        const struct row *r = &rows[i];
        ks_buf_printf(to, "%4u  %-16s %-14s %-20s %-10s %-6s %s%s\n", r->rank, r->host, r->role,
                      or_dash(r->pci[0] ? r->pci : r->device), or_dash(r->cores), or_dash(r->numa),
                      or_dash(r->spare), far_text(r));
    }
}

/* The same for a terminal that is too narrow for it. */
static void put_list(const struct row *rows, uint32_t n, unsigned width, struct ks_buf *to)
{
    char facts[400];
    for (uint32_t i = 0; i < n; i++) {
        const struct row *r = &rows[i];
        ks_buf_printf(to, "rank %u on %s: %s\n%*s", r->rank, r->host, r->role, INDENT, "");
        snprintf(facts, sizeof(facts), "device %s, cores %s, memory %s, spare cores %s%s",
                 or_dash(r->pci[0] ? r->pci : r->device), or_dash(r->cores), or_dash(r->numa),
                 or_dash(r->spare), far_text(r));
        ks_wrap_put(to, facts, INDENT, INDENT, width);
        ks_buf_u8(to, '\n');
    }
}

static void put_text(const struct row *rows, uint32_t n, struct ks_buf *to)
{
    const unsigned width = ks_cmd_width();
    if (!width || width >= TABLE_COLUMNS)
        put_table(rows, n, to);
    else
        put_list(rows, n, width, to);
    for (uint32_t i = 0; i < n; i++)
        if (rows[i].unused[0])
            ks_buf_printf(to, "%s: no rank measures on %s\n", rows[i].host, rows[i].unused);
}

static void put_json(const struct row *rows, uint32_t n, struct ks_buf *to)
{
    struct ks_jw w;
    ks_jw_init(&w, to, true);
    ks_jw_open(&w, NULL, '[');
    for (uint32_t i = 0; i < n; i++) {
        const struct row *r = &rows[i];
        ks_jw_open(&w, NULL, '{');
        ks_jw_u64(&w, "rank", r->rank);
        ks_jw_str(&w, "host", r->host);
        ks_jw_str(&w, "role", r->role);
        ks_jw_str(&w, "device", r->device);
        ks_jw_str(&w, "pci", r->pci);
        ks_jw_str(&w, "cores", r->cores);
        ks_jw_str(&w, "memory_nodes", r->numa);
        ks_jw_str(&w, "spare_cores", r->spare);
        ks_jw_bool(&w, "is_far", r->is_far);
        ks_jw_u64(&w, "cache_neighbours", r->n_neighbours);
        ks_jw_u64(&w, "memory_neighbours", r->n_memory_neighbours);
        ks_jw_str(&w, "environment", r->visible);
        ks_jw_str(&w, "devices_without_rank", r->unused);
        ks_jw_close(&w, '}');
    }
    ks_jw_close(&w, ']');
    ks_buf_printf(to, "\n");
}

static int print_map(struct ks_net *net, const struct row *mine, bool is_json, struct ks_err *err)
{
    void *rows = NULL;
    struct ks_buf text;
    int rc = ks_net_gather(net, mine, sizeof(*mine), &rows, err);
    if (rc < 0 || !rows)
        return rc;
    ks_buf_init(&text);
    (is_json ? put_json : put_text)(rows, ks_net_size(net), &text);
    rc = ks_emit(&text, NULL, err);
    ks_buf_release(&text);
    free(rows);
    return rc;
}

int ks_plan_binding(const struct ks_job *job, const struct ks_seat_options *o, bool is_json,
                    struct ks_warden *warden, struct ks_err *err)
{
    struct ks_rank_seat *seat = calloc(1, sizeof(*seat));
    struct ks_bind_card *card = calloc(1, sizeof(*card));
    struct ks_net *net = NULL;
    struct row row = { .rank = 0 };
    int rc = seat && card ? ks_seat_card(job, warden, card, err)
                          : ks_fail(err, KS_ENOMEM, "out of memory");
    if (rc == 0)
        rc = ks_net_open(START_MS, card, &net, err);
    if (rc == 0) {
        rc = ks_seat_take(job, net, o, seat, err);
        fill(job, net, seat, &row);
        int printed = print_map(net, &row, is_json, err);
        if (rc == 0)
            rc = printed < 0 ? printed : ks_seat_check(seat, err);
        rc = ks_net_agree(net, rc, err);
        if (rc < 0 && ks_net_rank(net) != 0)
            rc = 0; /* rank 0 says why, see cmd_run.c */
        ks_net_close(net, true, END_MS);
    }
    free(card);
    free(seat);
    return rc;
}
