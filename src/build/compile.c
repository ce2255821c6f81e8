/* SPDX-License-Identifier: MIT */
/* compile.c - compiler runs: start, split what fails, until each instance has its verdict.
 *
 *     TO_COMPILE -> COMPILING -> TO_LINK -> LINKING -> TO_PUBLISH -> published
 * A failure of several instances becomes two halves; of one, its verdict. */
#include "build/plan.h"

#include "base/clock.h"
#include "base/file.h"
#include "build/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void ks_compile_release(struct ks_compile *c)
{
    if (c->dir[0])
        (void)ks_remove_tree(c->dir, NULL);
    free(c->instances);
    *c = (struct ks_compile){ .n = 0 };
}

int ks_compile_queue(struct ks_build *b, uint32_t i_unit, const uint32_t *instances, uint32_t n,
                     struct ks_err *err)
{
    if (b->n_compiles == b->cap_compiles) {
        const uint32_t cap = b->cap_compiles ? 2 * b->cap_compiles : 16;
        struct ks_compile *more = realloc(b->compiles, cap * sizeof(*more));
        if (!more)
            return ks_fail(err, KS_ENOMEM, "queue of compilations");
        b->compiles = more;
        b->cap_compiles = cap;
    }
    struct ks_compile c = { .i_unit = i_unit, .n = n };
    c.instances = calloc(n, sizeof(*c.instances));
    if (!c.instances)
        return ks_fail(err, KS_ENOMEM, "queue of compilations");
    memcpy(c.instances, instances, n * sizeof(*instances));
    b->compiles[b->n_compiles++] = c;
    b->units[i_unit].n_pending++;
    return 0;
}

static const struct ks_family *family_of(const struct ks_build *b, const struct ks_compile *c)
{
    return &b->grid->families[b->grid->instances[c->instances[0]].i_family];
}

static int write_unit(struct ks_build *b, struct ks_compile *c, struct ks_err *err)
{
    char path[700];
    struct ks_buf text;
    int rc = ks_cache_temp(&b->cache, c->dir, sizeof(c->dir), err);
    if (rc == 0)
        rc = ks_path_join(path, sizeof(path), c->dir, "unit.c", err);
    if (rc < 0)
        return rc;
    ks_buf_init(&text);
    rc = ks_unit_text(family_of(b, c), b->grid->instances, c->instances, c->n, &text, err);
    if (rc == 0)
        rc = ks_file_replace(path, text.data, text.len, err);
    ks_buf_release(&text);
    return rc;
}

static int spawn(struct ks_build *b, struct ks_compile *c, const struct ks_argv *a,
                 enum ks_compile_phase phase, struct ks_err *err)
{
    /* The reason of a failure is found by its English words; what a killed compiler leaves is swept
     * with the directory. */
    char tmpdir[620];
    const char *const env[] = { "LC_ALL=C", tmpdir, NULL };
    snprintf(tmpdir, sizeof(tmpdir), "TMPDIR=%s", c->dir);
    const struct ks_spawn s = { .argv = a->at,
                                .env = env,
                                .cwd = c->dir,
                                .fds = { -1, -1, -1, -1 },
                                .status_fd = -1,
                                .deadline_ns = ks_now_ns() + b->timeout_s * 1000000000ull,
                                .rss_bytes = (uint64_t)b->memory_mib << 20,
                                .is_quiet = true };
    int rc = ks_warden_spawn(b->warden, &s, &c->child, err);
    if (rc < 0)
        return rc;
    c->phase = phase;
    b->n_started++;
    return 0;
}

int ks_compile_start(struct ks_build *b, struct ks_compile *c, struct ks_err *err)
{
    const struct ks_toolchain *t = ks_build_toolchain(b, c->instances[0]);
    struct ks_argv a;
    struct ks_buf flags;
    int rc;
    if (c->phase == KS_TO_LINK) {
        rc = ks_toolchain_link(t, &a, err);
        return rc < 0 ? rc : spawn(b, c, &a, KS_LINKING, err);
    }
    ks_buf_init(&flags);
    ks_build_flags(b, c->instances[0], &flags);
    rc = ks_buf_ok(&flags) ? write_unit(b, c, err) : ks_fail(err, KS_ENOMEM, "compiler's flags");
    if (rc == 0)
        rc = ks_toolchain_compile(t, ks_buf_text(&flags), &a, err);
    ks_buf_release(&flags);
    return rc < 0 ? rc : spawn(b, c, &a, KS_COMPILING, err);
}

bool ks_compile_is_running(const struct ks_compile *c)
{
    return c->phase == KS_COMPILING || c->phase == KS_LINKING;
}

/* Ending
 * ------------------------------------------------------------------------------------------- */

static int split(struct ks_build *b, uint32_t i, struct ks_err *err)
{
    const uint32_t half = b->compiles[i].n / 2, i_unit = b->compiles[i].i_unit;
    int rc = ks_compile_queue(b, i_unit, b->compiles[i].instances, half, err);
    if (rc == 0)
        rc = ks_compile_queue(b, i_unit, b->compiles[i].instances + half, b->compiles[i].n - half,
                              err);
    return rc;
}

/* Whose fault is it? A full disk, or a compiler killed for memory that others use, is not the
 * instance's. */
static enum ks_holds how_long(const struct ks_child_end *end, const char *reason)
{
    if (end->how == KS_END_DEADLINE || end->how == KS_END_MEMORY)
        return KS_HOLDS_LIMITS;
    return end->how == KS_END_EXITED && !strstr(reason, "No space left") &&
                   !strstr(reason, "Killed signal") && !strstr(reason, "out of memory")
               ? KS_HOLDS_ALWAYS
               : KS_HOLDS_RUN;
}

static void put_reason(const struct ks_build *b, const struct ks_child_end *end, char *out,
                       size_t cap)
{
    if (end->how == KS_END_DEADLINE)
        snprintf(out, cap, "the compiler ran longer than %u s", b->timeout_s);
    else if (end->how == KS_END_MEMORY)
        snprintf(out, cap, "the compiler exceeded %u MiB", b->memory_mib);
    else if (end->how == KS_END_EXITED)
        ks_toolchain_reason(end->tail, end->n_tail, out, cap);
    else
        snprintf(out, cap, "the compiler died: %s %d", ks_end_text(end->how), end->code);
}

static int deal_with_failure(struct ks_build *b, uint32_t i, const struct ks_child_end *end,
                             struct ks_err *err)
{
    struct ks_compile *c = &b->compiles[i];
    char reason[256];
    if (end->how == KS_END_NO_EXEC)
        return ks_fail(err, KS_ENOENT, "the compiler '%s' cannot be started any more",
                       ks_build_toolchain(b, c->instances[0])->command);
    if (end->how == KS_END_KILLED)
        return ks_fail(err, KS_EINTR, "the compiler was stopped");
    if (c->n > 1)
        return split(b, i, err);
    put_reason(b, end, reason, sizeof(reason));
    return ks_compile_fail(b, c, end->how == KS_END_DEADLINE ? KS_ART_TIMEOUT : KS_ART_FAILED,
                           how_long(end, reason), reason, err);
}

bool ks_compile_ended(struct ks_build *b, uint32_t i, const struct ks_child_end *end, int *rc_out,
                      struct ks_err *err)
{
    struct ks_compile *c = &b->compiles[i];
    c->compile_ns += end->wall_ns;
    *rc_out = 0;
    if (end->how == KS_END_EXITED && end->code == 0) {
        c->phase = c->phase == KS_COMPILING ? KS_TO_LINK : KS_TO_PUBLISH;
        return false;
    }
    *rc_out = deal_with_failure(b, i, end, err);
    return true;
}
