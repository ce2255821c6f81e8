/* SPDX-License-Identifier: MIT */
/* test_build_gpu.c - units of a GPU: two halves, who compiles them; the emulator's are run here */
/* quick: no */
#include "build_gpu_util.h"

#include <sys/mman.h>
#include <unistd.h>

/* What a fake device does with an image of the emulator. */
struct fake_gpu {
    struct ks_abi_gpu ops; /* first: launch() gets its address */
    void *image;           /* of dlopen */
    const char *kernel;    /* "k3" */
    uint32_t n_launches, block;
    uint32_t n_kernels; /* of all instances in the image */
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
    for (uint32_t i = 0; i < table->n_entries; i++) {
        char name[64];
        snprintf(name, sizeof(name), "k%u_kernel0_entry", i);
        g->n_kernels += dlsym(g->image, name) != NULL;
    }
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
        assert_int_equal(g.n_kernels, 4); /* of 7 instances: arguments need no other */
        assert_true(a->code_bytes > 0);
    }
    const struct ks_code_object before = ks_build_artefact(p->build, 6)->code;
    assert_string_equal(before.target, "emu");
    assert_int_equal(before.wave, 64);
    plan(p, NULL);
    assert_int_equal(build_all(p), 0);
    assert_memory_equal(&ks_build_artefact(p->build, 6)->code, &before, sizeof(before));
}

/* What can be launched on its target counts, what cannot is said. */
static void test_counts(void **state)
{
    struct place *p = *state;
    struct ks_buf text;
    ks_buf_init(&text);
    use_gpu(p, "emu", "{\"index\": [2, 3, 4]}");
    plan(p, NULL);
    (void)build_all(p);
    ks_build_print_codes(p->build, &text);
    assert_non_null(strstr(ks_buf_text(&text), ": 3 distinct of 3\n"));
    ks_buf_clear(&text);
    struct ks_artefact *a = (struct ks_artefact *)(uintptr_t)ks_build_artefact(p->build, 1);
    snprintf(a->code.target, sizeof(a->code.target), "gfx942");
    a->code.lds_bytes = 65537;
    ks_build_print_codes(p->build, &text);
    assert_non_null(strstr(ks_buf_text(&text), ": 2 distinct of 2, 1 cannot be launched\n"));
    ks_buf_release(&text);
}

/* What one host has built is as good on another, with all that is known of it. */
static void test_pack(void **state)
{
    struct place *p = *state;
    struct ks_buf pack;
    struct ks_err err;
    struct fake_gpu g;
    float out[2];
    ks_buf_init(&pack);
    use_gpu(p, "emu", "{\"index\": 7}");
    plan(p, NULL);
    (void)build_all(p);
    const struct ks_artefact here = *artefact(p, "gpu_unit_7");
    must(ks_build_export(p->build, here.build_id, &pack, &err), &err);
    snprintf(p->cache, sizeof(p->cache), "%s/cache2", p->dir);
    plan(p, NULL);
    assert_int_equal(artefact(p, "gpu_unit_7")->state, KS_ART_MISSING);
    must(ks_build_import(p->build, here.build_id, pack.data, pack.len, &err), &err);
    must(ks_build_refresh(p->build, 0, &err), &err);
    const struct ks_artefact *there = artefact(p, "gpu_unit_7");
    assert_true(ks_id128_eq(there->code_id, here.code_id));
    assert_memory_equal(&there->code, &here.code, sizeof(here.code));
    run_gpu_artefact(there, out, &g);
    assert_true(out[0] == 17.5f);
    ks_buf_release(&pack);
}

static void test_identities_emulator(void **state)
{
    check_identities(*state, "emu");
}

/* Whichever half does not compile: the others of the unit do not suffer. */
static void test_broken_halves(void **state)
{
    static const struct {
        const char *name, *reason;
    } row[] = {
        { "gpu_unit_2_device", "this device half is broken on purpose" },
        { "gpu_unit_2_host", "this host half is broken on purpose" },
    };
    struct place *p = *state;
    struct fake_gpu g;
    float out[2];
    use_gpu(p, "emu", "{\"index\": [1, 2, 3]}, {\"index\": 2, \"fault\": [\"device\", \"host\"]}");
    plan(p, NULL);
    (void)build_all(p);
    assert_int_equal(count_state(p, KS_ART_READY), 3);
    for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
        const struct ks_artefact *a = artefact(p, row[i].name);
        assert_int_equal(a->state, KS_ART_FAILED);
        if (!strstr(a->reason, row[i].reason))
            fail_msg("reason is '%s'", a->reason);
    }
    run_gpu_artefact(artefact(p, "gpu_unit_3"), out, &g);
    assert_true(out[0] == 13.5f);
    plan(p, NULL);
    assert_int_equal(build_all(p), 0); /* failures are remembered */
}

/* Everything the device's half is made of is part of the build_id; other things are not. */
static void test_build_ids(void **state)
{
    struct place *p = *state;
    struct ks_id128 first;
    use_gpu(p, "emu", "{\"index\": 1}");
    plan(p, NULL);
    first = artefact(p, "gpu_unit_1")->build_id;
    copy_file(p, "tests/fake/gpu_unit.k", "other.txt");
    plan(p, NULL);
    assert_true(ks_id128_eq(artefact(p, "gpu_unit_1")->build_id, first));
    put_file(p, "more.h", "");
    plan(p, NULL);
    assert_false(ks_id128_eq(artefact(p, "gpu_unit_1")->build_id, first));
}

/* A tree of data of the test's own: kernels/gpu and abi.h as links, so that one can be changed. */
static void test_engine_is_identity(void **state)
{
    static const char *const files[] = { "kernels/gpu/engine.k", "kernels/gpu/emu/simt.c",
                                         "kernels/judge.h" };
    struct place *p = *state;
    char data[300], command[900];
    struct ks_id128 ids[4];
    struct ks_err err;
    snprintf(data, sizeof(data), "%s/data", p->dir);
    snprintf(command, sizeof(command), "mkdir '%s' && cp -r '%s/kernels' '%s'", data, KS_SOURCE_DIR,
             data);
    assert_int_equal(system(command), 0);
    must_setenv("KSWEEP_DATA_DIR", data);
    use_gpu(p, "emu", "{\"index\": 1}");
    for (size_t i = 0; i < 4; i++) {
        plan(p, NULL);
        ids[i] = artefact(p, "gpu_unit_1")->build_id;
        snprintf(command, sizeof(command), "echo >> '%s/%s'", data, i < 3 ? files[i] : "more");
        assert_int_equal(system(command), 0);
    }
    snprintf(command, sizeof(command), "cd '%s/kernels/gpu/emu' && touch a.c b.c c.c d.c", data);
    assert_int_equal(system(command), 0);
    assert_int_equal(try_plan(p, NULL, &err), KS_EINVAL);
    assert_non_null(strstr(err.text, "the emulator in"));
    must_setenv("KSWEEP_DATA_DIR", NULL);
    assert_false(ks_id128_eq(ids[0], ids[1]));
    assert_false(ks_id128_eq(ids[1], ids[2]));
    assert_false(ks_id128_eq(ids[2], ids[3]));
}

/* No compiler of a GPU: its instances are unsupported, which says what was looked for. */
static void test_no_compiler(void **state)
{
    static const struct {
        const char *arch, *texts[4];
    } row[] = {
        { "gfx942",
          { "no compiler for gfx942 is installed", "amdclang, clang-20, clang-19, clang, hipcc",
            "/nowhere/bin", "KSWEEP_HIPCC" } },
        { "sm_90",
          { "no compiler for sm_90 is installed", "looked for nvcc in PATH", "/nowhere/bin",
            "KSWEEP_NVCC" } },
    };
    struct place *p = *state;
    char path[4096], cc[600];
    snprintf(path, sizeof(path), "%s", getenv("PATH"));
    put_script(p, "my-cc", "exec /usr/bin/cc \"$@\"", cc, sizeof(cc));
    must_setenv("ROCM_PATH", "/nowhere");
    must_setenv("CUDA_HOME", "/nowhere");
    for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
        const struct ks_build_options opt = { .compiler = cc };
        use_gpu(p, row[i].arch, "{\"index\": [1, 2]}");
        must_setenv("PATH", p->dir);
        plan(p, &opt);
        must_setenv("PATH", path);
        assert_int_equal(count_state(p, KS_ART_UNSUPPORTED), 2);
        assert_int_equal(ks_build_n_units(p->build), 0);
        for (size_t k = 0; k < 4; k++)
            if (!strstr(artefact(p, "gpu_unit_1")->reason, row[i].texts[k]))
                fail_msg("'%s' is not in '%s'", row[i].texts[k], artefact(p, "gpu_unit_1")->reason);
    }
    must_setenv("ROCM_PATH", NULL);
    must_setenv("CUDA_HOME", NULL);
}

/* nvcc outside of PATH: the toolkit's folder by either variable, Python's packages in both places.
 */
static void test_nvcc_elsewhere(void **state)
{
    static const struct {
        const char *folder, *variable, *value; /* value: behind the place's folder */
    } row[] = {
        { "home/bin", "CUDA_HOME", "home" },
        { "path/bin", "CUDA_PATH", "path" },
        { "packages/nvidia/cu13/bin", "PYTHONPATH", "packages" },
        { "lib/python3.11/site-packages/nvidia/cu12/bin", "PATH", "bin" },
        { ".local/lib/python3.12/site-packages/nvidia/cu13/bin", "HOME", "" },
    };
    struct place *p = *state;
    char text[1600], name[120], path[4096], home[600], cc[600];
    const struct ks_build_options opt = { .compiler = cc };
    snprintf(path, sizeof(path), "%s", getenv("PATH"));
    snprintf(home, sizeof(home), "%s", getenv("HOME") ? getenv("HOME") : "/");
    put_script(p, "my-cc", "exec /usr/bin/cc \"$@\"", cc, sizeof(cc));
    for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
        snprintf(text, sizeof(text), "mkdir -p '%s/bin' '%s/%s'", p->dir, p->dir, row[i].folder);
        assert_int_equal(system(text), 0);
        snprintf(name, sizeof(name), "%s/nvcc", row[i].folder);
        put_script(p, name, "echo 'tools, release 13.0'", text, sizeof(text));
        use_gpu(p, "sm_90", "{\"index\": 1}");
        must_setenv("PATH", p->dir);
        must_setenv("CUDA_HOME", "/nowhere");
        if (i == 1)
            must_setenv("CUDA_HOME", NULL);
        snprintf(text, sizeof(text), "%s/%s", p->dir, row[i].value);
        must_setenv(row[i].variable, text);
        plan(p, &opt);
        must_setenv(row[i].variable, NULL);
        must_setenv("PATH", path);
        must_setenv("HOME", home);
        if (!strstr(ks_build_gpu_chain(p->build, 0)->command, row[i].folder))
            fail_msg("'%s', not in %s", ks_build_gpu_chain(p->build, 0)->command, row[i].folder);
        snprintf(text, sizeof(text), "rm '%s/%s/nvcc'", p->dir, row[i].folder);
        assert_int_equal(system(text), 0);
    }
    must_setenv("CUDA_HOME", NULL);
}

/* The chip's own name where the compiler knows it, else the one that all know. */
static void test_own_name(void **state)
{
    static const struct {
        const char *script, *flag;
    } row[] = {
        { "echo 'tools, release 13.0'", " -arch=sm_90a " },
        { "case \"$*\" in *sm_90a*) echo 'nvcc fatal   : Unsupported gpu'; exit 1;; esac\n"
          "echo 'tools, release 11.7'",
          " -arch=sm_90 " },
    };
    struct place *p = *state;
    char path[600];
    use_gpu(p, "sm_90", "{\"index\": 1}");
    for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
        put_script(p, "my-nvcc", row[i].script, path, sizeof(path));
        must_setenv("KSWEEP_NVCC", path);
        plan(p, NULL);
        must_setenv("KSWEEP_NVCC", NULL);
        assert_non_null(strstr(ks_build_gpu_chain(p->build, 0)->flags, row[i].flag));
        assert_non_null(strstr(artefact(p, "gpu_unit_1")->compiler, "release 1"));
    }
}

/* Another compiler, another arch, other flags: another build. */
static struct ks_id128 build_id_by(struct place *p, const char *arch, const char *version)
{
    char script[300], path[600];
    struct ks_id128 id;
    snprintf(script, sizeof(script), "echo 'clang version %s'; : > probe.img", version);
    put_script(p, "my-clang", script, path, sizeof(path));
    use_gpu(p, arch, "{\"index\": 1}");
    must_setenv("KSWEEP_HIPCC", path);
    plan(p, NULL);
    must_setenv("KSWEEP_HIPCC", NULL);
    id = artefact(p, "gpu_unit_1")->build_id;
    assert_false(ks_id128_is_zero(id));
    return id;
}

static void test_compiler_is_identity(void **state)
{
    struct place *p = *state;
    const struct ks_id128 id = build_id_by(p, "gfx942", "99");
    assert_true(ks_id128_eq(id, build_id_by(p, "gfx942", "99")));
    assert_false(ks_id128_eq(id, build_id_by(p, "gfx942", "100")));
    assert_false(ks_id128_eq(id, build_id_by(p, "gfx90a", "99")));
    must_setenv("CCC_OVERRIDE_OPTIONS", "+-O1"); /* clang adds it without being told */
    assert_false(ks_id128_eq(id, build_id_by(p, "gfx942", "99")));
    must_setenv("CCC_OVERRIDE_OPTIONS", NULL);
}

/* Where a GPU has work-group processors, blocks stay on one of their compute units. */
static void test_blocks_stay_on_a_compute_unit(void **state)
{
    static const struct {
        const char *arch;
        bool is_so;
    } row[] = {
        { "gfx1100", true }, { "gfx1201", true }, { "gfx1030", true }, { "gfx942", false }
    };
    struct place *p = *state;
    struct ks_err err;
    struct ks_buf said;
    char script[700], path[600], log[600];
    must(ks_path_join(log, sizeof(log), p->dir, "words", &err), &err);
    snprintf(script, sizeof(script), "echo \"$*\" >'%.500s'; echo 'clang version 9'; : > probe.img",
             log);
    put_script(p, "my-clang", script, path, sizeof(path));
    for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
        use_gpu(p, row[i].arch, "{\"index\": 1}");
        must_setenv("KSWEEP_HIPCC", path);
        plan(p, NULL);
        must_setenv("KSWEEP_HIPCC", NULL);
        ks_buf_init(&said);
        must(ks_file_read(log, &said, &err), &err);
        assert_non_null(strstr(ks_buf_text(&said), row[i].arch));
        assert_int_equal(strstr(ks_buf_text(&said), " -mcumode ") != NULL, row[i].is_so);
        ks_buf_release(&said);
    }
}

/* Compilers that are scripts: which one is taken, and what becomes of those that do not do. */
static void test_choice_of_compiler(void **state)
{
    static const char no_arch[] =
        "case \"$*\" in *--version*) echo 'old clang version 1'; exit;; esac\n"
        "echo \"clang: error: invalid target ID 'gfx950'\" >&2; exit 1";
    static const char good[] =
        "case \"$*\" in *--version*) echo 'new clang version 99'; exit;; esac\n"
        ": > probe.img";
    struct place *p = *state;
    struct ks_err err;
    char path[4096], with[4500], first[600], second[600];
    snprintf(path, sizeof(path), "%s", getenv("PATH"));
    snprintf(with, sizeof(with), "%s:/usr/bin:/bin", p->dir);
    put_script(p, "amdclang", no_arch, first, sizeof(first));
    use_gpu(p, "gfx950", "{\"index\": 1}");
    must_setenv("KSWEEP_HIPCC", first);
    assert_int_equal(try_plan(p, NULL, &err), KS_EINVAL);
    assert_non_null(strstr(err.text, "KSWEEP_HIPCC cannot build for gfx950: amdclang: "));
    assert_non_null(strstr(err.text, "invalid target ID"));
    must_setenv("KSWEEP_HIPCC", "/no/such/hipcc");
    assert_int_equal(try_plan(p, NULL, &err), KS_EINVAL);
    assert_non_null(strstr(err.text, "hipcc: cannot be started"));
    must_setenv("KSWEEP_HIPCC", NULL);
    put_script(p, "clang-20", good, second, sizeof(second));
    must_setenv("PATH", with);
    plan(p, NULL);
    must_setenv("PATH", path);
    assert_int_equal(artefact(p, "gpu_unit_1")->state, KS_ART_MISSING);
    assert_string_equal(artefact(p, "gpu_unit_1")->compiler, "new clang version 99");
    assert_non_null(strstr(ks_build_compiler(p->build), "new clang version 99"));
}

int main(void)
{
    /* The warden's children have the environment of its start. */
    must_setenv("KSWEEP_NVRTC_LIBRARY", "/nowhere.so");
    must_setenv("KSWEEP_HIPRTC_LIBRARY", "/nowhere.so");
    struct ks_warden *warden = start_warden();
#define T(f) cmocka_unit_test_prestate_setup_teardown(f, open_emulator_units, close_units, warden)
    const struct CMUnitTest tests[] = {
        T(test_emulator),
        T(test_identities_emulator),
        T(test_pack),
        T(test_broken_halves),
        T(test_build_ids),
        T(test_engine_is_identity),
        T(test_no_compiler),
        T(test_choice_of_compiler),
        T(test_own_name),
        T(test_compiler_is_identity),
        T(test_blocks_stay_on_a_compute_unit),
        T(test_nvcc_elsewhere),
        T(test_counts),
    };
    const int rc = cmocka_run_group_tests_name("build_gpu", tests, NULL, NULL);
    ks_warden_stop(warden);
    return rc;
}
