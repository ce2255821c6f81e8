/* SPDX-License-Identifier: MIT */
/* family.h - kernel families and instances.
 *
 * A family is one JSON file beside its source (kernels/host/gconv_fwd.family.json): it declares
 * each trait once - name, values, meaning, role, how it becomes a macro or a flag - and rules,
 * which combinations are valid and why not. A config (kernels/configs/x.json) names a family and
 * lists value sets whose products are the instances. To add a family: its source and its JSON;
 * nothing in the harness. */
#ifndef KS_GRID_FAMILY_H
#define KS_GRID_FAMILY_H

#include "base/backend.h"
#include "base/buf.h"
#include "base/err.h"
#include "op/op.h"

#include <stdbool.h>
#include <stdint.h>

#define KS_TRAITS_MAX       32
#define KS_TRAIT_VALUES_MAX 128
#define KS_ATTRIBUTES_MAX   24
#define KS_RULES_MAX        64
#define KS_NEEDS_MAX        32
#define KS_INSTANCE_NAME    192
#define KS_VALUE_TEXT       32
#define KS_EXPR_FIELD       512
#define KS_THREADS_MAX      4096

enum ks_trait_kind { KS_TRAIT_INT, KS_TRAIT_NAME };

enum ks_trait_role {
    KS_ROLE_NONE,
    KS_ROLE_COMPILER, /* its value names the compiler */
    KS_ROLE_FLAGS,    /* each value brings compile flags */
    KS_ROLE_ARGUMENT, /* passed at run time: enters code_id beside the code */
    KS_ROLE_NUMERICS, /* how results are rounded, so how they are verified: enum ks_numerics */
    KS_ROLE_THREADS,  /* how many threads a run computes with; its runtime may keep them */
    KS_N_ROLES
};
extern const char *const ks_trait_role_names[]; /* in this order, "none" first; NULL-terminated */

struct ks_trait_alias {
    char text[KS_VALUE_TEXT]; /* "fwd": read as the value, never printed */
    uint32_t i_value;
};
struct ks_trait {
    char name[32];  /* "vector_bytes" */
    char key[32];   /* its name in Composable Kernel's configs and filters; "": the same */
    char macro[32]; /* "VB"; "" = not passed to the compiler */
    char help[256];
    enum ks_trait_kind kind;
    bool is_bool; /* KS_TRAIT_INT of 0 and 1: names say False and True, files also true and false */
    bool is_real; /* KS_TRAIT_NAME whose texts are real numbers: expressions compute with them */
    enum ks_trait_role role;
    uint32_t n_values;
    int64_t *value;              /* [n_values] what the macro becomes */
    char (*text)[KS_VALUE_TEXT]; /* [n_values] KS_TRAIT_NAME: its name; INT: decimal */
    uint16_t *flags_at;          /* [n_values] KS_ROLE_FLAGS: into ks_family.flags */
    uint32_t i_default;
    bool is_all_when_absent; /* a config of Composable Kernel that does not name it means all */
    char suffix[16];         /* "_pf{}": appended to the instance's name when the value is not the
                                default; "": the trait stands in name_pattern or has one value only */
    struct ks_trait_alias aliases[8];
    uint32_t n_aliases;
};
/* What a trait's value stands for: tile "16x64x64" has tile_m 16. A name in expressions and tables
 * like a trait, but no part of the identity: it follows from the value. */
struct ks_attribute {
    char name[32];
    uint32_t i_trait;
    enum ks_trait_kind kind;
    int64_t *value; /* KS_TRAIT_INT, by index of the trait's value */
    char (*text)[KS_VALUE_TEXT];
};
struct ks_rule {
    char when[KS_EXPR_FIELD]; /* expression over traits: true = the combination does not exist */
    char why[128];
    uint64_t n_excluded; /* combinations it excluded in ks_kernel_set_add so far */
};
struct ks_isa_need {
    char when[KS_EXPR_FIELD]; /* expression over traits */
    char needs[32];           /* CPU flag as in /proc/cpuinfo: "avx512f" */
};
/* The combination exists, but the device cannot run it. */
struct ks_inability {
    char when[KS_EXPR_FIELD]; /* expression over traits: true = unsupported */
    char arch[128];           /* names separated by blanks, '*' at the end of one; "": any */
    char why[128];
};

/* What an instance computes. KS_N_DIRECTIONS, KS_N_DTYPES, KS_N_LAYOUTS: none that ours has, as
 * fp8. */
struct ks_domain {
    uint32_t i_op; /* index into ks_operators */
    uint32_t direction, dtype, layout;
    uint32_t ndim; /* 1, 2, 3; 0: any */
};

/* Moves as a struct, with all that it owns; ks_family_release() frees it. */
struct ks_family {
    char name[48];     /* "host_forward" */
    char path[1024];   /* of the family file */
    char source[1024]; /* absolute path of the source that is included once per instance; "": names
                          and traits only, every cell is unsupported */
    char why[1024];
    char extra_flags[256], link_flags[256];
    char op[32];
    uint32_t i_op;                           /* index into ks_operators */
    uint32_t direction, dtype, layout, ndim; /* where fixed; use ks_instance_domain() */
    uint8_t domain_trait[4]; /* of the four above: 1 + the trait's index; 0: fixed */
    bool is_program;         /* a program that times kernels itself (programs.h): it takes every
                                problem of its operator, and is not built */
    char backend[16];        /* one of ks_family_backends */
    char archs[256];         /* those that `inabilities` know, separated by blanks; "": all; the
                                emulator needs not be among them */
    char name_pattern[256];  /* "gconv_fwd_fp32_2d_{tile_m}x{tile_n}_{pipeline}_vb{vector_bytes}" */
    char name_aliases[4][256]; /* patterns that are read, too; what they lack is the default */
    uint32_t n_name_aliases;
    struct ks_trait *traits; /* [n_traits], KS_TRAITS_MAX at most; so the lists below */
    uint32_t n_traits;
    struct ks_attribute *attributes;
    uint32_t n_attributes;
    char flags[2048]; /* texts of KS_ROLE_FLAGS, each NUL-terminated; the first is "" */
    uint32_t n_flags;
    struct ks_rule *rules;
    uint32_t n_rules;
    struct ks_isa_need *needs;
    uint32_t n_needs;
    struct ks_inability *inabilities;
    uint32_t n_inabilities;
    void *store; /* owned: the block in which these lists lie */
};

/* One instance: indices of trait values. Same everywhere: the machine is not part of it. */
struct ks_instance {
    uint64_t id; /* digest of family + traits + ABI major */
    uint32_t i_family;
    uint32_t
        i_kernels; /* entry of the job's `kernels` that names it; KS_NO_KERNELS (helpers.h): none */
    uint8_t value[KS_TRAITS_MAX]; /* index into trait.value */
    char name[KS_INSTANCE_NAME];  /* unique within a grid */
    char missing[160]; /* "" or why the job's device cannot run it: "needs avx512f, this CPU lacks
                          it", "family ck has no kernel of its own: a plug-in supplies it" */
};

/* Reads and checks a family file: names, values, pattern, every expression. KS_ENOENT, KS_EFORMAT,
 * KS_EINVAL with file, line and key. The caller releases it. */
int ks_family_load(const char *path, struct ks_family *f_out, struct ks_err *err);
/* The same from text; `name` stands for the absolute path of the file. */
int ks_family_parse(const char *text, size_t len, const char *name, struct ks_family *f_out,
                    struct ks_err *err);
/* Frees what it owns; it is zero then. A zeroed one is fine. */
void ks_family_release(struct ks_family *f);
/* Markdown, appended: the traits with values, defaults, place in the name, macro or role and
 * meaning, what values with attributes stand for, and every rule with its reason. */
void ks_family_describe(const struct ks_family *f, struct ks_buf *markdown_out);
/* What a family may name as its backend: "gpu" for all GPUs, or one of ks_backends. */
extern const char *const ks_family_backends[]; /* NULL-terminated */
/* Are its instances for a job on this backend? */
bool ks_family_serves(const struct ks_family *f, const struct ks_backend *backend);
/* The first of ks_backends that it serves; NULL: none. */
const struct ks_backend *ks_family_backend(const struct ks_family *f);
/* Index of a trait, -1 when there is none of that name. */
int ks_family_trait(const struct ks_family *f, const char *trait);
/* Index of the first trait of a role, -1 when there is none. */
int ks_family_role(const struct ks_family *f, enum ks_trait_role role);
/* Index of a value by its text or alias ("packed", "14"), -1 when the trait has none such. */
int ks_trait_value(const struct ks_trait *t, const char *text);
int64_t ks_instance_trait(const struct ks_family *f, const struct ks_instance *i,
                          const char *trait); /* INT64_MIN when it has none of that name */

void ks_instance_domain(const struct ks_family *f, const struct ks_instance *i,
                        struct ks_domain *out);
/* "forward fp32 2d nhwgc", appended. */
void ks_instance_domain_text(const struct ks_family *f, const struct ks_instance *i,
                             struct ks_buf *text_out);
/* The compiler that the instance asks for; borrowed from the family, NULL: it has no such trait. */
const char *ks_instance_compiler(const struct ks_family *f, const struct ks_instance *i);
/* Appended: the flags of its values, separated by blanks, without those of the whole family. */
void ks_instance_flags(const struct ks_family *f, const struct ks_instance *i,
                       struct ks_buf *text_out);
/* Appended: "split_k=4 batch=2", every trait of role "argument" in the family's order. */
void ks_instance_arguments(const struct ks_family *f, const struct ks_instance *i,
                           struct ks_buf *text_out);
enum ks_numerics ks_instance_numerics(const struct ks_family *f, const struct ks_instance *i);
/* By the trait of role "threads"; 1 without one. */
uint32_t ks_instance_threads(const struct ks_family *f, const struct ks_instance *i);

/* "family=host_gconv_fwd abi=1 pipeline=indirect tile_m=14 ..." : the text that is hashed */
void ks_instance_canonical(const struct ks_family *f, const struct ks_instance *i,
                           struct ks_buf *text_out);
/* The same, and " | tile_m=16 tile_n=64" behind it when values have attributes: what a journal
 * keeps, so that tables have a column for each. */
void ks_instance_record_text(const struct ks_family *f, const struct ks_instance *i,
                             struct ks_buf *text_out);
/* Fills name and id from the values. KS_EINVAL when the name does not fit. */
int ks_instance_finish(const struct ks_family *f, struct ks_instance *i, struct ks_err *err);
/* parse(print(x)) == x: traits from an instance's name. KS_EINVAL when it is no name of the family,
 * KS_EFORMAT when more than one combination has it. Rules are not applied; i_family is 0. */
int ks_instance_parse_name(const struct ks_family *f, const char *name, struct ks_instance *out,
                           struct ks_err *err);

struct ks_filters;

/* Zero-initialise, set what the device can, add configs, release. */
struct ks_kernel_set {
    struct ks_family *families;
    uint32_t n_families;
    struct ks_instance *instances;
    uint32_t n_instances, cap_instances;
    const char *cpu_flags; /* words as in /proc/cpuinfo, borrowed; NULL: `needs` are not checked */
    const char *cpu_name;  /* for `missing`; NULL: "this CPU" */
    const char *arch;      /* "gfx942", "native", borrowed; NULL: nothing is missing, as on sim */
    bool has_plugin; /* of what is added: kernels come from elsewhere than the family's source */
    const struct ks_filters *filters; /* of a filter file, borrowed; NULL: none */
    const char *filter_of; /* where the filter of ks_kernel_set_add() stands, for messages:
                              "--filter"; NULL: "filter of 'CONFIG'" */
    uint64_t n_filtered;   /* instances that filters have kept out so far */
};
/* Makes the set check what a device of this arch can run: "native" of a CPU, a level of x86-64, or
 * a GPU ("gfx942", "sm_90", "emu"), whose CPU needs are not checked. Borrows arch and flags, which
 * it fills. KS_EINVAL for an unknown arch of a CPU. */
int ks_kernel_set_arch(struct ks_kernel_set *set, const char *arch, struct ks_buf *flags,
                       struct ks_err *err);
/* All instances of a config file that pass `filter` (expression over trait names, "" = all),
 * appended in the config's order; the family is added unless it is there. KS_EINVAL: an instance
 * named twice (also by an earlier config), two instances of one name or id, a name that could be
 * read in two ways, nothing left. Combinations excluded by rules are counted in *n_excluded_out
 * (may be NULL) and in the rules. The set is unchanged on failure. */
int ks_kernel_set_add(struct ks_kernel_set *set, const char *config_path, const char *filter,
                      uint64_t *n_excluded_out, struct ks_err *err);
void ks_kernel_set_release(struct ks_kernel_set *set);

#endif
