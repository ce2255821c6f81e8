/* SPDX-License-Identifier: MIT */
#include "worker/artefacts.h"

#include "base/file.h"
#include "base/hash.h"

#include <stdlib.h>
#include <string.h>

struct ks_artefact {
    struct ks_artefact *next;
    struct ks_module *module;
    uint8_t digest[32];
    char path[];
};

static int check_digest(const char *path, const uint8_t want[32], struct ks_err *err)
{
    struct ks_buf file = { 0 };
    struct ks_err cause = { 0 };
    struct ks_sha256 h;
    uint8_t got[32];

    if (ks_file_read(path, &file, &cause) < 0)
        return ks_fail(err, KS_ELOAD, "%s", cause.text);
    ks_sha256_init(&h);
    ks_sha256_add(&h, file.data, file.len);
    ks_sha256_end(&h, got);
    ks_buf_release(&file);
    if (memcmp(got, want, sizeof(got)) != 0)
        return ks_fail(err, KS_ELOAD, "'%s' is not the file that was built: its SHA-256 differs",
                       path);
    return 0;
}

static int load(struct ks_artefacts *a, const char *path, const uint8_t digest[32],
                struct ks_artefact **out, struct ks_err *err)
{
    size_t n = strlen(path) + 1;
    struct ks_artefact *f;
    int rc = 0;

    if (!a->dev->ops->is_virtual)
        rc = check_digest(path, digest, err);
    if (rc < 0)
        return rc;
    f = calloc(1, sizeof(*f) + n);
    if (f == NULL)
        return ks_fail(err, KS_ENOMEM, "loading '%s'", path);
    rc = a->dev->ops->module_open(a->dev, path, &f->module, err);
    if (rc < 0) {
        free(f);
        return rc;
    }
    memcpy(f->path, path, n);
    memcpy(f->digest, digest, sizeof(f->digest));
    f->next = a->list;
    a->list = f;
    *out = f;
    return 0;
}

int ks_artefacts_entry(struct ks_artefacts *a, const char *path, const uint8_t digest[32],
                       const char *name, const struct ks_abi_entry **entry_out, struct ks_err *err)
{
    struct ks_artefact *f = a->list;
    int rc = 0;

    while (f != NULL &&
           (strcmp(f->path, path) != 0 || memcmp(f->digest, digest, sizeof(f->digest)) != 0))
        f = f->next;
    if (f == NULL)
        rc = load(a, path, digest, &f, err);
    if (rc < 0)
        return rc;
    return a->dev->ops->module_entry(a->dev, f->module, name, entry_out, err);
}

void ks_artefacts_release(struct ks_artefacts *a)
{
    while (a->list != NULL) {
        struct ks_artefact *f = a->list;

        a->list = f->next;
        a->dev->ops->module_close(a->dev, f->module);
        free(f);
    }
}
