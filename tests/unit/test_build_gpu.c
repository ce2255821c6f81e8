/* SPDX-License-Identifier: MIT */
/* Units of a GPU: two halves, the emulator's run here, AMD's and NVIDIA's where their compilers
 * are. */
/* group: clang19 nvcc */
#include "build/plan.h"
#include "build_util.h"

#include <sys/mman.h>
#include <unistd.h>

static int open_gpu_units(void **state)
{
    struct place *p = open_place(*state);
    copy_file(p, "tests/fake/gpu_unit.k", "gpu_unit.k");
    copy_file(p, "tests/fake/gpu_unit.h", "gpu_unit.h");
    copy_file(p, "tests/fake/gpu_unit.family.json", "gpu_unit.family.json");
    *state = p;
    return 0;
}

static void use_gpu(struct place *p, const char *arch, const char *instances)
{
    char config[2000];
    snprintf(config, sizeof(config), "{\"family\": \"gpu_unit.family.json\", \"instances\": [%s]}",
             instances);
    put_file(p, "config.json", config);
    load_device_grid(p, "config.json", strncmp(arch, "sm_", 3) == 0 ? "cuda" : "hip", arch);
}

/* What a fake device does with an image of the emulator. */
struct fake_gpu {
    struct ks_abi_gpu ops; /* first: launch() gets its address */
    void *image;           /* of dlopen */
    const char *kernel;    /* "k3" */
    uint32_t n_launches, block;
};

static int fake_launch(const struct ks_abi_gpu *ops, const struct ks_abi_launch *l)
{
    struct fake_gpu *g = (struct fake_gpu *)ops;
    char name[64];
    void (*entry)(void **);
    snprintf(name, sizeof(name), "%s_kernel%u_entry", g->kernel, l->kernel);
    *(void **)&entry = dlsym(g->image, name);
    if (!entry)
        return 500;
    entry(l->args);
    g->n_launches++;
    g->block = l->block;
    return 0;
}

static void *load_image(const struct ks_abi_image *image)
{
    char path[64];
    const int fd = memfd_create("image", MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, image->bytes, image->n_bytes), image->n_bytes);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    void *so = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!so)
        fail_msg("%s", dlerror());
    (void)close(fd);
    return so;
}

/* Runs an artefact as the worker and a fake device would: out[0], out[1]. */
static void run_gpu_artefact(const struct ks_artefact *a, float out[2], struct fake_gpu *g)
{
    struct ks_abi_problem problem = { .bytes = sizeof(problem), .op = KS_ABI_GROUPED_CONV };
    const struct ks_abi_buffers buf = { .c = out, .gpu = &g->ops };
    void *so = dlopen(a->path, RTLD_NOW | RTLD_LOCAL);
    if (!so)
        fail_msg("%s", dlerror());
    const struct ks_abi_table *table = dlsym(so, KS_ABI_SYMBOL);
    const struct ks_abi_image *image = dlsym(so, KS_ABI_IMAGE_SYMBOL);
    assert_non_null(table);
    assert_non_null(image);
    *g = (struct fake_gpu){ .ops = { .launch = fake_launch }, .image = load_image(image) };
    for (uint32_t i = 0; i < table->n_entries; i++) {
        if (strcmp(table->entries[i].name, a->entry) != 0)
            continue;
        g->kernel = image->kernels[i];
        assert_int_equal(table->entries[i].run(&problem, &buf), 0);
    }
    assert_non_null(dlsym(g->image, "ks_simt_launch"));
    assert_int_equal(dlclose(g->image), 0);
    assert_int_equal(dlclose(so), 0);
}

static void test_emulator(void **state)
{
    struct place *p = *state;
    use_gpu(p, "emu",
            "{\"index\": [1, 2, 3], \"split_k\": [1, 4]}, "
            "{\"index\": 9, \"pipeline\": \"twice\", \"block\": 128}");
    plan(p, NULL);
    assert_int_equal(p->grid.n_instances, 7);
    assert_int_equal(build_all(p), 3); /* the device's half, the host's, linking */
    for (uint32_t i = 0; i < 7; i++) {
        const struct ks_artefact *a = ks_build_artefact(p->build, i);
        const struct ks_instance *inst = &p->grid.instances[i];
        const float index = (float)ks_instance_trait(&p->grid.families[0], inst, "index");
        const float split = (float)ks_instance_trait(&p->grid.families[0], inst, "split_k");
        struct fake_gpu g;
        float out[2] = { 0, 0 };
        if (a->state != KS_ART_READY)
            fail_msg("%s: %s", a->entry, a->reason);
        run_gpu_artefact(a, out, &g);
        assert_true(out[0] == index + 0.5f + 10.0f * split);
        assert_true(out[1] == (index == 9 ? 8.0f : 0.0f));
        assert_int_equal(g.n_launches, index == 9 ? 2 : 1);
        assert_int_equal(g.block, index == 9 ? 128 : 64);
        assert_true(a->code_bytes > 0);
    }
    const struct ks_code_object before = ks_build_artefact(p->build, 6)->code;
    assert_string_equal(before.target, "emu");
    assert_int_equal(before.wave, 64);
    plan(p, NULL);
    assert_int_equal(build_all(p), 0);
    assert_memory_equal(&ks_build_artefact(p->build, 6)->code, &before, sizeof(before));
}

static void need_compiler(const char *name)
{
    char command[100];
    snprintf(command, sizeof(command), "%s --version >/dev/null 2>&1", name);
    if (system(command) == 0)
        return;
    print_message("%s is not installed\n", name);
    skip();
}

static bool is_alias(const struct place *p, const char *a, const char *b)
{
    const struct ks_id128 one = artefact(p, a)->code_id, other = artefact(p, b)->code_id;
    assert_int_equal(artefact(p, a)->state, KS_ART_READY);
    assert_int_equal(artefact(p, b)->state, KS_ART_READY);
    return !ks_id128_is_zero(one) && ks_id128_eq(one, other);
}

/* Same code is one kernel; another constant, argument, launch or half makes another. */
static void check_identities(struct place *p, const char *arch)
{
    static const struct {
        const char *a, *b;
        bool is_alias;
    } row[] = {
        { "gpu_unit_1", "gpu_unit_1_t1", true },
        { "gpu_unit_1", "gpu_unit_2", false },
        { "gpu_unit_1", "gpu_unit_1_sk4", false },
        { "gpu_unit_1", "gpu_unit_1_b128", false },
        { "gpu_unit_3_table", "gpu_unit_3_table_t1", true },
        { "gpu_unit_3_table", "gpu_unit_4_table", false },
        { "gpu_unit_5", "gpu_unit_5_twice", false },
    };
    use_gpu(p, arch,
            "{\"index\": 1, \"twin\": [0, 1]}, {\"index\": 2}, {\"index\": 1, \"split_k\": 4}, "
            "{\"index\": 1, \"block\": 128}, {\"index\": 3, \"pipeline\": \"table\", \"twin\": [0, "
            "1]}, {\"index\": 4, \"pipeline\": \"table\"}, {\"index\": 5, \"pipeline\": [\"none\", "
            "\"twice\"]}");
    plan(p, NULL);
    (void)build_all(p);
    for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++)
        if (is_alias(p, row[i].a, row[i].b) != row[i].is_alias)
            fail_msg("%s: %s and %s %s", arch, row[i].a, row[i].b,
                     row[i].is_alias ? "differ" : "are equal");
}

static void test_identities_emulator(void **state)
{
    check_identities(*state, "emu");
}

static void test_identities_amd(void **state)
{
    need_compiler("clang-19");
    check_identities(*state, "gfx90a");
}

static void test_identities_nvidia(void **state)
{
    need_compiler("nvcc");
    check_identities(*state, "sm_90");
}

int main(void)
{
    struct ks_warden *warden = start_warden();
#define T(f) cmocka_unit_test_prestate_setup_teardown(f, open_gpu_units, close_units, warden)
    const struct CMUnitTest tests[] = {
        T(test_emulator),
        T(test_identities_emulator),
        T(test_identities_amd),
        T(test_identities_nvidia),
    };
    const int rc = cmocka_run_group_tests_name("build_gpu", tests, NULL, NULL);
    ks_warden_stop(warden);
    return rc;
}
