/* SPDX-License-Identifier: MIT */
/* test_gpu_breaks.c - breaks planted in the GPU kernels' sources are found by what tests kernels */
/* Each is planted in a copy. The kernels run in a child, because a broken one may take it along. */
/* sanitized: no; what is broken shows in results, or where guards are. */
/* quick: no */
#include "gpu_case.h"
#include "tests/unit/temp_dir.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>

#define CHILD "--child" /* DIRECTORY CONFIG FILTER N: as a program of its own */

struct planted {
    const char *name, *file; /* below kernels/ */
    const char *old, *new;   /* the text stands once in the file */
    const char *config, *filter;
};

#define SIMT  "warp_tile == 'simt' and pipeline == "
#define WGMMA "gpu_forward.json", "lanes == 128 and tile_m == 64 and tile_n == 64 and vector_c == 8"

#define SPECIALISED "gpu_forward.json", "is_specialised == 1 and tile_n == 64 and dtype == 'bf16'"

#define STEP 5 /* a barrier, bounds, waits, a swizzle, a buffer; tests/kernels.sh plants all */

static const struct planted breaks[] = {
    { "barrier before tiles are read", "gpu/engine.k",
      "        KS_FN(put)(lds, &s, w);\n        ks_sync();", "        KS_FN(put)(lds, &s, w);",
      "gpu_backward_data.json", SIMT "'basic_v1'" },
    { "barrier before tiles are overwritten", "gpu/engine.k",
      "KS_FN(fetch_and_multiply)(acc, lds, &s[d], w, p, at, next);\n                ks_sync();",
      "KS_FN(fetch_and_multiply)(acc, lds, &s[d], w, p, at, next);", "gpu_backward_weight.json",
      SIMT "'compv3' and split_k == 1" },
    { "barrier between two buffers", "gpu/engine.k", "ks_sync();\n                turn ^= 1;",
      "turn ^= 1;", "gpu_backward_data.json", SIMT "'compv4'" },
    { "bounds of a read", "gpu/gconv_bwd_data.k",
      "((unsigned)(row->w - col->w) >= (unsigned)p->out[2])", "0", "gpu_backward_data.json",
      "specialization == 'default' and lanes != 128" },
    { "bounds of a sum", "gpu/gconv_bwd_weight.k", "{ 0, 0, 0, 0, k >= at->k_end }",
      "{ 0, 0, 0, 0, 0 }", "gpu_backward_weight.json", "specialization != 'default'" },
    { "bounds of a write", "gpu/gconv_bwd_weight.k", "return n < p->gn ? n : -1;", "return n;",
      "gpu_backward_weight.json", "tile_n >= 64 and merged_groups == 1" },
    { "products between merged groups", "gpu/gconv_bwd_weight.k",
      "return ks_div(m, p->by_k) == ks_div(channel, p->by_c);", "return m + channel >= 0;",
      "gpu_backward_weight.json", "merged_groups > 1 and ndim == 2" },
    { "zeros before parts are added", "gpu/gconv_bwd_weight.k", "    if (KT_ADD)\n", "    if (0)\n",
      "gpu_backward_weight.json", "memory_operation == 'atomic_add'" },
    { "lanes of a result of MFMA", "gpu/mma.h",
      "#define KS_MMA1_c_row(l, i) (((i) >> 2) * 8 + ((l) >> 5) * 4 + ((i) & 3))",
      "#define KS_MMA1_c_row(l, i) (((i) >> 2) * 8 + ((l) >> 4 & 1) * 4 + ((i) & 3))",
      "gpu_backward_data.json", "warp_tile == 'mfma32x32x8'" },
    { "lanes of an operand of mma.sync", "gpu/mma.k",
      "col = (lane & 7) + (lane >> 4) * 8, k = (lane >> 3 & 1) * 8;",
      "col = (lane & 7) + (lane >> 3 & 1) * 8, k = (lane >> 4) * 8;", "gpu_backward_data.json",
      "warp_tile == 'mma16x8x16' and pipeline == 'compv3'" },
    { "wait for asynchronous copies", "gpu/engine.k", "ks_copy_wait(KT_PREFETCH - 2);",
      "ks_copy_wait(KT_PREFETCH - 1);", "gpu_backward_data.json",
      "warp_tile == 'mma16x8x16' and pipeline == 'comp_async'" },
    { "wait for asynchronous copies of wgmma", "gpu/engine.k",
      "ks_copy_wait(KT_PREFETCH - KS_LAG - 1);", "ks_copy_wait(KT_PREFETCH - KS_LAG);", WGMMA },
    { "fence of what was copied for wgmma", "gpu/engine.k", "        ks_wgmma_show();\n", "",
      WGMMA },
    { "barrier before wgmma", "gpu/engine.k",
      "ks_sync();\n        KS_FN(products)(acc, &lines, turn);",
      "KS_FN(products)(acc, &lines, turn);", WGMMA },
    { "fence of the registers of wgmma", "gpu/products_wgmma.k", "    ks_wgmma_fence();\n", "",
      WGMMA },
    { "wait for a step of wgmma", "gpu/engine.k", "ks_wgmma_wait(KS_LAG - 1);",
      "ks_wgmma_wait(KS_LAG);", WGMMA },
    { "wait for the last wgmma", "gpu/engine.k", "    ks_wgmma_wait(0);\n", "", WGMMA },
    { "buffers that wgmma leaves free", "gpu/engine.k", "fill < KT_PREFETCH - KS_LAG; fill++",
      "fill <= KT_PREFETCH - KS_LAG; fill++", WGMMA },
    { "end of a group of wgmma", "gpu/products_wgmma.k", "    ks_wgmma_commit();\n", "", WGMMA },
    { "swizzle of lines for wgmma", "gpu/tile.h", "(((at) / 8 ^ (line)) & 7)", "((at) / 8 & 7)",
      WGMMA },
    { "swizzle in a descriptor", "gpu/wgmma.h", "1ull << 62", "2ull << 62", WGMMA },
    { "taps before the image", "gpu/gconv_fwd.k", "ks_div(step - 1 - origin, p->by_dilation[axis])",
      "0", WGMMA },
    { "lanes of a result of wgmma", "gpu/mma.h",
      "(((l) >> 5) * 16 + ((l) >> 2 & 7) + ((i) >> 1 & 1) * 8)",
      "(((l) >> 5) * 16 + ((l) >> 2 & 7) * 2 + ((i) >> 1 & 1))", WGMMA },
    { "wait for copies before a tile is announced", "gpu/sum_ws.k", "ks_copy_wait(KS_AHEAD);",
      "ks_copy_wait(KS_AHEAD + 1);", SPECIALISED },
    { "fence behind the barrier of a tile", "gpu/sum_ws.k", "        ks_wgmma_show();\n", "",
      SPECIALISED },
    { "step after which a buffer is free", "gpu/sum_ws.k", "KS_LAG == 1 ? turn : last", "turn",
      SPECIALISED },
    { "panels of a turned operand", "gpu/tile.h", "#define KS_PANEL_BYTES (KT_TILE_K * 128)",
      "#define KS_PANEL_BYTES (KT_TILE_K * 64)", "gpu_backward_data.json",
      "warp_tile == 'wgmma64x128x16'" },
    { "parts of a tile that is fetched", "gpu/operand.k", "if (r % n_parts != part)",
      "if (r % n_parts != 0)", "gpu_backward_data.json",
      "warp_tile == 'mfma32x32x8' and pipeline == 'compv3' and tile_m == 128" },
    { "tiles of a die", "gpu/dev.h", "(die < more ? die : more)", "more", "gpu_gemm.json",
      "tile_m == 32 and warp_tile == 'simt'" },
};

static int run(const char *const *argv, const char *log)
{
    posix_spawn_file_actions_t files;
    pid_t pid;
    int status = -1;
    assert_int_equal(posix_spawn_file_actions_init(&files), 0);
    for (int fd = 1; fd <= 2; fd++)
        assert_int_equal(
            posix_spawn_file_actions_addopen(&files, fd, log, O_CREAT | O_WRONLY | O_APPEND, 0600),
            0);
    assert_int_equal(
        posix_spawnp(&pid, argv[0], &files, NULL, (char *const *)(uintptr_t)argv, environ), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    posix_spawn_file_actions_destroy(&files);
    return status;
}

static void read_source(const char *kernels, const char *file, struct ks_buf *text_out)
{
    char path[600];
    struct ks_err err;
    must(ks_path_join(path, sizeof(path), kernels, file, &err), &err);
    must(ks_file_read(path, text_out, &err), &err);
}

/* Writes a file of the copy as it is in the source tree, with a break unless old is NULL. */
static void write_source(const char *kernels, const char *file, const char *old, const char *new)
{
    char path[600];
    struct ks_buf text, out;
    struct ks_err err;
    ks_buf_init(&text);
    ks_buf_init(&out);
    read_source(KS_SOURCE_DIR "/kernels", file, &text);
    const char *all = ks_buf_text(&text), *at = old ? strstr(all, old) : NULL;
    if (old && (!at || strstr(at + 1, old)))
        fail_msg("'%s' does not stand once in %s", old, file);
    if (at)
        ks_buf_printf(&out, "%.*s%s%s", (int)(at - all), all, new, at + strlen(old));
    else
        ks_buf_printf(&out, "%s", all);
    must(ks_path_join(path, sizeof(path), kernels, file, &err), &err);
    must(ks_file_replace(path, ks_buf_text(&out), out.len, &err), &err);
    ks_buf_release(&out);
    ks_buf_release(&text);
}

static void show(const char *log)
{
    struct ks_buf text;
    struct ks_err err;
    ks_buf_init(&text);
    must(ks_file_read(log, &text, &err), &err);
    print_error("%s\n", ks_buf_text(&text));
    ks_buf_release(&text);
}

/* Sound kernels pass (is_sound: it is known of them), broken ones do not, and it is the kernels
 * that fail, not their compilation. */
static void check_break(const char *dir, const char *kernels, const struct planted *b,
                        bool is_sound)
{
    const char *const argv[] = {
        "/proc/self/exe", CHILD, kernels, b->config, b->filter, "1", NULL
    };
    char log[400];
    struct ks_buf text;
    struct ks_err err;
    snprintf(log, sizeof(log), "%s/sound %s", dir, b->name);
    if (!is_sound && run(argv, log) != 0) {
        show(log);
        fail_msg("%s: fails without the break", b->name);
    }
    write_source(kernels, b->file, b->old, b->new);
    snprintf(log, sizeof(log), "%s/broken %s", dir, b->name);
    const int status = run(argv, log);
    write_source(kernels, b->file, NULL, NULL);
    if (status == 0)
        fail_msg("%s: nothing noticed it", b->name);
    ks_buf_init(&text);
    must(ks_file_read(log, &text, &err), &err);
    if (strstr(ks_buf_text(&text), "does not compile")) {
        show(log);
        fail_msg("%s: does not compile", b->name);
    }
    ks_buf_release(&text);
}

/* Some, or all where all instances are run, too: see tests/kernels.sh. */
static size_t step(void)
{
    return kernel_tests_are_whole() ? 1 : STEP;
}

static void test_breaks_are_found(void **state)
{
    const size_t by = step();
    char dir[256], kernels[300], log[300];
    struct ks_err err;
    (void)state;
    temp_dir_make(dir, sizeof(dir));
    assert_int_equal(setenv("TMPDIR", dir, 1), 0); /* broken children leave theirs */
    snprintf(kernels, sizeof(kernels), "%s/kernels", dir);
    snprintf(log, sizeof(log), "%s/log", dir);
    const char *const copy[] = { "cp", "-R", KS_SOURCE_DIR "/kernels/.", kernels, NULL };
    assert_int_equal(run(copy, log), 0);
    for (size_t i = 0; i < sizeof(breaks) / sizeof(*breaks); i += by) {
        const struct planted *b = &breaks[i], *last = i < by ? NULL : &breaks[i - by];
        check_break(dir, kernels, b,
                    last && !strcmp(last->config, b->config) && !strcmp(last->filter, b->filter));
    }
    must(ks_remove_tree(dir, &err), &err);
}

static void run_child(void **state)
{
    const struct gpu_choice *choice = *state;
    struct gpu_set s;
    gpu_set_open(&s, choice);
    gpu_sweep(&s);
    gpu_set_close(&s);
}

int main(int argc, char **argv)
{
    struct gpu_choice choice = { .seed = 1 };
    const struct CMUnitTest child[] = { cmocka_unit_test_prestate(run_child, &choice) };
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_breaks_are_found) };
    if (argc == 6 && strcmp(argv[1], CHILD) == 0) {
        choice.kernels = argv[2];
        choice.config = argv[3];
        choice.filter = argv[4];
        choice.n = (uint32_t)strtoul(argv[5], NULL, 10);
        return cmocka_run_group_tests_name("child", child, NULL, NULL);
    }
    return cmocka_run_group_tests_name("gpu_breaks", tests, NULL, NULL);
}
