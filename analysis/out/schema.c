/* SPDX-License-Identifier: MIT */
/* schema.c - lists a table's columns: type, unit, missing value, role, table and meaning */
#include "analysis/out/schema.h"
#include "base/text.h"

/* Of a column that is shown as words the type of these. */
static const char *type_of(const struct ks_column *c)
{
    return c->show == KS_SHOW_PLAIN || c->show == KS_SHOW_HEX ? ks_col_type_text(c->type) : "utf8";
}

static const char *table_of(const struct ks_source *s)
{
    if (s->from == KS_FROM_LEARN || s->from == KS_FROM_CLASS)
        return "";
    return s->from == KS_FROM_TRAITS ? "/kernel_traits/long" : ks_table_defs[s->from].path;
}

void ks_schema_put(const struct ks_sources *sources, struct ks_buf *out)
{
    char missing[48];

    ks_buf_printf(out, "column,type,unit,missing,role,table,meaning\n");
    for (size_t i = 0; i < sources->n; i++) {
        const struct ks_source *s = &sources->at[i];

        ks_column_missing_text(&s->def, missing);
        ks_buf_printf(out, "%s,%s,%s,%s,%s,%s,", s->name, type_of(&s->def), s->def.units, missing,
                      ks_col_role_text(s->def.role), table_of(s));
        ks_csv_put(out, s->def.doc);
        ks_buf_u8(out, '\n');
    }
}
