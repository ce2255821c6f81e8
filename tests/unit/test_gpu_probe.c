/* SPDX-License-Identifier: MIT */
/* test_gpu_probe.c - what `ksweep-worker --probe` says of GPUs, and why there are none */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include <cmocka.h>

#define FAKE "KSWEEP_HIP_LIBRARY=" KS_BINARY_DIR "/lib/libamdhip64.so.6"

/* Both streams of a probe with these words before and behind it; its exit status is returned. */
static int probe(const char *environment, const char *words, char *out, size_t cap)
{
    char command[1024];
    size_t n;
    int status;
    FILE *f;

    assert_true(snprintf(command, sizeof(command),
                         "env -u ROCR_VISIBLE_DEVICES -u HIP_VISIBLE_DEVICES %s "
                         "'" KS_BINARY_DIR "/bin/ksweep-worker' --probe %s 2>&1",
                         environment, words) < (int)sizeof(command));
    f = popen(command, "r");
    assert_non_null(f);
    n = fread(out, 1, cap - 1, f);
    out[n] = '\0';
    status = pclose(f);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static const struct {
    const char *environment, *words;
    int status;
    const char *want[6];
} rows[] = {
    { "KSWEEP_HIP_LIBRARY=/nowhere/libamdhip64.so",
      "hip",
      91,
      { "probing 'hip': no HIP runtime (KSWEEP_HIP_LIBRARY is set",
        "/nowhere/libamdhip64.so: cannot open shared object file" } },
    { "KSWEEP_CUDA_LIBRARY=/nowhere/libcuda.so.1",
      "cuda",
      91,
      { "probing 'cuda': no CUDA runtime", "/nowhere/libcuda.so.1: cannot open" } },
    { FAKE " KSWEEP_FAKE_HIP=devices=2,mem=2G",
      "hip",
      0,
      { "backend=hip\nvirtual=0\ncount=2\ndevice=0 0000:c1:00.0 GPU-", "\ndevice=1 0000:c2:00.0 ",
        "\narch=emu\nlocator=0000:c1:00.0\n", "\nmemory_bytes=2147483648\nunits=104\n",
        "\nshared_bytes=65536\nwave=64\nclock_mhz=1700\nmemory_clock_mhz=1600\ndriver=HIP " } },
    { FAKE " KSWEEP_FAKE_HIP=devices=3 ROCR_VISIBLE_DEVICES=2",
      "hip",
      0,
      { "count=1\ndevice=0 0000:c3:00.0", "\nlocator=0000:c3:00.0\n" } },
    { FAKE " KSWEEP_FAKE_HIP=devices=3",
      "hip 0000:C2:00.0",
      0,
      { "count=1\ndevice=0 0000:c2:00.0", "\nlocator=0000:c2:00.0\n" } },
    { FAKE " ROCR_VISIBLE_DEVICES=9",
      "hip",
      0,
      { "count=0\nwhy=", "libamdhip64.so.6 shows no device, ROCR_VISIBLE_DEVICES=9" } },
    { FAKE, "hip 0000:07:00.0", 91, { "none of them at '0000:07:00.0'" } },
    { FAKE " KSWEEP_FAKE_HIP=devices=x", "hip", 91, { "starting ", "hipError" } },
};

static void test_probe(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char out[4096];

        assert_int_equal(probe(rows[i].environment, rows[i].words, out, sizeof(out)),
                         rows[i].status);
        for (size_t k = 0; k < 6 && rows[i].want[k] != NULL; k++) {
            if (strstr(out, rows[i].want[k]) == NULL)
                fail_msg("row %zu: no '%s' in:\n%s", i, rows[i].want[k], out);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_probe) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
