/* SPDX-License-Identifier: MIT */
/* test_fake_hip_memory.c - the fake HIP runtime: the memory of its device */
#include "fake_hip_kit.h"

#include <semaphore.h>
#include <signal.h>

static void does_what_it_should(struct host *h)
{
    size_t free_bytes, total;
    ks_gpu_ptr d;

    host_prepare(h);
    must(host_launch(h) == 0);
    must(host_n_wrong(h) == 0);
    must(h->api.mem_info(&free_bytes, &total) == 0);
    must(total == (size_t)1 << 30 && free_bytes == total - 3 * 4096);
    must(h->api.mem_alloc(&d, N * 4) == 0);
    must(h->api.d2d(d, h->c, N * 4, h->stream) == 0);
    must(h->api.ctx_sync() == 0);
    must(h->api.mem_free(h->c) == 0);
    h->c = d;
    must(host_n_wrong(h) == 0);
    must(h->api.mem_free(h->c) == 0);
    must(h->api.module_unload(h->module) == 0);
    must(h->api.stream_destroy(h->stream) == 0);
}

static void host_access_dies(struct host *h)
{
    host_prepare(h);
    must(host_launch(h) == 0);
    must(host_n_wrong(h) == 0);
    h->out[0] = *(volatile float *)(uintptr_t)h->c;
}

struct stop {
    sem_t reached, go;
};

static void wait_at(void *arg)
{
    struct stop *s = arg;

    sem_post(&s->reached);
    sem_wait(&s->go);
}

/* The device stands in a call of the host behind a launch: its memory is hidden there, too. */
static void host_access_dies_while_the_host_is_called(struct host *h)
{
    struct stop stop[2];

    host_prepare(h);
    for (int i = 0; i < 2; i++) {
        sem_init(&stop[i].reached, 0, 0);
        sem_init(&stop[i].go, 0, 0);
    }
    must(h->api.host_func(h->stream, wait_at, &stop[0]) == 0);
    must(host_launch(h) == 0);
    must(h->api.host_func(h->stream, wait_at, &stop[1]) == 0);
    sem_post(&stop[0].go);
    sem_wait(&stop[1].reached);
    h->out[0] = *(volatile float *)(uintptr_t)h->c;
}

static int n_filled(struct host *h, float pattern)
{
    int n = 0;

    must(h->api.stream_sync(h->stream) == 0);
    must(h->api.d2h(h->out, h->c, sizeof h->out) == 0);
    for (int i = 0; i < N; i++)
        n += h->out[i] == pattern;
    return n;
}

/* A fill is done again where anything came between it and the same before. */
static void fills_fill(struct host *h)
{
    const unsigned one = 0x3f800000, two = 0x40000000;
    struct stop stop;

    host_prepare(h);
    sem_init(&stop.reached, 0, 0);
    sem_init(&stop.go, 0, 0);
    for (int i = 0; i < 3; i++) {
        must(h->api.host_func(h->stream, wait_at, &stop) == 0); /* the rest stands in the queue */
        must(h->api.set32(h->c, one, N, h->stream) == 0);
        must(i != 0 || h->api.set32(h->c, two, N, h->stream) == 0);
        must(i != 1 || host_launch(h) == 0);
        must(i != 2 || h->api.d2d(h->c, h->a, N * 4, h->stream) == 0);
        must(h->api.set32(h->c, one, N, h->stream) == 0);
        sem_post(&stop.go);
        must(n_filled(h, 1) == N);
        for (int k = 0; k < N; k++)
            h->out[k] = 5;
        must(h->api.h2d(h->c, h->out, sizeof h->out) == 0);
        must(h->api.set32(h->c, one, N, h->stream) == 0);
        must(n_filled(h, 1) == N);
    }
}

static void what_is_not_the_devices_is_refused(struct host *h)
{
    ks_gpu_ptr here = (ks_gpu_ptr)(uintptr_t)h->out;

    host_prepare(h);
    must(h->api.h2d(h->a + 4000, h->out, 4) == 1);
    must(h->api.d2h(h->out, h->a + 3996, 8) == 1);
    must(h->api.d2d(h->a, here, 4, NULL) == 1);
    must(h->api.set32(here, 0, 1, NULL) == 1);
    must(h->api.mem_free(h->a + 8) == 1);
}

static void oom_on_the_second(struct host *h)
{
    ks_gpu_ptr p;

    must(h->api.mem_alloc(&p, 100) == 0);
    must(h->api.mem_alloc(&p, 1 << 20) == 0); /* too small to count */
    must(h->api.mem_alloc(&p, 1 << 21) == 0);
    must(h->api.mem_alloc(&p, 1 << 21) == 2);
    must(h->api.mem_alloc(&p, 1 << 21) == 0);
}

static void memory_ends(struct host *h)
{
    ks_gpu_ptr p, q;

    must(h->api.mem_alloc(&p, 600 << 10) == 0);
    must(h->api.mem_alloc(&q, 600 << 10) == 2);
    must(h->api.mem_free(p) == 0);
    must(h->api.mem_alloc(&q, 600 << 10) == 0);
}

static void test_memory(void **state)
{
    static const struct host_case cases[] = {
        { "", does_what_it_should, 0 },
        { "", host_access_dies, SIGSEGV },
        { "", host_access_dies_while_the_host_is_called, SIGSEGV },
        { "", fills_fill, 0 },
        { "", what_is_not_the_devices_is_refused, 0 },
        { "fault=oom@2:bytes=2M+oom@1-:bytes=101-1000K", oom_on_the_second, 0 },
        { "mem=1M", memory_ends, 0 },
    };

    (void)state;
    check_cases(cases, sizeof cases / sizeof *cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
