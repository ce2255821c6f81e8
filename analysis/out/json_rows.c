/* SPDX-License-Identifier: MIT */
/* json_rows.c - writes a JSON array with an object per row; ids are hex, what is missing is null */
#include "analysis/out/number.h"
#include "analysis/out/writer.h"
#include "json/json.h"

#include <math.h>
#include <stdlib.h>

struct state {
    struct ks_jw w;
    bool is_open;
};

static void release(void *state)
{
    struct state *s = state;

    if (s->is_open)
        ks_jw_drop(&s->w);
}

static int begin(void *state, const struct ks_df *f, size_t n_columns, struct ks_sink *to,
                 struct ks_err *err)
{
    struct state *s = state;

    (void)f;
    (void)n_columns;
    (void)err;
    ks_jw_init(&s->w, &to->text, true);
    ks_jw_open(&s->w, NULL, '[');
    s->is_open = true;
    return 0;
}

static void put_number(struct ks_jw *w, const struct ks_df_column *c, size_t row)
{
    char text[KS_NUMBER_TEXT];
    double v;

    ks_number_cell(c, ks_df_at(c, row), text);
    if (c->type == KS_DF_F64) {
        v = strtod(text, NULL); /* of a float the number that is shown */
        if (isfinite(v))
            ks_jw_real(w, c->name, v);
        else
            ks_jw_null(w, c->name);
    } else if (c->show == KS_AS_HEX) {
        ks_jw_str(w, c->name, text);
    } else if (c->show == KS_AS_UNSIGNED) {
        ks_jw_u64(w, c->name, (uint64_t)c->values.i64[ks_df_at(c, row)]);
    } else {
        ks_jw_int(w, c->name, c->values.i64[ks_df_at(c, row)]);
    }
}

static int put(void *state, const struct ks_df *f, size_t n_columns, struct ks_sink *to,
               struct ks_err *err)
{
    struct state *s = state;
    int rc = 0;

    for (size_t row = 0; rc == 0 && row < f->n_rows; row++) {
        ks_jw_open(&s->w, NULL, '{');
        for (size_t i = 0; i < n_columns; i++) {
            const struct ks_df_column *c = &f->columns[i];

            if (!ks_df_has(c, row))
                ks_jw_null(&s->w, c->name);
            else if (c->type == KS_DF_TEXT)
                ks_jw_str(&s->w, c->name, ks_df_text(c, row));
            else
                put_number(&s->w, c, row);
        }
        ks_jw_close(&s->w, '}');
        rc = ks_sink_step(to, err);
    }
    return rc;
}

static int end(void *state, struct ks_sink *to, struct ks_err *err)
{
    struct state *s = state;

    ks_jw_close(&s->w, ']');
    s->is_open = false;
    ks_buf_u8(&to->text, '\n');
    return ks_sink_flush(to, err);
}

const struct ks_format ks_format_json = {
    .name = "json",
    .state_size = sizeof(struct state),
    .begin = begin,
    .put = put,
    .end = end,
    .release = release,
};
