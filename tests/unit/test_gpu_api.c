/* SPDX-License-Identifier: MIT */
/* test_gpu_api.c - finding a vendor's runtime, what is said without one; which GPUs it shows */
#include "device/gpu_api.h"
#include "device/gpu_identity.h"
#include "tests/unit/gpu_stub.h"
#include "tests/unit/so.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void use(int is_cuda, const char *path)
{
    setenv(is_cuda ? "KSWEEP_CUDA_LIBRARY" : "KSWEEP_HIP_LIBRARY", path, 1);
}

static struct stub *load(const struct so_place *f, const char *name, int is_cuda,
                         const char *defines, struct ks_gpu_api *api)
{
    struct ks_err err = { 0 };
    char path[512];
    struct stub *s = stub_build(f->dir, name, is_cuda, defines, path, sizeof(path));

    use(is_cuda, path);
    assert_int_equal(ks_gpu_load(is_cuda ? KS_GPU_CUDA : KS_GPU_HIP, api, &err), 0);
    assert_string_equal(api->library, path);
    return s;
}

static void test_every_slot_is_filled(void **state)
{
    for (int is_cuda = 0; is_cuda < 2; is_cuda++) {
        struct ks_gpu_api api;

        (void)load(*state, is_cuda ? "all_cuda" : "all_hip", is_cuda, "", &api);
#define X(slot, hip, cuda, args) assert_true(api.slot != NULL);
        KS_GPU_CALLS(X)
        KS_GPU_CALLS_OPTIONAL(X)
#undef X
#define X(slot, name, result, args) assert_true((api.slot != NULL) == !is_cuda);
        KS_GPU_CALLS_HIP(X)
#undef X
#define X(slot, name, result, args) assert_true((api.slot != NULL) == is_cuda);
        KS_GPU_CALLS_CUDA(X)
#undef X
        assert_true((api.hip_props != NULL) == !is_cuda);
    }
}

/* A missing library names every place and what each said; nothing is set. */
static void test_missing_library(void **state)
{
    static const char *const hip[] = { "libamdhip64.so.7", "libamdhip64.so.6" };
    struct ks_gpu_api api = { .vendor = KS_GPU_CUDA };
    struct ks_err err = { 0 };

    (void)state;
    use(0, "/nowhere/libhip.so");
    assert_int_equal(ks_gpu_load(KS_GPU_HIP, &api, &err), KS_ENODEVICE);
    assert_non_null(strstr(err.text, "/nowhere/libhip.so: cannot open shared object file"));
    assert_non_null(strstr(err.text, "no HIP runtime (KSWEEP_HIP_LIBRARY is set"));
    assert_null(strstr(err.text, "libamdhip64")); /* the variable names it alone */
    assert_int_equal(api.vendor, KS_GPU_CUDA);

    unsetenv("KSWEEP_HIP_LIBRARY");
    err = (struct ks_err){ 0 };
    if (ks_gpu_load(KS_GPU_HIP, &api, &err) == KS_ENODEVICE) {
        assert_non_null(strstr(err.text, "KSWEEP_HIP_LIBRARY not set"));
        for (size_t i = 0; i < sizeof(hip) / sizeof(hip[0]); i++)
            assert_non_null(strstr(err.text, hip[i]));
        assert_non_null(strstr(err.text, "libamdhip64.so: cannot open"));
    } else {
        assert_int_equal(strncmp(api.library, "libamdhip64.so", 14), 0);
    }
    unsetenv("KSWEEP_CUDA_LIBRARY");
    if (ks_gpu_load(KS_GPU_CUDA, &api, &err) == KS_ENODEVICE)
        assert_non_null(strstr(err.text, "libcuda.so.1"));
    use(1, ""); /* empty is as not set */
    if (ks_gpu_load(KS_GPU_CUDA, &api, &err) == KS_ENODEVICE)
        assert_non_null(strstr(err.text, "libcuda.so.1"));
}

static void test_old_libraries(void **state)
{
    const struct so_place *f = *state;
    struct ks_gpu_api api;
    struct ks_err err = { 0 };
    char path[512];

    (void)stub_build(f->dir, "torso", 0, "#define STUB_LACKS_COPY", path, sizeof(path));
    use(0, path);
    assert_int_equal(ks_gpu_load(KS_GPU_HIP, &api, &err), KS_ENODEVICE);
    assert_non_null(strstr(err.text, "torso.so: has no hipMemcpyDtoH"));
    (void)load(f, "plain", 1, "#define STUB_LACKS_UUID\n#define STUB_LACKS_GATE", &api);
    assert_true(api.device_uuid == NULL && api.host_func == NULL);
}

/* The newer clock reports no errors of others, where there is one. */
static void test_newer_clock(void **state)
{
    struct ks_gpu_api api;
    float ms = 0;
    double at[2] = { 1e6, 3e6 }; /* as the stub's events begin */

    load(*state, "clock", 1, "#define STUB_EVENT_V2", &api)->sticky = 719;
    assert_int_equal(api.event_ms(&ms, &at[0], &at[1]), 0);
    assert_true(ms == 2.0f);
    load(*state, "old_clock", 1, "", &api)->sticky = 719;
    assert_int_equal(api.event_ms(&ms, &at[0], &at[1]), 719);
}

static const struct {
    const char *says, *want;
} arch_rows[] = {
    { "gfx90a:sramecc+:xnack-", "gfx90a" },
    { "gfx1100", "gfx1100" },
    { "emu:sramecc+:xnack-", "emu" },
};

static void test_arch(void **state)
{
    struct ks_gpu_api api[3];
    struct stub *s[3];
    char text[32];

    s[0] = load(*state, "props5", 0, "", &api[0]);
    s[1] = load(*state, "props6", 0, "#define STUB_R0600", &api[1]);
    s[2] = load(*state, "props_cuda", 1, "", &api[2]);
    (void)s[2];
    for (size_t i = 0; i < sizeof(arch_rows) / sizeof(arch_rows[0]); i++) {
        for (int k = 0; k < 2; k++) {
            s[k]->arch = arch_rows[i].says;
            ks_gpu_arch(&api[k], 0, text, sizeof(text));
            assert_string_equal(text, arch_rows[i].want);
        }
    }
    ks_gpu_arch(&api[2], 0, text, sizeof(text));
    assert_string_equal(text, "sm_90");
    assert_int_equal(ks_gpu_attr(&api[0], KS_GPU_ATTR_UNITS, 0), 104);
    assert_int_equal(ks_gpu_attr(&api[2], KS_GPU_ATTR_UNITS, 0), 104);
    assert_int_equal(ks_gpu_attr(&api[0], KS_GPU_ATTR_WAVE, 0), 64);
    assert_int_equal(ks_gpu_attr(&api[2], KS_GPU_ATTR_WAVE, 0), 32);
}

static void test_errors(void **state)
{
    static const struct {
        int code;
        int hip, cuda;
    } rows[] = { { 0, 0, 0 },   { 1, 0, 0 },   { 2, 0, 0 },    { 100, 0, 0 },  { 701, 0, 0 },
                 { 214, 1, 1 }, { 700, 1, 1 }, { 702, 1, 1 },  { 709, 1, 1 },  { 710, 1, 1 },
                 { 719, 1, 1 }, { 999, 1, 1 }, { 715, 0, 1 },  { 716, 0, 1 },  { 718, 0, 1 },
                 { 220, 0, 1 }, { 600, 0, 0 }, { 1052, 1, 0 }, { 1053, 1, 0 }, { 226, 0, 1 },
                 { 721, 0, 1 }, { 810, 0, 1 }, { 911, 0, 1 },  { 225, 0, 0 },  { 227, 0, 0 },
                 { 720, 0, 0 }, { 722, 0, 0 }, { 806, 0, 0 },  { 809, 0, 0 },  { 811, 0, 0 },
                 { 910, 0, 0 }, { 912, 0, 0 }, { 713, 0, 0 } };
    struct ks_gpu_api hip, cuda;

    (void)load(*state, "err_hip", 0, "", &hip);
    (void)load(*state, "err_cuda", 1, "", &cuda);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(ks_gpu_is_sticky(KS_GPU_HIP, rows[i].code), rows[i].hip);
        assert_int_equal(ks_gpu_is_sticky(KS_GPU_CUDA, rows[i].code), rows[i].cuda);
    }
    assert_string_equal(ks_gpu_error_name(&hip, 719), "hipErrorLaunchFailure");
    assert_string_equal(ks_gpu_error_name(&cuda, 719), "CUDA_ERROR_LAUNCH_FAILED");
    assert_string_equal(ks_gpu_error_name(&hip, 4242), "unknown error");
    assert_string_equal(ks_gpu_error_name(&cuda, 4242), "unknown error");
}

static void test_addresses(void **state)
{
    static const char *const rows[][2] = { { "0000:C1:00.0", "0000:c1:00.0" },
                                           { "00000000:3B:00.0", "0000:3b:00.0" },
                                           { "00010000:3b:00.0", "10000:3b:00.0" },
                                           { "0001:3b:00.1", "0001:3b:00.1" } };
    struct ks_gpu_uuid uuid = { { 0 } };
    char text[64];

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        ks_gpu_pci(rows[i][0], text, sizeof(text));
        assert_string_equal(text, rows[i][1]);
    }
    ks_gpu_uuid_text(&uuid, text, sizeof(text));
    assert_string_equal(text, "");
    for (int i = 0; i < 16; i++)
        uuid.bytes[i] = (char)(i * 17);
    ks_gpu_uuid_text(&uuid, text, sizeof(text));
    assert_string_equal(text, "GPU-00112233-4455-6677-8899-aabbccddeeff");
    memcpy(uuid.bytes, "3af2e4c1d5b60789", 16);
    ks_gpu_uuid_text(&uuid, text, sizeof(text));
    assert_string_equal(text, "GPU-3af2e4c1d5b60789");
}

static void test_list(void **state)
{
    struct ks_device_id ids[KS_DEVICES_MAX] = { { .pci = "" } };
    int numbers[KS_DEVICES_MAX];
    struct ks_err err = { 0 };
    struct ks_gpu_api api;
    struct stub *s = load(*state, "list", 1, "", &api);
    uint32_t n = 99;

    s->uuid = "3af2e4c1d5b60789";
    assert_int_equal(ks_gpu_list(&api, "", ids, numbers, &n, &err), 0);
    assert_int_equal(n, 2);
    assert_string_equal(ids[1].pci, "0000:c2:00.0");
    assert_string_equal(ids[1].unique, "GPU-3af2e4c1d5b60781");
    assert_int_equal(ks_gpu_list(&api, "0000:C2:00.0", ids, numbers, &n, &err), 0);
    assert_true(n == 1 && numbers[0] == 1);
    assert_string_equal(ids[0].pci, "0000:c2:00.0");
    assert_int_equal(ks_gpu_list(&api, "0000:c7:00.0", ids, numbers, &n, &err), KS_ENODEVICE);
    assert_non_null(strstr(err.text, "none of them at '0000:c7:00.0'"));
    assert_int_equal(ks_gpu_list(&api, "seed=1", ids, numbers, &n, &err), KS_ENODEVICE);
    assert_int_equal(n, 1);
    s->uuid = NULL; /* nor does sysfs know such a card: its place has to do */
    assert_int_equal(ks_gpu_list(&api, "", ids, numbers, &n, &err), 0);
    assert_string_equal(ids[0].unique, "pci/0000:c1:00.0");
    s->fail_name = "GetCount";
    s->fail_code = 999;
    assert_int_equal(ks_gpu_list(&api, "", ids, numbers, &n, &err), KS_EDEVICE);
    assert_non_null(strstr(err.text, "CUDA_ERROR_OTHER (999)"));
}

/* Parts of a device: each has an identity of its own, as the vendor's tools print it. */
static void test_parts_of_a_device(void **state)
{
    struct ks_device_id ids[KS_DEVICES_MAX] = { { .pci = "" } };
    int numbers[KS_DEVICES_MAX];
    struct ks_err err = { 0 };
    struct ks_gpu_api api;
    struct stub *s = load(*state, "mig", 1, "", &api);
    uint32_t n = 0;

    s->is_mig = 1;
    s->uuid = "\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f\x10";
    assert_int_equal(ks_gpu_list(&api, "", ids, numbers, &n, &err), 0);
    assert_string_equal(ids[0].unique, "MIG-01020304-0506-0708-090a-0b0c0d0e0f30");
    s = load(*state, "partitions", 0, "", &api);
    s->is_mig = s->is_partitioned = 1; /* such a name means nothing with AMD */
    s->uuid = "3af2e4c1d5b60789";
    assert_int_equal(ks_gpu_list(&api, "", ids, numbers, &n, &err), 0);
    assert_int_equal(n, 2);
    assert_string_equal(ids[0].unique, "GPU-3af2e4c1d5b60780");
    assert_string_equal(ids[1].unique, "GPU-3af2e4c1d5b60780/1");
}

/* No device is an empty list, whichever way the runtime puts it; opening the first says why. */
static void test_no_device(void **state)
{
    static const int says[] = { 0, 100, 101 };
    struct ks_device_id ids[KS_DEVICES_MAX], first;
    int numbers[KS_DEVICES_MAX], number;
    struct ks_err err = { 0 };
    struct ks_gpu_api api;
    struct stub *s = load(*state, "none", 0, "", &api);

    setenv("ROCR_VISIBLE_DEVICES", "7", 1);
    s->n_devices = 0;
    for (size_t i = 0; i < sizeof(says) / sizeof(says[0]); i++) {
        uint32_t n = 99;

        s->init_code = says[i];
        assert_int_equal(ks_gpu_list(&api, "", ids, numbers, &n, &err), 0);
        assert_int_equal(n, 0);
        assert_int_equal(ks_gpu_first(&api, "", &first, &number, &err), KS_ENODEVICE);
        assert_non_null(strstr(err.text, "none.so shows no device, ROCR_VISIBLE_DEVICES=7"));
        assert_true(strstr(err.text, ", /dev/kfd: ") != NULL ||
                    access("/dev/kfd", R_OK | W_OK) == 0);
    }
    unsetenv("ROCR_VISIBLE_DEVICES");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_slot_is_filled),
        cmocka_unit_test(test_missing_library),
        cmocka_unit_test(test_old_libraries),
        cmocka_unit_test(test_newer_clock),
        cmocka_unit_test(test_arch),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_addresses),
        cmocka_unit_test(test_list),
        cmocka_unit_test(test_parts_of_a_device),
        cmocka_unit_test(test_no_device),
    };

    return cmocka_run_group_tests(tests, so_place_setup, so_place_teardown);
}
