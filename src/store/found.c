/* SPDX-License-Identifier: MIT */
/* found.c - hides runs that their rows stand for; counts the pairs that no run reported */
#include "store/index.h"

#include <string.h>

/* Problems that one program ran on, and instances that it reported for any of them: of one run,
 * operator, direction, data type and layout. */
struct group {
    uint32_t run;
    uint64_t n_problems, n_instances, n_pairs;
};
struct groups {
    struct ks_keys keys;                /* program, digest of what problems share, run */
    struct ks_list list;                /* [keys] struct group */
    struct ks_keys problems, instances; /* group, id */
};

static uint64_t digest_of_kind(const struct ks_problem_row *p)
{
    const char *const texts[] = { p->operator, p->direction, p->dtype, p->layout };
    struct ks_sha256 h;

    ks_sha256_init(&h);
    for (size_t i = 0; i < 4; i++)
        ks_sha256_add(&h, texts[i], strlen(texts[i]) + 1);
    return ks_sha256_id128(&h).hi;
}

/* The program is the family of the run's instance: repeats of it are one. */
static int find_group(const struct ks_index *x, struct groups *g, const struct ks_key *run_cell,
                      uint32_t *i_out, struct ks_err *err)
{
    const uint32_t run = (uint32_t)run_cell->part[0];
    const uint32_t i_kernel = ks_index_kernel(x, run, run_cell->part[2], (struct ks_id128){ 0, 0 });
    const uint32_t i_problem = ks_index_problem(x, run_cell->part[1]);
    const struct ks_kernel_row *k = ks_list_at(&x->kernels, i_kernel);
    const struct ks_key key = { { ks_id64(k->family, strlen(k->family)),
                                  digest_of_kind(ks_list_at(&x->problems, i_problem)), run } };
    struct group *added;
    bool is_new;
    int rc = ks_keys_add(&g->keys, &key, i_out, &is_new, err);

    if (rc == 0 && is_new)
        rc = ks_list_add(&g->list, &added, err);
    if (rc == 0 && is_new)
        added->run = run;
    return rc;
}

static int add(struct ks_keys *seen, uint32_t i_group, uint64_t id, bool *is_new_out,
               struct ks_err *err)
{
    const struct ks_key key = { { i_group, id } };
    uint32_t ignored;

    return ks_keys_add(seen, &key, &ignored, is_new_out, err);
}

static int add_cell(const struct ks_index *x, struct groups *g, size_t i, struct ks_err *err)
{
    const struct ks_cell_info *c = ks_list_at(&x->cells, i);
    const struct ks_key *key = &x->cell_keys.key[i];
    const struct ks_record_ref *final;
    bool is_new_problem = false, is_new_instance = false, is_row;
    uint32_t i_group;
    int rc;

    if (c->final == KS_NO_ROW)
        return 0;
    final = ks_list_at(&x->records, c->final);
    is_row = final->run_cell != KS_NO_ROW;
    if (!is_row && c->n_found == 0)
        return 0;
    rc = find_group(x, g, is_row ? &x->cell_keys.key[final->run_cell] : key, &i_group, err);
    if (rc == 0)
        rc = add(&g->problems, i_group, key->part[1], &is_new_problem, err);
    if (rc == 0 && is_row)
        rc = add(&g->instances, i_group, key->part[2], &is_new_instance, err);
    if (rc < 0)
        return rc;
    struct group *group = ks_list_at(&g->list, i_group);

    group->n_problems += is_new_problem;
    group->n_instances += is_new_instance;
    group->n_pairs += is_row;
    return 0;
}

/* A run whose rows say all has none of its own. */
static void hide_runs(struct ks_index *x)
{
    for (size_t i = 0; i < x->cells.n; i++) {
        struct ks_cell_info *c = ks_list_at(&x->cells, i);
        const struct ks_record_ref *done;

        if (c->final == KS_NO_ROW || c->n_found == 0)
            continue;
        done = ks_list_at(&x->records, c->final);
        c->is_hidden = done->key.outcome == KS_O_OK || c->is_told;
        x->n_measurements -= c->is_hidden;
    }
}

int ks_index_count_found(struct ks_index *x, struct ks_err *err)
{
    struct groups g = { .list = { .size = sizeof(struct group) } };
    int rc = 0;

    hide_runs(x);
    for (size_t i = 0; rc == 0 && i < x->cells.n; i++)
        rc = add_cell(x, &g, i, err);
    for (size_t i = 0; rc == 0 && i < g.list.n; i++) {
        const struct group *group = ks_list_at(&g.list, i);
        struct ks_run_row *run = ks_list_at(&x->runs, group->run);

        run->n_found += group->n_pairs;
        run->n_absent_pairs += group->n_problems * group->n_instances - group->n_pairs;
    }
    ks_keys_release(&g.keys);
    ks_keys_release(&g.problems);
    ks_keys_release(&g.instances);
    ks_list_release(&g.list);
    return rc;
}
