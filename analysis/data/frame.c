/* SPDX-License-Identifier: MIT */
/* frame.c - finds a column by name, and says which one is missing or of another type */
#include "analysis/data/frame.h"

#include <string.h>

static const char *const type_names[] = { "a number", "an integer", "text" };

const struct ks_df_column *ks_df_find(const struct ks_df *f, const char *name)
{
    for (size_t i = 0; i < f->n_columns; i++)
        if (strcmp(f->columns[i].name, name) == 0)
            return &f->columns[i];
    return NULL;
}

int ks_df_need(const struct ks_df *f, const char *name, enum ks_df_type type,
               const struct ks_df_column **column_out, struct ks_err *err)
{
    const struct ks_df_column *c = ks_df_find(f, name);

    if (!c)
        return ks_fail(err, KS_EINVAL, "the frame has no column '%s'", name);
    if (c->type != type)
        return ks_fail(err, KS_EINVAL, "column '%s' is %s, not %s", name, type_names[c->type],
                       type_names[type]);
    *column_out = c;
    return 0;
}
