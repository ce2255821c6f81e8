/* SPDX-License-Identifier: MIT */
/* main.c - ksweep-worker: measures for one agent, or describes a device. */
#include "base/process.h"
#include "base/text.h"
#include "device/device.h"
#include "record/request.h"
#include "worker/leave.h"
#include "worker/try.h"
#include "worker/worker.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#if defined(KSWEEP_SANITIZED)
/* Deaths belong to the warden, and the leak check cannot work behind the filter. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "detect_leaks=0:handle_segv=0:handle_sigbus=0:handle_sigfpe=0:handle_sigill=0:"
           "handle_abort=0:allocator_may_return_null=1:use_sigaltstack=0";
}
#endif

static int usage(FILE *to, int status)
{
    fputs("usage: ksweep-worker --probe BACKEND [LOCATOR]\n"
          "       ksweep-worker --try OBJECT [threads]\n"
          "       ksweep-worker\n"
          "\n"
          "Measures kernels for ksweep, which starts it; not meant to be run by hand.\n"
          "  --probe BACKEND [LOCATOR]  the devices this process sees, and the first of them in "
          "full\n"
          "                             (backends: ",
          to);
    for (size_t i = 0; ks_device_backends[i] != NULL; i++)
        fprintf(to, "%s%s", i > 0 ? ", " : "", ks_device_backends[i]->name);
    fputs(
        ")\n"
        "  --try OBJECT [threads]     loads, unloads and exits; the object may keep threads. Ends "
        "with\n"
        "                             95 when all went well, 96 when it cannot be loaded, 94 when\n"
        "                             its constructors leave threads or timers running\n"
        "Without arguments: requests on descriptor 3, records on 4, status page on 5, references "
        "on 6.\n",
        to);
    return status;
}

static void print_list(const struct ks_device_ops *ops, uint32_t n, const struct ks_device_id *ids)
{
    printf("backend=%s\nvirtual=%d\ncount=%u\n", ops->name, ops->is_virtual ? 1 : 0, n);
    for (uint32_t i = 0; i < n; i++)
        printf("device=%u %s %s\n", i, ids[i].pci[0] != '\0' ? ids[i].pci : "-", ids[i].unique);
}

/* A line each, whatever a driver says. */
static void print_text(const char *key, const char *text)
{
    char line[512];

    ks_text_escape(line, sizeof(line), text, strlen(text), KS_LINES_NONE);
    printf("%s=%s\n", key, line);
}

static void print_props(const struct ks_device_props *p)
{
    print_text("name", p->name);
    printf("arch=%s\nlocator=%s\nunique=%s\n", p->arch, p->locator, p->unique);
    printf("memory_bytes=%llu\nunits=%u\ncache_bytes=%llu\nclock_ns=%.17g\n",
           (unsigned long long)p->memory_bytes, p->n_units, (unsigned long long)p->cache_bytes,
           p->clock_ns);
    printf("shared_bytes=%llu\nwave=%u\nclock_mhz=%u\nmemory_clock_mhz=%u\n",
           (unsigned long long)p->shared_bytes, p->wave, p->clock_mhz, p->memory_clock_mhz);
    print_text("driver", p->driver);
}

/* The first device in full, or why there is none: a runtime without devices is no error. */
static int print_first(const struct ks_device_ops *ops, const char *locator, uint32_t n,
                       struct ks_err *err)
{
    struct ks_device *dev = NULL;
    struct ks_device_props p;
    struct ks_err why = { 0 };
    int rc = ops->open(locator, &dev, n > 0 ? err : &why);

    if (rc < 0 && n == 0) {
        print_text("why", why.text);
        return 0;
    }
    if (rc == 0)
        rc = ops->props(dev, &p, err);
    if (rc == 0)
        print_props(&p);
    ops->close(dev);
    return rc;
}

static int probe(const char *backend, const char *locator)
{
    const struct ks_device_ops *ops = ks_device_find(backend);
    struct ks_device_id ids[KS_DEVICES_MAX];
    struct ks_err err = { 0 };
    uint32_t n = 0;
    int rc;

    if (ops == NULL) {
        ks_fail(&err, KS_EINVAL, "no device backend is called '%s'", backend);
        ks_text_print(stderr, "ksweep-worker", err.text);
        return usage(stderr, KS_WORKER_EXIT_SETUP);
    }
    rc = ops->list(locator, ids, &n, &err);
    if (rc == 0) {
        print_list(ops, n, ids);
        rc = print_first(ops, locator, n, &err);
    }
    if (rc < 0) {
        ks_err_context(&err, rc, "probing '%s'", backend);
        ks_text_print(stderr, "ksweep-worker", err.text);
    }
    return rc == 0 ? KS_WORKER_EXIT_OK : KS_WORKER_EXIT_SETUP;
}

static void say(const char *text)
{
    ks_text_print(stderr, "ksweep-worker", text);
}

static int try_object(const char *path, bool keeps_threads)
{
    struct ks_err err = { 0 };
    int status = ks_worker_try(path, keeps_threads, &err);

    if (status == KS_WORKER_EXIT_TRIED)
        return status;
    say(err.text);
    ks_worker_leave(status); /* without what the object registered */
}

int main(int argc, char **argv)
{
    struct ks_err err = { 0 };
    int status;

    ks_process_fill_fds();
    if (argc >= 2 && strcmp(argv[1], "--help") == 0)
        return usage(stdout, 0);
    if ((argc == 3 || argc == 4) && strcmp(argv[1], "--probe") == 0)
        return probe(argv[2], argc == 4 ? argv[3] : "");
    if ((argc == 3 || (argc == 4 && strcmp(argv[3], "threads") == 0)) &&
        strcmp(argv[1], "--try") == 0)
        return try_object(argv[2], argc == 4);
    if (argc != 1)
        return usage(stderr, 2);
    signal(SIGPIPE, SIG_IGN); /* a vanished agent is an error to handle, not a death */
    status = ks_worker_serve(KS_FD_REQUEST, KS_FD_RECORD, KS_FD_STATUS, KS_FD_REFERENCE, say, &err);
    if (status != KS_WORKER_EXIT_OK && status != KS_WORKER_EXIT_REMAINS) /* its record says it */
        say(err.text);
    /* What a lost device's runtime does at exit might wait for ever; threads that a kernel left run
     * on while its exit handlers do. */
    if (status == KS_WORKER_EXIT_DEVICE || status == KS_WORKER_EXIT_REMAINS)
        ks_worker_leave(status);
    return status;
}
