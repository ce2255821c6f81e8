/* SPDX-License-Identifier: MIT */
/* t1.h - tuning problems in T1, the input format of the FAIR auto-tuning effort (schema 1.0.0,
 * github.com/odgaard/TuningSchema): parameters with Python lists and conditions as Python
 * expressions. Keys that the schema does not name are legal; the language HIP and C are extensions.
 *
 * A T1 file is a family that lives in memory: its parameters are the traits, its conditions the
 * rules, and it has no operator and no source, so that every cell of it is unsupported. */
#ifndef KS_GRID_T1_H
#define KS_GRID_T1_H

#include "base/buf.h"
#include "base/err.h"
#include "grid/family.h"
#include "json/json.h"

#include <stdbool.h>

struct ks_kernel_reader;
extern const struct ks_kernel_reader ks_read_t1;

enum ks_t1_type { KS_T1_INT, KS_T1_UINT, KS_T1_FLOAT, KS_T1_BOOL, KS_T1_STRING, KS_T1_TYPES };

bool ks_t1_is(const struct ks_node *root);
/* Index of the type's name in the schema; -1: there is none such. */
int ks_t1_type_from(const char *name);
const char *ks_t1_type_name(enum ks_t1_type type);

/* The whole document as a family whose path is `path` (absolute): checked in every part that the
 * schema demands. KS_EINVAL with file, line, key and, in expressions, the column. */
int ks_t1_family(const struct ks_json *doc, const char *path, struct ks_family *f_out,
                 struct ks_err *err);

/* The set as T1: the values that occur, and as conditions the family's rules, those of `filters`
 * (expressions; NULL-terminated) that a reader of T1 understands, and what else it takes so that
 * values and conditions make up exactly this set. What the schema wants besides comes from the T1
 * file where the family is one. KS_EUNSUPPORTED: instances of several families, or a set that would
 * need more conditions than ks_t1_family() reads. */
int ks_t1_export(const struct ks_kernel_set *set, const char *const *filters,
                 struct ks_buf *json_out, struct ks_err *err);

#endif
