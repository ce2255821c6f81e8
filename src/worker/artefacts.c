/* SPDX-License-Identifier: MIT */
/* artefacts.c - opens the objects of a problem's kernels once each, if their digests are right */
#include "worker/artefacts.h"

#include "worker/sealed.h"

#include <stdlib.h>
#include <string.h>

struct ks_artefact {
    struct ks_artefact *next;
    struct ks_module *module;
    uint8_t digest[32];
    char path[];
};

static int open_module(struct ks_artefacts *a, const char *path, const uint8_t digest[32],
                       struct ks_module **out, struct ks_err *err)
{
    struct ks_sealed copy;
    int rc = ks_sealed_open(path, &copy, err);

    a->is_damaged = rc == KS_ELOAD;
    if (rc < 0)
        return rc;
    a->is_damaged = memcmp(copy.digest, digest, sizeof(copy.digest)) != 0;
    if (a->is_damaged)
        rc = ks_fail(err, KS_ELOAD, "'%s' is not the file that was built: its SHA-256 differs",
                     path);
    else
        rc = a->dev->ops->module_open(a->dev, copy.path, out, err);
    if (rc < 0)
        ks_sealed_blame(&copy, path, err);
    ks_sealed_close(&copy);
    return rc;
}

static int load(struct ks_artefacts *a, const char *path, const uint8_t digest[32],
                struct ks_artefact **out, struct ks_err *err)
{
    size_t n = strlen(path) + 1;
    struct ks_artefact *f = calloc(1, sizeof(*f) + n);
    int rc;

    if (f == NULL)
        return ks_fail(err, KS_ENOMEM, "out of memory loading '%s'", path);
    if (a->dev->ops->is_virtual)
        rc = a->dev->ops->module_open(a->dev, path, &f->module, err);
    else
        rc = open_module(a, path, digest, &f->module, err);
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

    a->is_damaged = false;
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
