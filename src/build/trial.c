/* SPDX-License-Identifier: MIT */
/* trial.c - compiles a tiny kernel with each compiler once, to find those that do not work */
#include "build/trial.h"

#include "base/file.h"
#include "base/limits.h"
#include "build/cache.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char source[] = "#include \"abi.h\"\n"
                             "#include <math.h>\n"
                             "__attribute__((visibility(\"default\")))\n"
                             "float ks_trial(float x)\n{\n    return sqrtf(x) + KS_ABI_MAJOR;\n}\n";

/* Why a step did not end well; "" when it did. */
static int run_step(const struct ks_argv *a, const char *dir, struct ks_warden *w, char *why,
                    size_t cap, struct ks_err *err)
{
    struct ks_child_end end;
    int rc = ks_command_run(a, dir, w, &end, err);

    why[0] = '\0';
    if (rc < 0)
        return rc;
    if (end.how == KS_END_EXITED && end.code == 0)
        return 0;
    if (end.how == KS_END_EXITED && end.n_tail)
        ks_toolchain_reason(end.tail, end.n_tail, why, cap);
    else
        snprintf(why, cap, "%s %d", ks_end_text(end.how), end.code);
    return 0;
}

/* A program that does something else may end well, too. */
static bool is_shared_object(const char *path)
{
    struct ks_buf b;
    bool is_it;

    ks_buf_init(&b);
    is_it = ks_file_read(path, &b, NULL) == 0 && b.len > EI_NIDENT &&
            memcmp(b.data, ELFMAG, SELFMAG) == 0;
    ks_buf_release(&b);
    return is_it;
}

static int compile(const struct ks_tool *t, const char *dir, struct ks_warden *w, char *why,
                   size_t cap, struct ks_err *err)
{
    struct ks_argv a = { .n = 0 };
    char path[600];
    int rc = ks_path_join(path, sizeof(path), dir, "unit.c", err);

    if (rc == 0)
        rc = ks_file_replace(path, source, sizeof(source) - 1, err);
    if (rc == 0)
        rc = ks_toolchain_compile(&t->chain, "", &a, err);
    if (rc == 0)
        rc = run_step(&a, dir, w, why, cap, err);
    if (rc < 0 || why[0])
        return rc;
    rc = ks_toolchain_link(&t->chain, "", &a, err);
    if (rc == 0)
        rc = run_step(&a, dir, w, why, cap, err);
    if (rc == 0)
        rc = ks_path_join(path, sizeof(path), dir, KS_UNIT_OBJECT, err);
    if (rc == 0 && !why[0] && !is_shared_object(path))
        snprintf(why, cap, "it did not write a shared object");
    return rc;
}

static int conclude(struct ks_tool *t, const char *why, struct ks_err *err)
{
    char limits[160];

    if (!t->is_wanted) {
        snprintf(t->missing, sizeof(t->missing), "compiler %s does not work: %.100s", t->name, why);
        return 0;
    }
    ks_limits_text(limits, sizeof(limits));
    return ks_fail(
        err, KS_EINVAL,
        "'%.100s' cannot compile a kernel: %.200s (set KSWEEP_CC to use another C compiler%s%s)",
        t->chain.command, why, limits[0] ? "; limits: " : "", limits);
}

int ks_trial(struct ks_tool *t, struct ks_warden *w, struct ks_err *err)
{
    char dir[512], why[256];
    int rc;

    if (t->is_tried || t->missing[0])
        return 0;
    t->is_tried = true;
    rc = ks_command_scratch("ksweep-trial", dir, sizeof(dir), err);
    if (rc < 0)
        return rc;
    rc = compile(t, dir, w, why, sizeof(why), err);
    (void)ks_remove_tree(dir, NULL);
    return rc < 0 || !why[0] ? rc : conclude(t, why, err);
}

int ks_trial_all(struct ks_toolset *s, struct ks_warden *w, struct ks_err *err)
{
    int rc = 0;

    for (uint32_t i = 0; i < s->n_tools && rc == 0; i++)
        rc = ks_trial(&s->tools[i], w, err);
    return rc;
}
