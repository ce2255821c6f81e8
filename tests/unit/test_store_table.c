/* SPDX-License-Identifier: MIT */
/* test_store_table.c - parts of src/store below the file: keys, lists, texts, tables, schema */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first. */
#include <cmocka.h>

#include "base/file.h"
#include "doc_table.h"
#include "store/fd_driver.h"
#include "store/keys.h"
#include "store/produce.h"
#include "store/table.h"
#include "store/text.h"
#include "store_place.h"
#include "tests/tools/store_kit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* That a GPU's worker did not count is told apart from 0, and makes no row by itself. */
static void uncounted_calls_are_told(void **state)
{
    struct ks_record *r = calloc(1, sizeof(*r));

    (void)state;
    ks_record_init(r);
    assert_true(ks_counts_denied(r));
    r->denied_call = KS_DENIED_UNCOUNTED;
    assert_false(ks_counts_denied(r) || ks_has_failure(r));
    free(r);
}

static void keys_are_numbered_in_order(void **state)
{
    struct ks_keys k = { 0 };
    struct ks_key key = { { 0 } };
    uint32_t number;
    bool is_new;

    (void)state;
    assert_int_equal(ks_keys_find(&k, &key), KS_NO_ROW);
    for (uint32_t i = 0; i < 3000; i++) {
        key.part[i % 4] = i; /* keys that differ in one part only */
        assert_int_equal(ks_keys_add(&k, &key, &number, &is_new, NULL), 0);
        assert_int_equal(number, k.n - 1);
        assert_true(is_new || i == 0);
        assert_int_equal(ks_keys_add(&k, &key, &number, &is_new, NULL), 0);
        assert_false(is_new);
        assert_int_equal(number, i);
    }
    memset(&key, 0, sizeof(key));
    assert_int_equal(ks_keys_find(&k, &key), 0);
    key.part[0] = 77777;
    assert_int_equal(ks_keys_find(&k, &key), KS_NO_ROW);
    ks_keys_release(&k);
}

static void texts_become_utf8(void **state)
{
    static const struct {
        const char *from, *to;
    } rows[] = {
        { "", "" },
        { "plain\ttext\n", "plain\ttext\n" },
        { "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80" },
        { "\xc3", "?" },                     /* cut short */
        { "\xe2\x82", "??" },                /* cut short */
        { "\xc0\xaf", "??" },                /* overlong */
        { "\xe0\x80\x80", "???" },           /* overlong */
        { "\xed\xa0\x80", "???" },           /* surrogate */
        { "\xf4\x90\x80\x80", "????" },      /* beyond the last character */
        { "\xf0\x9f\x98z", "???z" },         /* broken off */
        { "\x80\xbf", "??" },                /* no first byte */
        { "a\x01\x1b[31m\x7f", "a??[31m?" }, /* control characters */
    };
    char out[8];

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char text[32];

        snprintf(text, sizeof(text), "%s", rows[i].from);
        ks_text_clean(text);
        assert_string_equal(text, rows[i].to);
    }
    ks_text_clean_bytes("a\0\xff", 3, out);
    assert_string_equal(out, "a??");
}

struct sample_row {
    uint8_t u8;
    uint32_t u32;
    uint64_t u64;
    int32_t i32;
    int64_t i64;
    double f64, f32;
    char text[16];
    const char *pointer;
};
#define COL(name_, type_, member, fill_, missing_)                                                 \
    {                                                                                              \
        .name = (name_), .type = KS_COL_##type_, .fill = (fill_),                                  \
        .offset = offsetof(struct sample_row, member),                                             \
        .cap = sizeof(((struct sample_row *)0)->member), .missing = (missing_), .units = ""        \
    }
static const struct ks_column all[] = {
    COL("u8", U8, u8, 0, 0),          COL("u32", U32, u32, 1, 4294967295.0),
    COL("u64", U64, u64, 1, 0),       COL("i32", I32, i32, 1, -2147483648.0),
    COL("i64", I64, i64, 1, -1),      COL("f64", F64, f64, 1, -1),
    COL("f32", F32, f32, 1, -1),      COL("text", TEXT, text, 0, 0),
    COL("p", POINTER, pointer, 0, 0),
};
static const struct ks_column few[] = { COL("text", TEXT, text, 0, 0), COL("u8", U8, u8, 0, 0) };
static const struct ks_column other_type[] = { COL("u8", U32, u32, 0, 0) };
static const struct ks_column other_class[] = { COL("f64", TEXT, text, 0, 0) };
#define DEF(columns_)                                                                              \
    {                                                                                              \
        "/group/rows", "rows", columns_, sizeof(columns_) / sizeof(*(columns_)),                   \
            sizeof(struct sample_row)                                                              \
    }
static const struct ks_table_def all_def = DEF(all), few_def = DEF(few),
                                 other_type_def = DEF(other_type),
                                 other_class_def = DEF(other_class);

static hid_t write_rows(int fd, const struct ks_table_def *def, const struct sample_row *rows,
                        size_t n)
{
    struct ks_table_writer w = { 0 };
    uint32_t text_len[9] = { 0 };
    hid_t file;

    ks_h5_start();
    file = ks_fd_create(fd);
    assert_true(file >= 0);
    ks_table_lengths(def, rows, n, text_len);
    assert_int_equal(ks_table_create(&w, file, def, text_len, n, 2, NULL), 0);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(ks_table_put(&w, &rows[i], NULL), 0);
    assert_int_equal(ks_table_finish(&w, NULL), 0);
    assert_int_equal(w.rows.n_rows, n);
    ks_table_drop(&w);
    return file;
}

static const struct sample_row samples[] = {
    { 255, UINT32_MAX, UINT64_MAX, INT32_MIN, INT64_MIN, -1.5e300, 0.1, "exactly 15 by\xc3\xa4",
      "x" },
    { 1, 2, 3, -4, -5, 1e-310, 1e300, "", "a longer text than the others" },
    { 0, 0, 0, 0, 0, 0, 0, "z", NULL },
};

static int make_fd(const struct place *p)
{
    int fd = open(p->file, O_RDWR | O_CREAT | O_TRUNC, 0666);

    assert_true(fd >= 0);
    return fd;
}

static void read_rows(hid_t file, const struct ks_table_def *def, struct sample_row *out, size_t n)
{
    struct ks_table_reader r = { 0 };
    const uint8_t *packed;
    struct ks_err err;

    assert_int_equal(ks_table_open(&r, file, def, &err), 0);
    assert_int_equal(r.n_rows, n);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(ks_table_row(&r, i, &packed, &err), 0);
        assert_int_equal(ks_packing_unpack(&r.layout, packed, &out[i], &err), 0);
    }
    assert_int_equal(ks_table_row(&r, n, &packed, &err), KS_EINVAL);
    ks_table_close(&r);
}

static void every_type_reads_back(void **state)
{
    int fd = make_fd(*state);
    hid_t file = write_rows(fd, &all_def, samples, 3);
    struct sample_row got[3];

    read_rows(file, &all_def, got, 3);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(got[i].u8, samples[i].u8);
        assert_int_equal(got[i].u32, samples[i].u32);
        assert_int_equal(got[i].u64, samples[i].u64);
        assert_int_equal(got[i].i32, samples[i].i32);
        assert_int_equal(got[i].i64, samples[i].i64);
        assert_true(got[i].f64 == samples[i].f64);
        assert_string_equal(got[i].text, samples[i].text);
        assert_string_equal(got[i].pointer, samples[i].pointer ? samples[i].pointer : "");
        free((void *)(uintptr_t)got[i].pointer);
    }
    assert_true(got[0].f32 == (double)0.1f);
    assert_true(got[1].f32 > 3.4e38 && got[1].f32 < 3.5e38);
    ks_h5_close(file);
    close(fd);
}

/* A file of another minor version: columns this program does not know, or knows and misses. */
static void columns_are_found_by_name(void **state)
{
    int fd = make_fd(*state);
    hid_t file = write_rows(fd, &all_def, samples, 3);
    struct sample_row got[3];
    struct ks_table_reader r = { 0 };
    struct ks_err err;

    read_rows(file, &few_def, got, 3);
    assert_string_equal(got[0].text, samples[0].text);
    assert_int_equal(got[0].u8, 255);
    assert_int_equal(ks_table_open(&r, file, &other_type_def, &err), KS_EFORMAT);
    assert_non_null(strstr(err.text, "'u8' has another type"));
    ks_table_close(&r);
    assert_int_equal(ks_table_open(&r, file, &other_class_def, &err), KS_EFORMAT);
    ks_table_close(&r);
    ks_h5_close(file);
    assert_int_equal(ftruncate(fd, 0), 0);
    file = write_rows(fd, &few_def, samples, 3);
    read_rows(file, &all_def, got, 3);
    assert_string_equal(got[0].text, samples[0].text);
    assert_int_equal(got[0].u32, UINT32_MAX);
    assert_int_equal(got[0].u64, 0);
    assert_int_equal(got[0].i32, INT32_MIN);
    assert_int_equal(got[0].i64, -1);
    assert_true(got[0].f64 == -1 && got[0].f32 == -1);
    assert_null(got[0].pointer);
    ks_h5_close(file);
    close(fd);
}

static void attributes_and_digests(void **state)
{
    int fd = make_fd(*state);
    hid_t file = write_rows(fd, &few_def, samples, 3), dataset;
    uint64_t n = 0, said = 0;
    uint32_t crc = 0;
    char text[32];
    struct ks_err err;

    assert_int_equal(ks_dataset_digest(file, "/group/rows", &n, &crc, &err), 0);
    assert_int_equal(n, 3);
    dataset = H5Dopen2(file, "/group/rows", H5P_DEFAULT);
    assert_int_equal(ks_h5_get_u64(dataset, "crc32c", &said, &err), 0);
    assert_int_equal(said, crc);
    assert_int_equal(ks_h5_get_u64(dataset, "n_rows", &said, &err), 0);
    assert_int_equal(said, 3);
    assert_int_equal(ks_h5_get_u64(dataset, "nothing", &said, &err), KS_EFORMAT);
    assert_int_equal(ks_h5_get_u64(dataset, "CLASS", &said, &err), KS_EFORMAT);
    assert_true(ks_h5_get_text(dataset, "FIELD_0_NAME", text, sizeof(text)));
    assert_string_equal(text, "text");
    assert_false(ks_h5_get_text(dataset, "FIELD_2_NAME", text, sizeof(text)));
    assert_int_equal(ks_dataset_digest(file, "/group/none", &n, &crc, &err), KS_EFORMAT);
    ks_h5_close(dataset);
    ks_h5_close(file);
    close(fd);
}

/* ---- the schema ---- */

static void schema_of_a_run(const struct place *p, struct ks_buf *text)
{
    struct ks_err err = { 0 };

    skit_run(p->dir[0], 1, 2, 9, 3, 0);
    place_gather(p, 1, NULL);
    ks_buf_init(text);
    if (ks_store_schema_text(p->file, text, &err) < 0)
        fail_msg("%s", err.text);
}

static void the_schema_is_as_promised(void **state)
{
    char path[1100];
    const struct place *p = *state;
    const char *root = getenv("KSWEEP_SOURCE_DIR");
    struct ks_buf got, want;
    struct ks_err err = { 0 };

    snprintf(path, sizeof(path), "%s/tests/golden/schema-%d.%d.txt", root ? root : KS_SOURCE_DIR,
             KS_SCHEMA_MAJOR, KS_SCHEMA_MINOR);
    schema_of_a_run(p, &got);
    ks_buf_init(&want);
    if (getenv("KS_BLESS"))
        assert_int_equal(ks_file_replace(path, got.data, got.len, &err), 0);
    if (ks_file_read(path, &want, &err) < 0)
        fail_msg("%s", err.text);
    assert_string_equal(ks_buf_text(&got), ks_buf_text(&want));
    ks_buf_release(&want);
    ks_buf_release(&got);
}

/* The golden schema of a minor version. */
static void read_schema(int minor, struct ks_buf *text_out)
{
    const char *root = getenv("KSWEEP_SOURCE_DIR");
    char path[1100];
    struct ks_err err;

    ks_buf_init(text_out);
    snprintf(path, sizeof(path), "%s/tests/golden/schema-%d.%d.txt", root ? root : KS_SOURCE_DIR,
             KS_SCHEMA_MAJOR, minor);
    if (ks_file_read(path, text_out, &err) < 0)
        fail_msg("%s", err.text);
}

/* A column's line with the name that its table gave it in KS_RENAMED_MINOR. */
static void rename_line(const char *line, const char *table, char *out, size_t cap)
{
    char name[64] = "";
    size_t n = 0;

    bool is_column = sscanf(line, "  %63s%zn", name, &n) == 1 && line[0] == ' ' && name[0] != '@';

    if (is_column && strncmp(table, "/kernel_traits/", 15) == 0 &&
        strcmp(name, "instance_id") != 0 && strcmp(table, "/kernel_traits/long") != 0)
        snprintf(out, cap, "  " KS_TRAIT_PREFIX "%s%s", name, line + n);
    else if (is_column && table[0])
        snprintf(out, cap, "  %s%s", ks_column_new_name(table, name), line + n);
    else
        snprintf(out, cap, "%s", line);
}

/* Attributes that were named after a renamed column. */
static bool is_renamed_attribute(const char *line)
{
    return strncmp(line, "  @flags_bits", 13) == 0 || strncmp(line, "  @v1_v2_values", 15) == 0 ||
           strncmp(line, "  @bitwise_stable_values", 24) == 0;
}

/* Whether the section of a table holds a line; a list of values may have grown. */
static bool has_line(const char *schema, const char *table, const char *line)
{
    size_t n = strlen(line), n_table = strlen(table);
    bool is_in = false;

    for (const char *at = schema; *at; at += strcspn(at, "\n") + 1) {
        if (*at == '/')
            is_in = strcspn(at, " \n") == n_table && strncmp(at, table, n_table) == 0;
        if (is_in && strncmp(at, line, n) == 0 && strchr(",\n", at[n]))
            return true;
    }
    return false;
}

/* Every line that an earlier minor version promised still stands in its table, under the names of
 * the later one. */
static void minor_versions_only_add(void **state)
{
    (void)state;
    for (int minor = 0; minor < KS_SCHEMA_MINOR; minor++) {
        char line[512], now[600], table[128] = "";
        bool renames = minor + 1 == KS_RENAMED_MINOR;
        struct ks_buf was, next;

        read_schema(minor, &was);
        read_schema(minor + 1, &next);
        for (const char *at = ks_buf_text(&was); *at; at += strcspn(at, "\n") + 1) {
            snprintf(line, sizeof(line), "%.*s", (int)strcspn(at, "\n"), at);
            if (*at == '/')
                snprintf(table, sizeof(table), "%.*s", (int)strcspn(at, " \n"), at);
            rename_line(line, renames ? table : "", now, sizeof(now));
            if (!(renames && is_renamed_attribute(line)) &&
                !has_line(ks_buf_text(&next), table, now))
                fail_msg("minor version %d, %s lacks: %s", minor + 1, table, now);
        }
        ks_buf_release(&was);
        ks_buf_release(&next);
    }
}

/* ---- names and documentation ---- */

/* docs/results.md has a table per dataset, made of the column table. */
static void every_column_is_documented(void **state)
{
    (void)state;
    for (int t = 0; t < KS_T_COUNT; t++) {
        const struct ks_table_def *def = &ks_table_defs[t];
        char heading[128], missing[48];
        struct ks_buf want;

        ks_buf_init(&want);
        ks_buf_printf(&want, "| column | unit | type | missing | role | meaning |\n"
                             "|---|---|---|---|---|---|\n");
        for (size_t k = 0; k < def->n_columns; k++) {
            const struct ks_column *c = &def->columns[k];

            ks_column_missing_text(c, missing);
            ks_buf_printf(&want, "| `%s` | %s | %s | %s | %s | %s |\n", c->name, c->units,
                          ks_col_type_text(c->type), missing, ks_col_role_text(c->role), c->doc);
        }
        snprintf(heading, sizeof(heading), "## `%s`", def->path);
        doc_table_check(heading, ks_buf_text(&want));
        ks_buf_release(&want);
    }
}

/* Old and new names lead to each other, and no table has two columns of a name. */
static void names_are_unique(void **state)
{
    uint32_t n_renamed = 0;

    (void)state;
    for (int t = 0; t < KS_T_COUNT; t++) {
        const struct ks_table_def *def = &ks_table_defs[t];

        for (size_t k = 0; k < def->n_columns; k++) {
            const char *name = def->columns[k].name;
            const char *old = ks_column_old_name(def->path, name);

            assert_ptr_equal(ks_table_column(def, name), &def->columns[k]);
            assert_string_equal(ks_column_new_name(def->path, old), name);
            n_renamed += strcmp(old, name) != 0;
        }
    }
    assert_true(n_renamed > 50);
    assert_string_equal(ks_column_old_name("/measurements", "exact_check"), "v1");
    assert_string_equal(ks_column_old_name("/problems", "exact_check"), "exact_check");
    assert_string_equal(ks_column_old_name("/kernels", "instance_name"), "name");
    assert_string_equal(ks_column_new_name("/runs", "name"), "job_name");
    assert_string_equal(ks_dim_column("ndim"), "n_spatial_dims");
    assert_string_equal(ks_dim_column("di"), "di");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, place_make, place_remove)
        TEST(keys_are_numbered_in_order),
        TEST(texts_become_utf8),
        TEST(every_type_reads_back),
        TEST(columns_are_found_by_name),
        TEST(attributes_and_digests),
        TEST(the_schema_is_as_promised),
        cmocka_unit_test(uncounted_calls_are_told),
        cmocka_unit_test(every_column_is_documented),
        cmocka_unit_test(minor_versions_only_add),
        cmocka_unit_test(names_are_unique),
#undef TEST
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("store_table", tests, NULL, NULL);
}
