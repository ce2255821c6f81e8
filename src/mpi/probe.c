/* SPDX-License-Identifier: MIT */
/* probe.c - asks a worker which devices it sees, and reads its answer */
#include "mpi/probe.h"

#include "base/clock.h"
#include "mpi/agent.h"
#include "record/status.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PROBE_NS 60000000000ull /* GPU runtimes take seconds */
#define SPEAKER  "ksweep-worker: "

/* What it says
 * --------------------------------------------------------------------------------------- */

/* "device=3 0000:c1:00.0 GPU-1234" */
static bool take_device(const char *value, struct ks_probe *p)
{
    struct ks_bind_device d;
    unsigned i = 0;

    if (sscanf(value, "%u %15s %63[^\n]", &i, d.pci, d.unique) != 3 || i != p->n_devices ||
        i >= KS_BIND_DEVICES)
        return false;
    if (strcmp(d.pci, "-") == 0)
        d.pci[0] = '\0';
    p->devices[p->n_devices++] = d;
    return true;
}

static void take_detail(const char *key, const char *value, struct ks_probe_device *d)
{
    const struct {
        const char *key;
        char *to;
        size_t cap;
    } texts[] = { { "name", d->name, sizeof(d->name) },
                  { "arch", d->arch, sizeof(d->arch) },
                  { "unique", d->unique, sizeof(d->unique) },
                  { "driver", d->driver, sizeof(d->driver) } };

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        if (strcmp(key, texts[i].key) == 0)
            snprintf(texts[i].to, texts[i].cap, "%s", value);
    if (strcmp(key, "memory_bytes") == 0)
        d->memory_bytes = strtoull(value, NULL, 10);
    if (strcmp(key, "units") == 0)
        d->n_units = (uint32_t)strtoul(value, NULL, 10);
}

/* Runtimes print what they like between its lines. false: a line of its own is wrong. */
static bool take_line(char *line, unsigned *count_out, struct ks_probe *p)
{
    char *value = strchr(line, '=');

    if (!value)
        return true;
    *value++ = '\0';
    if (strcmp(line, "device") == 0)
        return take_device(value, p);
    if (strcmp(line, "why") == 0)
        snprintf(p->why, sizeof(p->why), "%s", value);
    if (strcmp(line, "count") == 0)
        *count_out = (unsigned)strtoul(value, NULL, 10);
    else
        take_detail(line, value, &p->first);
    return true;
}

/* Its own words, where it had any; of a runtime's the last line. */
static void explain(const char *text, const struct ks_child_end *end, struct ks_probe *out)
{
    const char *own = strstr(text, SPEAKER), *last = text;

    for (const char *at = text; (at = strchr(at, '\n')); at++)
        if (at[1])
            last = at + 1;
    for (const char *next = own; next && (next = strstr(next + 1, SPEAKER));)
        own = next;
    *out = (struct ks_probe){ .n_devices = 0 };
    if (own)
        snprintf(out->why, sizeof(out->why), "%.*s", (int)strcspn(own, "\n") - (int)strlen(SPEAKER),
                 own + strlen(SPEAKER));
    else
        snprintf(out->why, sizeof(out->why), "the probe %s %d: %.*s", ks_end_text(end->how),
                 end->code, (int)strcspn(last, "\n"), last);
}

void ks_probe_read(const char *text, const struct ks_child_end *end, struct ks_probe *out)
{
    bool is_good = end->how == KS_END_EXITED && end->code == 0;
    char *copy = is_good ? strdup(text) : NULL, *rest = copy, *line;
    struct ks_probe p = { .has_looked = true };
    unsigned n = UINT32_MAX;

    while (rest && is_good && (line = strsep(&rest, "\n")))
        is_good = take_line(line, &n, &p);
    if (p.n_devices)
        snprintf(p.first.pci, sizeof(p.first.pci), "%s", p.devices[0].pci);
    if (!copy)
        explain(text, end, &p);
    else if (!is_good || p.n_devices != n)
        p = (struct ks_probe){ .why = "the probe's list of devices cannot be read" };
    free(copy);
    *out = p;
}

/* How it is asked
 * ------------------------------------------------------------------------------------ */

int ks_probe_await(struct ks_warden *w, uint32_t child, struct ks_child_end *end_out,
                   struct ks_err *err)
{
    int rc;

    while ((rc = ks_warden_next(w, end_out, err)) >= 0) {
        struct pollfd p = { .fd = ks_warden_fd(w), .events = POLLIN };
        if (rc == 1 && end_out->child == child)
            return 0;
        if (rc == 0 && poll(&p, 1, -1) < 0 && errno != EINTR)
            return ks_fail_errno(err, "waiting for the device probe");
    }
    return rc;
}

/* A status page holds what 64 devices with their names need, which the tail of an end does not. */
static int open_page(int *fd_out, struct ks_status **page_out, struct ks_err *err)
{
    int fd = memfd_create("ksweep-probe", MFD_CLOEXEC);
    void *p = MAP_FAILED;

    if (fd >= 0 && ftruncate(fd, sizeof(struct ks_status)) == 0)
        p = mmap(NULL, sizeof(struct ks_status), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (p == MAP_FAILED) {
        int rc = ks_fail_errno(err, "memfd for a probe");
        if (fd >= 0)
            close(fd);
        return rc;
    }
    *page_out = p;
    **page_out = (struct ks_status){
        .magic = KS_STATUS_MAGIC, .version = 1, .i_cell = UINT64_MAX, .denied_call = -1
    };
    *fd_out = fd;
    return 0;
}

static int take_page(const struct ks_status *page, const struct ks_child_end *end,
                     struct ks_probe *out, struct ks_err *err)
{
    uint64_t n = page->ring_bytes < KS_STATUS_RING ? page->ring_bytes : KS_STATUS_RING;
    uint64_t from = page->ring_bytes - n;
    char *text = calloc(n + 1, 1);

    if (!text)
        return ks_fail(err, KS_ENOMEM, "out of memory");
    for (uint64_t i = 0; i < n; i++)
        text[i] = (char)page->ring[(from + i) % KS_STATUS_RING];
    ks_probe_read(text, end, out);
    free(text);
    return 0;
}

int ks_probe(const struct ks_job *job, const struct ks_visible_env *visible,
             struct ks_warden *warden, struct ks_probe *out, struct ks_err *err)
{
    const char *backend = ks_job_backend(job)->name, *env[KS_VISIBLE_N + 1] = { NULL };
    bool is_virtual = ks_job_is(job, KS_BACKEND_VIRTUAL);
    struct ks_status *page = NULL;
    struct ks_child_end end;
    char worker[1024];
    uint32_t child;
    int fd = -1, rc = ks_agent_find_worker(worker, sizeof(worker), err);

    if (rc == 0)
        rc = open_page(&fd, &page, err);
    if (rc < 0)
        return rc;
    for (uint32_t i = 0; i < visible->n; i++)
        env[i] = visible->text[i];
    const char *argv[] = { worker, "--probe", backend, is_virtual ? job->device.arch_text : "",
                           NULL };
    struct ks_spawn what = { .argv = argv,
                             .env = env,
                             .fds = { -1, -1, fd, -1 }, /* KS_FD_STATUS */
                             .status_fd = fd,
                             .deadline_ns = ks_now_ns() + PROBE_NS };
    rc = ks_warden_spawn(warden, &what, &child, err);
    if (rc == 0)
        rc = ks_probe_await(warden, child, &end, err);
    if (rc == 0)
        rc = take_page(page, &end, out, err);
    munmap(page, sizeof(*page));
    close(fd);
    return rc;
}

/* "13.1" behind a text: 13001; 0: not there. */
static unsigned version_after(const char *text, const char *key)
{
    const char *at = strstr(text, key);
    unsigned major = 0, minor = 0;

    if (!at || sscanf(at + strlen(key), "%u.%u", &major, &minor) != 2)
        return 0;
    return major * 1000 + minor % 1000;
}

bool ks_probe_driver_lags(const char *driver, const char *compiler, char *out, size_t cap)
{
    const unsigned has = version_after(driver, "CUDA ");
    const unsigned needs = version_after(compiler, "Cuda compilation tools, release ");

    if (!has || has >= needs)
        return false;
    snprintf(out, cap, "nvcc is from CUDA %u.%u, but the driver (%s) supports only CUDA %u.%u: %s",
             needs / 1000, needs % 1000, driver, has / 1000, has % 1000,
             has / 1000 < needs / 1000
                 ? "it may reject kernels from this nvcc; set KSWEEP_NVCC to an older one"
                 : "it loads kernels from this nvcc for its own arch, but not PTX");
    return true;
}
