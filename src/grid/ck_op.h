/* SPDX-License-Identifier: MIT */
/* ck_op.h - which operation of Composable Kernel's tile engine a config is of, and what its
 * `problem` says of the kernels; between the ck_*.c files. */
#ifndef KS_GRID_CK_OP_H
#define KS_GRID_CK_OP_H

#include "base/err.h"
#include "json/json.h"

#include <stdbool.h>

struct ks_ck_op {
    const char *name;   /* as the library's folder is called: "gemm_streamk" */
    const char *family; /* its file in the installed data; NULL: there is no family for it */
};

/* The operation of a config that lies at `path`. In this order: the key `operation`; the nearest
 * part of the path that begins with the name of an operation; what only one operation has (a
 * reduction strategy, a number of groups, preshuffled pipelines); `variant` of a convolution; a
 * plain GEMM. KS_EINVAL: the name is unknown, or there is no family for it. */
int ks_ck_op_find(const struct ks_json *doc, const struct ks_node *root, const char *path,
                  const struct ks_ck_op **op_out, struct ks_err *err);

/* What `problem` of a GEMM config fixes: "rcr", "fp16"; "": nothing. KS_EINVAL: several values,
 * matrices of different types, only some of the layouts, an unknown key. */
struct ks_ck_problem {
    char layout[4];
    char dtype[16];
};
int ks_ck_problem_read(const struct ks_json *doc, const struct ks_node *problem,
                       struct ks_ck_problem *out, struct ks_err *err);

#define KS_CK_KEYS_MAX 64

/* ks_node_only(), but keys that begin with '_' are comments and may stand everywhere. keys:
 * NULL-terminated, at most KS_CK_KEYS_MAX. */
int ks_ck_only(const struct ks_json *doc, const struct ks_node *obj, const char *const *keys,
               struct ks_err *err);

#endif
