/* SPDX-License-Identifier: MIT */
#include "store/table.h"
#include "base/hash.h"

#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK_BYTES (1u << 19) /* small enough that shuffling stays in the second-level cache */

static bool is_text(const struct ks_column *c)
{
    return c->type == KS_COL_TEXT || c->type == KS_COL_POINTER;
}

static const char *text_of(const struct ks_column *c, const void *row)
{
    const char *at = (const char *)row + c->offset;
    const char *p;

    if (c->type == KS_COL_TEXT)
        return at;
    memcpy(&p, at, sizeof(p));
    return p ? p : "";
}

void ks_table_lengths(const struct ks_table_def *def, const void *rows, size_t n,
                      uint32_t *text_len_io)
{
    for (size_t k = 0; k < def->n_columns; k++) {
        const struct ks_column *c = &def->columns[k];

        for (size_t i = 0; is_text(c) && i < n; i++) {
            size_t len = strlen(text_of(c, (const char *)rows + i * def->row_size));

            if (len > text_len_io[k])
                text_len_io[k] = (uint32_t)len;
        }
    }
}

/* ---- layout ---- */

static int layout_init(struct ks_packing *l, const struct ks_table_def *def, struct ks_err *err)
{
    l->def = def;
    l->at = calloc(def->n_columns, sizeof(*l->at));
    l->len = calloc(def->n_columns, sizeof(*l->len));
    return l->at && l->len ? 0 : ks_fail(err, KS_ENOMEM, "out of memory");
}

static void layout_release(struct ks_packing *l)
{
    free(l->at);
    free(l->len);
    *l = (struct ks_packing){ 0 };
}

/* Beyond the range of a float: its largest, as the double was. */
static void put_f32(const void *from, uint8_t *to)
{
    double v;
    float f;

    memcpy(&v, from, sizeof(v));
    f = v > FLT_MAX ? FLT_MAX : (float)v;
    memcpy(to, &f, sizeof(f));
}

void ks_packing_pack(const struct ks_packing *l, const void *row, uint8_t *packed_out)
{
    const struct ks_column *c = l->def->columns;

    for (size_t k = 0; k < l->def->n_columns; k++, c++) {
        uint8_t *to = packed_out + l->at[k];
        const char *from = (const char *)row + c->offset;

        if (l->at[k] == KS_NO_COLUMN)
            continue;
        if (is_text(c))
            strncpy((char *)to, text_of(c, row), l->len[k]);
        else if (c->type == KS_COL_F32)
            put_f32(from, to);
        else if (l->len[k] == 8) /* constant sizes, so that no call is made per number */
            memcpy(to, from, 8);
        else if (l->len[k] == 4)
            memcpy(to, from, 4);
        else
            memcpy(to, from, 1);
    }
}

static void put_missing(const struct ks_column *c, void *row)
{
    void *to = (char *)row + c->offset;
    double v = c->fill == KS_FILL_MISSING ? c->missing : 0;
    uint32_t u32 = c->type == KS_COL_U32 ? (uint32_t)v : 0;
    int32_t i32 = c->type == KS_COL_I32 ? (int32_t)v : 0;
    int64_t i64 = c->type == KS_COL_I64 ? (int64_t)v : 0;

    switch (c->type) {
    case KS_COL_F64:
    case KS_COL_F32:
        memcpy(to, &v, sizeof(v));
        break;
    case KS_COL_U32:
        memcpy(to, &u32, sizeof(u32));
        break;
    case KS_COL_I32:
        memcpy(to, &i32, sizeof(i32));
        break;
    case KS_COL_I64:
        memcpy(to, &i64, sizeof(i64));
        break;
    default: /* texts are empty, numbers 0: the row was zeroed */
        break;
    }
}

static int get_text(const struct ks_column *c, const uint8_t *from, size_t n, void *to,
                    struct ks_err *err)
{
    char *copy;

    if (c->type == KS_COL_TEXT) {
        size_t len = n < c->cap ? n : c->cap - 1;

        memcpy(to, from, len);
        ((char *)to)[len] = '\0';
        return 0;
    }
    copy = strndup((const char *)from, n);
    if (!copy)
        return ks_fail(err, KS_ENOMEM, "out of memory");
    memcpy(to, &copy, sizeof(copy));
    return 0;
}

static void get_f32(const uint8_t *from, void *to)
{
    float f;
    double v;

    memcpy(&f, from, sizeof(f));
    v = (double)f;
    memcpy(to, &v, sizeof(v));
}

int ks_packing_unpack(const struct ks_packing *l, const uint8_t *packed, void *row_out,
                      struct ks_err *err)
{
    memset(row_out, 0, l->def->row_size);
    for (size_t k = 0; k < l->def->n_columns; k++) {
        const struct ks_column *c = &l->def->columns[k];
        char *to = (char *)row_out + c->offset;

        if (l->at[k] == KS_NO_COLUMN)
            put_missing(c, row_out);
        else if (c->type == KS_COL_F32)
            get_f32(packed + l->at[k], to);
        else if (!is_text(c))
            memcpy(to, packed + l->at[k], l->len[k]);
        else if (get_text(c, packed + l->at[k], l->len[k], to, err) < 0)
            return KS_ENOMEM;
    }
    return 0;
}

/* ---- types ---- */

static hid_t scalar_type(uint8_t type)
{
    switch (type) {
    case KS_COL_U8:
        return H5T_STD_U8LE;
    case KS_COL_U32:
        return H5T_STD_U32LE;
    case KS_COL_U64:
        return H5T_STD_U64LE;
    case KS_COL_I32:
        return H5T_STD_I32LE;
    case KS_COL_I64:
        return H5T_STD_I64LE;
    case KS_COL_F32:
        return H5T_IEEE_F32LE;
    default:
        return H5T_IEEE_F64LE;
    }
}

/* A type the caller closes. */
static hid_t column_type(const struct ks_column *c, size_t len)
{
    hid_t type;

    if (!is_text(c))
        return H5Tcopy(scalar_type(c->type));
    type = H5Tcopy(H5T_C_S1);
    if (type >= 0 && (H5Tset_size(type, len) < 0 || H5Tset_cset(type, H5T_CSET_UTF8) < 0 ||
                      H5Tset_strpad(type, H5T_STR_NULLPAD) < 0)) {
        ks_h5_close(type);
        return KS_H5_NONE;
    }
    return type;
}

static int plan(struct ks_packing *l, const uint32_t *text_len, hid_t *type_out, struct ks_err *err)
{
    const struct ks_table_def *def = l->def;
    hid_t type;

    for (size_t k = 0; k < def->n_columns; k++) {
        const struct ks_column *c = &def->columns[k];

        l->at[k] = (uint32_t)l->row_bytes;
        l->len[k] = (uint32_t)ks_col_bytes(c->type);
        if (is_text(c)) /* HDF5 has no texts of length 0 */
            l->len[k] = text_len[k] ? text_len[k] : 1;
        l->row_bytes += l->len[k];
    }
    type = H5Tcreate(H5T_COMPOUND, l->row_bytes);
    for (size_t k = 0; type >= 0 && k < def->n_columns; k++) {
        hid_t member = column_type(&def->columns[k], l->len[k]);
        bool is_in = member >= 0 && H5Tinsert(type, def->columns[k].name, l->at[k], member) >= 0;

        ks_h5_close(member);
        if (!is_in) {
            ks_h5_close(type);
            return ks_h5_fail(err, "column '%s'", def->columns[k].name);
        }
    }
    *type_out = type;
    return type < 0 ? ks_h5_fail(err, "type of '%s'", def->path) : 0;
}

/* ---- attributes of the HDF5 Table convention ---- */

static int put_fill(hid_t dataset, const char *name, const struct ks_column *c, struct ks_err *err)
{
    uint8_t row[16] = { 0 };
    struct ks_column first = *c;
    hid_t type = column_type(c, 1), space = H5Screate(H5S_SCALAR), attr = KS_H5_NONE;
    int rc = 0;

    first.offset = 0;
    put_missing(&first, row);
    if (c->type == KS_COL_F32)
        put_f32(row, row);
    if (type >= 0 && space >= 0)
        attr = H5Acreate2(dataset, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    if (attr < 0 || H5Awrite(attr, type, row) < 0)
        rc = ks_h5_fail(err, "attribute '%s'", name);
    ks_h5_close(attr);
    ks_h5_close(space);
    ks_h5_close(type);
    return rc;
}

static int describe(hid_t dataset, const struct ks_table_def *def, struct ks_err *err)
{
    char name[48];
    int rc;

    rc = ks_h5_put_text(dataset, "CLASS", "TABLE", err);
    if (rc == 0)
        rc = ks_h5_put_text(dataset, "VERSION", "3.0", err);
    if (rc == 0)
        rc = ks_h5_put_text(dataset, "TITLE", def->title, err);
    for (size_t k = 0; rc == 0 && k < def->n_columns; k++) {
        const struct ks_column *c = &def->columns[k];

        snprintf(name, sizeof(name), "FIELD_%zu_NAME", k);
        rc = ks_h5_put_text(dataset, name, c->name, err);
        snprintf(name, sizeof(name), "FIELD_%zu_UNITS", k);
        if (rc == 0 && c->units[0])
            rc = ks_h5_put_text(dataset, name, c->units, err);
        snprintf(name, sizeof(name), "FIELD_%zu_FILL", k);
        if (rc == 0 && c->fill == KS_FILL_MISSING)
            rc = put_fill(dataset, name, c, err);
    }
    return rc;
}

/* ---- writing ---- */

static size_t choose_chunk(size_t row_bytes, uint64_t n_rows, uint32_t chunk_rows)
{
    uint64_t n = chunk_rows ? chunk_rows : CHUNK_BYTES / row_bytes;

    if (n > n_rows)
        n = n_rows;
    return n ? (size_t)n : 1;
}

int ks_table_create(struct ks_table_writer *w, hid_t file, const struct ks_table_def *def,
                    const uint32_t *text_len, uint64_t n_rows, uint32_t chunk_rows,
                    struct ks_err *err)
{
    hid_t type = KS_H5_NONE;
    int rc;

    *w = (struct ks_table_writer){ 0 };
    rc = layout_init(&w->layout, def, err);
    if (rc == 0)
        rc = plan(&w->layout, text_len, &type, err);
    if (rc == 0)
        rc = ks_appender_create(&w->rows, file, def->path, type,
                                choose_chunk(w->layout.row_bytes, n_rows, chunk_rows), err);
    if (rc == 0)
        rc = describe(w->rows.dataset, def, err);
    return rc < 0 ? ks_err_context(err, rc, "table '%s'", def->path) : 0;
}

int ks_table_put(struct ks_table_writer *w, const void *row, struct ks_err *err)
{
    ks_packing_pack(&w->layout, row, ks_appender_slot(&w->rows));
    return ks_appender_commit(&w->rows, err);
}

int ks_table_finish(struct ks_table_writer *w, struct ks_err *err)
{
    return ks_appender_finish(&w->rows, err);
}

void ks_table_drop(struct ks_table_writer *w)
{
    ks_appender_drop(&w->rows);
    if (w->layout.def)
        layout_release(&w->layout);
}

/* ---- reading ---- */

/* A member may only be read as what the column is: same class and size. */
static bool is_same_kind(const struct ks_column *c, hid_t member)
{
    H5T_class_t class = H5Tget_class(member);

    if (is_text(c))
        return class == H5T_STRING && !H5Tis_variable_str(member);
    if (H5Tget_size(member) != ks_col_bytes(c->type) || H5Tget_order(member) == H5T_ORDER_BE)
        return false;
    return class == (c->type == KS_COL_F64 || c->type == KS_COL_F32 ? H5T_FLOAT : H5T_INTEGER);
}

static int locate(struct ks_table_reader *r, bool has_old_names, struct ks_err *err)
{
    const struct ks_table_def *def = r->layout.def;

    if (H5Tget_class(r->type) != H5T_COMPOUND)
        return ks_fail(err, KS_EFORMAT, "is not a table");
    r->layout.row_bytes = H5Tget_size(r->type);
    for (size_t k = 0; k < def->n_columns; k++) {
        const struct ks_column *c = &def->columns[k];
        int i = H5Tget_member_index(r->type, has_old_names ? ks_column_old_name(def->path, c->name)
                                                           : c->name);
        hid_t member;
        bool is_same;

        r->layout.at[k] = KS_NO_COLUMN;
        if (i < 0)
            continue;
        member = H5Tget_member_type(r->type, (unsigned)i);
        is_same = is_same_kind(c, member);
        r->layout.at[k] = (uint32_t)H5Tget_member_offset(r->type, (unsigned)i);
        r->layout.len[k] = (uint32_t)H5Tget_size(member);
        ks_h5_close(member);
        if (!is_same)
            return ks_fail(err, KS_EFORMAT, "column '%s' has another type", c->name);
    }
    return 0;
}

bool ks_table_has_old_names(hid_t file)
{
    uint64_t minor;

    return H5Aexists(file, "schema_minor") > 0 &&
           ks_h5_get_u64(file, "schema_minor", &minor, NULL) == 0 && minor < KS_RENAMED_MINOR;
}

static int open_dataset(struct ks_table_reader *r, hid_t file, struct ks_err *err)
{
    const char *path = r->layout.def->path;
    int rc;

    r->dataset = H5Dopen2(file, path, H5P_DEFAULT);
    if (r->dataset < 0)
        return ks_fail(err, KS_EFORMAT, "is missing");
    r->type = H5Dget_type(r->dataset);
    rc = ks_h5_extent(r->dataset, &r->n_rows, err);
    if (rc == 0)
        rc = locate(r, ks_table_has_old_names(file), err);
    if (rc < 0)
        return rc;
    r->chunk_rows = ks_h5_chunk(r->dataset);
    r->held = malloc(r->chunk_rows * r->layout.row_bytes);
    return r->held ? 0 : ks_fail(err, KS_ENOMEM, "out of memory");
}

int ks_table_open(struct ks_table_reader *r, hid_t file, const struct ks_table_def *def,
                  struct ks_err *err)
{
    int rc;

    *r = (struct ks_table_reader){ .dataset = KS_H5_NONE, .type = KS_H5_NONE };
    rc = layout_init(&r->layout, def, err);
    if (rc == 0)
        rc = open_dataset(r, file, err);
    return rc < 0 ? ks_err_context(err, rc, "table '%s'", def->path) : 0;
}

int ks_table_row(struct ks_table_reader *r, uint64_t i, const uint8_t **packed_out,
                 struct ks_err *err)
{
    if (i >= r->n_rows)
        return ks_fail(err, KS_EINVAL, "table '%s' has %llu rows, so row %llu does not exist",
                       r->layout.def->path, (unsigned long long)r->n_rows, (unsigned long long)i);
    if (i < r->first || i >= r->first + r->n_held) {
        uint64_t first = i - i % r->chunk_rows;
        uint64_t left = r->n_rows - first;
        size_t n = left < r->chunk_rows ? (size_t)left : r->chunk_rows;
        int rc;

        r->n_held = 0;
        rc = ks_h5_read(r->dataset, r->type, first, n, r->held, err);
        if (rc < 0)
            return ks_err_context(err, rc, "table '%s'", r->layout.def->path);
        r->first = first;
        r->n_held = n;
    }
    *packed_out = r->held + (i - r->first) * r->layout.row_bytes;
    return 0;
}

void ks_table_close(struct ks_table_reader *r)
{
    if (!r->layout.def)
        return;
    ks_h5_close(r->dataset);
    ks_h5_close(r->type);
    free(r->held);
    layout_release(&r->layout);
    *r = (struct ks_table_reader){ 0 };
}

static int digest(hid_t dataset, hid_t type, uint64_t n, uint32_t *crc_out, struct ks_err *err)
{
    size_t bytes = H5Tget_size(type), at_once = ks_h5_chunk(dataset);
    uint8_t *held = malloc(bytes * at_once);
    uint32_t crc = 0;
    int rc = held ? 0 : ks_fail(err, KS_ENOMEM, "out of memory");

    for (uint64_t i = 0; rc == 0 && i < n; i += at_once) {
        size_t k = n - i < at_once ? (size_t)(n - i) : at_once;

        rc = ks_h5_read(dataset, type, i, k, held, err);
        if (rc == 0)
            crc = ks_crc32c(crc, held, k * bytes);
    }
    free(held);
    if (rc == 0)
        *crc_out = crc;
    return rc;
}

int ks_dataset_digest(hid_t file, const char *path, uint64_t *n_out, uint32_t *crc_out,
                      struct ks_err *err)
{
    hid_t dataset = H5Dopen2(file, path, H5P_DEFAULT), type = KS_H5_NONE;
    uint64_t n = 0;
    int rc = 0;

    if (dataset < 0)
        rc = ks_fail(err, KS_EFORMAT, "'%s' is missing", path);
    if (rc == 0)
        rc = ks_h5_extent(dataset, &n, err);
    if (rc == 0) {
        type = H5Dget_type(dataset);
        rc = type < 0 ? ks_h5_fail(err, "type of '%s'", path)
                      : digest(dataset, type, n, crc_out, err);
    }
    if (rc == 0)
        *n_out = n;
    else
        ks_err_context(err, rc, "'%s'", path);
    ks_h5_close(type);
    ks_h5_close(dataset);
    return rc;
}
