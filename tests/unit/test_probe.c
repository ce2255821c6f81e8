/* SPDX-License-Identifier: MIT */
/* test_probe.c - what a probe says, and what of a job's arch and of a seat follows from it */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first. */
#include <cmocka.h>

#include "base/buf.h"
#include "mpi/provenance.h"
#include "mpi/seat.h"
#include "tests/unit/temp_dir.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define GOOD                                                                                       \
    "backend=hip\nvirtual=0\ncount=2\n"                                                            \
    "device=0 0000:c1:00.0 GPU-0123\ndevice=1 - GPU-4567 of a host\n"                              \
    "name=AMD Instinct = big\narch=gfx942\nlocator=0000:c1:00.0\nunique=GPU-0123\n"                \
    "memory_bytes=206141652992\nunits=304\ncache_bytes=4194304\ndriver=7.0.1\n"

static void read_text(const char *text, enum ks_end how, int code, struct ks_probe *p)
{
    struct ks_child_end end = { .how = how, .code = code };

    memset(p, 'x', sizeof *p);
    ks_probe_read(text, &end, p);
}

static void a_probe_is_read(void **state)
{
    struct ks_probe p;

    (void)state;
    read_text("runtime: a warning\nWARN a=b\n" GOOD, KS_END_EXITED, 0, &p);
    assert_int_equal(p.n_devices, 2);
    assert_string_equal(p.devices[0].pci, "0000:c1:00.0");
    assert_string_equal(p.devices[1].pci, "");
    assert_string_equal(p.devices[1].unique, "GPU-4567 of a host");
    assert_string_equal(p.first.name, "AMD Instinct = big");
    assert_string_equal(p.first.arch, "gfx942");
    assert_string_equal(p.first.pci, "0000:c1:00.0");
    assert_string_equal(p.first.unique, "GPU-0123");
    assert_string_equal(p.first.driver, "7.0.1");
    assert_true(p.first.memory_bytes == 206141652992u && p.first.n_units == 304);
    assert_string_equal(p.why, "");
    assert_true(p.has_looked);
    read_text("backend=hip\nvirtual=0\ncount=0\nwhy=shows no device\n", KS_END_EXITED, 0, &p);
    assert_int_equal(p.n_devices, 0);
    assert_true(p.has_looked);
    assert_string_equal(p.why, "shows no device");
}

static void what_it_cannot_say_has_a_reason(void **state)
{
    static const struct {
        const char *text;
        enum ks_end how;
        int code;
        const char *why;
    } rows[] = {
        { "ksweep-worker: probing 'hip': no libamdhip64.so.7: not found\n", KS_END_EXITED, 91,
          "probing 'hip': no libamdhip64.so.7: not found" },
        { "loader: a\nksweep-worker: first\nksweep-worker: second\nbye\n", KS_END_EXITED, 91,
          "second" },
        { "out of\nmemory in the runtime\n", KS_END_SIGNALED, SIGSEGV,
          "the probe killed by a signal 11: memory in the runtime" },
        { "", KS_END_EXITED, 1, "the probe exited 1: " },
        { "count=3\ndevice=0 - a\ndevice=1 - b\n", KS_END_EXITED, 0, "cannot be read" },
        { "count=1\ndevice=1 - b\n", KS_END_EXITED, 0, "cannot be read" },
        { "count=1\ndevice=0\n", KS_END_EXITED, 0, "cannot be read" },
        { "", KS_END_EXITED, 0, "cannot be read" },
    };
    struct ks_probe p;

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        read_text(rows[i].text, rows[i].how, rows[i].code, &p);
        if (p.has_looked || p.n_devices || p.first.arch[0] || !strstr(p.why, rows[i].why))
            fail_msg("row %zu: %u devices, '%s'", i, p.n_devices, p.why);
    }
}

/* ---- a worker that says what a file holds ---- */

struct bench {
    struct ks_job *job;
    struct ks_warden *warden;
    char dir[TEMP_DIR_MAX], worker[TEMP_DIR_MAX + 16];
};

static void say(const struct bench *b, const struct ks_buf *script)
{
    FILE *f = fopen(b->worker, "w");

    assert_non_null(f);
    fprintf(f, "#!/bin/sh\n%s", ks_buf_text(script));
    assert_int_equal(fclose(f), 0);
    assert_int_equal(chmod(b->worker, 0700), 0);
}

static void say_text(const struct bench *b, const char *script)
{
    struct ks_buf text;

    ks_buf_init(&text);
    ks_buf_printf(&text, "%s", script);
    say(b, &text);
    ks_buf_release(&text);
}

static void begin(struct bench *b, const char *backend, const char *arch)
{
    struct ks_err err;

    *b = (struct bench){ .job = calloc(1, sizeof *b->job) };
    assert_non_null(b->job);
    while (strcmp(ks_backend_names[b->job->device.backend], backend) != 0)
        b->job->device.backend++;
    snprintf(b->job->device.arch_text, sizeof b->job->device.arch_text, "%s", arch);
    temp_dir_make(b->dir, sizeof(b->dir));
    snprintf(b->worker, sizeof b->worker, "%s/worker", b->dir);
    setenv("KSWEEP_WORKER", b->worker, 1);
    assert_int_equal(ks_warden_start(&b->warden, &err), 0);
}

static void end(struct bench *b)
{
    ks_warden_stop(b->warden);
    unlink(b->worker);
    rmdir(b->dir);
    free(b->job);
}

/* More than the tail of a child's end holds. */
static void sixty_four_devices_have_room(void **state)
{
    static struct ks_bind_card card;
    struct ks_buf script;
    struct ks_err err = { 0 };
    struct bench b;

    (void)state;
    begin(&b, "hip", "gfx942");
    ks_buf_init(&script);
    ks_buf_printf(&script, "echo count=64\n");
    for (uint32_t i = 0; i < 64; i++)
        ks_buf_printf(&script, "echo device=%u 0000:%02x:00.0 GPU-%036x-and-more-of-a-serial\n", i,
                      i, i);
    ks_buf_printf(&script, "echo arch=gfx942\n");
    say(&b, &script);
    if (ks_seat_card(b.job, b.warden, &card, &err) < 0)
        fail_msg("%s", err.text);
    assert_string_equal(card.why, "");
    assert_int_equal(card.n_devices, 64);
    assert_string_equal(card.devices[63].pci, "0000:3f:00.0");
    assert_string_equal(card.arch, "gfx942");
    ks_buf_release(&script);
    end(&b);
}

static void native_is_what_the_device_says(void **state)
{
    static struct ks_bind_card card;
    struct ks_err err = { 0 };
    struct bench b;

    (void)state;
    begin(&b, "cuda", "native");
    say_text(&b, "echo count=1\necho device=0 0000:01:00.0 GPU-1\necho arch=sm_90\n");
    assert_true(ks_seat_is_asked(b.job));
    assert_int_equal(ks_seat_card(b.job, b.warden, &card, &err), 0);
    assert_int_equal(ks_seat_native(b.job, &card, &err), 0);
    assert_string_equal(b.job->device.arch_text, "sm_90");
    assert_false(ks_seat_is_asked(b.job));
    say_text(&b, "echo 'ksweep-worker: no libcuda.so.1 here' >&2\nexit 91\n");
    snprintf(b.job->device.arch_text, sizeof b.job->device.arch_text, "native");
    assert_int_equal(ks_seat_card(b.job, b.warden, &card, &err), 0);
    assert_int_equal(ks_seat_native(b.job, &card, &err), KS_EINVAL);
    assert_non_null(strstr(err.text, "name one, such as sm_90"));
    assert_non_null(strstr(err.text, "none is visible here: no libcuda.so.1 here"));
    assert_string_equal(b.job->device.arch_text, "native");
    end(&b);
}

/* Each seat of this rank alone, as its worker would see it. */
static void a_seat_has_its_device_and_no_other(void **state)
{
#define TWO              "echo count=2; echo device=0 0000:01:00.0 A; echo device=1 0000:02:00.0 B; "
#define ONE(pci, unique) "echo count=1; echo device=0 " pci " " unique "; "
    static const struct {
        const char *name, *one, *want;
    } rows[] = {
        { "right", ONE("0000:01:00.0", "A") "echo arch=gfx942; echo units=7", NULL },
        { "another", ONE("0000:02:00.0", "B") "echo arch=gfx942",
          "restricted to A at 0000:01:00.0 (ROCR_VISIBLE_DEVICES=0) sees B at 0000:02:00.0" },
        { "another place", ONE("0000:02:00.0", "A") "echo arch=gfx942",
          "restricted to A at 0000:01:00.0 (ROCR_VISIBLE_DEVICES=0) sees A at 0000:02:00.0" },
        { "both", TWO "echo arch=gfx942", "sees 2 devices" },
        { "another arch", ONE("0000:01:00.0", "A") "echo name=old; echo arch=gfx90a",
          "the device at 0000:01:00.0 (old) is gfx90a, but the job is for gfx942" },
    };
    struct ks_rank_seat *seat = calloc(1, sizeof *seat);
    char script[512], host[64] = "";
    struct bench b;

    (void)state;
    assert_non_null(seat);
    gethostname(host, sizeof host - 1);
    unsetenv("ROCR_VISIBLE_DEVICES");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct ks_err err = { 0 };
        int rc;

        begin(&b, "hip", "gfx942");
        snprintf(script, sizeof script,
                 "if [ \"$ROCR_VISIBLE_DEVICES\" ]; then %s; else %secho arch=gfx942; fi\n",
                 rows[i].one, TWO);
        say_text(&b, script);
        rc = ks_seat_alone(b.job, 0, false, b.warden, seat, &err);
        if (rows[i].want ? rc == 0 || !strstr(err.text, rows[i].want) || !strstr(err.text, host)
                         : rc < 0)
            fail_msg("%s: %d %s", rows[i].name, rc, err.text);
        if (!rows[i].want)
            assert_int_equal(seat->own.n_units, 7);
        end(&b);
    }
    free(seat);
}

/* A cell again: on the device of its record, by the number that the process's own lists give it. */
static void a_device_is_found_again(void **state)
{
    static const struct {
        const char *unique, *want; /* NULL: it is not to be seen */
    } rows[] = { { "A", "ROCR_VISIBLE_DEVICES=3" },
                 { "B", "ROCR_VISIBLE_DEVICES=5" },
                 { "C", NULL } };
    struct ks_rank_seat *seat = calloc(1, sizeof *seat);
    struct bench b;

    (void)state;
    assert_non_null(seat);
    setenv("ROCR_VISIBLE_DEVICES", "3,5", 1);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct ks_err err = { 0 };

        begin(&b, "hip", "gfx942");
        say_text(&b, "case $ROCR_VISIBLE_DEVICES in 3) " ONE(
                         "0000:01:00.0",
                         "A") "echo arch=gfx942 ;; 5) " ONE("0000:02:00.0",
                                                            "B") "echo arch=gfx942 ;; *) " TWO
                                                                 "echo arch=gfx942 ;; esac\n");
        int rc =
            ks_seat_alone(b.job, ks_provenance_gpu(rows[i].unique), false, b.warden, seat, &err);
        assert_int_equal(rc, rows[i].want ? 0 : KS_ENODEVICE);
        if (rows[i].want) {
            assert_int_equal(seat->visible.n, 1);
            assert_string_equal(seat->visible.text[0], rows[i].want);
        } else {
            assert_non_null(strstr(err.text, "not one of the 2 that are visible here (ROCR_V"));
        }
        end(&b);
    }
    unsetenv("ROCR_VISIBLE_DEVICES");
    free(seat);
}

/* The runtime of a GPU needs more than the CPU that the worker's own thread keeps busy. */
static void a_runtime_has_room(void **state)
{
    struct ks_rank_seat *seat = calloc(1, sizeof *seat);
    cpu_set_t cpus;

    (void)state;
    assert_non_null(seat);
    seat->bind.cores.cpu = 3;
    CPU_SET(3, &seat->bind.cores.cpus);
    CPU_SET(67, &seat->bind.cores.cpus);
    CPU_SET(9, &seat->bind.spare);
    cpus = ks_seat_cpus(seat, true);
    assert_true(CPU_ISSET(3, &cpus) && CPU_ISSET(67, &cpus) && CPU_ISSET(9, &cpus));
    assert_int_equal(CPU_COUNT(&cpus), 3);
    cpus = ks_seat_cpus(seat, false);
    assert_true(CPU_ISSET(3, &cpus));
    assert_int_equal(CPU_COUNT(&cpus), 1);
    seat->has_threads = true; /* of OpenMP */
    CPU_SET(3, &seat->bind.domain);
    CPU_SET(4, &seat->bind.domain);
    cpus = ks_seat_cpus(seat, false);
    assert_true(CPU_EQUAL(&cpus, &seat->bind.domain));
    free(seat);
}

/* Times may be compared within a class; a device is itself wherever it is plugged in. */
static void a_gpu_has_an_identity_and_a_class(void **state)
{
    static const struct {
        const char *what, *unique, *pci;
        struct ks_probe_device own;
        bool is_same_device, is_same_class;
    } rows[] = {
#define OWN(...) { .name = "big", .arch = "gfx942", .driver = "7.0", __VA_ARGS__ }
        { "itself", "GPU-1", "0000:01:00.0", OWN(.memory_bytes = 64, .n_units = 304), true, true },
        { "moved", "GPU-1", "0000:02:00.0", OWN(.memory_bytes = 64, .n_units = 304), true, true },
        { "another", "GPU-2", "0000:01:00.0", OWN(.memory_bytes = 64, .n_units = 304), false,
          true },
        { "less memory", "GPU-2", "0000:01:00.0", OWN(.memory_bytes = 32, .n_units = 304), false,
          false },
        { "a part", "GPU-2", "0000:01:00.0", OWN(.memory_bytes = 64, .n_units = 38), false, false },
        { "another driver",
          "GPU-1",
          "0000:01:00.0",
          { .name = "big", .arch = "gfx942", .driver = "7.1", .memory_bytes = 64, .n_units = 304 },
          true,
          false },
        { "another name",
          "GPU-1",
          "0000:01:00.0",
          { .name = "bigger",
            .arch = "gfx942",
            .driver = "7.0",
            .memory_bytes = 64,
            .n_units = 304 },
          true,
          false },
    };
    struct ks_rank_seat *seat = calloc(1, sizeof *seat);
    struct ks_job *job = calloc(1, sizeof *job);
    struct ks_device_rec first = { .rank = 0 }, d;

    (void)state;
    assert_true(seat && job);
    job->device.backend = 1;
    snprintf(job->device.arch_text, sizeof job->device.arch_text, "gfx942");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        snprintf(seat->device.unique, sizeof seat->device.unique, "%s", rows[i].unique);
        snprintf(seat->device.pci, sizeof seat->device.pci, "%s", rows[i].pci);
        seat->own = rows[i].own;
        ks_provenance_device(job, 3, 1, seat, &d);
        if (i == 0)
            first = d;
        if ((d.device_id == first.device_id) != rows[i].is_same_device ||
            (d.device_class == first.device_class) != rows[i].is_same_class)
            fail_msg("%s", rows[i].what);
        assert_string_equal(d.model, rows[i].own.name);
        assert_string_equal(d.driver, rows[i].own.driver);
        assert_string_equal(d.pci, rows[i].pci);
        assert_true(d.n_units == rows[i].own.n_units && d.memory_bytes == rows[i].own.memory_bytes);
    }
    free(seat);
    free(job);
}

/* A compiler newer than the driver is named in a line, with both versions. */
static void a_driver_may_lag_behind_the_compiler(void **state)
{
    static const struct {
        const char *driver, *compiler, *want; /* NULL: nothing to say */
    } rows[] = {
        { "580.65.06 CUDA 13.0",
          "gcc (Debian) 12.2.0; Cuda compilation tools, release 13.1, V13.1.80",
          "nvcc is from CUDA 13.1, but the driver (580.65.06 CUDA 13.0) supports only CUDA 13.0: "
          "it loads" },
        { "CUDA 12.8", "Cuda compilation tools, release 13.0, V13.0.88", "may reject kernels" },
        { "CUDA 13.0", "Cuda compilation tools, release 13.0, V13.0.88", NULL },
        { "CUDA 13.0", "Cuda compilation tools, release 12.10, V12.10.1", NULL },
        { "CUDA 12.9", "Cuda compilation tools, release 12.10, V12.10.1", "CUDA 12.10" },
        { "HIP 6.2.41133", "AMD clang version 18.0.0", NULL },
        { "", "Cuda compilation tools, release 13.0, V13.0.88", NULL },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char text[256] = "";
        bool lags = ks_probe_driver_lags(rows[i].driver, rows[i].compiler, text, sizeof(text));

        assert_true(lags == (rows[i].want != NULL));
        if (lags)
            assert_non_null(strstr(text, rows[i].want));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_probe_is_read),
        cmocka_unit_test(what_it_cannot_say_has_a_reason),
        cmocka_unit_test(sixty_four_devices_have_room),
        cmocka_unit_test(native_is_what_the_device_says),
        cmocka_unit_test(a_seat_has_its_device_and_no_other),
        cmocka_unit_test(a_device_is_found_again),
        cmocka_unit_test(a_runtime_has_room),
        cmocka_unit_test(a_gpu_has_an_identity_and_a_class),
        cmocka_unit_test(a_driver_may_lag_behind_the_compiler),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
