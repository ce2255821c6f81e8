/* SPDX-License-Identifier: MIT */
#include "store/flat.h"
#include "base/file.h"
#include "store/fd_driver.h"
#include "store/table.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_CAP  128 /* with its end */
#define MOST      4096
#define TEXT_MOST ((size_t)1 << 20)

/* A row in memory, and its columns as a definition of a table. */
struct rows {
    struct ks_table_def def;
    struct ks_column *columns; /* [n] owned */
    uint32_t *text_len;        /* [n] owned */
    char *row;                 /* [def.row_size] owned */
};

static int rows_init(struct rows *r, const struct ks_flat_column *columns, size_t n,
                     struct ks_err *err)
{
    size_t at = 0;

    r->columns = calloc(n + 1, sizeof(*r->columns));
    r->text_len = calloc(n + 1, sizeof(*r->text_len));
    if (!r->columns || !r->text_len)
        return ks_fail(err, KS_ENOMEM, "out of memory");
    for (size_t i = 0; i < n; i++) {
        bool is_text = columns[i].type == KS_COL_TEXT, is_whole = columns[i].type == KS_COL_I64;

        r->columns[i] =
            (struct ks_column){ .name = columns[i].name,
                                .type = columns[i].type,
                                .fill = is_text ? KS_FILL_NONE : KS_FILL_MISSING,
                                .missing = is_whole ? (double)KS_FLAT_NO_I64 : columns[i].no_real,
                                .offset = (uint32_t)at,
                                .cap = is_text ? columns[i].text_len + 1 : 0,
                                .units = columns[i].unit };
        r->text_len[i] = columns[i].text_len;
        at += is_text ? (columns[i].text_len + 8u) / 8 * 8 : 8;
    }
    r->def = (struct ks_table_def){ KS_FLAT_PATH, "table", r->columns, n, at };
    r->row = calloc(1, at + 1);
    return r->row ? 0 : ks_fail(err, KS_ENOMEM, "out of memory for a row of %zu bytes", at);
}

static void rows_release(struct rows *r)
{
    free(r->columns);
    free(r->text_len);
    free(r->row);
}

/* ---- writing ---- */

struct ks_flat {
    struct rows rows;
    hid_t file;
    struct ks_table_writer writer;
};

int ks_flat_create(int fd, const char *title, const struct ks_flat_column *columns, size_t n,
                   struct ks_flat **flat_out, struct ks_err *err)
{
    struct ks_flat *f = calloc(1, sizeof(*f));
    int rc;

    if (!f)
        return ks_fail(err, KS_ENOMEM, "out of memory");
    f->file = KS_H5_NONE;
    ks_h5_start();
    rc = rows_init(&f->rows, columns, n, err);
    if (rc == 0 && (fcntl(fd, F_GETFL) & O_ACCMODE) != O_RDWR)
        rc = ks_fail(err, KS_EINVAL,
                     "HDF5 cannot be written to standard output: name a file with -o FILE");
    if (rc == 0) {
        f->rows.def.title = title;
        f->file = ks_fd_create(fd);
        if (f->file < 0)
            rc = ks_h5_fail(err, "creating the file");
    }
    if (rc == 0)
        rc = ks_table_create(&f->writer, f->file, &f->rows.def, f->rows.text_len, UINT64_MAX, 0,
                             err);
    if (rc < 0) {
        ks_flat_close(f);
        return rc;
    }
    *flat_out = f;
    return 0;
}

void *ks_flat_at(struct ks_flat *f, size_t column)
{
    return f->rows.row + f->rows.columns[column].offset;
}

int ks_flat_put(struct ks_flat *f, struct ks_err *err)
{
    return ks_table_put(&f->writer, f->rows.row, err);
}

int ks_flat_finish(struct ks_flat *f, struct ks_err *err)
{
    hid_t file = f->file;
    int rc = ks_table_finish(&f->writer, err);

    ks_table_drop(&f->writer);
    if (rc == 0 && H5Fflush(file, H5F_SCOPE_GLOBAL) < 0)
        rc = ks_h5_fail(err, "writing the file");
    if (rc < 0)
        return rc;
    f->file = KS_H5_NONE;
    return H5Fclose(file) < 0 ? ks_h5_fail(err, "closing the file") : 0;
}

void ks_flat_close(struct ks_flat *f)
{
    if (!f)
        return;
    ks_table_drop(&f->writer);
    ks_h5_close(f->file);
    rows_release(&f->rows);
    free(f);
}

/* ---- reading ---- */

struct ks_flat_reader {
    struct rows rows;
    struct ks_flat_column *columns; /* [n] */
    char (*name)[NAME_CAP], (*unit)[NAME_CAP];
    size_t n;
    hid_t file;
    struct ks_table_reader reader;
};

/* KS_COL_TYPE of a member as ks_flat_create writes it; -1: another. */
static int type_of(hid_t member)
{
    H5T_class_t class = H5Tget_class(member);

    if (class == H5T_STRING && !H5Tis_variable_str(member))
        return H5Tget_size(member) <= TEXT_MOST ? KS_COL_TEXT : -1;
    if (class == H5T_INTEGER && H5Tget_size(member) == 8 && H5Tget_sign(member) == H5T_SGN_2)
        return KS_COL_I64;
    if (class != H5T_FLOAT)
        return -1;
    return H5Tget_size(member) == 4 ? KS_COL_F32 : H5Tget_size(member) == 8 ? KS_COL_F64 : -1;
}

/* FIELD_<i>_FILL; KS_FLAT_NO_REAL where there is none. */
static double fill_of(hid_t dataset, unsigned i)
{
    double v = KS_FLAT_NO_REAL;
    char name[48];
    hid_t attribute;

    snprintf(name, sizeof(name), "FIELD_%u_FILL", i);
    if (H5Aexists(dataset, name) <= 0)
        return v;
    attribute = H5Aopen(dataset, name, H5P_DEFAULT);
    if (attribute < 0 || H5Aread(attribute, H5T_NATIVE_DOUBLE, &v) < 0)
        v = KS_FLAT_NO_REAL;
    ks_h5_close(attribute);
    return v;
}

static int read_column(struct ks_flat_reader *r, hid_t dataset, hid_t type, unsigned i,
                       struct ks_err *err)
{
    char *name = H5Tget_member_name(type, i), attribute[48];
    hid_t member = H5Tget_member_type(type, i);
    int kind = member < 0 ? -1 : type_of(member);
    int rc = 0;

    if (!name || strlen(name) >= NAME_CAP || kind < 0) {
        rc = ks_fail(err, KS_EFORMAT,
                     "column '%.60s' has a type that tables of ksweep-analyze do "
                     "not have",
                     name ? name : "");
    } else {
        snprintf(r->name[i], NAME_CAP, "%s", name);
        snprintf(attribute, sizeof(attribute), "FIELD_%u_UNITS", i);
        (void)ks_h5_get_text(dataset, attribute, r->unit[i], NAME_CAP);
        r->columns[i] = (struct ks_flat_column){
            .name = r->name[i],
            .unit = r->unit[i],
            .type = (uint8_t)kind,
            .text_len = kind == KS_COL_TEXT ? (uint32_t)H5Tget_size(member) : 0,
            .no_real =
                kind == KS_COL_F32 || kind == KS_COL_F64 ? fill_of(dataset, i) : KS_FLAT_NO_REAL
        };
    }
    H5free_memory(name);
    ks_h5_close(member);
    return rc;
}

static int read_columns(struct ks_flat_reader *r, struct ks_err *err)
{
    hid_t dataset = H5Dopen2(r->file, KS_FLAT_PATH, H5P_DEFAULT), type = KS_H5_NONE;
    int n = -1, rc = 0;

    if (dataset >= 0)
        type = H5Dget_type(dataset);
    if (type >= 0 && H5Tget_class(type) == H5T_COMPOUND)
        n = H5Tget_nmembers(type);
    if (n <= 0 || n > MOST)
        rc = ks_fail(err, KS_EFORMAT, "has no table '%s'", KS_FLAT_PATH);
    r->n = n > 0 ? (size_t)n : 0;
    r->columns = calloc(r->n + 1, sizeof(*r->columns));
    r->name = calloc(r->n + 1, sizeof(*r->name));
    r->unit = calloc(r->n + 1, sizeof(*r->unit));
    if (rc == 0 && (!r->columns || !r->name || !r->unit))
        rc = ks_fail(err, KS_ENOMEM, "out of memory");
    for (unsigned i = 0; rc == 0 && i < r->n; i++)
        rc = read_column(r, dataset, type, i, err);
    ks_h5_close(type);
    ks_h5_close(dataset);
    return rc;
}

int ks_flat_open(const char *path, struct ks_flat_reader **reader_out,
                 const struct ks_flat_column **columns_out, size_t *n_out, uint64_t *n_rows_out,
                 struct ks_err *err)
{
    struct ks_flat_reader *r = calloc(1, sizeof(*r));
    int rc = r ? ks_file_check(path, err) : ks_fail(err, KS_ENOMEM, "out of memory");

    ks_h5_start();
    if (r)
        r->file = KS_H5_NONE;
    if (rc == 0) {
        r->file = ks_h5_open(path);
        if (r->file < 0)
            rc = ks_fail(err, KS_EFORMAT, "is not an HDF5 file, or is damaged");
    }
    if (rc == 0)
        rc = read_columns(r, err);
    if (rc == 0)
        rc = rows_init(&r->rows, r->columns, r->n, err);
    if (rc == 0)
        rc = ks_table_open(&r->reader, r->file, &r->rows.def, err);
    if (rc < 0) {
        ks_flat_reader_close(r);
        return ks_err_context(err, rc, "'%s'", path);
    }
    *reader_out = r;
    *columns_out = r->columns;
    *n_out = r->n;
    *n_rows_out = r->reader.n_rows;
    return 0;
}

int ks_flat_read(struct ks_flat_reader *r, uint64_t i, struct ks_err *err)
{
    const uint8_t *packed;
    int rc = ks_table_row(&r->reader, i, &packed, err);

    return rc < 0 ? rc : ks_packing_unpack(&r->reader.layout, packed, r->rows.row, err);
}

const void *ks_flat_value(const struct ks_flat_reader *r, size_t column)
{
    return r->rows.row + r->rows.columns[column].offset;
}

void ks_flat_reader_close(struct ks_flat_reader *r)
{
    if (!r)
        return;
    ks_table_close(&r->reader);
    ks_h5_close(r->file);
    rows_release(&r->rows);
    free(r->columns);
    free(r->name);
    free(r->unit);
    free(r);
}
