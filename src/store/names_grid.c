/* SPDX-License-Identifier: MIT */
/* names_grid.c - first pass: numbers problems, instances and their builds */
#include "store/index.h"
#include "store/text.h"

#include <stdio.h>
#include <string.h>

#define TEXT_COPY(to, from) snprintf((to), sizeof(to), "%.*s", (int)sizeof(to) - 1, (from))

/* ---- problems ---- */

/* The column of a dimension; it is made when no earlier problem had it. */
static int dim_column(struct ks_index *x, const char *name, uint32_t *i_out, struct ks_err *err)
{
    struct ks_table_def *def = &x->defs[KS_T_PROBLEMS];
    uint32_t n_fixed = (uint32_t)def->n_columns - x->n_dims;
    struct ks_column *c;

    for (uint32_t i = 0; i < x->n_dims; i++) {
        if (strcmp(x->problem_columns[n_fixed + i].name, name) == 0) {
            *i_out = i;
            return 0;
        }
    }
    if (x->n_dims == KS_STORE_DIMS || def->n_columns == KS_INDEX_COLUMNS)
        return ks_fail(err, KS_EUNSUPPORTED, "more than %d distinct dimensions", KS_STORE_DIMS);
    c = &x->problem_columns[def->n_columns++];
    *c = ks_dim_column_def(name, x->n_dims); /* the name is static: of the operator's table */
    *i_out = x->n_dims++;
    return 0;
}

/* Where the dimensions of an operator are, which most problems share with the one before. */
static int place_dims(struct ks_index *x, uint32_t op, struct ks_err *err)
{
    int rc = 0;

    if (x->dims_op == op + 1)
        return 0;
    x->dims_op = 0;
    for (uint32_t k = 0; rc == 0 && ks_operators[op]->dim_names[k]; k++)
        rc = dim_column(x, ks_dim_column(ks_operators[op]->dim_names[k]), &x->dim_of[k], err);
    if (rc == 0)
        x->dims_op = op + 1;
    return rc;
}

static int fill_problem(struct ks_index *x, struct ks_problem_row *row, struct ks_err *err)
{
    const struct ks_problem *p = &row->problem;
    const struct ks_operator *op = ks_operators[p->op];
    struct ks_abi_problem abi;
    int rc = place_dims(x, p->op, err);

    TEXT_COPY(row->operator, op->name);
    TEXT_COPY(row->direction, ks_direction_name(p->direction));
    TEXT_COPY(row->dtype, ks_dtype_name(p->dtype));
    TEXT_COPY(row->layout, ks_layout_name(p->layout));
    row->flops = ks_problem_flops(p);
    row->min_bytes = ks_problem_min_bytes(p);
    row->reduction = op->reduction(p);
    for (uint32_t k = 0; rc == 0 && op->dim_names[k]; k++)
        row->dim[x->dim_of[k]] = p->dim[k];
    op->to_abi(p, &abi);
    if (op->abi == KS_ABI_GROUPED_CONV) {
        row->out_d = abi.out[0];
        row->out_h = abi.out[1];
        row->out_w = abi.out[2];
    }
    return rc;
}

static int problem_row(struct ks_index *x, uint64_t id, struct ks_problem_row **row_out,
                       struct ks_err *err)
{
    struct ks_key key = { { id } };
    struct ks_problem_row *row;
    uint32_t i;
    bool is_new;
    int rc = ks_keys_add(&x->problem_keys, &key, &i, &is_new, err);

    if (rc == 0 && is_new)
        rc = ks_list_add(&x->problems, &row, err);
    if (rc < 0)
        return rc;
    row = ks_list_at(&x->problems, i);
    if (is_new) {
        row->problem_id = id;
        row->n_uses = 1;
        row->flops = row->min_bytes = KS_MISSING;
        row->reduction = row->out_d = row->out_h = row->out_w = KS_MISSING_DIM;
        for (size_t k = 0; k < KS_STORE_DIMS; k++)
            row->dim[k] = KS_MISSING_DIM;
    }
    *row_out = row;
    return 0;
}

int ks_index_put_problem(struct ks_index *x, uint64_t id, const char *name, const char *canonical,
                         int64_t count, const struct ks_problem *p, struct ks_err *err)
{
    struct ks_problem_row *row;
    int rc = problem_row(x, id, &row, err);

    if (rc < 0 || row->canonical[0])
        return rc;
    TEXT_COPY(row->problem_name, name);
    TEXT_COPY(row->canonical, canonical);
    row->n_uses = count;
    if (!p)
        return 0;
    row->problem = *p;
    row->has_problem = 1;
    row->problem.count = count;
    TEXT_COPY(row->problem.name, name);
    return fill_problem(x, row, err);
}

int ks_index_on_problem(struct ks_index *x, uint32_t run, const struct ks_journal_frame *f,
                        struct ks_err *err)
{
    struct ks_problem p;
    struct ks_name_rec n;
    int rc = ks_name_rec_decode(f->body, f->n, &n, err);

    (void)run;
    if (rc < 0)
        return rc;
    ks_text_clean(n.name);
    ks_text_clean(n.text);
    n.text[KS_CANONICAL - 1] = '\0';
    /* A text this program cannot read (a later operator) stays a text. */
    rc = ks_problem_parse(n.text, &p, NULL);
    return ks_index_put_problem(x, n.id, n.name, n.text, n.count, rc < 0 ? NULL : &p, err);
}

/* ---- instances and builds ---- */

static struct ks_code_rec unknown_code(void)
{
    struct ks_build_rec nothing;

    ks_build_rec_init(&nothing);
    return nothing.code;
}

/* The newest row of an instance; an empty one is made when there is none. */
static int instance_row(struct ks_index *x, uint32_t run, uint64_t instance, uint32_t *row_out,
                        struct ks_err *err)
{
    struct ks_key key = { { run, instance } };
    struct ks_kernel_row *row;
    uint32_t i, *newest, before = KS_NO_ROW;
    bool is_new;
    int rc = ks_keys_add(&x->instance_keys, &key, &i, &is_new, err);

    if (rc == 0 && is_new)
        rc = ks_list_add(&x->instance_row, &newest, err);
    if (rc == 0 && is_new)
        rc = ks_list_add(&x->kernels, &row, err);
    if (rc < 0)
        return rc;
    newest = ks_list_at(&x->instance_row, i);
    if (is_new) {
        *newest = (uint32_t)(x->kernels.n - 1);
        /* Instances of a run are numbered in the order in which they were named. */
        if (i > 0 && x->instance_keys.key[i - 1].part[0] == run)
            before = *(uint32_t *)ks_list_at(&x->instance_row, i - 1);
        row->run = run;
        row->instance_id = instance;
        row->code_group = KS_NO_ROW;
        row->code = unknown_code();
        if (before != KS_NO_ROW)
            row->i_instance =
                ((struct ks_kernel_row *)ks_list_at(&x->kernels, before))->i_instance + 1;
    }
    *row_out = *newest;
    return 0;
}

static int add_trait(struct ks_index *x, uint64_t instance, const char *family, const char *key,
                     size_t n_key, const char *value, size_t n_value, struct ks_err *err)
{
    struct ks_trait_row *row;
    int rc = ks_list_add(&x->traits, &row, err);

    if (rc < 0)
        return rc;
    row->instance_id = instance;
    TEXT_COPY(row->family, family);
    snprintf(row->key, sizeof(row->key), "%.*s", (int)n_key, key);
    snprintf(row->value, sizeof(row->value), "%.*s", (int)n_value, value);
    ks_text_clean(row->key);
    ks_text_clean(row->value);
    return 0;
}

/* "family=host_gconv abi=1 tile_m=14 ... | threads=256": one trait per word but the first two, then
 * the attributes, which are columns like traits. */
static int add_traits(struct ks_index *x, uint64_t instance, const char *family, const char *text,
                      struct ks_err *err)
{
    for (const char *p = text; *p;) {
        size_t n = strcspn(p, " ");
        const char *eq = memchr(p, '=', n);

        if (eq && strncmp(p, "family=", 7) != 0 && strncmp(p, "abi=", 4) != 0) {
            int rc = add_trait(x, instance, family, p, (size_t)(eq - p), eq + 1,
                               (size_t)(p + n - eq - 1), err);

            if (rc < 0)
                return rc;
        }
        p += n;
        p += strspn(p, " ");
    }
    return 0;
}

/* Attributes follow from the traits: they are no part of the canonical text. */
static size_t n_canonical(const char *text)
{
    const char *bar = strstr(text, " | ");

    return bar ? (size_t)(bar - text) : strlen(text);
}

int ks_index_put_instance(struct ks_index *x, uint32_t run, uint64_t id, const char *name,
                          const char *text, uint32_t *row_out, struct ks_err *err)
{
    struct ks_key key = { { id } };
    struct ks_kernel_row *row;
    const char *family;
    uint32_t i;
    bool is_new;
    int rc = instance_row(x, run, id, row_out, err);

    if (rc < 0)
        return rc;
    row = ks_list_at(&x->kernels, *row_out);
    TEXT_COPY(row->instance_name, name);
    snprintf(row->canonical, sizeof(row->canonical), "%.*s", (int)n_canonical(text), text);
    ks_text_clean(row->instance_name);
    ks_text_clean(row->canonical);
    family = strstr(row->canonical, "family=");
    if (family)
        snprintf(row->family, sizeof(row->family), "%.*s", (int)strcspn(family + 7, " "),
                 family + 7);
    rc = ks_keys_add(&x->trait_keys, &key, &i, &is_new, err);
    if (rc == 0 && is_new)
        rc = add_traits(x, id, row->family, text, err);
    return rc;
}

/* A name that is too long ends in its id. */
static void name_found(uint64_t id, const char *name, char *out, size_t cap)
{
    char hex[17];

    ks_hex64(id, hex);
    if (strlen(name) < cap)
        snprintf(out, cap, "%s", name);
    else
        snprintf(out, cap, "%.*s~%s", (int)(cap - 18), name, hex);
}

int ks_index_put_found(struct ks_index *x, uint32_t run, uint64_t id,
                       const struct ks_found_texts *t, struct ks_err *err)
{
    struct ks_key key = { { id } };
    struct ks_kernel_row *row;
    uint32_t at, i;
    bool is_new;
    int rc = instance_row(x, run, id, &at, err);

    if (rc < 0)
        return rc;
    row = ks_list_at(&x->kernels, at);
    name_found(id, t->name, row->instance_name, sizeof(row->instance_name));
    TEXT_COPY(row->canonical, t->canonical);
    TEXT_COPY(row->family, t->family);
    ks_text_clean(row->instance_name);
    ks_text_clean(row->canonical);
    ks_text_clean(row->family);
    rc = ks_keys_add(&x->trait_keys, &key, &i, &is_new, err);
    for (const char *p = t->traits; rc == 0 && is_new && *p;) {
        const size_t n = strcspn(p, "\n"), n_key = strcspn(p, "=");

        if (n_key < n)
            rc = add_trait(x, id, row->family, p, n_key, p + n_key + 1, n - n_key - 1, err);
        p += n + (p[n] == '\n');
    }
    return rc;
}

int ks_index_on_instance(struct ks_index *x, uint32_t run, const struct ks_journal_frame *f,
                         struct ks_err *err)
{
    struct ks_name_rec n;
    uint32_t row;
    int rc = ks_name_rec_decode(f->body, f->n, &n, err);

    if (rc < 0)
        return rc;
    ks_text_clean(n.name);
    ks_text_clean(n.text);
    return ks_index_put_instance(x, run, n.id, n.name, n.text, &row, err);
}

static struct ks_key build_key(uint32_t run, uint64_t instance, struct ks_id128 build)
{
    return (struct ks_key){ { run, instance, build.hi, build.lo } };
}

/* The row of one build. The instance's empty row is taken by its first build; a rebuilt one gets a
 * row of its own with the same names. */
static int build_row(struct ks_index *x, uint32_t run, uint64_t instance, struct ks_id128 build,
                     uint32_t *row_out, struct ks_err *err)
{
    struct ks_key key = build_key(run, instance, build);
    struct ks_kernel_row *row, *added;
    uint32_t i, newest = 0, *at;
    bool is_new;
    int rc = instance_row(x, run, instance, &newest, err);

    *row_out = newest;
    if (rc < 0 || ks_id128_is_zero(build))
        return rc;
    rc = ks_keys_add(&x->build_keys, &key, &i, &is_new, err);
    if (rc == 0 && is_new)
        rc = ks_list_add(&x->build_row, &at, err);
    if (rc < 0)
        return rc;
    at = ks_list_at(&x->build_row, i);
    row = ks_list_at(&x->kernels, newest);
    if (is_new && row->build_id[0]) {
        rc = ks_list_add(&x->kernels, &added, err);
        if (rc < 0)
            return rc;
        row = ks_list_at(&x->kernels, newest); /* may have moved */
        *added = *row;
        row = added;
        row->outcome = row->is_cached = 0;
        row->outcome_text[0] = row->reason[0] = row->compiler[0] = row->code_id[0] = '\0';
        row->compile_ns = row->object_bytes = 0;
        row->code = unknown_code();
        newest = (uint32_t)(x->kernels.n - 1);
        i = ks_keys_find(&x->instance_keys, &(struct ks_key){ { run, instance } });
        *(uint32_t *)ks_list_at(&x->instance_row, i) = newest;
    }
    if (is_new) {
        ks_hex128(build, row->build_id);
        *at = newest;
    }
    *row_out = *at;
    return 0;
}

static void set_code(struct ks_kernel_row *row, struct ks_id128 code)
{
    if (!ks_id128_is_zero(code))
        ks_hex128(code, row->code_id);
}

int ks_index_on_build(struct ks_index *x, uint32_t run, const struct ks_journal_frame *f,
                      struct ks_err *err)
{
    struct ks_kernel_row *row;
    struct ks_build_rec b;
    uint32_t i;
    int rc = ks_build_rec_decode(f->body, f->n, &b, err);

    if (rc == 0)
        rc = build_row(x, run, b.instance, b.build_id, &i, err);
    if (rc < 0)
        return rc;
    row = ks_list_at(&x->kernels, i);
    row->outcome = (uint8_t)b.outcome;
    TEXT_COPY(row->outcome_text, ks_outcome_text(b.outcome));
    row->is_cached = (uint8_t)b.is_cached;
    row->compile_ns = b.compile_ns;
    row->object_bytes = b.object_bytes;
    row->code = b.code;
    ks_text_clean(row->code.target);
    ks_text_clean(b.reason);
    ks_text_clean(b.compiler);
    TEXT_COPY(row->reason, b.reason);
    TEXT_COPY(row->compiler, b.compiler);
    set_code(row, b.code_id);
    return 0;
}

int ks_index_name_record(struct ks_index *x, uint32_t run, const struct ks_record *r,
                         struct ks_err *err)
{
    struct ks_problem_row *problem;
    struct ks_kernel_row *row;
    uint32_t i;
    int rc = problem_row(x, r->cell.problem, &problem, err);

    if (rc == 0)
        rc = build_row(x, run, r->cell.instance, r->build_id, &i, err);
    if (rc < 0)
        return rc;
    row = ks_list_at(&x->kernels, i);
    if (!row->code_id[0] && !ks_id128_is_zero(r->build_id))
        set_code(row, r->code_id);
    return 0;
}

/* Rows with equal code are one group. */
int ks_index_group_codes(struct ks_index *x, struct ks_err *err)
{
    for (size_t i = 0; i < x->kernels.n; i++) {
        struct ks_kernel_row *row = ks_list_at(&x->kernels, i);
        struct ks_id128 code;
        struct ks_key key = { { 0 } };
        bool is_new;
        int rc;

        if (!ks_unhex128(row->code_id, &code))
            continue;
        key.part[0] = code.hi;
        key.part[1] = code.lo;
        rc = ks_keys_add(&x->code_keys, &key, &row->code_group, &is_new, err);
        if (rc < 0)
            return rc;
    }
    return 0;
}

uint32_t ks_index_problem(const struct ks_index *x, uint64_t problem)
{
    return ks_keys_find(&x->problem_keys, &(struct ks_key){ { problem } });
}

uint32_t ks_index_kernel(const struct ks_index *x, uint32_t run, uint64_t instance,
                         struct ks_id128 build)
{
    struct ks_key key = build_key(run, instance, build);
    uint32_t i = ks_keys_find(&x->build_keys, &key);

    if (i != KS_NO_ROW)
        return *(uint32_t *)ks_list_at(&x->build_row, i);
    i = ks_keys_find(&x->instance_keys, &(struct ks_key){ { run, instance } });
    return i == KS_NO_ROW ? i : *(uint32_t *)ks_list_at(&x->instance_row, i);
}
