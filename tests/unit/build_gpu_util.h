/* SPDX-License-Identifier: MIT */
/* build_gpu_util.h - shared by the tests of units of a GPU: the fake family, and what must hold
 * whoever compiles it. */
#ifndef KS_TEST_BUILD_GPU_UTIL_H
#define KS_TEST_BUILD_GPU_UTIL_H

#include "build/plan.h"
#include "build_util.h"

static inline int open_gpu_units(void **state)
{
    struct place *p = open_place(*state);
    copy_file(p, "tests/fake/gpu_unit.k", "gpu_unit.k");
    copy_file(p, "tests/fake/gpu_unit.h", "gpu_unit.h");
    copy_file(p, "tests/fake/gpu_unit.family.json", "gpu_unit.family.json");
    *state = p;
    return 0;
}

/* For the emulator, whose sources are compiled into each image: what is looked at does not depend
 * on how well. Shipped kernels (check_company) do, whose host's half is compared. */
static inline int open_emulator_units(void **state)
{
    char path[600];
    const int rc = open_gpu_units(state);
    put_script(*state, "quick-cc", "exec cc \"$@\" -O0", path, sizeof(path));
    must_setenv("KSWEEP_CC", path);
    return rc;
}

static inline void use_gpu(struct place *p, const char *arch, const char *instances)
{
    char config[2000];
    snprintf(config, sizeof(config), "{\"family\": \"gpu_unit.family.json\", \"instances\": [%s]}",
             instances);
    put_file(p, "config.json", config);
    load_device_grid(p, "config.json", strncmp(arch, "sm_", 3) == 0 ? "cuda" : "hip", arch);
}

static inline void need_compiler(const char *name)
{
    char command[100];
    snprintf(command, sizeof(command), "%s --version >/dev/null 2>&1", name);
    if (system(command) == 0)
        return;
    print_message("%s is not installed\n", name);
    skip();
}

static inline bool is_alias(const struct place *p, const char *a, const char *b)
{
    const struct ks_id128 one = artefact(p, a)->code_id, other = artefact(p, b)->code_id;
    assert_int_equal(artefact(p, a)->state, KS_ART_READY);
    assert_int_equal(artefact(p, b)->state, KS_ART_READY);
    return !ks_id128_is_zero(one) && ks_id128_eq(one, other);
}

/* Same code is one kernel; another constant, argument, launch or half makes another. */
static inline void check_identities(struct place *p, const char *arch)
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

/* Which company a kernel is compiled in does not show in it: shipped kernels, both halves. */
static inline void check_company(struct place *p, const char *backend, const char *arch)
{
    struct ks_id128 alone[16];
    const struct ks_build_options single = { .unit_size = 1 };
    load_device_grid(p, KS_SOURCE_DIR "/kernels/configs/gpu_forward_small.json", backend, arch);
    assert_in_range(p->grid.n_instances, 3, 16);
    plan(p, &single);
    (void)build_all(p);
    assert_true(count_state(p, KS_ART_READY) >= 3);
    for (uint32_t i = 0; i < p->grid.n_instances; i++)
        alone[i] = ks_build_artefact(p->build, i)->code_id;
    snprintf(p->cache, sizeof(p->cache), "%s/cache2", p->dir);
    plan(p, NULL);
    assert_int_equal(build_all(p), 3);
    for (uint32_t i = 0; i < p->grid.n_instances; i++) {
        const struct ks_artefact *a = ks_build_artefact(p->build, i);
        if (a->state == KS_ART_UNSUPPORTED)
            continue;
        if (a->state != KS_ART_READY)
            fail_msg("%s: %s", a->entry, a->reason);
        assert_false(ks_id128_is_zero(a->code_id));
        if (!ks_id128_eq(a->code_id, alone[i]))
            fail_msg("%s: '%s' depends on its company", arch, a->entry);
        assert_true(a->code_bytes > 100);
    }
}

static inline void check_nameless(struct place *p, const char *arch, const char *instances)
{
    use_gpu(p, arch, instances);
    plan(p, NULL);
    (void)build_all(p);
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(ks_build_artefact(p->build, i)->state, KS_ART_READY);
        assert_true(ks_id128_is_zero(ks_build_artefact(p->build, i)->code_id));
    }
}

/* What runs may change under the device's own data: such code is never the same. Nor is code with a
 * kernel that does not follow on the others by its number. */
static inline void check_written(struct place *p, const char *arch)
{
    check_nameless(p, arch, "{\"index\": 1, \"fault\": \"written\", \"twin\": [0, 1]}");
    check_nameless(p, arch, "{\"index\": 1, \"pipeline\": \"gap\", \"twin\": [0, 1]}");
}

#endif
