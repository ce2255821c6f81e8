/* SPDX-License-Identifier: MIT */
/* kernel_set_impl.h - one file of kernels on its way into a set.
 *
 * To read another kind of file: one row in the table of kernel_set.c. Its reader finds or makes the
 * family, then hands over products of values or single instances; rules, filter, names, ids and
 * what the device lacks are the adder's business. */
#ifndef KS_GRID_KERNEL_SET_IMPL_H
#define KS_GRID_KERNEL_SET_IMPL_H

#include "base/err.h"
#include "grid/family.h"
#include "json/json.h"

#include <stdbool.h>
#include <stdint.h>

struct ks_family_exprs; /* a family's expressions, parsed */

struct ks_adder {
    struct ks_kernel_set *set;
    const struct ks_json *doc;
    const char *path; /* of the file */
    const char *filter;
    struct ks_family_exprs **exprs; /* [n_exprs] by i_family; NULL: not of this file */
    uint32_t n_exprs;
    uint64_t n_filtered; /* instances that the filter dropped */
    struct ks_err *err;
};

/* The values of each trait; the first trait varies slowest. */
struct ks_product {
    uint32_t n[KS_TRAITS_MAX];
    uint8_t choice[KS_TRAITS_MAX][KS_TRAIT_VALUES_MAX];
};

struct ks_kernel_reader {
    /* By the keys of the root, an object: is the file of this kind? */
    bool (*sniff)(const struct ks_node *root);
    /* Adds every instance of the file. Errors with file, line and key. */
    int (*read)(struct ks_adder *a, const struct ks_node *root);
};
extern const struct ks_kernel_reader ks_read_config, ks_read_ck_config;

/* The family at `name`: as it is when absolute, else beside the file, else in the installed data.
 * It is added unless it is there. named_at: for messages. */
int ks_adder_family_file(struct ks_adder *a, const char *name, const struct ks_node *named_at,
                         uint32_t *i_family_out);
/* A family that was made in memory, with a path and a name of its own. Takes it, also on failure:
 * *f is zero then. */
int ks_adder_family(struct ks_adder *a, struct ks_family *f, uint32_t *i_family_out);
/* All combinations that no rule forbids and that pass the filter. A rule is evaluated as soon as
 * the traits it names have their values: what it forbids costs nothing. */
int ks_adder_product(struct ks_adder *a, uint32_t i_family, const struct ks_product *p);
/* One combination; only i->value is read. */
int ks_adder_instance(struct ks_adder *a, uint32_t i_family, const struct ks_instance *i);
/* A scalar, or a list of distinct ones, as the choices of trait t. */
int ks_adder_choices(const struct ks_adder *a, uint32_t i_family, const struct ks_node *n,
                     uint32_t t, struct ks_product *p);

void ks_adder_release(struct ks_adder *a);
/* The exclusions of this file, added up in the rules of its families too. */
uint64_t ks_adder_book_excluded(struct ks_adder *a);

#endif
