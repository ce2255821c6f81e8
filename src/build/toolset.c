/* SPDX-License-Identifier: MIT */
/* toolset.c - from the names of compilers in families to the compilers of this host. */
#include "build/toolset.h"

#include "grid/arch.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CLANG_NEWEST 30 /* names with a version, tried where the plain one is not there */
#define CLANG_OLDEST 11

static const char *variable_of(const char *name, char out[64])
{
    size_t n = (size_t)snprintf(out, 64, "KSWEEP_CC_%.40s", name);
    for (size_t i = 0; i < n; i++)
        out[i] = isalnum((unsigned char)out[i]) ? (char)toupper((unsigned char)out[i]) : '_';
    return out;
}

/* The first of a name's spellings that is there, else the name itself. */
static void find_spelling(const char *name, char *out, size_t cap)
{
    char versioned[KS_VALUE_TEXT + 16];
    if (ks_command_find(name, out, cap))
        return;
    for (int v = CLANG_NEWEST; strcmp(name, "clang") == 0 && v >= CLANG_OLDEST; v--) {
        snprintf(versioned, sizeof(versioned), "%s-%d", name, v);
        if (ks_command_find(versioned, out, cap))
            return;
    }
    snprintf(out, cap, "%s", name);
}

/* The command of a tool; true when the user chose it, or when there is no other choice. */
static bool choose(const struct ks_tool *t, const char *compiler, char *out, size_t cap)
{
    char variable[64];
    const bool has_name = t->name[0] != '\0';
    const char *chosen = has_name ? ks_command_variable(variable_of(t->name, variable)) : NULL;
    if (!has_name || t->is_default)
        chosen = compiler && *compiler ? compiler : ks_command_variable("KSWEEP_CC");
    if (chosen || !has_name)
        snprintf(out, cap, "%s", chosen ? chosen : "cc");
    else
        find_spelling(t->name, out, cap);
    return chosen || !has_name;
}

/* What the host's code is compiled for: that beside a GPU runs wherever the GPU is found, the
 * emulator here. */
static const char *host_arch(const char *arch)
{
    if (ks_arch_is_emulator(arch))
        return KS_ARCH_NATIVE;
    return ks_arch_is_gpu(arch) ? "" : arch;
}

static int find_tool(struct ks_tool *t, const struct ks_grid *grid, const char *compiler,
                     struct ks_warden *w, struct ks_err *err)
{
    char command[1024];
    struct ks_err why;
    const char *arch = grid->job.device.arch_text;
    const bool is_wanted = t->is_wanted = choose(t, compiler, command, sizeof(command));
    int rc = ks_toolchain_find(command, host_arch(arch), w, &t->chain, &why);
    if (rc == KS_ENOENT && !is_wanted)
        snprintf(t->missing, sizeof(t->missing), "compiler %s is not installed", t->name);
    else if (rc == KS_EINVAL && !is_wanted)
        snprintf(t->missing, sizeof(t->missing), "compiler %s does not work: %.100s", t->name,
                 why.text);
    else if (rc < 0)
        return ks_fail(err, why.code, "%s", why.text);
    if (rc < 0 || !ks_arch_is_gpu(arch))
        return 0;
    return ks_gpu_chain_find(arch, &t->chain, w, &t->gpu, t->missing, sizeof(t->missing), err);
}

/* The same for a tool without which all can be measured. */
static int try_tool(struct ks_tool *t, const struct ks_grid *grid, const char *compiler,
                    struct ks_warden *w, struct ks_err *err)
{
    struct ks_err why;
    const int rc = find_tool(t, grid, compiler, w, &why);
    t->is_wanted = false;
    if (rc == KS_ENOENT || rc == KS_EINVAL)
        snprintf(t->missing, sizeof(t->missing), "%.250s", why.text);
    else if (rc < 0)
        return ks_fail(err, why.code, "%s", why.text);
    return 0;
}

static int add_tool(struct ks_toolset *s, const char *name, bool is_default, uint32_t *i_out,
                    struct ks_err *err)
{
    for (uint32_t i = 0; i < s->n_tools; i++) {
        if (strcmp(s->tools[i].name, name) == 0 && s->tools[i].is_default == is_default) {
            *i_out = i;
            return 0;
        }
    }
    struct ks_tool *more = realloc(s->tools, (s->n_tools + 1u) * sizeof(*more));
    if (!more)
        return ks_fail(err, KS_ENOMEM, "out of memory for the compilers of a grid");
    s->tools = more;
    struct ks_tool *t = &more[s->n_tools];
    *t = (struct ks_tool){ .is_default = is_default };
    snprintf(t->name, sizeof(t->name), "%s", name);
    *i_out = s->n_tools++;
    return 0;
}

static int ask(struct ks_toolset *s, const struct ks_grid *g, uint32_t i, struct ks_err *err)
{
    const struct ks_instance *inst = &g->instances[i];
    const struct ks_family *f = &g->families[inst->i_family];
    const char *name = ks_instance_compiler(f, inst);
    const int trait = ks_family_role(f, KS_ROLE_COMPILER);
    s->of[i] = KS_NO_TOOL;
    if (inst->missing[0] || !f->source[0] || ks_grid_plugin(g, i)[0] ||
        !ks_family_serves(f, ks_job_backend(&g->job)) || !ks_grid_is_used(g, i))
        return 0;
    return add_tool(s, name ? name : "",
                    trait < 0 || inst->value[trait] == f->traits[trait].i_default, &s->of[i], err);
}

static void name_compiler(struct ks_toolset *s, const char *version)
{
    const size_t n = strlen(s->compilers);
    if (!strstr(s->compilers, version))
        snprintf(s->compilers + n, sizeof(s->compilers) - n, "%s%s", n ? "; " : "", version);
}

static void name_compilers(struct ks_toolset *s)
{
    for (uint32_t i = 0; i < s->n_tools; i++) {
        const struct ks_tool *t = &s->tools[i];
        if (t->missing[0])
            continue;
        name_compiler(s, t->chain.version);
        name_compiler(s, t->gpu.version);
    }
}

int ks_toolset_find(const struct ks_grid *grid, const char *compiler, struct ks_warden *w,
                    struct ks_toolset *out, struct ks_err *err)
{
    struct ks_toolset s = { .n_tools = 0 };
    uint32_t n_needed = 0; /* tools; those behind them only helpers ask for */
    s.of = calloc(ks_grid_n_built(grid) + 1u, sizeof(*s.of));
    int rc = s.of ? 0 : ks_fail(err, KS_ENOMEM, "out of memory for the compilers of a grid");
    for (uint32_t i = 0; i < ks_grid_n_built(grid) && rc == 0; i++) {
        rc = ask(&s, grid, i, err);
        if (i < grid->n_instances)
            n_needed = s.n_tools;
    }
    for (uint32_t i = 0; i < s.n_tools && rc == 0; i++)
        rc = i < n_needed ? find_tool(&s.tools[i], grid, compiler, w, err)
                          : try_tool(&s.tools[i], grid, compiler, w, err);
    if (rc < 0) {
        ks_toolset_release(&s);
        return rc;
    }
    name_compilers(&s);
    *out = s;
    return 0;
}

void ks_toolset_release(struct ks_toolset *t)
{
    free(t->tools);
    free(t->of);
    *t = (struct ks_toolset){ .n_tools = 0 };
}
