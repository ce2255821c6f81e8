/* SPDX-License-Identifier: MIT */
/* plugin.c - plug-ins as artefacts: their digests, and build ids from digest and instance name */
#include "build/plugin.h"

#include "base/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct plugin {
    char path[sizeof(((struct ks_artefact *)0)->path)]; /* without symbolic links */
    uint8_t digest[32];
    uint64_t n_bytes;
};

/* Workers refuse symbolic links: what is hashed here is what they open. */
static int resolve(const char *path, struct plugin *out, struct ks_err *err)
{
    char *real = realpath(path, NULL);
    int rc = 0;
    if (!real)
        return ks_fail_path(err, "'%s'", path);
    if (strlen(real) >= sizeof(out->path))
        rc = ks_fail(err, KS_EINVAL, "'%s': the path is too long", real);
    else
        snprintf(out->path, sizeof(out->path), "%s", real);
    free(real);
    return rc;
}

static int read_plugin(const char *path, struct plugin *out, struct ks_err *err)
{
    struct plugin p = { .n_bytes = 0 };
    struct ks_sha256 h;
    struct ks_buf file;
    ks_buf_init(&file);
    int rc = resolve(path, &p, err);
    if (rc == 0)
        rc = ks_file_read(p.path, &file, err);
    if (rc == 0) {
        ks_sha256_init(&h);
        ks_sha256_add(&h, file.data, file.len);
        ks_sha256_end(&h, p.digest);
        p.n_bytes = file.len;
        *out = p;
    }
    ks_buf_release(&file);
    return rc < 0 ? ks_err_context(err, rc, "plug-in") : 0;
}

static struct ks_id128 build_id(const struct plugin *p, const char *name)
{
    struct ks_sha256 h;
    ks_sha256_init(&h);
    ks_sha256_add(&h, "plugin", sizeof("plugin"));
    ks_sha256_add(&h, p->digest, sizeof(p->digest));
    ks_sha256_add(&h, name, strlen(name) + 1);
    return ks_sha256_id128(&h);
}

static void take(const struct plugin *p, const struct ks_instance *inst, struct ks_artefact *a)
{
    a->state = KS_ART_READY;
    snprintf(a->path, sizeof(a->path), "%s", p->path);
    memcpy(a->digest, p->digest, sizeof(a->digest));
    a->build_id = build_id(p, inst->name);
    a->object_bytes = p->n_bytes;
    a->is_cached = true;
}

int ks_plugins_take(const struct ks_grid *grid, struct ks_artefact *artefacts, struct ks_err *err)
{
    for (uint32_t k = 0; k < grid->job.n_kernels; k++) {
        struct plugin p;
        if (!grid->job.kernels[k].plugin[0])
            continue;
        int rc = read_plugin(grid->job.kernels[k].plugin, &p, err);
        if (rc < 0)
            return rc;
        for (uint32_t i = 0; i < grid->n_instances; i++)
            if (grid->instances[i].i_kernels == k && !artefacts[i].reason[0])
                take(&p, &grid->instances[i], &artefacts[i]);
    }
    return 0;
}
