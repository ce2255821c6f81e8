/* SPDX-License-Identifier: MIT */
/* plan_nodes.c - how many nodes for how long: fits a plan into a time limit, as text and JSON */
#include "cmd/plan_nodes.h"

#include "mpi/progress.h"
#include "json/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#define AROUND_S  300.0 /* start, and what the batch scripts keep for the end */
#define STEP_S    300.0
#define MOST_ROWS 8u

static uint32_t most_useful(const struct ks_plan_work *w, uint32_t per_node)
{
    double n = w->longest_s > 0 ? w->work_s / w->longest_s / per_node : 1;
    return n <= 1 ? 1 : n >= 1e6 ? 1000000 : (uint32_t)ceil(n);
}

struct ks_plan_fit ks_plan_fit_nodes(const struct ks_plan_work *w, uint32_t per_node,
                                     uint32_t nodes)
{
    struct ks_plan_fit f = { .nodes = nodes };
    f.expected_s = fmax(w->work_s / ((double)nodes * per_node), w->longest_s);
    f.request_s = (uint64_t)(ceil((KS_PLAN_MARGIN * f.expected_s + AROUND_S) / STEP_S) * STEP_S);
    return f;
}

bool ks_plan_fit_walltime(const struct ks_plan_work *w, uint32_t per_node, double walltime_s,
                          struct ks_plan_fit *fit_out)
{
    uint32_t low = 1, high = most_useful(w, per_node);
    *fit_out = ks_plan_fit_nodes(w, per_node, high);
    if ((double)fit_out->request_s > walltime_s)
        return false;
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        if ((double)ks_plan_fit_nodes(w, per_node, mid).request_s <= walltime_s)
            high = mid;
        else
            low = mid + 1;
    }
    *fit_out = ks_plan_fit_nodes(w, per_node, low);
    return true;
}

void ks_plan_request_text(uint64_t s, char *out, size_t cap)
{
    if (s < 86400)
        snprintf(out, cap, "%02" PRIu64 ":%02" PRIu64 ":00", s / 3600, s % 3600 / 60);
    else
        snprintf(out, cap, "%" PRIu64 "-%02" PRIu64 ":%02" PRIu64 ":00", s / 86400,
                 s % 86400 / 3600, s % 3600 / 60);
}

static void text_row(const struct ks_plan_fit *f, uint32_t per_node, struct ks_buf *to)
{
    char time[32], request[32];
    ks_progress_time(f->expected_s, time, sizeof(time));
    ks_plan_request_text(f->request_s, request, sizeof(request));
    ks_buf_printf(to, "with %u node%s x %u device%s: %s; request --nodes=%u --time=%s\n", f->nodes,
                  f->nodes == 1 ? "" : "s", per_node, per_node == 1 ? "" : "s", time, f->nodes,
                  request);
}

/* Jobs of that walltime one after another; 0 when not even one cell is sure to end in one. */
static double jobs_of(const struct ks_plan_work *w, const struct ks_plan_fit *f, double walltime_s)
{
    double usable = (walltime_s - AROUND_S) / KS_PLAN_MARGIN;
    return usable < w->longest_cell_s ? 0 : ceil(f->expected_s / usable);
}

static void text_walltime(const struct ks_plan_work *w, uint32_t per_node, double walltime_s,
                          struct ks_buf *to)
{
    struct ks_plan_fit f;
    char time[32];
    if (ks_plan_fit_walltime(w, per_node, walltime_s, &f)) {
        text_row(&f, per_node, to);
        return;
    }
    double jobs = jobs_of(w, &f, walltime_s);
    ks_progress_time(walltime_s, time, sizeof(time));
    if (jobs > 0)
        ks_buf_printf(to, "not possible in one job of %s: about %.0f in a row with --nodes=%u\n",
                      time, jobs, f.nodes);
    else
        ks_buf_printf(to, "not possible in jobs of %s: the longest cell may take %.0f s\n", time,
                      ceil(w->longest_cell_s));
}

/* 1, 2, 4, ... and the most that are of use. Returns their number. */
static uint32_t rows(const struct ks_plan_work *w, uint32_t per_node,
                     struct ks_plan_fit out[MOST_ROWS])
{
    uint32_t most = most_useful(w, per_node), n = 0;
    for (uint32_t nodes = 1; nodes < most && n + 1 < MOST_ROWS; nodes *= 2)
        out[n++] = ks_plan_fit_nodes(w, per_node, nodes);
    out[n++] = ks_plan_fit_nodes(w, per_node, most);
    return n;
}

void ks_plan_nodes_text(const struct ks_plan_work *w, uint32_t per_node, double walltime_s,
                        struct ks_buf *to)
{
    struct ks_plan_fit row[MOST_ROWS];
    char time[32];
    if (walltime_s > 0) {
        text_walltime(w, per_node, walltime_s, to);
    } else {
        uint32_t n = rows(w, per_node, row);
        for (uint32_t i = 0; i < n; i++)
            text_row(&row[i], per_node, to);
    }
    ks_progress_time(w->longest_s, time, sizeof(time));
    ks_buf_printf(to,
                  "more than %u would split problems over devices, which this estimate does not "
                  "count; the longest, %s, takes %s on one\n",
                  most_useful(w, per_node), w->longest ? w->longest : "none", time);
}

static void json_row(struct ks_jw *j, const char *key, const struct ks_plan_fit *f)
{
    char request[32];
    ks_plan_request_text(f->request_s, request, sizeof(request));
    ks_jw_open(j, key, '{');
    ks_jw_u64(j, "nodes", f->nodes);
    ks_jw_real(j, "expected_s", f->expected_s);
    ks_jw_str(j, "time", request);
    ks_jw_close(j, '}');
}

void ks_plan_nodes_json(const struct ks_plan_work *w, uint32_t per_node, double walltime_s,
                        struct ks_buf *to)
{
    struct ks_plan_fit row[MOST_ROWS], fit;
    struct ks_jw j;
    ks_jw_init(&j, to, true);
    ks_jw_open(&j, NULL, '{');
    ks_jw_real(&j, "device_s", w->work_s);
    ks_jw_str(&j, "longest_problem", w->longest);
    ks_jw_real(&j, "longest_problem_s", w->longest_s);
    ks_jw_real(&j, "longest_cell_s", w->longest_cell_s);
    ks_jw_real(&j, "disk_bytes", w->disk_bytes);
    ks_jw_real(&j, "most_disk_bytes", w->most_disk_bytes);
    ks_jw_real(&j, "cache_bytes", w->cache_bytes);
    ks_jw_u64(&j, "per_node", per_node);
    ks_jw_open(&j, "choices", '[');
    uint32_t n = rows(w, per_node, row);
    for (uint32_t i = 0; i < n; i++)
        json_row(&j, NULL, &row[i]);
    ks_jw_close(&j, ']');
    if (walltime_s > 0 && ks_plan_fit_walltime(w, per_node, walltime_s, &fit)) {
        json_row(&j, "fit", &fit);
    } else if (walltime_s > 0) {
        ks_jw_null(&j, "fit");
        ks_jw_u64(&j, "jobs", (uint64_t)jobs_of(w, &fit, walltime_s));
    }
    ks_jw_close(&j, '}');
    ks_buf_printf(to, "\n");
}
