/* SPDX-License-Identifier: MIT */
/* test_build_nvidia.c - units for NVIDIA by nvcc, where installed: identified, nothing is run */
/* sanitized: no; build_gpu, code_object_cuda and the fuzz tests are, which run the same code of
 * ours. */
/* quick: no */
#include "build/code_object.h"
#include "build/unit.h"
#include "build_gpu_util.h"
#include "grid/family.h"

static void test_identities(void **state)
{
    need_compiler("nvcc");
    check_identities(*state, "sm_90");
}

static void test_company(void **state)
{
    need_compiler("nvcc");
    check_company(*state, "cuda", "sm_90");
}

static void test_written(void **state)
{
    need_compiler("nvcc");
    check_written(*state, "sm_80");
}

/* The chip's own instructions are another build, also by the same compiler. Needs none. */
static void test_own_instructions_are_identity(void **state)
{
    static const char *const scripts[] = {
        "echo 'tools, release 13.0'",
        "case \"$*\" in *sm_90a*) echo 'nvcc fatal   : Unsupported gpu'; exit 1;; esac\n"
        "echo 'tools, release 13.0'",
    };
    struct place *p = *state;
    struct ks_id128 ids[2];
    char path[600];
    use_gpu(p, "sm_90", "{\"index\": 1}");
    for (int i = 0; i < 2; i++) {
        put_script(p, "my-nvcc", scripts[i], path, sizeof(path));
        must_setenv("KSWEEP_NVCC", path);
        plan(p, NULL);
        must_setenv("KSWEEP_NVCC", NULL);
        ids[i] = artefact(p, "gpu_unit_1")->build_id;
        assert_false(ks_id128_is_zero(ids[i]));
    }
    assert_false(ks_id128_eq(ids[0], ids[1]));
}

/* --- Matrix instructions of warp groups */

/* Compiles `text` for the chip's own instructions; what ptxas says of it, and the image. */
static void compile_own(const struct place *p, const char *text, struct ks_buf *log,
                        struct ks_buf *image)
{
    char command[1500], path[600];
    struct ks_err err;
    put_file(p, "device.cu", text);
    snprintf(command, sizeof(command),
             "cd '%s' && nvcc -x cu -arch=sm_90a -cubin -O3 -w -Xptxas -v -o device.img device.cu "
             ">log 2>&1",
             p->dir);
    const int status = system(command);
    must(ks_path_join(path, sizeof(path), p->dir, "log", &err), &err);
    must(ks_file_read(path, log, &err), &err);
    if (status != 0)
        fail_msg("%s", ks_buf_text(log));
    must(ks_path_join(path, sizeof(path), p->dir, "device.img", &err), &err);
    must(ks_file_read(path, image, &err), &err);
}

static void check_wgmma_kernel(const struct ks_instance *i, const char *name,
                               const struct ks_buf *image)
{
    struct ks_code_object c;
    struct ks_err err;
    must(ks_code_object_read(image->data, image->len, name, &c, &err), &err);
    if (c.vgprs < 64 || c.vgprs > 255 || c.scratch_bytes != 0)
        fail_msg("%s: %d registers, a frame of %d bytes", i->name, c.vgprs, (int)c.scratch_bytes);
    if (c.lds_bytes <= 32768 || c.lds_bytes > 232448)
        fail_msg("%s: %d bytes of shared memory", i->name, (int)c.lds_bytes);
}

/* Up to 16 instances of a config as one unit. */
static void check_wgmma(const struct place *p, const char *config, const char *filter)
{
    char path[600], name[32];
    struct ks_kernel_set set = { 0 };
    uint32_t at[16], device_of[16];
    struct ks_buf text, log, image;
    struct ks_err err;
    ks_buf_init(&text);
    ks_buf_init(&log);
    ks_buf_init(&image);
    snprintf(path, sizeof(path), KS_SOURCE_DIR "/kernels/configs/%s", config);
    must(ks_kernel_set_add(&set, path, filter, NULL, &err), &err);
    assert_in_range(set.n_instances, 2, 16);
    for (uint32_t i = 0; i < set.n_instances; i++)
        at[i] = i;
    const struct ks_unit_members m = { set.families, set.instances, at, set.n_instances };
    must(ks_unit_devices(&m, device_of, &err), &err);
    must(ks_unit_device_text(&m, device_of, KS_GPU_CUDA, &text, &err), &err);
    compile_own(p, ks_buf_text(&text), &log, &image);
    if (strstr(ks_buf_text(&log), "serialized") || strstr(ks_buf_text(&log), "Performance"))
        fail_msg("%s", ks_buf_text(&log));
    assert_non_null(strstr(ks_buf_text(&log), " registers"));
    for (uint32_t i = 0; i < set.n_instances; i++) {
        ks_unit_kernel(device_of[i], 0, name);
        check_wgmma_kernel(&set.instances[i], name, &image);
    }
    ks_kernel_set_release(&set);
    ks_buf_release(&image);
    ks_buf_release(&log);
    ks_buf_release(&text);
}

/* Nothing spills, and the compiler does not put a wait behind each instruction, which it says. */
static void test_wgmma_flows(void **state)
{
#define LARGE "lanes == 128 and tile_m * tile_n >= 32768 and prefetch == 4"
    need_compiler("nvcc");
    check_wgmma(*state, "gpu_forward.json",
                LARGE " and specialization == 'default' and dtype == 'bf16'");
    check_wgmma(*state, "gpu_backward_data.json",
                LARGE " and specialization == 'default' and dtype == 'fp16'");
    check_wgmma(*state, "gpu_gemm.json", LARGE " and operands == 'rrr' and dtype == 'bf16'");
}

/* That is: where a result is touched in between, it says so with these flags. */
static void test_wgmma_that_is_serialized_is_told(void **state)
{
    static const char text[] =
        "#define KS_GPU_TARGET 2\n#include \"" KS_SOURCE_DIR "/kernels/gpu/wgmma.h\"\n"
        "#define PRODUCT asm volatile("
        "KS_WGMMA_TEXT(\"wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16\", 32) "
        ": KS_WGMMA_RESULTS(v, 32) : \"l\"(d), \"l\"(d), \"n\"(0), \"n\"(0) : \"memory\")\n"
        "extern \"C\" __global__ void __launch_bounds__(128) touched(float *p, unsigned long long "
        "d)\n{\n    float v[32];\n"
        "    for (int i = 0; i < 32; i++)\n        v[i] = p[i];\n"
        "    ks_wgmma_fence();\n    PRODUCT;\n    v[3] += 1;\n    PRODUCT;\n"
        "    ks_wgmma_commit();\n    ks_wgmma_wait(0);\n"
        "    for (int i = 0; i < 32; i++)\n        p[i + 32 * threadIdx.x] = v[i];\n}\n";
    struct ks_buf log, image;
    need_compiler("nvcc");
    ks_buf_init(&log);
    ks_buf_init(&image);
    compile_own(*state, text, &log, &image);
    if (!strstr(ks_buf_text(&log), "serialized"))
        fail_msg("not told: %s", ks_buf_text(&log));
    ks_buf_release(&image);
    ks_buf_release(&log);
}

int main(void)
{
    struct ks_warden *warden = start_warden();
#define T(f) cmocka_unit_test_prestate_setup_teardown(f, open_gpu_units, close_units, warden)
    const struct CMUnitTest tests[] = {
        T(test_identities),  T(test_company),
        T(test_written),     T(test_own_instructions_are_identity),
        T(test_wgmma_flows), T(test_wgmma_that_is_serialized_is_told)
    };
    const int rc = cmocka_run_group_tests_name("build_nvidia", tests, NULL, NULL);
    ks_warden_stop(warden);
    return rc;
}
