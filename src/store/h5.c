/* SPDX-License-Identifier: MIT */
#include "store/h5.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void ks_h5_start(void)
{
    H5dont_atexit();
    H5open();
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
}

hid_t ks_h5_open(const char *path)
{
    hid_t access = H5Pcreate(H5P_FILE_ACCESS), file = KS_H5_NONE;

    if (access >= 0 && H5Pset_file_locking(access, false, true) >= 0)
        file = H5Fopen(path, H5F_ACC_RDONLY, access);
    if (access >= 0)
        H5Pclose(access);
    return file;
}

void ks_h5_close(hid_t id)
{
    if (id < 0)
        return;
    switch (H5Iget_type(id)) {
    case H5I_FILE:
        H5Fclose(id);
        break;
    case H5I_GROUP:
        H5Gclose(id);
        break;
    case H5I_DATATYPE:
        H5Tclose(id);
        break;
    case H5I_DATASPACE:
        H5Sclose(id);
        break;
    case H5I_DATASET:
        H5Dclose(id);
        break;
    case H5I_ATTR:
        H5Aclose(id);
        break;
    case H5I_GENPROP_LST:
        H5Pclose(id);
        break;
    default:
        break;
    }
}

struct cause {
    char text[200];
    bool is_full;
};

/* The stack is walked from the outside in: the last one seen is the innermost. The driver words a
 * failed system call as "..., errno = 28, error message = '...'". */
static herr_t see(unsigned n, const H5E_error2_t *e, void *ctx)
{
    struct cause *c = ctx;
    const char *desc = e->desc ? e->desc : "";

    (void)n;
    snprintf(c->text, sizeof(c->text), "%s", desc);
    if (strstr(desc, "errno = 28,") || strstr(desc, "errno = 122,") || strstr(desc, "errno = 27,"))
        c->is_full = true;
    return 0;
}

int ks_h5_fail(struct ks_err *err, const char *fmt, ...)
{
    struct cause c = { "unknown cause", false };
    char what[256];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(what, sizeof(what), fmt, ap);
    va_end(ap);
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_DOWNWARD, see, &c);
    if (c.is_full)
        return ks_fail(err, KS_ENOSPC, "%s: no space left (HDF5: %s)", what, c.text);
    return ks_fail(err, KS_EIO, "%s (HDF5: %s)", what, c.text);
}

static int put(hid_t at, const char *name, hid_t type, const void *value, struct ks_err *err)
{
    hid_t space = H5Screate(H5S_SCALAR), attr = KS_H5_NONE;
    int rc = 0;

    if (space >= 0)
        attr = H5Acreate2(at, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    if (attr < 0 || H5Awrite(attr, type, value) < 0)
        rc = ks_h5_fail(err, "attribute '%s'", name);
    ks_h5_close(attr);
    ks_h5_close(space);
    return rc;
}

static hid_t text_type(size_t len)
{
    hid_t type = H5Tcopy(H5T_C_S1);

    if (type < 0 || H5Tset_size(type, len ? len : 1) < 0 || H5Tset_cset(type, H5T_CSET_UTF8) < 0 ||
        H5Tset_strpad(type, H5T_STR_NULLPAD) < 0) {
        ks_h5_close(type);
        return KS_H5_NONE;
    }
    return type;
}

int ks_h5_put_text(hid_t at, const char *name, const char *text, struct ks_err *err)
{
    hid_t type = text_type(strlen(text));
    int rc;

    if (type < 0)
        return ks_h5_fail(err, "type of attribute '%s'", name);
    rc = put(at, name, type, text, err);
    ks_h5_close(type);
    return rc;
}

int ks_h5_put_u64(hid_t at, const char *name, uint64_t v, struct ks_err *err)
{
    return put(at, name, H5T_NATIVE_UINT64, &v, err);
}

int ks_h5_get_u64(hid_t at, const char *name, uint64_t *out, struct ks_err *err)
{
    hid_t attr;
    uint64_t v;
    int rc = 0;

    if (H5Aexists(at, name) <= 0)
        return ks_fail(err, KS_EFORMAT, "no attribute '%s'", name);
    attr = H5Aopen(at, name, H5P_DEFAULT);
    if (attr < 0 || H5Aread(attr, H5T_NATIVE_UINT64, &v) < 0) {
        rc = ks_h5_fail(err, "attribute '%s'", name);
        if (err)
            err->code = KS_EFORMAT;
        rc = KS_EFORMAT;
    } else {
        *out = v;
    }
    ks_h5_close(attr);
    return rc;
}

bool ks_h5_get_text(hid_t at, const char *name, char *out, size_t cap)
{
    hid_t attr, type;
    bool is_read = false;

    if (H5Aexists(at, name) <= 0)
        return false;
    attr = H5Aopen(at, name, H5P_DEFAULT);
    type = attr < 0 ? KS_H5_NONE : H5Aget_type(attr);
    if (type >= 0 && H5Tget_class(type) == H5T_STRING && !H5Tis_variable_str(type) &&
        H5Tget_size(type) < cap) {
        size_t n = H5Tget_size(type);

        is_read = H5Aread(attr, type, out) >= 0;
        out[n] = '\0';
    }
    ks_h5_close(type);
    ks_h5_close(attr);
    return is_read;
}

static hid_t creation(size_t chunk)
{
    hsize_t dim = chunk ? chunk : 1;
    hid_t p = H5Pcreate(H5P_DATASET_CREATE);

    /* No times in the file: the same journal gives the same bytes. All attributes in the object's
     * header: the heap they would move to holds bytes that no reader looks at. */
    if (p < 0 || H5Pset_chunk(p, 1, &dim) < 0 || H5Pset_shuffle(p) < 0 ||
        H5Pset_deflate(p, 1) < 0 || H5Pset_fletcher32(p) < 0 ||
        H5Pset_obj_track_times(p, false) < 0 || H5Pset_attr_phase_change(p, 4096, 0) < 0) {
        ks_h5_close(p);
        return KS_H5_NONE;
    }
    return p;
}

/* Whole chunks are written and read once, in order: a cache would only hold them twice. */
static hid_t access_uncached(void)
{
    hid_t p = H5Pcreate(H5P_DATASET_ACCESS);

    if (p >= 0 && H5Pset_chunk_cache(p, 1, 0, 1.0) < 0) {
        ks_h5_close(p);
        return KS_H5_NONE;
    }
    return p;
}

/* The group a path lies in. Made here and not by HDF5 itself, which would note the time. */
static int need_group(hid_t file, const char *path)
{
    const char *slash = strrchr(path, '/');
    char name[128];
    hid_t create, group = KS_H5_NONE;

    if (!slash || slash == path)
        return 0;
    snprintf(name, sizeof(name), "%.*s", (int)(slash - path), path);
    if (H5Lexists(file, name, H5P_DEFAULT) > 0)
        return 0;
    create = H5Pcreate(H5P_GROUP_CREATE);
    if (create >= 0 && H5Pset_obj_track_times(create, false) >= 0)
        group = H5Gcreate2(file, name, H5P_DEFAULT, create, H5P_DEFAULT);
    ks_h5_close(create);
    ks_h5_close(group);
    return group < 0 ? -1 : 0;
}

int ks_h5_dataset(hid_t file, const char *path, hid_t type, size_t chunk, hid_t *out,
                  struct ks_err *err)
{
    hsize_t zero = 0, unlimited = H5S_UNLIMITED;
    hid_t space = H5Screate_simple(1, &zero, &unlimited), made = KS_H5_NONE;
    hid_t create = creation(chunk), access = access_uncached();
    int rc = 0;

    if (space >= 0 && create >= 0 && access >= 0 && need_group(file, path) == 0)
        made = H5Dcreate2(file, path, type, space, H5P_DEFAULT, create, access);
    if (made < 0)
        rc = ks_h5_fail(err, "creating '%s'", path);
    else
        *out = made;
    ks_h5_close(access);
    ks_h5_close(create);
    ks_h5_close(space);
    return rc;
}

/* The part [first, first + n) of the dataset as a file space, and its memory space. */
static int select_rows(hid_t dataset, uint64_t first, size_t n, hid_t *file_out, hid_t *memory_out)
{
    hsize_t at = first, count = n;

    *memory_out = H5Screate_simple(1, &count, NULL);
    *file_out = H5Dget_space(dataset);
    return *memory_out < 0 || *file_out < 0 ||
                   H5Sselect_hyperslab(*file_out, H5S_SELECT_SET, &at, NULL, &count, NULL) < 0
               ? -1
               : 0;
}

int ks_h5_append(hid_t dataset, hid_t type, const void *from, size_t n, uint64_t *extent_io,
                 struct ks_err *err)
{
    hsize_t extent = *extent_io + n;
    hid_t file = KS_H5_NONE, memory = KS_H5_NONE;
    int rc = 0;

    if (n == 0)
        return 0;
    if (H5Dset_extent(dataset, &extent) < 0 ||
        select_rows(dataset, *extent_io, n, &file, &memory) < 0 ||
        H5Dwrite(dataset, type, memory, file, H5P_DEFAULT, from) < 0)
        rc = ks_h5_fail(err, "writing %zu rows", n);
    else
        *extent_io = extent;
    ks_h5_close(memory);
    ks_h5_close(file);
    return rc;
}

int ks_h5_read(hid_t dataset, hid_t type, uint64_t first, size_t n, void *to, struct ks_err *err)
{
    hid_t file = KS_H5_NONE, memory = KS_H5_NONE;
    int rc = 0;

    if (n == 0)
        return 0;
    if (select_rows(dataset, first, n, &file, &memory) < 0 ||
        H5Dread(dataset, type, memory, file, H5P_DEFAULT, to) < 0)
        rc = ks_h5_fail(err, "reading rows %llu to %llu", (unsigned long long)first,
                        (unsigned long long)(first + n - 1));
    ks_h5_close(memory);
    ks_h5_close(file);
    return rc;
}

int ks_h5_extent(hid_t dataset, uint64_t *n_out, struct ks_err *err)
{
    hid_t space = H5Dget_space(dataset);
    hsize_t n;
    int rc = 0;

    if (space < 0 || H5Sget_simple_extent_ndims(space) != 1 ||
        H5Sget_simple_extent_dims(space, &n, NULL) != 1)
        rc = ks_fail(err, KS_EFORMAT, "is not a list of rows");
    else
        *n_out = n;
    ks_h5_close(space);
    return rc;
}

size_t ks_h5_chunk(hid_t dataset)
{
    hid_t p = H5Dget_create_plist(dataset);
    hsize_t dim = 1;

    if (p < 0 || H5Pget_layout(p) != H5D_CHUNKED || H5Pget_chunk(p, 1, &dim) != 1)
        dim = 1;
    ks_h5_close(p);
    return (size_t)dim;
}
