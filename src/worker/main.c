/* SPDX-License-Identifier: MIT */
/* main.c - ksweep-worker: measures for one agent, or describes a device. */
#include "base/backend.h"
#include "base/command.h"
#include "base/text.h"
#include "device/device.h"
#include "record/request.h"
#include "worker/leave.h"
#include "worker/refusals.h"
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

struct config {
    const char *probe, *object;
    bool refusals;
};
#define AT(member) offsetof(struct config, member)
static const struct ks_opt opts[] = {
    { .name = "probe",
      .type = KS_OPT_STR,
      .offset = AT(probe),
      .arg = "BACKEND",
      .help = "print the devices that this process can see, with details of the first one or of "
              "the one at LOCATOR" },
    { .name = "try",
      .type = KS_OPT_STR,
      .offset = AT(object),
      .arg = "OBJECT",
      .help = "load a shared object, unload it and exit; with the argument threads it may leave "
              "threads running; exit status 95 on success, 96 if it cannot be loaded, 94 if its "
              "constructors leave threads or timers running" },
    { .name = "refusals",
      .type = KS_OPT_BOOL,
      .offset = AT(refusals),
      .def = "no",
      .help = "find the problems that instances reject: the question on descriptor 3, the answer "
              "on descriptor 4" },
    KS_OPT_END
};
#undef AT

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

static void say(const char *text)
{
    ks_text_print(stderr, "ksweep-worker", text);
}

static int unknown_backend(const char *name)
{
    const char *near = ks_nearest(name, ks_backend_names);
    struct ks_err err;

    ks_fail(&err, KS_EINVAL, "unknown device backend '%s'%s%s%s", name,
            near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
    say(err.text);
    return KS_WORKER_EXIT_SETUP;
}

static int probe(const char *backend, const char *locator)
{
    const struct ks_device_ops *ops = ks_device_find(backend);
    struct ks_device_id ids[KS_DEVICES_MAX];
    struct ks_err err = { 0 };
    uint32_t n = 0;
    int rc;

    if (ops == NULL)
        return unknown_backend(backend);
    rc = ops->list(locator, ids, &n, &err);
    if (rc == 0) {
        print_list(ops, n, ids);
        rc = print_first(ops, locator, n, &err);
    }
    if (rc < 0) {
        ks_err_context(&err, rc, "probing '%s'", backend);
        say(err.text);
    }
    return rc == 0 ? KS_WORKER_EXIT_OK : KS_WORKER_EXIT_SETUP;
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

static int serve(void)
{
    struct ks_err err = { 0 };
    int status;

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

static int refusals(void)
{
    struct ks_err err = { 0 };
    int rc = ks_worker_refusals(KS_FD_REQUEST, KS_FD_RECORD, &err);

    if (rc < 0)
        say(err.text);
    return rc == 0 ? KS_WORKER_EXIT_OK : KS_WORKER_EXIT_SETUP;
}

static int run(struct ks_call *call, struct ks_err *err)
{
    const struct config *c = call->cfg;
    const char *word = call->n_operands > 0 ? call->operands[0] : NULL;

    if (c->refusals && !c->probe && !c->object && !word)
        return refusals();

    if (c->probe && !c->object)
        return probe(c->probe, word ? word : "");
    if (c->object && !c->probe && (!word || strcmp(word, "threads") == 0))
        return try_object(c->object, word != NULL);
    if (c->object || c->probe || c->refusals || word)
        return ks_fail(err, KS_EINVAL, "these arguments cannot be combined; see --help");
    return serve();
}

static const struct ks_command command = {
    .summary = "Measure kernels. ksweep starts this program; it is not meant to be run by hand.",
    .usage = "[--probe BACKEND [LOCATOR] | --try OBJECT [threads] | --refusals]",
    .opts = opts,
    .cfg_size = sizeof(struct config),
    .n_max = 1,
    .run = run,
};

static const struct ks_command *const commands[] = { &command, NULL };

static const struct ks_program program = {
    .name = "ksweep-worker",
    .notes = "Without arguments: requests on descriptor 3, records on 4, status page on 5, "
             "references on 6.",
    .commands = commands,
};

int main(int argc, char **argv)
{
    return ks_program_main(&program, argc, argv);
}
