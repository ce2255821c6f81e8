/* SPDX-License-Identifier: MIT */
/* pack.c - units from one cache to another.
 *
 *     pack = length of the manifest(u32) manifest object        little-endian
 *
 * The manifest names the digest of the object, and the unit is the digest of what the manifest
 * lists: a pack proves what it is. */
#include "build/plan.h"

#include "base/file.h"

#include <stdio.h>
#include <string.h>

static int put_object(const struct ks_cache *c, const struct ks_manifest *m, struct ks_buf *out,
                      struct ks_err *err)
{
    char path[768];
    struct ks_buf object;
    int rc = ks_cache_object(c, m->unit, path, sizeof(path), err);
    if (rc < 0 || !m->object_bytes)
        return rc;
    ks_buf_init(&object);
    rc = ks_file_read(path, &object, err);
    if (rc == 0)
        ks_buf_put(out, object.data, object.len);
    ks_buf_release(&object);
    return rc;
}

int ks_build_export(const struct ks_build *b, struct ks_id128 build_id, struct ks_buf *pack_out,
                    struct ks_err *err)
{
    struct ks_manifest m = { .rows = NULL };
    struct ks_buf json;
    struct ks_id128 unit;
    if (!b->n_units || ks_cache_find(&b->cache, build_id, &unit) < 0)
        return ks_fail(err, KS_ENOENT, "the cache does not have this build");
    int rc = ks_manifest_read(&b->cache, unit, &m, err);
    const struct ks_manifest_row *row = rc == 0 ? ks_manifest_find(&m, build_id) : NULL;
    /* A full disk here is not one there. */
    if (rc == KS_EFORMAT || (rc == 0 && (!row || row->holds == KS_HOLDS_RUN)))
        rc = ks_fail(err, KS_ENOENT, "the cache has no intact copy of this build");
    ks_buf_init(&json);
    if (rc == 0) {
        ks_manifest_print(&m, &json);
        ks_buf_u32(pack_out, (uint32_t)json.len);
        ks_buf_put(pack_out, json.data, json.len);
        rc = put_object(&b->cache, &m, pack_out, err);
    }
    if (rc == 0 && (!ks_buf_ok(&json) || !ks_buf_ok(pack_out)))
        rc = ks_fail(err, KS_ENOMEM, "out of memory for a unit to send");
    ks_buf_release(&json);
    ks_manifest_release(&m);
    return rc;
}

/* object[0..n): does the manifest tell of it, and of this build? */
static int check(const struct ks_manifest *m, struct ks_id128 build_id, const void *object,
                 size_t n, struct ks_err *err)
{
    struct ks_sha256 h;
    uint8_t digest[32];
    if (!ks_id128_eq(m->unit, ks_manifest_unit(m)) || !ks_manifest_find(m, build_id))
        return ks_fail(err, KS_EFORMAT, "the received pack does not contain the requested build");
    ks_sha256_init(&h);
    ks_sha256_add(&h, object, n);
    ks_sha256_end(&h, digest);
    if (n != m->object_bytes || (n && memcmp(digest, m->digest, sizeof(digest)) != 0))
        return ks_fail(err, KS_EFORMAT, "the received pack is damaged: its digest differs");
    return 0;
}

static int publish(struct ks_build *b, const struct ks_manifest *m, const void *object, size_t n,
                   struct ks_err *err)
{
    char dir[600], path[700];
    int rc = ks_cache_temp(&b->cache, dir, sizeof(dir), err);
    if (rc < 0)
        return rc;
    rc = ks_path_join(path, sizeof(path), dir, KS_UNIT_OBJECT, err);
    if (rc == 0 && n)
        rc = ks_file_replace(path, object, n, err);
    if (rc < 0) {
        (void)ks_remove_tree(dir, NULL);
        return rc;
    }
    return ks_cache_publish(&b->cache, dir, m, err);
}

int ks_build_import(struct ks_build *b, struct ks_id128 build_id, const void *pack, size_t n,
                    struct ks_err *err)
{
    struct ks_manifest m = { .rows = NULL };
    struct ks_cur c = ks_cur(pack, n);
    const uint32_t len = ks_cur_u32(&c);
    const char *json = ks_cur_take(&c, len);
    if (c.failed)
        return ks_fail(err, KS_EFORMAT, "the received pack of %zu bytes is truncated", n);
    int rc = ks_manifest_parse(json, len, "manifest of a received pack", &m, err);
    if (rc == 0)
        rc = check(&m, build_id, c.p, c.left, err);
    if (rc == 0)
        rc = publish(b, &m, c.p, c.left, err);
    ks_manifest_release(&m);
    return rc;
}
