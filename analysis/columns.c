/* SPDX-License-Identifier: MIT */
#include "analysis/columns.h"
#include "analysis/columns_v1.h"
#include "base/hash.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a row refers to; NULL where the file does not know it. */
struct joined {
    const struct ks_row *row;
    const struct ks_row *code; /* the row itself, or the one an alias points to */
    const struct ks_problem_row *problem;
    const void *rows[KS_T_COUNT]; /* of the tables below */
};

/* The tables whose columns are joined, in their order among the columns of a role. */
static const enum ks_table_id joined_tables[] = { KS_T_RUNS,    KS_T_PROBLEMS, KS_T_MEASUREMENTS,
                                                  KS_T_KERNELS, KS_T_DEVICES,  KS_T_BLOCKS };
#define N(a) (sizeof(a) / sizeof((a)[0]))

/* Where a value is from: one of enum ks_table_id, or */
enum { FROM_TRAITS = KS_T_COUNT, FROM_COMPUTED };

struct column {
    struct ks_column def;
    unsigned from;
    size_t i;   /* trait: of the names; computed: of the functions */
    bool is_ms; /* nanoseconds that are shown as ms, 0 as nothing (KS_COLUMNS_V1) */
};

struct ks_columns {
    const struct ks_store_file *file; /* NULL: only the schema is wanted */
    struct column *columns;           /* [n] */
    size_t n, cap;
    char **traits; /* [n_traits] "trait_..." of the distinct keys in order of first appearance */
    size_t n_traits;
};

/* ---- computed values ---- */

void ks_f32_text(double v, char text_out[32])
{
    for (int digits = 6; digits <= 9; digits++) {
        snprintf(text_out, 32, "%.*g", digits, v);
        if (strtof(text_out, NULL) == (float)v)
            return;
    }
}

static void put_f64(struct ks_buf *out, double v)
{
    char text[32];

    ks_f64_text(v, text);
    ks_buf_printf(out, "%s", text);
}

static void put_f32(struct ks_buf *out, double v)
{
    char text[32];

    ks_f32_text(v, text);
    ks_buf_printf(out, "%s", text);
}

static bool is_ok(const struct ks_row *row)
{
    return row->outcome == KS_O_OK && row->time_median_ns > 0;
}

/* flop/ns = Gflop/s, bytes/ns = GB/s. */
static void put_gflops_per_s(const struct joined *j, struct ks_buf *out)
{
    if (is_ok(j->row) && j->problem && j->problem->flops > 0)
        put_f64(out, j->problem->flops / j->row->time_median_ns);
}

static void put_gbytes_per_s(const struct joined *j, struct ks_buf *out)
{
    if (is_ok(j->row) && j->problem && j->problem->min_bytes > 0)
        put_f64(out, j->problem->min_bytes / j->row->time_median_ns);
}

/* How the machine code did, whichever instance it was measured as. */
static void put_code_outcome(const struct joined *j, struct ks_buf *out)
{
    if (j->code)
        ks_buf_printf(out, "%s", j->code->outcome_text);
}

static void put_code_time_median_ns(const struct joined *j, struct ks_buf *out)
{
    if (j->code && j->code->time_median_ns > 0)
        put_f32(out, j->code->time_median_ns);
}

static void put_code_time_over_anchor(const struct joined *j, struct ks_buf *out)
{
    if (j->code && j->code->time_over_anchor > 0)
        put_f32(out, j->code->time_over_anchor);
}

static const struct {
    struct ks_column def;
    void (*put)(const struct joined *j, struct ks_buf *out); /* the value, or nothing */
} computed[] = {
#define D(type_, name_, units_, role_, doc_)                                                       \
    { { .name = #name_,                                                                            \
        .type = KS_COL_##type_,                                                                    \
        .role = KS_CR_##role_,                                                                     \
        .units = (units_),                                                                         \
        .doc = (doc_) },                                                                           \
      put_##name_ },
    KS_COMPUTED_COLUMNS(D)
#undef D
};

/* ---- values ---- */

static void put_word(struct ks_buf *out, uint8_t v, const char *first, const char *second)
{
    const char *const words[] = { "", first, second };

    ks_buf_printf(out, "%s", v < 3 ? words[v] : "");
}

static void put_stored(const struct ks_column *c, const void *at, struct ks_buf *out)
{
    switch (c->type) {
    case KS_COL_TEXT:
        ks_csv_put(out, at);
        break;
    case KS_COL_U8:
        ks_buf_printf(out, "%u", *(const uint8_t *)at);
        break;
    case KS_COL_U32:
        ks_buf_printf(out, "%" PRIu32, *(const uint32_t *)at);
        break;
    case KS_COL_U64:
        ks_buf_printf(out, "%" PRIu64, *(const uint64_t *)at);
        break;
    case KS_COL_I32:
        ks_buf_printf(out, "%" PRId32, *(const int32_t *)at);
        break;
    case KS_COL_I64:
        ks_buf_printf(out, "%" PRId64, *(const int64_t *)at);
        break;
    case KS_COL_F32:
        put_f32(out, *(const double *)at);
        break;
    default:
        put_f64(out, *(const double *)at);
        break;
    }
}

static void put_shown(const struct ks_column *c, const void *at, struct ks_buf *out)
{
    char text[128];

    switch (c->show) {
    case KS_SHOW_HEX:
        ks_hex64(*(const uint64_t *)at, text);
        ks_buf_printf(out, "%s", text);
        break;
    case KS_SHOW_OUTCOME:
        ks_buf_printf(out, "%s", ks_outcome_text(*(const uint8_t *)at));
        break;
    case KS_SHOW_FLAGS:
        ks_flags_text(*(const uint32_t *)at, text, sizeof(text));
        ks_buf_printf(out, "%s", text);
        break;
    case KS_SHOW_STOP:
        if (*(const uint8_t *)at != KS_STOP_NONE)
            ks_buf_printf(out, "%s", ks_stop_text(*(const uint8_t *)at));
        break;
    case KS_SHOW_CHECK:
        put_word(out, *(const uint8_t *)at, "passed", "failed");
        break;
    case KS_SHOW_YES_NO:
        put_word(out, *(const uint8_t *)at, "yes", "no");
        break;
    default:
        put_stored(c, at, out);
        break;
    }
}

static void put_ms(uint64_t ns, struct ks_buf *out)
{
    if (ns)
        put_f64(out, (double)ns / 1e6);
}

static void put_member(const struct column *c, const struct joined *j, struct ks_buf *out)
{
    const char *row = j->rows[c->from], *at;
    bool is_row = c->from == KS_T_MEASUREMENTS;

    if (!row)
        return;
    at = row + c->def.offset;
    if (c->is_ms)
        put_ms(*(const uint64_t *)(const void *)at, out);
    else if (is_row ? ks_row_has(j->row, &c->def) : ks_column_has(&c->def, at))
        put_shown(&c->def, at, out);
}

static struct joined join(const struct ks_store_file *f, const struct ks_row *row,
                          const struct ks_row *code)
{
    const struct ks_store_info *n = ks_store_info(f);
    struct joined j = { .row = row, .code = code };

    if (row->problem < n->n_problems)
        j.problem = ks_store_problem(f, row->problem);
    j.rows[KS_T_MEASUREMENTS] = row;
    j.rows[KS_T_PROBLEMS] = j.problem;
    j.rows[KS_T_RUNS] = row->run < n->n_runs ? ks_store_run(f, row->run) : NULL;
    j.rows[KS_T_KERNELS] = row->kernel < n->n_kernels ? ks_store_kernel(f, row->kernel) : NULL;
    j.rows[KS_T_DEVICES] = row->device < n->n_devices ? ks_store_device(f, row->device) : NULL;
    j.rows[KS_T_BLOCKS] = row->block < n->n_blocks ? ks_store_block(f, row->block) : NULL;
    return j;
}

void ks_columns_row(const struct ks_columns *c, const struct ks_row *row, const struct ks_row *code,
                    struct ks_buf *out)
{
    struct joined j = join(c->file, row, code);

    for (const struct column *k = c->columns; k < c->columns + c->n; k++) {
        if (k->from == FROM_COMPUTED) {
            computed[k->i].put(&j, out);
        } else if (k->from == FROM_TRAITS) {
            const char *key = c->traits[k->i] + strlen(KS_TRAIT_PREFIX);
            const char *value = ks_store_trait_value(c->file, row->instance_id, key);

            if (value)
                ks_csv_put(out, value);
        } else {
            put_member(k, &j, out);
        }
        ks_buf_u8(out, ',');
    }
    if (ks_buf_ok(out))
        out->data[out->len - 1] = '\n';
}

void ks_columns_header(const struct ks_columns *c, struct ks_buf *out)
{
    for (size_t i = 0; i < c->n; i++)
        ks_buf_printf(out, "%s,", c->columns[i].def.name);
    if (ks_buf_ok(out))
        out->data[out->len - 1] = '\n';
}

/* Of a table shown as text the type of what is shown. */
static const char *type_of(const struct ks_column *c)
{
    return c->show == KS_SHOW_PLAIN || c->show == KS_SHOW_HEX ? ks_col_type_text(c->type) : "utf8";
}

void ks_columns_schema(const struct ks_columns *c, struct ks_buf *out)
{
    char missing[48];

    ks_buf_printf(out, "column,type,unit,missing,role,table,meaning\n");
    for (const struct column *k = c->columns; k < c->columns + c->n; k++) {
        const char *table = k->from == FROM_COMPUTED ? ""
                            : k->from == FROM_TRAITS ? "/kernel_traits/long"
                                                     : ks_table_defs[k->from].path;

        ks_column_missing_text(&k->def, missing);
        ks_buf_printf(out, "%s,%s,%s,%s,%s,%s,", k->def.name, type_of(&k->def), k->def.units,
                      missing, ks_col_role_text(k->def.role), table);
        ks_csv_put(out, k->def.doc);
        ks_buf_u8(out, '\n');
    }
}

/* ---- which columns there are ---- */

static int add(struct ks_columns *c, const struct ks_column *def, unsigned from, size_t i,
               struct ks_err *err)
{
    if (c->n == c->cap) {
        size_t cap = c->cap ? 2 * c->cap : 128;
        struct column *more = realloc(c->columns, cap * sizeof(*more));

        if (!more)
            return ks_fail(err, KS_ENOMEM, "out of memory for %zu columns", cap);
        c->columns = more;
        c->cap = cap;
    }
    c->columns[c->n++] = (struct column){ .def = *def, .from = from, .i = i };
    return 0;
}

static bool has_column(const struct ks_columns *c, const char *name)
{
    for (size_t i = 0; i < c->n; i++)
        if (strcmp(c->columns[i].def.name, name) == 0)
            return true;
    return false;
}

/* Dimensions of the file, or those of all operators. */
static int add_dims(struct ks_columns *c, struct ks_err *err)
{
    uint32_t n = c->file ? ks_store_info(c->file)->n_dims : 0;
    int rc = 0;

    for (uint32_t i = 0; rc == 0 && i < n; i++) {
        struct ks_column def = ks_dim_column_def(ks_store_dim_name(c->file, i), i);

        rc = add(c, &def, KS_T_PROBLEMS, 0, err);
    }
    for (int op = 0; !c->file && rc == 0 && ks_operators[op]; op++) {
        for (int i = 0; rc == 0 && ks_operators[op]->dim_names[i]; i++) {
            struct ks_column def =
                ks_dim_column_def(ks_dim_column(ks_operators[op]->dim_names[i]), 0);

            rc = has_column(c, def.name) ? 0 : add(c, &def, KS_T_PROBLEMS, 0, err);
        }
    }
    return rc;
}

static int add_traits(struct ks_columns *c, struct ks_err *err)
{
    struct ks_column def = { .name = KS_TRAIT_PREFIX "*",
                             .type = KS_COL_TEXT,
                             .role = KS_CR_FEATURE,
                             .units = "",
                             .doc = "trait of the instance's family, or attribute of a trait" };
    int rc = c->file ? 0 : add(c, &def, FROM_TRAITS, 0, err);

    for (size_t i = 0; rc == 0 && i < c->n_traits; i++) {
        def.name = c->traits[i];
        rc = add(c, &def, FROM_TRAITS, i, err);
    }
    return rc;
}

static int add_table(struct ks_columns *c, enum ks_table_id t, uint8_t role, struct ks_err *err)
{
    const struct ks_table_def *def = &ks_table_defs[t];
    int rc = 0;

    for (size_t k = 0; rc == 0 && k < def->n_columns; k++)
        if (def->columns[k].is_in_csv && def->columns[k].role == role)
            rc = add(c, &def->columns[k], t, 0, err);
    if (rc == 0 && t == KS_T_PROBLEMS && role == KS_CR_FEATURE)
        rc = add_dims(c, err);
    if (rc == 0 && t == KS_T_KERNELS && role == KS_CR_FEATURE)
        rc = add_traits(c, err);
    return rc;
}

static int add_all(struct ks_columns *c, struct ks_err *err)
{
    int rc = 0;

    for (uint8_t role = 0; role < KS_CR_COUNT; role++) {
        for (size_t t = 0; rc == 0 && t < N(joined_tables); t++)
            rc = add_table(c, joined_tables[t], role, err);
        for (size_t i = 0; rc == 0 && i < N(computed); i++)
            if (computed[i].def.role == role)
                rc = add(c, &computed[i].def, FROM_COMPUTED, i, err);
    }
    return rc;
}

static bool is_trait_known(const struct ks_columns *c, const char *key)
{
    for (size_t i = 0; i < c->n_traits; i++)
        if (strcmp(c->traits[i] + strlen(KS_TRAIT_PREFIX), key) == 0)
            return true;
    return false;
}

static int find_traits(struct ks_columns *c, struct ks_err *err)
{
    for (uint32_t i = 0; c->file && i < ks_store_info(c->file)->n_traits; i++) {
        const char *key = ks_store_trait(c->file, i)->key;
        size_t size = strlen(KS_TRAIT_PREFIX) + strlen(key) + 1;
        char **traits;

        if (is_trait_known(c, key))
            continue;
        traits = realloc(c->traits, (c->n_traits + 1) * sizeof(*traits));
        if (traits)
            c->traits = traits;
        if (!traits || !(traits[c->n_traits] = malloc(size)))
            return ks_fail(err, KS_ENOMEM, "out of memory");
        snprintf(traits[c->n_traits++], size, KS_TRAIT_PREFIX "%s", key);
    }
    return 0;
}

/* ---- version 1 ---- */

/* Moves the columns of a name, or of all dimensions or traits, to the end of `to`. */
static void move_v1(struct ks_columns *c, const char *old, struct column *to, size_t *n_io)
{
    const char *now = ks_column_new_name(KS_RENAMED_CSV, old);

    for (size_t i = 0; i < c->n; i++) {
        const struct column *k = &c->columns[i];
        bool is_dim =
            k->from == KS_T_PROBLEMS && !ks_table_column(&ks_table_defs[k->from], k->def.name);
        bool is_it = strcmp(old, KS_V1_DIMS) == 0     ? is_dim
                     : strcmp(old, KS_V1_TRAITS) == 0 ? k->from == FROM_TRAITS
                                                      : !is_dim && strcmp(k->def.name, now) == 0;

        if (!is_it || *n_io == c->n)
            continue;
        to[*n_io] = *k;
        to[*n_io].def.name = ks_column_old_name(KS_RENAMED_CSV, k->def.name);
        to[*n_io].is_ms = ks_v1_is_ms(to[*n_io].def.name);
        if (strcmp(now, "block_id") == 0)
            to[*n_io].def.show = KS_SHOW_PLAIN; /* decimal */
        (*n_io)++;
    }
}

static int order_v1(struct ks_columns *c, struct ks_err *err)
{
    struct column *ordered = malloc(c->n * sizeof(*ordered));
    size_t n = 0;

    if (!ordered)
        return ks_fail(err, KS_ENOMEM, "out of memory for %zu columns", c->n);
    for (size_t i = 0; ks_v1_columns[i]; i++)
        move_v1(c, ks_v1_columns[i], ordered, &n);
    free(c->columns);
    c->columns = ordered;
    c->cap = c->n;
    c->n = n;
    return 0;
}

int ks_columns_create(const struct ks_store_file *f, enum ks_columns_version version,
                      struct ks_columns **c_out, struct ks_err *err)
{
    struct ks_columns *c = calloc(1, sizeof(*c));
    int rc;

    if (!c)
        return ks_fail(err, KS_ENOMEM, "out of memory");
    c->file = f;
    rc = find_traits(c, err);
    if (rc == 0)
        rc = add_all(c, err);
    if (rc == 0 && version == KS_COLUMNS_V1)
        rc = order_v1(c, err);
    if (rc < 0) {
        ks_columns_destroy(c);
        return rc;
    }
    *c_out = c;
    return 0;
}

void ks_columns_destroy(struct ks_columns *c)
{
    if (!c)
        return;
    for (size_t i = 0; i < c->n_traits; i++)
        free(c->traits[i]);
    free(c->traits);
    free(c->columns);
    free(c);
}
