/* SPDX-License-Identifier: MIT */
#include "gpu_case.h"

#include "base/hash.h"

#include <dlfcn.h>
#include <glob.h>
#include <spawn.h>
#include <sys/wait.h>

#define UNIT_SIZE 16 /* instances of an object */

/* Kernels are held to the sanitizers that the test is held to. */
#ifdef KSWEEP_SANITIZED
#define FLAGS "-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"
#else
#define FLAGS "-O2"
#endif

/* --- choosing */

static uint32_t n_news(const struct ks_family *f, const struct ks_instance *i,
                       bool (*seen)[KS_TRAIT_VALUES_MAX])
{
    uint32_t n = 0;
    for (uint32_t t = 0; t < f->n_traits; t++)
        n += !seen[t][i->value[t]];
    return n;
}

static void shuffle(uint32_t *order, uint32_t n, uint64_t seed)
{
    uint64_t rng = seed;
    for (uint32_t i = 0; i < n; i++)
        order[i] = i;
    for (uint32_t i = n; i > 1; i--) {
        const uint32_t j = (uint32_t)ks_rng_below(&rng, i), kept = order[i - 1];
        order[i - 1] = order[j];
        order[j] = kept;
    }
}

/* The first n of the order are chosen: each is the one that shows most values not seen before. */
static void choose(const struct ks_kernel_set *all, uint32_t n, uint32_t *order)
{
    static bool seen[KS_TRAITS_MAX][KS_TRAIT_VALUES_MAX];
    const struct ks_family *f = &all->families[0];
    memset(seen, 0, sizeof(seen));
    for (uint32_t k = 0; k < n; k++) {
        uint32_t best = k, most = 0;
        for (uint32_t i = k; i < all->n_instances; i++) {
            const uint32_t news = n_news(f, &all->instances[order[i]], seen);
            if (news > most)
                best = i, most = news;
        }
        const uint32_t chosen = order[best];
        order[best] = order[k];
        order[k] = chosen;
        for (uint32_t t = 0; t < f->n_traits; t++)
            seen[t][all->instances[chosen].value[t]] = true;
    }
}

/* --- building */

static void put_macros(const struct ks_family *f, const struct gpu_instance *i, bool is_host,
                       struct ks_buf *b)
{
    for (uint32_t t = 0; t < f->n_traits; t++)
        if (f->traits[t].macro[0] && (is_host || f->traits[t].role != KS_ROLE_ARGUMENT))
            ks_buf_printf(b, "#define %s %lld\n", f->traits[t].macro,
                          (long long)f->traits[t].value[i->traits->value[t]]);
}

/* One half of n instances, as a build of a job writes it. */
static void put_half(const struct gpu_set *s, const struct gpu_instance *first, uint32_t n,
                     bool is_host, struct ks_buf *b)
{
    const struct ks_family *f = &s->all.families[0];
    ks_buf_printf(b,
                  "%s#define KS_GPU_PASS %d\n#define KS_PASTE_(a, b) a##_##b\n"
                  "#define KS_PASTE(a, b) KS_PASTE_(a, b)\n"
                  "#define KS_FN(x) KS_PASTE(KS_PREFIX, x)\n",
                  is_host ? "#include \"abi.h\"\n" : "", !is_host);
    for (uint32_t i = 0; i < n; i++) {
        ks_buf_printf(b, "\n#define KS_PREFIX k%u\n#define KS_NAME \"%s\"\n", i,
                      first[i].traits->name);
        put_macros(f, &first[i], is_host, b);
        ks_buf_printf(b, "#include \"%s\"\n", f->source);
        for (uint32_t t = 0; t < f->n_traits; t++)
            if (f->traits[t].macro[0])
                ks_buf_printf(b, "#undef %s\n", f->traits[t].macro);
        ks_buf_printf(b, "#undef KS_PREFIX\n#undef KS_NAME\n");
    }
    ks_buf_printf(b, is_host ? "\nconst struct ks_abi_entry *const entries[] = {" : "\n");
    for (uint32_t i = 0; is_host && i < n; i++)
        ks_buf_printf(b, " &k%u_entry,", i);
    ks_buf_printf(b, is_host ? " };\n" : "");
}

static void write_half(const struct gpu_set *s, const struct gpu_instance *first, uint32_t n,
                       bool is_host, const char *path)
{
    struct ks_buf b;
    struct ks_err err;
    ks_buf_init(&b);
    put_half(s, first, n, is_host, &b);
    must(ks_file_replace(path, ks_buf_text(&b), b.len, &err), &err);
    ks_buf_release(&b);
}

/* Sources of the emulator and both halves to one object. */
static void compile(const struct gpu_set *s, const char *device, const char *host,
                    const char *object)
{
    char emulator[600], with[600];
    const char *argv[64] = { "cc",
                             "-std=gnu11",
                             "-w",
                             "-shared",
                             "-fPIC",
                             "-fno-strict-aliasing",
                             "-DKS_GPU_TARGET=3",
                             with,
                             "-o",
                             object,
                             device,
                             host,
                             FLAGS,
                             NULL };
    size_t n = 0;
    glob_t found;
    pid_t pid;
    int status = -1;
    snprintf(emulator, sizeof(emulator), "%s/gpu/emu/*.c", s->kernels);
    snprintf(with, sizeof(with), "-I%s", s->kernels);
    assert_int_equal(glob(emulator, 0, NULL, &found), 0);
    while (argv[n])
        n++;
    for (size_t i = 0; i < found.gl_pathc && n < 62; i++)
        argv[n++] = found.gl_pathv[i];
    argv[n] = "-lm";
    assert_int_equal(posix_spawnp(&pid, "cc", NULL, NULL, (char *const *)(uintptr_t)argv, environ),
                     0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    globfree(&found);
    if (status != 0)
        fail_msg("%s does not compile", device);
}

static void build_unit(struct gpu_set *s, uint32_t first, uint32_t n)
{
    char device[300], host[300], object[300];
    snprintf(device, sizeof(device), "%s/device%u.c", s->dir, first);
    snprintf(host, sizeof(host), "%s/host%u.c", s->dir, first);
    snprintf(object, sizeof(object), "%s/unit%u.so", s->dir, first);
    write_half(s, s->instances + first, n, false, device);
    write_half(s, s->instances + first, n, true, host);
    compile(s, device, host, object);
    void *so = dlopen(object, RTLD_NOW | RTLD_LOCAL);
    if (!so)
        fail_msg("%s", dlerror());
    const struct ks_abi_entry *const *entries = dlsym(so, "entries");
    assert_non_null(entries);
    for (uint32_t i = 0; i < n; i++) {
        s->instances[first + i].so = so;
        s->instances[first + i].entry = entries[i];
        s->instances[first + i].place = i;
    }
}

void gpu_set_open(struct gpu_set *s, const struct gpu_choice *choice)
{
    const char *tmp = getenv("TMPDIR");
    char config[600];
    struct ks_err err;
    *s = (struct gpu_set){ .n = choice->n };
    snprintf(s->kernels, sizeof(s->kernels), "%s",
             choice->kernels ? choice->kernels : KS_SOURCE_DIR "/kernels");
    snprintf(config, sizeof(config), "%s/configs/%s", s->kernels, choice->config);
    snprintf(s->dir, sizeof(s->dir), "%s/ks_gpu_XXXXXX", tmp ? tmp : "/tmp");
    assert_non_null(mkdtemp(s->dir));
    must(ks_kernel_set_add(&s->all, config, choice->filter, NULL, &err), &err);
    if (s->n > s->all.n_instances)
        s->n = s->all.n_instances;
    uint32_t *order = calloc(s->all.n_instances, sizeof(*order));
    s->instances = calloc(s->n, sizeof(*s->instances));
    assert_true(order && s->instances);
    shuffle(order, s->all.n_instances, choice->seed);
    choose(&s->all, s->n, order);
    for (uint32_t i = 0; i < s->n; i++) {
        s->instances[i].traits = &s->all.instances[order[i]];
        ks_instance_domain(&s->all.families[0], s->instances[i].traits, &s->instances[i].domain);
    }
    free(order);
    for (uint32_t i = 0; i < s->n; i += UNIT_SIZE)
        build_unit(s, i, s->n - i < UNIT_SIZE ? s->n - i : UNIT_SIZE);
}

void gpu_set_close(struct gpu_set *s)
{
    struct ks_err err;
    must(ks_remove_tree(s->dir, &err), &err);
    free(s->instances);
    ks_kernel_set_release(&s->all);
}
