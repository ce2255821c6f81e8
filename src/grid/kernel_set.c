/* SPDX-License-Identifier: MIT */
/* kernel_set.c - adds config files of any format to a kernel set, whose names must be unique */
#include "base/order.h"
#include "grid/family_store.h"
#include "grid/find.h"
#include "grid/kernel_export.h"
#include "grid/kernel_set_impl.h"
#include "grid/t1.h"

#include <stdlib.h>
#include <string.h>

/* The first whose sniff says yes. */
static const struct ks_kernel_reader *const readers[] = { &ks_read_t1, &ks_read_export,
                                                          &ks_read_ck_config, &ks_read_config };

static int by_id(const void *a, const void *b)
{
    const struct ks_instance *const *x = a, *const *y = b;

    return ks_compare_u64((*x)->id, (*y)->id);
}

static int by_name(const void *a, const void *b)
{
    const struct ks_instance *const *x = a, *const *y = b;

    return strcmp((*x)->name, (*y)->name);
}

static int check_neighbours(const struct ks_instance *a, const struct ks_instance *b,
                            struct ks_err *err)
{
    bool is_same_name = strcmp(a->name, b->name) == 0;

    if (a->id == b->id && a->i_family == b->i_family && is_same_name)
        return ks_fail(err, KS_EINVAL, "duplicate instance '%s': remove one of the entries",
                       a->name);
    if (a->id == b->id)
        return ks_fail(err, KS_EFORMAT, "instances '%s' and '%s' have the same id", a->name,
                       b->name);
    if (is_same_name)
        return ks_fail(err, KS_EINVAL, "two families have an instance named '%s'", a->name);
    return 0;
}

static int check_unique(const struct ks_kernel_set *s, struct ks_err *err)
{
    const struct ks_instance **order = calloc(s->n_instances + 1, sizeof *order);
    int rc = 0;

    if (!order)
        return ks_fail(err, KS_ENOMEM, "no memory to sort instances");
    for (uint32_t i = 0; i < s->n_instances; i++)
        order[i] = &s->instances[i];
    for (int turn = 0; turn < 2; turn++) {
        qsort(order, s->n_instances, sizeof *order, turn ? by_name : by_id);
        for (uint32_t i = 1; rc == 0 && i < s->n_instances; i++)
            rc = check_neighbours(order[i - 1], order[i], err);
    }
    free(order);
    return rc;
}

static int check_left(const struct ks_adder *a, uint32_t n_before)
{
    if (a->set->n_instances > n_before)
        return 0;
    if (a->n_filtered > 0)
        return ks_fail(a->err, KS_EINVAL, "%s excludes all %llu instances of %s",
                       a->set->filter_of ? a->set->filter_of : "the filter",
                       (unsigned long long)a->n_filtered, a->path);
    return ks_fail(a->err, KS_EINVAL, "%s: no instance: the rules exclude every combination",
                   a->path);
}

static int read_file(struct ks_adder *a)
{
    const struct ks_node *root = ks_json_root(a->doc);
    uint32_t n_before = a->set->n_instances;
    size_t k = 0;
    int rc;

    if (ks_node_kind(root) != KS_JSON_OBJECT)
        return ks_node_fail(a->doc, root, a->err, "a kernel config is an object { ... }");
    while (!readers[k]->sniff(root))
        k++;
    rc = readers[k]->read(a, root);
    if (rc == 0)
        rc = check_left(a, n_before);
    if (rc < 0)
        return rc;
    rc = check_unique(a->set, a->err);
    return rc < 0 ? ks_err_context(a->err, rc, "%s", a->path) : 0;
}

int ks_kernel_set_add(struct ks_kernel_set *set, const char *config_path, const char *filter,
                      uint64_t *n_excluded_out, struct ks_err *err)
{
    struct ks_adder a = { .set = set, .path = config_path, .filter = filter, .err = err };
    uint32_t n_families = set->n_families, n_instances = set->n_instances;
    struct ks_json *doc = NULL;
    char room[1024];
    int rc = ks_find_input(&a.path, room, sizeof room, err);

    if (rc == 0)
        rc = ks_json_open(a.path, &doc, err);
    a.doc = doc;
    if (!filter)
        a.filter = "";
    if (rc == 0)
        rc = read_file(&a);
    if (rc == 0) {
        uint64_t n_excluded = ks_adder_book_excluded(&a);

        set->n_filtered += a.n_filtered;
        if (n_excluded_out)
            *n_excluded_out = n_excluded;
    } else {
        while (set->n_families > n_families)
            ks_family_release(&set->families[--set->n_families]);
        set->n_instances = n_instances;
    }
    ks_adder_release(&a);
    ks_json_close(doc);
    return rc;
}

void ks_kernel_set_release(struct ks_kernel_set *set)
{
    ks_families_free(set->families, set->n_families);
    free(set->instances);
    *set = (struct ks_kernel_set){ .cpu_flags = set->cpu_flags,
                                   .cpu_name = set->cpu_name,
                                   .arch = set->arch,
                                   .filters = set->filters };
}
