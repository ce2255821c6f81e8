/* SPDX-License-Identifier: MIT */
/* fake_hip_kit.c - runs cases in processes of their own that use the fake HIP runtime */
#include "fake_hip_kit.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

const void *host_image(size_t *bytes_out)
{
    int fd = open(KS_BINARY_DIR "/lib/fake_hip_image.so", O_RDONLY | O_CLOEXEC);
    struct stat st;
    void *p;

    must(fd >= 0 && fstat(fd, &st) == 0);
    p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    must(p != MAP_FAILED);
    close(fd);
    if (bytes_out)
        *bytes_out = (size_t)st.st_size;
    return p;
}

void host_open(struct host *h)
{
    struct ks_err err = { 0 };

    must(ks_gpu_load(KS_GPU_HIP, &h->api, &err) == 0);
    must(h->api.init(0) == 0);
    must(h->api.set_device(0) == 0);
}

void host_prepare(struct host *h)
{
    float a[N], b[N];

    for (int i = 0; i < N; i++) {
        a[i] = (float)i;
        b[i] = (float)(2 * i);
    }
    must(h->api.stream_create(&h->stream, KS_GPU_STREAM_NON_BLOCKING) == 0);
    must(h->api.mem_alloc(&h->a, sizeof a) == 0);
    must(h->api.mem_alloc(&h->b, sizeof b) == 0);
    must(h->api.mem_alloc(&h->c, sizeof a) == 0);
    must(h->api.h2d(h->a, a, sizeof a) == 0);
    must(h->api.h2d(h->b, b, sizeof b) == 0);
    must(h->api.set32(h->c, 0xdeadbeef, N, h->stream) == 0);
    must(h->api.module_load(&h->module, host_image(NULL)) == 0);
    must(h->api.module_func(&h->add, h->module, "add") == 0);
}

int host_launch(struct host *h)
{
    int n = N;
    void *args[] = { &h->a, &h->b, &h->c, &n };
    int rc = h->api.launch(h->add, BLOCKS, 1, 1, 64, 1, 1, 0, h->stream, args, NULL);

    n = 0; /* arguments are read before launch() returns */
    return rc;
}

int host_n_wrong(struct host *h)
{
    int n = 0;

    if (h->api.stream_sync(h->stream) != 0 || h->api.d2h(h->out, h->c, sizeof h->out) != 0)
        return -1;
    for (int i = 0; i < N; i++)
        n += h->out[i] != (float)(3 * i);
    return n;
}

int end_of(const char *config, void (*body)(struct host *), bool is_open)
{
    const struct rlimit none = { 0, 0 };
    int status = 0;
    pid_t pid = fork();

    if (pid == 0) {
        struct host *h = calloc(1, sizeof *h);

        must(h != NULL);
        setrlimit(RLIMIT_CORE, &none);
        signal(SIGSEGV, SIG_DFL);
        alarm(20);
        setenv("KSWEEP_HIP_LIBRARY", KS_BINARY_DIR "/lib/libamdhip64.so.6", 1);
        setenv("KSWEEP_FAKE_HIP", config, 1);
        if (is_open)
            host_open(h);
        body(h);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

void check_cases(const struct host_case *cases, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        int s = end_of(cases[i].config, cases[i].body, true);

        if (cases[i].signal ? !WIFSIGNALED(s) || WTERMSIG(s) != cases[i].signal : s != 0)
            fail_msg("row %zu (%s): wait status %#x", i, cases[i].config, (unsigned)s);
    }
}
