/* SPDX-License-Identifier: MIT */
/* family.h - kernel families and instances.
 *
 * A family is one JSON file beside its source (kernels/host/gconv_fwd.family.json): it declares
 * each trait once - name, values, meaning, how it becomes a macro - and rules, which combinations
 * are valid and why not. A config (kernels/configs/x.json) names a family and lists value sets
 * whose products are the instances. To add a family: its source and its JSON; nothing in the
 * harness. */
#ifndef KS_GRID_FAMILY_H
#define KS_GRID_FAMILY_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

#define KS_TRAITS_MAX       24
#define KS_TRAIT_VALUES_MAX 64
#define KS_INSTANCE_NAME    192

enum ks_trait_kind { KS_TRAIT_INT, KS_TRAIT_NAME };

struct ks_trait {
    char name[32];  /* "vector_bytes" */
    char macro[32]; /* "VB"; "" = not passed to the compiler */
    char help[256];
    enum ks_trait_kind kind;
    uint32_t n_values;
    int64_t value[KS_TRAIT_VALUES_MAX]; /* what the macro becomes */
    char text[KS_TRAIT_VALUES_MAX][24]; /* KS_TRAIT_NAME: the value's name; INT: decimal */
    uint32_t i_default;
    char suffix[16]; /* "_pf{}": appended to the instance's name when the value is not the
                        default; "": the trait stands in name_pattern or has one value only */
};
struct ks_rule {
    char when[256]; /* expression over traits: true = the combination does not exist */
    char why[128];
    uint32_t n_excluded; /* combinations it excluded in ks_kernel_set_add so far */
};
struct ks_isa_need {
    char when[256]; /* expression over traits */
    char needs[32]; /* CPU flag as in /proc/cpuinfo: "avx512f" */
};
struct ks_family {
    char name[48];     /* "host_gconv_fwd" */
    char path[1024];   /* of the family file */
    char source[1024]; /* absolute path of the source that is included once per instance */
    char extra_flags[256];
    char op[32];
    uint32_t i_op; /* index into ks_operators */
    uint32_t direction, dtype, layout;
    char backend[16];       /* "host" */
    char domain[64];        /* "family is forward fp32 nhwgc": why another problem is unsupported */
    char name_pattern[256]; /* "gconv_fwd_fp32_2d_{tile_m}x{tile_n}_{pipeline}_vb{vector_bytes}" */
    struct ks_trait traits[KS_TRAITS_MAX];
    uint32_t n_traits;
    struct ks_rule rules[32];
    uint32_t n_rules;
    struct ks_isa_need needs[16];
    uint32_t n_needs;
};

/* One instance: indices of trait values. Same everywhere: the machine is not part of it. */
struct ks_instance {
    uint64_t id; /* digest of family + traits + ABI major */
    uint32_t i_family;
    uint8_t value[KS_TRAITS_MAX]; /* index into trait.value */
    char name[KS_INSTANCE_NAME];  /* unique within a grid */
    char missing[64]; /* "" or what this CPU lacks: "needs avx512f, this CPU lacks it" */
};

/* Reads and checks a family file: names, values, pattern, every expression. KS_ENOENT, KS_EFORMAT,
 * KS_EINVAL with file, line and key. struct ks_family is large: keep it off the stack. */
int ks_family_load(const char *path, struct ks_family *f_out, struct ks_err *err);
/* The same from text; `name` stands for the absolute path of the file. */
int ks_family_parse(const char *text, size_t len, const char *name, struct ks_family *f_out,
                    struct ks_err *err);
/* Index of a trait, -1 when there is none of that name. */
int ks_family_trait(const struct ks_family *f, const char *trait);
/* Index of a value by its text ("packed", "14"), -1 when the trait has none such. */
int ks_trait_value(const struct ks_trait *t, const char *text);
int64_t ks_instance_trait(const struct ks_family *f, const struct ks_instance *i,
                          const char *trait); /* INT64_MIN when it has none of that name */
/* "family=host_gconv_fwd abi=1 pipeline=indirect tile_m=14 ..." : the text that is hashed */
void ks_instance_canonical(const struct ks_family *f, const struct ks_instance *i,
                           struct ks_buf *text_out);
/* Fills name and id from the values. KS_EINVAL when the name does not fit. */
int ks_instance_finish(const struct ks_family *f, struct ks_instance *i, struct ks_err *err);
/* parse(print(x)) == x: traits from an instance's name. KS_EINVAL when it is no name of the family,
 * KS_EFORMAT when more than one combination has it. Rules are not applied; i_family is 0. */
int ks_instance_parse_name(const struct ks_family *f, const char *name, struct ks_instance *out,
                           struct ks_err *err);

/* Zero-initialise, set cpu_flags if they are not this host's, add configs, release. */
struct ks_kernel_set {
    struct ks_family *families;
    uint32_t n_families;
    struct ks_instance *instances;
    uint32_t n_instances, cap_instances;
    const char *cpu_flags; /* words as in /proc/cpuinfo, borrowed; NULL: nothing is missing */
    const char *cpu_name;  /* for `missing`; NULL: "this CPU" */
};
/* All instances of a config file that pass `filter` (expression over trait names, "" = all),
 * appended in the config's order; the family is added unless it is there. KS_EINVAL: an instance
 * named twice (also by an earlier config), two instances of one name or id, a name that could be
 * read in two ways, nothing left. Combinations excluded by rules are counted in *n_excluded_out
 * (may be NULL) and in the rules. The set is unchanged on failure. */
int ks_kernel_set_add(struct ks_kernel_set *set, const char *config_path, const char *filter,
                      uint32_t *n_excluded_out, struct ks_err *err);
void ks_kernel_set_release(struct ks_kernel_set *set);

#endif
