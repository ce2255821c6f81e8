/* SPDX-License-Identifier: MIT */
/* gpu_case.c - compiles instances of the GPU families for the emulator, several in one object */
#include "gpu_case.h"

#include "base/hash.h"
#include "build/gpu_chain.h"
#include "build/unit.h"
#include "tests/unit/temp_dir.h"

#include <dlfcn.h>
#include <spawn.h>
#include <sys/wait.h>

#define UNIT_SIZE 16 /* instances of an object */

/* Kernels are held to the sanitizers that the test is held to. */
#ifdef KSWEEP_SANITIZED
#define FLAGS "-O1", "-g1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"
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

static int run(const char *const *argv)
{
    pid_t pid;
    int status = -1;
    assert_int_equal(
        posix_spawnp(&pid, argv[0], NULL, NULL, (char *const *)(uintptr_t)argv, environ), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

/* A half of a unit, as a job's build writes it, to a shared object. The device's half finds the
 * emulator in this program, its variables at an address known to the thread, which a call for each
 * access is not; the host's finds device.img in `dir`. */
static void compile(const struct gpu_set *s, const char *dir, const char *source,
                    const char *object)
{
    char with[600], where[600];
    const char *const argv[] = { "cc",
                                 "-std=gnu11",
                                 "-w",
                                 "-shared",
                                 "-fPIC",
                                 "-fno-strict-aliasing",
                                 "-ftls-model=initial-exec",
                                 with,
                                 where,
                                 "-o",
                                 object,
                                 source,
                                 FLAGS,
                                 "-lm",
                                 NULL };
    snprintf(with, sizeof(with), "-I%s", s->kernels);
    snprintf(where, sizeof(where), "-Wa,-I,%s", dir);
    const int status = run(argv);
    if (status != 0)
        fail_msg("%s does not compile", source);
}

static void write_text(const char *path, struct ks_buf *text)
{
    struct ks_err err;
    must(ks_file_replace(path, ks_buf_text(text), text->len, &err), &err);
    ks_buf_clear(text);
}

static void build_halves(const struct gpu_set *s, const char *dir, const struct ks_unit_members *m)
{
    char device[400], image[400], host[400], object[400];
    uint32_t device_of[UNIT_SIZE];
    struct stat st;
    struct ks_buf text;
    struct ks_err err;
    ks_buf_init(&text);
    snprintf(device, sizeof(device), "%s/device.c", dir);
    snprintf(image, sizeof(image), "%s/device.img", dir);
    snprintf(host, sizeof(host), "%s/host.c", dir);
    snprintf(object, sizeof(object), "%s/host.so", dir);
    must(ks_unit_devices(m, device_of, &err), &err);
    must(ks_unit_device_text(m, device_of, KS_GPU_EMULATOR, &text, &err), &err);
    write_text(device, &text);
    compile(s, dir, device, image);
    assert_int_equal(stat(image, &st), 0);
    must(ks_unit_host_text(m, device_of, KS_GPU_EMULATOR, (uint64_t)st.st_size, &text, &err), &err);
    write_text(host, &text);
    compile(s, dir, host, object);
    ks_buf_release(&text);
}

static void *load(const char *dir, const char *name)
{
    char path[400];
    snprintf(path, sizeof(path), "%s/%s", dir, name);
    void *so = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!so)
        fail_msg("%s", dlerror());
    return so;
}

static bool is_unordered(const struct ks_family *f, const struct ks_instance *i)
{
    const int t = ks_family_trait(f, "memory_operation");
    return t >= 0 && strcmp(f->traits[t].text[i->value[t]], "atomic_add") == 0;
}

static void build_unit(struct gpu_set *s, const uint32_t *at, uint32_t first, uint32_t n)
{
    const struct ks_unit_members m = { s->all.families, s->all.instances, at + first, n };
    char dir[300];
    snprintf(dir, sizeof(dir), "%s/unit%u", s->dir, first);
    assert_int_equal(mkdir(dir, 0700), 0);
    build_halves(s, dir, &m);
    void *device = load(dir, "device.img"), *host = load(dir, "host.so");
    const struct ks_abi_table *table = dlsym(host, KS_ABI_SYMBOL);
    const struct ks_abi_image *image = dlsym(host, KS_ABI_IMAGE_SYMBOL);
    assert_true(table && image && table->n_entries == n);
    for (uint32_t i = 0; i < n; i++) {
        struct gpu_instance *inst = &s->instances[first + i];
        inst->traits = &s->all.instances[at[first + i]];
        inst->device = device;
        inst->entry = &table->entries[i];
        inst->kernels = image->kernels[i];
        inst->pool = s->pool;
        inst->is_unordered = is_unordered(&s->all.families[0], inst->traits);
        ks_instance_domain(&s->all.families[0], inst->traits, &inst->domain);
    }
}

void gpu_set_open(struct gpu_set *s, const struct gpu_choice *choice)
{
    char config[600];
    struct ks_err err;
    *s = (struct gpu_set){ .n = choice->n };
    snprintf(s->kernels, sizeof(s->kernels), "%s",
             choice->kernels ? choice->kernels : KS_SOURCE_DIR "/kernels");
    snprintf(config, sizeof(config), "%s/configs/%s", s->kernels, choice->config);
    must(ks_kernel_set_add(&s->all, config, choice->filter, NULL, &err), &err);
    temp_dir_make(s->dir, sizeof(s->dir));
    if (s->n > s->all.n_instances)
        s->n = s->all.n_instances;
    uint32_t *order = calloc(s->all.n_instances, sizeof(*order));
    s->instances = calloc(s->n, sizeof(*s->instances));
    s->pool = calloc(1, sizeof(*s->pool));
    assert_true(order && s->instances && s->pool);
    shuffle(order, s->all.n_instances, choice->seed);
    choose(&s->all, s->n, order);
    for (uint32_t i = 0; i < s->n; i += UNIT_SIZE)
        build_unit(s, order, i, s->n - i < UNIT_SIZE ? s->n - i : UNIT_SIZE);
    free(order);
}

int gpu_trait(const struct gpu_set *s, const struct gpu_instance *i, const char *name)
{
    return (int)ks_instance_trait(&s->all.families[0], i->traits, name);
}

void gpu_set_close(struct gpu_set *s)
{
    struct ks_err err;
    if (s->dir[0])
        must(ks_remove_tree(s->dir, &err), &err);
    if (s->pool)
        ks_simt_pool_release(s->pool);
    free(s->pool);
    free(s->instances);
    ks_kernel_set_release(&s->all);
    *s = (struct gpu_set){ .n = 0 };
}
