/* SPDX-License-Identifier: MIT */
/* h5rows.c - prints columns of tables of results.h5 */
/* h5rows FILE TABLE COLUMN... [-- TABLE COLUMN...] - prints columns of tables of results.h5 as
 * tab-separated lines, for shell tests; an empty line separates tables. The column `kernel_name` is
 * the name in /kernels of the row's kernel. Reads with libhdf5 alone, not with the code under
 * test, and starts twenty times faster than Python with h5py. */
#include <hdf5.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COLUMNS_MAX 32

struct table {
    hid_t type; /* as it is in memory */
    size_t row_bytes, n;
    char *rows; /* [n * row_bytes] */
};

struct column {
    hid_t type;
    size_t at; /* offset in a row */
    int is_id, is_kernel_name;
};

static _Noreturn void give_up(const char *what, const char *name)
{
    fprintf(stderr, "h5rows: %s '%s'\n", what, name);
    exit(1);
}

static struct table table_read(hid_t file, const char *name)
{
    hid_t set = H5Dopen2(file, name, H5P_DEFAULT), stored, space;
    struct table t;

    if (set < 0)
        give_up("no table", name);
    stored = H5Dget_type(set);
    space = H5Dget_space(set);
    t.type = H5Tget_native_type(stored, H5T_DIR_ASCEND);
    t.row_bytes = H5Tget_size(t.type);
    t.n = (size_t)H5Sget_simple_extent_npoints(space);
    t.rows = calloc(t.n + 1, t.row_bytes);
    if (!t.rows || H5Dread(set, t.type, H5S_ALL, H5S_ALL, H5P_DEFAULT, t.rows) < 0)
        give_up("cannot read table", name);
    H5Sclose(space);
    H5Tclose(stored);
    H5Dclose(set);
    return t;
}

static struct column column_of(const struct table *t, const char *name)
{
    const size_t length = strlen(name);
    struct column c = { .is_kernel_name = strcmp(name, "kernel_name") == 0 };
    int i = H5Tget_member_index(t->type, c.is_kernel_name ? "kernel" : name);

    if (i < 0)
        give_up("no column", name);
    c.is_id = length > 3 && strcmp(name + length - 3, "_id") == 0;
    c.type = H5Tget_member_type(t->type, (unsigned)i);
    c.at = H5Tget_member_offset(t->type, (unsigned)i);
    return c;
}

/* An integer of any width and sign, sign-extended. */
static uint64_t integer_of(const struct column *c, const char *at)
{
    const size_t bytes = H5Tget_size(c->type);
    uint64_t v = 0;

    memcpy(&v, at, bytes); /* little-endian, as all that ksweep runs on */
    if (H5Tget_sign(c->type) == H5T_SGN_2 && bytes < 8 && (v >> (8 * bytes - 1) & 1))
        v |= ~(uint64_t)0 << 8 * bytes;
    return v;
}

static void print_real(const struct column *c, const char *at)
{
    double v;
    float f;

    if (H5Tget_size(c->type) == sizeof(v)) {
        memcpy(&v, at, sizeof(v));
        printf("%.17g", v);
    } else {
        memcpy(&f, at, sizeof(f));
        printf("%.9g", (double)f);
    }
}

static void print_text(const struct column *c, const char *at)
{
    char *text;

    if (H5Tis_variable_str(c->type) > 0) {
        memcpy(&text, at, sizeof(text));
        fputs(text ? text : "", stdout);
    } else {
        printf("%.*s", (int)H5Tget_size(c->type), at);
    }
}

static void print_value(const struct column *c, const char *at)
{
    switch (H5Tget_class(c->type)) {
    case H5T_STRING:
        print_text(c, at);
        break;
    case H5T_FLOAT:
        print_real(c, at);
        break;
    case H5T_INTEGER:
    case H5T_ENUM:
        if (c->is_id)
            printf("%016" PRIx64, integer_of(c, at));
        else if (H5Tget_sign(c->type) == H5T_SGN_2)
            printf("%" PRId64, (int64_t)integer_of(c, at));
        else
            printf("%" PRIu64, integer_of(c, at));
        break;
    default:
        give_up("a column's type is not known here:", "not a text, integer or real");
    }
}

static void print_table(hid_t file, const char *name, char **columns, int n)
{
    const struct table t = table_read(file, name), kernels = table_read(file, "kernels");
    const struct column instance = column_of(&kernels, "instance_name");
    struct column c[COLUMNS_MAX];

    if (n > COLUMNS_MAX)
        give_up("too many columns of", name);
    for (int k = 0; k < n; k++)
        c[k] = column_of(&t, columns[k]);
    for (size_t i = 0; i < t.n; i++)
        for (int k = 0; k < n; k++) {
            const char *at = t.rows + i * t.row_bytes + c[k].at;

            if (c[k].is_kernel_name)
                print_value(&instance,
                            kernels.rows + integer_of(&c[k], at) * kernels.row_bytes + instance.at);
            else
                print_value(&c[k], at);
            putchar(k + 1 < n ? '\t' : '\n');
        }
    free(t.rows);
    free(kernels.rows);
}

int main(int argc, char **argv)
{
    hid_t file;

    if (argc < 4) {
        fprintf(stderr, "usage: h5rows FILE TABLE COLUMN... [-- TABLE COLUMN...]\n");
        return 2;
    }
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    file = H5Fopen(argv[1], H5F_ACC_RDONLY, H5P_DEFAULT);
    if (file < 0)
        give_up("cannot open", argv[1]);
    for (int from = 2, end; from < argc; from = end + 1) {
        for (end = from; end < argc && strcmp(argv[end], "--") != 0;)
            end++;
        if (from > 2)
            putchar('\n');
        print_table(file, argv[from], argv + from + 1, end - from - 1);
    }
    return fflush(stdout) != 0;
}
