/* SPDX-License-Identifier: MIT */
/* schema_text.c - prints a file's tables, columns and attributes, without data and text lengths */
#include "store/h5.h"
#include "store/store.h"

#include <stdio.h>
#include <string.h>

static const char *type_name(hid_t type)
{
    static const struct {
        H5T_class_t class;
        size_t size;
        bool is_signed;
        const char *name;
    } names[] = {
        { H5T_INTEGER, 1, false, "uint8" },  { H5T_INTEGER, 4, false, "uint32" },
        { H5T_INTEGER, 8, false, "uint64" }, { H5T_INTEGER, 4, true, "int32" },
        { H5T_INTEGER, 8, true, "int64" },   { H5T_FLOAT, 4, true, "float32" },
        { H5T_FLOAT, 8, true, "float64" },
    };
    H5T_class_t class = H5Tget_class(type);
    bool is_signed = class != H5T_INTEGER || H5Tget_sign(type) == H5T_SGN_2;

    if (class == H5T_STRING)
        return H5Tget_cset(type) == H5T_CSET_UTF8 ? "utf8" : "ascii";
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (names[i].class == class && names[i].size == H5Tget_size(type) &&
            names[i].is_signed == is_signed)
            return names[i].name;
    return "?";
}

static void print_members(hid_t dataset, hid_t type, struct ks_buf *b)
{
    int n = H5Tget_nmembers(type);

    for (int i = 0; i < n; i++) {
        hid_t member = H5Tget_member_type(type, (unsigned)i);
        char *name = H5Tget_member_name(type, (unsigned)i);
        char attr[48], units[64];

        ks_buf_printf(b, "  %s %s", name ? name : "?", type_name(member));
        snprintf(attr, sizeof(attr), "FIELD_%d_UNITS", i);
        if (ks_h5_get_text(dataset, attr, units, sizeof(units)))
            ks_buf_printf(b, " [%s]", units);
        snprintf(attr, sizeof(attr), "FIELD_%d_FILL", i);
        ks_buf_printf(b, "%s\n", H5Aexists(dataset, attr) > 0 ? " may be missing" : "");
        H5free_memory(name);
        ks_h5_close(member);
    }
}

static herr_t print_attribute(hid_t at, const char *name, const H5A_info_t *info, void *ctx)
{
    char text[1024];

    (void)info;
    if (strncmp(name, "FIELD_", 6) == 0)
        return 0;
    ks_buf_printf(ctx, "  @%s", name);
    if (strcmp(name, "program") != 0 && ks_h5_get_text(at, name, text, sizeof(text)))
        ks_buf_printf(ctx, " = %s", text);
    ks_buf_printf(ctx, "\n");
    return 0;
}

static herr_t visit(hid_t at, const char *name, const H5O_info_t *info, void *ctx)
{
    hid_t object = H5Oopen(at, name, H5P_DEFAULT), type = KS_H5_NONE;
    struct ks_buf *b = ctx;

    if (object < 0)
        return -1;
    if (info->type == H5O_TYPE_DATASET)
        type = H5Dget_type(object);
    ks_buf_printf(b, "%s%s", strcmp(name, ".") == 0 ? "" : "/",
                  strcmp(name, ".") == 0 ? "/" : name);
    if (type >= 0 && H5Tget_class(type) != H5T_COMPOUND)
        ks_buf_printf(b, " %s", type_name(type));
    ks_buf_printf(b, "\n");
    if (type >= 0 && H5Tget_class(type) == H5T_COMPOUND)
        print_members(object, type, b);
    H5Aiterate2(object, H5_INDEX_NAME, H5_ITER_INC, NULL, print_attribute, b);
    ks_h5_close(type);
    H5Oclose(object);
    return 0;
}

int ks_store_schema_text(const char *path, struct ks_buf *text_out, struct ks_err *err)
{
    hid_t file;
    int rc = 0;

    ks_h5_start();
    file = ks_h5_open(path);
    if (file < 0)
        return ks_h5_fail(err, "opening '%s'", path);
    if (H5Ovisit2(file, H5_INDEX_NAME, H5_ITER_INC, visit, text_out, H5O_INFO_BASIC) < 0)
        rc = ks_h5_fail(err, "listing '%s'", path);
    else if (!ks_buf_ok(text_out))
        rc = ks_fail(err, KS_ENOMEM, "out of memory");
    ks_h5_close(file);
    return rc;
}
