/* SPDX-License-Identifier: MIT */
#include "store/merge_impl.h"

#include <stdlib.h>
#include <string.h>

struct taken { /* which copy of a run counts */
    uint32_t source, run;
    uint32_t end_segment;
    uint64_t end_offset;
};

/* ---- which runs ---- */

static struct ks_key run_key(const struct ks_run_row *r)
{
    struct ks_id128 id = { 0 };

    if (!ks_unhex128(r->run_id, &id))
        id.lo = ks_id64(r->run_id, strlen(r->run_id));
    return (struct ks_key){ { id.hi, id.lo } };
}

static bool is_further(const struct ks_run_row *r, const struct taken *t)
{
    return r->end_segment > t->end_segment ||
           (r->end_segment == t->end_segment && r->end_offset > t->end_offset);
}

static int choose_runs(struct ks_merge_state *m, uint32_t source, const struct ks_store_file *f,
                       struct ks_err *err)
{
    for (uint32_t i = 0; i < ks_store_info(f)->n_runs; i++) {
        const struct ks_run_row *r = ks_store_run(f, i);
        struct ks_key key = run_key(r);
        struct taken *t;
        uint32_t number;
        bool is_new;
        int rc = ks_keys_add(&m->run_keys, &key, &number, &is_new, err);

        if (rc == 0 && is_new)
            rc = ks_list_add(&m->taken, &t, err);
        if (rc < 0)
            return rc;
        t = ks_list_at(&m->taken, number);
        if (is_new || is_further(r, t))
            *t = (struct taken){ source, i, r->end_segment, r->end_offset };
        m->totals.n_runs_repeated += !is_new;
    }
    return 0;
}

static bool is_taken(const struct ks_merge_state *m, uint32_t source, uint32_t run,
                     const struct ks_run_row *r)
{
    struct ks_key key = run_key(r);
    const struct taken *t = ks_list_at(&m->taken, ks_keys_find(&m->run_keys, &key));

    return t->source == source && t->run == run;
}

/* ---- small tables ---- */

static int new_map(uint32_t **map_out, uint32_t n, struct ks_err *err)
{
    *map_out = malloc(((size_t)n + 1) * sizeof(**map_out));
    if (!*map_out)
        return ks_fail(err, KS_ENOMEM, "out of memory");
    for (uint32_t i = 0; i < n; i++)
        (*map_out)[i] = KS_NO_ROW;
    return 0;
}

static int add_runs(struct ks_merge_state *m, uint32_t source, const struct ks_store_file *f,
                    struct ks_err *err)
{
    struct ks_merge_source *s = &m->sources[source];
    int rc = new_map(&s->run, ks_store_info(f)->n_runs, err);

    for (uint32_t i = 0; rc == 0 && i < ks_store_info(f)->n_runs; i++) {
        const struct ks_run_row *r = ks_store_run(f, i);
        struct ks_run_row *row;

        if (!is_taken(m, source, i, r))
            continue;
        rc = ks_list_add(&m->index.runs, &row, err);
        if (rc < 0)
            break;
        *row = *r;
        row->job = r->job ? strdup(r->job) : NULL;
        if (r->job && !row->job)
            return ks_fail(err, KS_ENOMEM, "out of memory for a job");
        s->run[i] = (uint32_t)(m->index.runs.n - 1);
        m->totals.n_cells += r->n_cells;
        m->totals.n_pending += r->n_pending;
    }
    return rc;
}

/* Rows whose first member is the run; map NULL: nobody refers to them. */
static int add_rows(const struct ks_merge_source *s, struct ks_list *to, uint32_t n,
                    const void *(*at)(const struct ks_store_file *, uint32_t),
                    const struct ks_store_file *f, uint32_t *map, struct ks_err *err)
{
    for (uint32_t i = 0; i < n; i++) {
        const void *row = at(f, i);
        uint32_t run;
        void *added;
        int rc;

        memcpy(&run, row, sizeof(run));
        if (run >= ks_store_info(f)->n_runs || s->run[run] == KS_NO_ROW)
            continue;
        rc = ks_list_add(to, &added, err);
        if (rc < 0)
            return rc;
        memcpy(added, row, to->size);
        memcpy(added, &s->run[run], sizeof(run));
        if (map)
            map[i] = (uint32_t)(to->n - 1);
    }
    return 0;
}

_Static_assert(offsetof(struct ks_host_row, run) == 0 && offsetof(struct ks_device_row, run) == 0 &&
                   offsetof(struct ks_kernel_row, run) == 0 &&
                   offsetof(struct ks_block_row, run) == 0 &&
                   offsetof(struct ks_event_row, run) == 0,
               "add_rows() finds the run at the beginning");

#define AT(name)                                                                                   \
    static const void *name##_at(const struct ks_store_file *f, uint32_t i)                        \
    {                                                                                              \
        return ks_store_##name(f, i);                                                              \
    }
AT(host)
AT(device)
AT(kernel)
AT(block)
#undef AT

/* What a row says of a problem that only its text describes. */
static void keep_fixed(struct ks_problem_row *to, const struct ks_problem_row *from)
{
    memcpy(to->operator, from->operator, sizeof(to->operator));
    memcpy(to->direction, from->direction, sizeof(to->direction));
    memcpy(to->dtype, from->dtype, sizeof(to->dtype));
    memcpy(to->layout, from->layout, sizeof(to->layout));
    to->flops = from->flops;
    to->min_bytes = from->min_bytes;
    to->reduction = from->reduction;
    to->out_d = from->out_d;
    to->out_h = from->out_h;
    to->out_w = from->out_w;
}

static int add_problems(struct ks_merge_state *m, struct ks_merge_source *s,
                        const struct ks_store_file *f, struct ks_err *err)
{
    uint32_t n = ks_store_info(f)->n_problems;
    int rc = new_map(&s->problem, n, err);

    for (uint32_t i = 0; rc == 0 && i < n; i++) {
        const struct ks_problem_row *p = ks_store_problem(f, i);
        bool is_new = ks_index_problem(&m->index, p->problem_id) == KS_NO_ROW;

        rc = ks_index_put_problem(&m->index, p->problem_id, p->problem_name, p->canonical,
                                  p->n_uses, p->has_problem ? &p->problem : NULL, err);
        s->problem[i] = ks_index_problem(&m->index, p->problem_id);
        if (rc == 0 && is_new && !p->has_problem)
            keep_fixed(ks_list_at(&m->index.problems, s->problem[i]), p);
    }
    return rc;
}

/* All traits of an instance lie together. */
static int add_traits(struct ks_merge_state *m, const struct ks_store_file *f, struct ks_err *err)
{
    bool is_new = false;

    for (uint32_t i = 0; i < ks_store_info(f)->n_traits; i++) {
        const struct ks_trait_row *t = ks_store_trait(f, i);
        struct ks_key key = { { t->instance_id } };
        struct ks_trait_row *row;
        uint32_t number;
        int rc = 0;

        if (i == 0 || ks_store_trait(f, i - 1)->instance_id != t->instance_id)
            rc = ks_keys_add(&m->index.trait_keys, &key, &number, &is_new, err);
        if (rc == 0 && is_new)
            rc = ks_list_add(&m->index.traits, &row, err);
        if (rc < 0)
            return rc;
        if (is_new)
            *row = *t;
    }
    return 0;
}

static int add_small(struct ks_merge_state *m, uint32_t source, const struct ks_store_file *f,
                     struct ks_err *err)
{
    const struct ks_store_info *info = ks_store_info(f);
    struct ks_merge_source *s = &m->sources[source];
    int rc = add_runs(m, source, f, err);

    s->n_runs = info->n_runs;
    s->n_devices = info->n_devices;
    s->n_problems = info->n_problems;
    s->n_kernels = info->n_kernels;
    s->n_blocks = info->n_blocks;
    if (rc == 0)
        rc = add_rows(s, &m->index.hosts, info->n_hosts, host_at, f, NULL, err);
    if (rc == 0)
        rc = new_map(&s->device, info->n_devices, err);
    if (rc == 0)
        rc = add_rows(s, &m->index.devices, info->n_devices, device_at, f, s->device, err);
    if (rc == 0)
        rc = add_problems(m, s, f, err);
    if (rc == 0)
        rc = new_map(&s->kernel, info->n_kernels, err);
    if (rc == 0)
        rc = add_rows(s, &m->index.kernels, info->n_kernels, kernel_at, f, s->kernel, err);
    if (rc == 0)
        rc = add_traits(m, f, err);
    if (rc == 0)
        rc = new_map(&s->block, info->n_blocks, err);
    if (rc == 0)
        rc = add_rows(s, &m->index.blocks, info->n_blocks, block_at, f, s->block, err);
    m->n_rows[KS_T_MEASUREMENTS] += info->n_measurements;
    m->n_rows[KS_T_ATTEMPTS] += info->n_attempts;
    m->n_samples += info->n_samples;
    return rc;
}

/* ---- all of it ---- */

static int for_each_file(struct ks_merge_state *m,
                         int (*fn)(struct ks_merge_state *, uint32_t, const struct ks_store_file *,
                                   struct ks_err *),
                         struct ks_err *err)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < m->n_sources; i++) {
        struct ks_store_file *f = NULL;

        rc = ks_store_open(m->sources[i].path, &f, err);
        if (rc == 0)
            rc = fn(m, (uint32_t)i, f, err);
        ks_store_close(f);
    }
    return rc;
}

static uint32_t count_devices(const struct ks_merge_state *m)
{
    uint32_t n = 0;

    for (size_t i = 0; i < m->index.devices.n; i++) {
        const struct ks_device_row *d = ks_list_at(&m->index.devices, i);
        bool is_new = true;

        for (size_t k = 0; is_new && k < i; k++)
            is_new = ((struct ks_device_row *)ks_list_at(&m->index.devices, k))->rec.device_id !=
                     d->rec.device_id;
        n += is_new;
    }
    return n;
}

static int write_merged(struct ks_merge_state *m, const char *out_path,
                        const struct ks_store_options *options, struct ks_err *err)
{
    struct ks_whole_plan plan = { .index = &m->index,
                                  .n_samples = m->n_samples,
                                  .produce = ks_merge_produce,
                                  .ctx = m,
                                  .reads_hdf5 = true };
    struct ks_store_totals totals = { .n_cells = m->totals.n_cells,
                                      .n_pending = m->totals.n_pending };

    ks_index_measure(&m->index);
    ks_whole_count(&m->index, plan.n_rows);
    for (size_t t = KS_T_MEASUREMENTS; t < KS_T_COUNT; t++)
        plan.n_rows[t] = m->n_rows[t];
    return ks_whole_write(out_path, &plan, options, &totals, err);
}

static void release(struct ks_merge_state *m)
{
    for (size_t i = 0; m->sources && i < m->n_sources; i++) {
        struct ks_merge_source *s = &m->sources[i];
        uint32_t *maps[] = { s->run, s->device, s->problem, s->kernel, s->block };

        for (size_t k = 0; k < sizeof(maps) / sizeof(maps[0]); k++)
            free(maps[k]);
    }
    free(m->sources);
    ks_keys_release(&m->run_keys);
    ks_list_release(&m->taken);
    if (m->index.runs.size)
        ks_index_release(&m->index);
}

int ks_store_merge(const char *const *paths, size_t n_paths, const char *out_path,
                   const struct ks_store_options *options, struct ks_merge_totals *totals_out,
                   struct ks_err *err)
{
    struct ks_merge_state m = { .n_sources = n_paths,
                                .taken = { .size = sizeof(struct taken) },
                                .file = KS_H5_NONE,
                                .samples = KS_H5_NONE };
    int rc = n_paths ? 0 : ks_fail(err, KS_EINVAL, "no files given to merge");

    ks_h5_start();
    m.sources = calloc(n_paths + 1, sizeof(*m.sources));
    if (rc == 0 && !m.sources)
        rc = ks_fail(err, KS_ENOMEM, "out of memory");
    for (size_t i = 0; rc == 0 && i < n_paths; i++)
        m.sources[i].path = paths[i];
    if (rc == 0)
        rc = ks_index_init(&m.index, err);
    if (rc == 0)
        rc = for_each_file(&m, choose_runs, err);
    if (rc == 0)
        rc = for_each_file(&m, add_small, err);
    if (rc == 0)
        rc = ks_merge_plan_rows(&m, err);
    if (rc == 0)
        rc = ks_index_group_codes(&m.index, err);
    if (rc == 0)
        rc = write_merged(&m, out_path, options, err);
    if (rc == 0) {
        m.totals.n_runs = (uint32_t)m.index.runs.n;
        m.totals.n_devices = count_devices(&m);
        m.totals.n_problems = (uint32_t)m.index.problems.n;
        m.totals.n_attempts = m.next_attempt;
        *totals_out = m.totals;
    }
    release(&m);
    return rc < 0 ? ks_err_context(err, rc, "merging into '%s'", out_path) : 0;
}
