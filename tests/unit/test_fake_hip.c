/* SPDX-License-Identifier: MIT */
/* test_fake_hip.c - the fake HIP runtime: what the harness's tests rely on, but for its memory */
#include "fake_hip_kit.h"
#include "tests/unit/temp_dir.h"

#include <semaphore.h>
#include <signal.h>

/* The time of a launch by its events. */
static float timed(struct host *h)
{
    void *start, *stop;
    float ms = 0;

    must(h->api.event_create(&start, 0) == 0 && h->api.event_create(&stop, 0) == 0);
    must(h->api.event_record(start, h->stream) == 0);
    must(host_launch(h) == 0);
    must(h->api.event_record(stop, h->stream) == 0);
    must(h->api.event_sync(stop) == 0);
    must(h->api.event_ms(&ms, start, stop) == 0);
    must(h->api.event_destroy(start) == 0 && h->api.event_destroy(stop) == 0);
    return ms;
}

/* --- Cases */

static void wait_for_post(void *arg)
{
    sem_wait(arg);
}

/* The device is held up by what stands before the launch: who waited here would wait for ever. */
static void launch_returns_before_it_ran(struct host *h)
{
    void *start, *stop;
    float ms;
    sem_t go;

    host_prepare(h);
    sem_init(&go, 0, 0);
    must(h->api.event_create(&start, 0) == 0 && h->api.event_create(&stop, 0) == 0);
    must(h->api.event_record(start, h->stream) == 0);
    must(h->api.host_func(h->stream, wait_for_post, &go) == 0);
    must(host_launch(h) == 0);
    must(h->api.event_record(stop, h->stream) == 0);
    must(h->api.event_ms(&ms, start, stop) == 600); /* not ready */
    sem_post(&go);
    must(h->api.event_sync(stop) == 0);
    must(h->api.event_ms(&ms, start, stop) == 0 && ms > 0);
    must(host_n_wrong(h) == 0);
}

static void images_and_functions(struct host *h)
{
    size_t bytes;
    const void *good = host_image(&bytes);
    char *bad = malloc(bytes);
    void *m, *f;
    int v = -1;

    must(bad != NULL);
    must(h->api.module_load(
             &m, "this is no image at all, it is a text of more than 64 bytes ...") == 200);
    memcpy(bad, good, bytes);
    bad[18] = (char)224; /* e_machine: AMD's GPUs */
    must(h->api.module_load(&m, bad) == 209);
    free(bad);
    must(h->api.module_load(&m, good) == 0);
    must(h->api.module_func(&f, m, "subtract") == 500);
    must(h->api.module_func(&f, m, "vast") == 0);
    must(h->api.func_attr(&v, KS_GPU_FUNC_SHARED, f) == 0 && v == 1 << 20);
    must(h->api.func_attr(&v, KS_GPU_FUNC_MAX_THREADS, f) == 0 && v == 64);
    must(h->api.occupancy(&v, f, 64, 0) == 0 && v == 0);
    must(h->api.launch(f, 1, 1, 1, 64, 1, 1, 0, NULL, (void *[]){ &v }, NULL) == 701);
    must(h->api.module_func(&f, m, "tangle") == 0);
    must(h->api.occupancy(&v, f, 64, 0) == 0 && v == 32);
    v = 7;
    must(h->api.launch(f, 1, 1, 1, 32, 1, 1, 0, NULL, (void *[]){ &v }, NULL) == 1);
    must(h->api.launch(f, 0, 1, 1, 64, 1, 1, 0, NULL, (void *[]){ &v }, NULL) == 1);
    must(h->api.launch(f, 1, 1, 1, 64, 1, 1, 0, NULL, (void *[]){ &v }, NULL) == 0);
    must(h->api.ctx_sync() == 719); /* the emulator refuses what the kernel does */
}

static void load_fails_once(struct host *h)
{
    void *m;

    must(h->api.module_load(&m, host_image(NULL)) == 209);
    must(h->api.module_load(&m, host_image(NULL)) == 0);
}

static void launches_fail_from_the_second(struct host *h)
{
    host_prepare(h);
    must(host_launch(h) == 0);
    must(host_launch(h) == 701);
    must(host_launch(h) == 701);
    must(host_n_wrong(h) == 0);
}

static void launch_fails_once(struct host *h)
{
    host_prepare(h);
    must(host_launch(h) == 701);
    must(host_launch(h) == 0);
    must(host_n_wrong(h) == 0);
}

static void a_fault_sticks(struct host *h)
{
    ks_gpu_ptr p;

    host_prepare(h);
    must(host_launch(h) == 0);
    must(host_n_wrong(h) == 0);
    must(host_launch(h) == 0);
    must(h->api.stream_sync(h->stream) == 719);
    must(ks_gpu_is_sticky(KS_GPU_HIP, 719));
    must(strcmp(ks_gpu_error_name(&h->api, 719), "hipErrorLaunchFailure") == 0);
    must(host_launch(h) == 719);
    must(h->api.mem_alloc(&p, 4) == 719);
    must(h->api.d2h(h->out, h->c, 4) == 719);
}

static void sync_comes_back(struct host *h)
{
    host_prepare(h);
    must(host_launch(h) == 0);
    alarm(1);
    must(host_n_wrong(h) == 0);
}

static void slow_is_slow(struct host *h)
{
    float ms;

    host_prepare(h);
    ms = timed(h);
    must(ms > 0.104f && ms < 0.196f);
    must(timed(h) > 49 * ms);
    must(timed(h) < 1.02f * ms);
    must(host_n_wrong(h) == 0);
}

static void a_skipped_launch_says_nothing(struct host *h)
{
    host_prepare(h);
    must(host_launch(h) == 0);
    must(host_n_wrong(h) == N);
    must(host_launch(h) == 0);
    must(host_n_wrong(h) == 0);
}

static void one_word_is_wrong(struct host *h)
{
    host_prepare(h);
    must(host_launch(h) == 0);
    must(host_n_wrong(h) == 1);
}

static void time_goes_backwards(struct host *h)
{
    host_prepare(h);
    must(timed(h) < 0);
    must(timed(h) > 0);
}

static void the_device_is_lost(struct host *h)
{
    ks_gpu_ptr p;

    host_prepare(h);
    must(host_launch(h) == 0);
    must(host_n_wrong(h) == -1);
    must(h->api.mem_alloc(&p, 4) == 999);
    must(h->api.set_device(1) == 0);
    must(h->api.mem_alloc(&p, 4) == 0); /* the other one is there */
}

static void is_lost_for_others(struct host *h)
{
    ks_gpu_ptr p;
    void *s;
    int n = 0;

    must(h->api.device_count(&n) == 0 && n == 2);
    must(h->api.mem_alloc(&p, 4) == 999);
    must(h->api.stream_create(&s, 0) == 999);
    must(h->api.set_device(1) == 0);
    must(h->api.mem_alloc(&p, 4) == 0);
}

static void tells_what_it_is(struct host *h)
{
    char text[64];
    struct ks_gpu_uuid id[2];
    size_t bytes;

    ks_gpu_arch(&h->api, 0, text, sizeof text);
    must(strcmp(text, "emu") == 0);
    must(h->api.device_pci(text, sizeof text, 1) == 0 && strcmp(text, "0000:c2:00.0") == 0);
    must(h->api.device_uuid(&id[0], 0) == 0 && h->api.device_uuid(&id[1], 1) == 0);
    must(memcmp(&id[0], &id[1], sizeof id[0]) != 0);
    must(h->api.device_mem(&bytes, 0) == 0 && bytes == (size_t)2 << 20);
    must(ks_gpu_attr(&h->api, KS_GPU_ATTR_UNITS, 0) == 104);
    must(ks_gpu_attr(&h->api, KS_GPU_ATTR_WAVE, 0) == 64);
    must(ks_gpu_attr(&h->api, KS_GPU_ATTR_SHARED_BLOCK, 0) == 96 << 10);
    must(h->api.set_device(2) == 101);
}

/* --- Processes */

static void test_cases(void **state)
{
    static const struct host_case cases[] = {
        { "", launch_returns_before_it_ran, 0 },
        { "", images_and_functions, 0 },
        { "fault=load@1", load_fails_once, 0 },
        { "fault=launch@1", launch_fails_once, 0 },
        { "fault=launch@2-", launches_fail_from_the_second, 0 },
        { "fault=launch@1:grid=16x1x1:block=64:device=0:name=add", launch_fails_once, 0 },
        { "fault=fault@2", a_fault_sticks, 0 },
        { "fault=hang@1", sync_comes_back, SIGALRM },
        { "fault=abort@1", sync_comes_back, SIGABRT },
        { "fault=slow@2", slow_is_slow, 0 },
        { "fault=skip@1", a_skipped_launch_says_nothing, 0 },
        { "fault=wrong@1", one_word_is_wrong, 0 },
        { "fault=backwards@1:grid=16x1x1+backwards@2:grid=1x1x1", time_goes_backwards, 0 },
        { "devices=2,mem=2M,shared=96K,arch=emu:xnack-", tells_what_it_is, 0 },
        /* filters that match nothing */
        { "fault=hang@1:grid=15x1x1", sync_comes_back, 0 },
        { "fault=hang@1:block=128", sync_comes_back, 0 },
        { "fault=hang@1:device=1", sync_comes_back, 0 },
        { "fault=hang@1:name=sub", sync_comes_back, 0 },
        { "fault=load@1:image=1+hang@1:image=2", sync_comes_back, 0 },
        { "fault=hang@2", sync_comes_back, 0 },
    };

    (void)state;
    check_cases(cases, sizeof cases / sizeof *cases);
}

static void test_what_lasts_over_processes(void **state)
{
    char dir[TEMP_DIR_MAX], config[TEMP_DIR_MAX + 64], path[TEMP_DIR_MAX + 16];

    (void)state;
    temp_dir_make(dir, sizeof(dir));
    snprintf(config, sizeof config, "once=%s/once,fault=launch@1", dir);
    assert_int_equal(end_of(config, launch_fails_once, true), 0);
    assert_int_equal(end_of(config, sync_comes_back, true), 0); /* not again */
    snprintf(config, sizeof config, "devices=2,lost=%s/lost,fault=lost@1", dir);
    assert_int_equal(end_of(config, the_device_is_lost, true), 0);
    snprintf(config, sizeof config, "devices=2,lost=%s/lost", dir);
    assert_int_equal(end_of(config, is_lost_for_others, true), 0);
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s", dir, i ? "lost" : "once.0");
        assert_int_equal(unlink(path), 0);
    }
    assert_int_equal(rmdir(dir), 0);
}

/* --- Which devices are visible */

static void list_devices(struct host *h)
{
    struct ks_err err = { 0 };
    char text[128] = "", pci[32];
    int n = 0;

    must(ks_gpu_load(KS_GPU_HIP, &h->api, &err) == 0);
    if (h->api.init(0) == 0)
        h->api.device_count(&n);
    for (int i = 0; i < n; i++) {
        must(h->api.device_pci(pci, sizeof pci, i) == 0);
        must(pci[6] == '1' + i || n < 4); /* all of them in their order */
        text[i] = pci[6];                 /* text is all zeros behind */
    }
    must(strcmp(text, getenv("WANTED")) == 0);
}

static void test_visible_devices(void **state)
{
    static const struct {
        const char *rocr, *hip, *cuda, *wanted; /* last digits of the buses 0xc1 to 0xc4 */
    } rows[] = {
        { NULL, NULL, NULL, "1234" }, { "2", NULL, NULL, "3" },     { NULL, "1,0", NULL, "21" },
        { NULL, NULL, "3", "4" },     { "3,1", "1", NULL, "2" },    { "3,1", "1", "0", "2" },
        { "3,1", "", "0", "4" },      { "0,7,1", NULL, NULL, "1" }, { "-1", NULL, NULL, "" },
        { "1,1", NULL, NULL, "2" },   { NULL, "5", NULL, "" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *values[] = { rows[i].rocr, rows[i].hip, rows[i].cuda };
        static const char *const names[] = { "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES",
                                             "CUDA_VISIBLE_DEVICES" };

        for (int k = 0; k < 3; k++) {
            if (values[k])
                setenv(names[k], values[k], 1);
            else
                unsetenv(names[k]);
        }
        setenv("WANTED", rows[i].wanted, 1);
        if (end_of("devices=4", list_devices, false) != 0)
            fail_msg("row %zu", i);
        for (int k = 0; k < 3; k++)
            unsetenv(names[k]);
    }
}

/* --- The clock */

static void write_times(struct host *h)
{
    int fd = (int)strtol(getenv("TIMES"), NULL, 10);
    float ms[8];

    host_prepare(h);
    for (int i = 0; i < 8; i++)
        ms[i] = timed(h);
    must(write(fd, ms, sizeof ms) == sizeof ms);
}

static void test_times_are_the_same_again(void **state)
{
    float ms[2][8];
    int ends[2], n_same = 0;
    char number[16];

    (void)state;
    assert_int_equal(pipe(ends), 0);
    snprintf(number, sizeof number, "%d", ends[1]);
    setenv("TIMES", number, 1);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(end_of("", write_times, true), 0);
        assert_int_equal(read(ends[0], ms[i], sizeof ms[i]), sizeof ms[i]);
    }
    assert_memory_equal(ms[0], ms[1], sizeof ms[0]);
    for (int i = 1; i < 8; i++)
        n_same += ms[0][i] == ms[0][0];
    assert_true(n_same < 4); /* but they spread */
    close(ends[0]);
    close(ends[1]);
}

/* --- What is not understood */

static void init_refuses(struct host *h)
{
    struct ks_err err = { 0 };

    must(ks_gpu_load(KS_GPU_HIP, &h->api, &err) == 0);
    must(freopen("/dev/null", "w", stderr) != NULL);
    _exit(h->api.init(0) == 3 ? 0 : 2);
}

static void test_a_bad_configuration_stops_it(void **state)
{
    static const char *const texts[] = {
        "devices",
        "devices=17",
        "devices=x",
        "memory=1G",
        "mem=1T",
        "mem=",
        "fault=oom",
        "fault=oom@0",
        "fault=oom@1+",
        "fault=ohm@1",
        "fault=oom@1x",
        "fault=oom@1:bytes=",
        "fault=oom@1:bytes=1-",
        "fault=hang@1:grid=1x2",
        "fault=hang@1:grid=1x2x3x",
        "fault=hang@1:size=3",
        "fault=hang@1:image=g",
        "fault=lost@1",
        "once=",
        "arch=",
    };

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (end_of(texts[i], init_refuses, false) != 0)
            fail_msg("'%s' passes", texts[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),
        cmocka_unit_test(test_what_lasts_over_processes),
        cmocka_unit_test(test_visible_devices),
        cmocka_unit_test(test_times_are_the_same_again),
        cmocka_unit_test(test_a_bad_configuration_stops_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
