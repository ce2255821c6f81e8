/* SPDX-License-Identifier: MIT */
/* compile.c - compiler runs: start, split what fails, until each instance has its verdict.
 *
 *     TO_COMPILE_DEVICE -> COMPILING_DEVICE                 of a GPU, before
 *     TO_COMPILE -> COMPILING -> TO_LINK -> LINKING -> TO_TRY -> TRYING -> TO_PUBLISH -> published
 * A failure of several instances becomes two halves; of one, its verdict. */
#include "build/plan.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/limits.h"
#include "build/try.h"
#include "build/unit.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

void ks_compile_release(struct ks_compile *c)
{
    if (c->dir[0])
        (void)ks_remove_tree(c->dir, NULL);
    free(c->instances);
    free(c->device_of);
    *c = (struct ks_compile){ .n = 0 };
}

int ks_compile_queue(struct ks_build *b, uint32_t i_unit, const uint32_t *instances, uint32_t n,
                     struct ks_err *err)
{
    if (b->n_compiles == b->cap_compiles) {
        const uint32_t cap = b->cap_compiles ? 2 * b->cap_compiles : 16;
        struct ks_compile *more = realloc(b->compiles, cap * sizeof(*more));
        if (!more)
            return ks_fail(err, KS_ENOMEM, "out of memory for the compile queue");
        b->compiles = more;
        b->cap_compiles = cap;
    }
    const bool is_gpu = ks_build_gpu_chain(b, instances[0])->target != KS_GPU_NONE;
    struct ks_compile c = { .i_unit = i_unit,
                            .n = n,
                            .phase = is_gpu ? KS_TO_COMPILE_DEVICE : KS_TO_COMPILE };
    c.instances = calloc(n, sizeof(*c.instances));
    c.device_of = is_gpu ? calloc(n, sizeof(*c.device_of)) : NULL;
    if (!c.instances || (is_gpu && !c.device_of)) {
        ks_compile_release(&c);
        return ks_fail(err, KS_ENOMEM, "out of memory for the compile queue");
    }
    memcpy(c.instances, instances, n * sizeof(*instances));
    b->compiles[b->n_compiles++] = c;
    b->units[i_unit].n_pending++;
    return 0;
}

static const struct ks_family *family_of(const struct ks_build *b, const struct ks_compile *c)
{
    return &b->grid->families[b->grid->instances[c->instances[0]].i_family];
}

static struct ks_unit_members members_of(const struct ks_build *b, const struct ks_compile *c)
{
    return (struct ks_unit_members){
        .f = family_of(b, c), .all = b->grid->instances, .at = c->instances, .n = c->n
    };
}

static int write_text(const struct ks_compile *c, const char *name, const struct ks_buf *text,
                      struct ks_err *err)
{
    char path[700];
    const int rc = ks_path_join(path, sizeof(path), c->dir, name, err);
    return rc < 0 ? rc : ks_file_replace(path, text->data, text->len, err);
}

static int write_device(struct ks_build *b, struct ks_compile *c, struct ks_err *err)
{
    const struct ks_unit_members m = members_of(b, c);
    const int target = (int)ks_build_gpu_chain(b, c->instances[0])->target;
    struct ks_buf text;
    int rc = ks_cache_temp(&b->cache, c->dir, sizeof(c->dir), err);
    if (rc < 0)
        return rc;
    ks_buf_init(&text);
    rc = ks_unit_devices(&m, c->device_of, err);
    if (rc == 0)
        rc = ks_unit_device_text(&m, c->device_of, target, &text, err);
    if (rc == 0)
        rc = write_text(c, "device.c", &text, err);
    ks_buf_release(&text);
    return rc;
}

/* The host's half around the image. */
static int put_host_text(struct ks_build *b, struct ks_compile *c, struct ks_buf *text,
                         struct ks_err *err)
{
    const struct ks_unit_members m = members_of(b, c);
    char path[700];
    struct stat st;
    int rc = ks_path_join(path, sizeof(path), c->dir, KS_UNIT_IMAGE, err);
    if (rc < 0)
        return rc;
    if (stat(path, &st) < 0)
        return ks_fail_errno(err, "'%s'", path);
    return ks_unit_host_text(&m, c->device_of, (int)ks_build_gpu_chain(b, c->instances[0])->target,
                             (uint64_t)st.st_size, text, err);
}

static int write_unit(struct ks_build *b, struct ks_compile *c, struct ks_err *err)
{
    const struct ks_unit_members m = members_of(b, c);
    struct ks_buf text;
    int rc = c->device_of ? 0 : ks_cache_temp(&b->cache, c->dir, sizeof(c->dir), err);
    if (rc < 0)
        return rc;
    ks_buf_init(&text);
    rc = c->device_of ? put_host_text(b, c, &text, err) : ks_unit_text(&m, &text, err);
    if (rc == 0)
        rc = write_text(c, "unit.c", &text, err);
    ks_buf_release(&text);
    return rc;
}

static int spawn(struct ks_build *b, struct ks_compile *c, const struct ks_argv *a,
                 enum ks_compile_phase phase, struct ks_err *err)
{
    /* The reason of a failure is found by its English words; what a killed compiler leaves is swept
     * with the directory. */
    char tmpdir[620];
    const char *const env[] = { "LC_ALL=C", tmpdir, ks_command_path(), NULL };
    snprintf(tmpdir, sizeof(tmpdir), "TMPDIR=%s", c->dir);
    const struct ks_spawn s = { .argv = a->at,
                                .env = env,
                                .cwd = c->dir,
                                .fds = { -1, -1, -1, -1 },
                                .status_fd = -1,
                                .deadline_ns = ks_now_ns() + b->timeout_s * 1000000000ull,
                                .file_bytes = (uint64_t)b->file_mib << 20,
                                .rss_bytes = (uint64_t)b->memory_mib << 20,
                                .is_quiet = true };
    int rc = ks_warden_spawn(b->warden, &s, &c->child, err);
    if (rc < 0)
        return rc;
    c->phase = phase;
    b->n_started++;
    return 0;
}

/* Writes what is to be compiled, and how. */
static int prepare(struct ks_build *b, struct ks_compile *c, struct ks_argv *a, struct ks_err *err)
{
    const struct ks_toolchain *t = ks_build_toolchain(b, c->instances[0]);
    const bool is_device = c->phase == KS_TO_COMPILE_DEVICE;
    struct ks_buf flags;
    if (c->phase == KS_TO_LINK)
        return ks_toolchain_link(t, family_of(b, c)->link_flags, a, err);
    int rc = is_device ? write_device(b, c, err) : write_unit(b, c, err);
    if (rc < 0)
        return rc;
    ks_buf_init(&flags);
    if (is_device || !c->device_of) /* a family's flags are those of what runs on the device */
        ks_build_flags(b, c->instances[0], &flags);
    if (!ks_buf_ok(&flags))
        rc = ks_fail(err, KS_ENOMEM, "out of memory for compiler flags");
    else if (is_device)
        rc = ks_gpu_chain_compile(ks_build_gpu_chain(b, c->instances[0]), ks_buf_text(&flags), a,
                                  err);
    else
        rc = ks_toolchain_compile(t, ks_buf_text(&flags), a, err);
    ks_buf_release(&flags);
    return rc;
}

int ks_compile_start(struct ks_build *b, struct ks_compile *c, struct ks_err *err)
{
    struct ks_argv a;
    if (c->phase == KS_TO_TRY)
        return ks_try_start(b, c, err);
    const int rc = prepare(b, c, &a, err);
    return rc < 0 ? rc : spawn(b, c, &a, c->phase + 1, err);
}

bool ks_compile_is_waiting(const struct ks_compile *c)
{
    return c->phase == KS_TO_COMPILE_DEVICE || c->phase == KS_TO_COMPILE ||
           c->phase == KS_TO_LINK || c->phase == KS_TO_TRY;
}

bool ks_compile_is_running(const struct ks_compile *c)
{
    return c->phase == KS_COMPILING_DEVICE || c->phase == KS_COMPILING || c->phase == KS_LINKING ||
           c->phase == KS_TRYING;
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

/* The compiler, or the assembler that its driver tells of. */
static bool is_over_file_limit(const struct ks_child_end *end)
{
    size_t n;
    if (end->how == KS_END_SIGNALED)
        return end->code == SIGXFSZ;
    return end->how == KS_END_EXITED &&
           (ks_toolchain_line(end->tail, end->n_tail, "File size limit exceeded", &n) ||
            ks_toolchain_line(end->tail, end->n_tail, "File too large", &n));
}

/* Whose fault is it? A full disk, or a compiler killed for memory that others use, is not the
 * instance's. */
static enum ks_holds how_long(const struct ks_child_end *end, const char *reason)
{
    if (end->how == KS_END_DEADLINE || end->how == KS_END_MEMORY || is_over_file_limit(end))
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
    else if (is_over_file_limit(end))
        snprintf(out, cap, "the compiler wrote a file of more than %u MiB", b->file_mib);
    else if (end->how == KS_END_EXITED)
        ks_toolchain_reason(end->tail, end->n_tail, out, cap);
    else
        snprintf(out, cap, "the compiler died: %s %d", ks_end_text(end->how), end->code);
}

/* Not for want of memory, but of address space that the user was not given: no fault of the
 * instance, and not to be recorded as one. */
static bool is_starved(const struct ks_child_end *end)
{
    static const char *const words[] = { "out of memory", "memory exhausted",
                                         "Cannot allocate memory" };
    size_t n;
    for (size_t i = 0; i < sizeof(words) / sizeof(*words) && end->how == KS_END_EXITED; i++)
        if (ks_toolchain_line(end->tail, end->n_tail, words[i], &n))
            return ks_limits_has_address_space();
    return false;
}

static int deal_with_failure(struct ks_build *b, uint32_t i, const struct ks_child_end *end,
                             struct ks_err *err)
{
    struct ks_compile *c = &b->compiles[i];
    char reason[256];
    if (end->how == KS_END_NO_EXEC)
        return ks_fail(err, KS_ENOENT, "the compiler '%s' can no longer be started",
                       c->phase == KS_COMPILING_DEVICE
                           ? ks_build_gpu_chain(b, c->instances[0])->command
                           : ks_build_toolchain(b, c->instances[0])->command);
    if (end->how == KS_END_KILLED)
        return ks_fail(err, KS_EINTR, "the compiler was stopped");
    if (c->n > 1)
        return split(b, i, err);
    put_reason(b, end, reason, sizeof(reason));
    if (is_starved(end))
        return ks_fail(err, KS_EINVAL,
                       "the compiler needs more address space than ulimit -v allows: %s", reason);
    return ks_compile_fail(b, c, end->how == KS_END_DEADLINE ? KS_ART_TIMEOUT : KS_ART_FAILED,
                           how_long(end, reason), reason, err);
}

/* A compiler may say that all went well and have written nothing. */
static bool has_written(const struct ks_compile *c)
{
    char path[700];
    struct stat st;
    if (c->phase != KS_COMPILING_DEVICE)
        return true;
    return ks_path_join(path, sizeof(path), c->dir, KS_UNIT_IMAGE, NULL) == 0 &&
           stat(path, &st) == 0 && st.st_size > 0;
}

static bool trial_ended(struct ks_build *b, uint32_t i, const struct ks_child_end *end, int *rc_out,
                        struct ks_err *err)
{
    struct ks_compile *c = &b->compiles[i];
    enum ks_holds holds;
    char reason[256];
    const int rc = ks_try_conclude(b, end, reason, sizeof(reason), &holds, err);
    *rc_out = 0;
    if (rc > 0) {
        c->phase = KS_TO_PUBLISH;
        return false;
    }
    if (rc < 0)
        *rc_out = rc;
    else if (c->n == 1)
        *rc_out = ks_compile_fail(b, c, KS_ART_UNLOADABLE, holds, reason, err);
    else
        *rc_out = split(b, i, err);
    return true;
}

bool ks_compile_ended(struct ks_build *b, uint32_t i, const struct ks_child_end *end, int *rc_out,
                      struct ks_err *err)
{
    struct ks_compile *c = &b->compiles[i];
    if (c->phase == KS_TRYING)
        return trial_ended(b, i, end, rc_out, err);
    c->compile_ns += end->wall_ns;
    *rc_out = 0;
    if (end->how == KS_END_EXITED && end->code == 0 && has_written(c)) {
        c->phase++;
        if (c->phase == KS_TO_TRY && !b->worker[0])
            c->phase = KS_TO_PUBLISH;
        return false;
    }
    *rc_out = deal_with_failure(b, i, end, err);
    return true;
}
