/* SPDX-License-Identifier: MIT */
/* provenance.c - describes a rank's host and device for the journal, and measures idle noise */
#include "mpi/provenance.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "topo/topo.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#define IDLE_SPIN_NS 5000000ull
enum { IDLE_PROBES = 6 };

static bool first_line(const char *path, char *out, size_t cap)
{
    struct ks_buf b;
    ks_buf_init(&b);
    bool ok = ks_file_read(path, &b, NULL) == 0;
    if (ok)
        snprintf(out, cap, "%.*s", (int)strcspn(ks_buf_text(&b), "\n"), ks_buf_text(&b));
    ks_buf_release(&b);
    return ok;
}

static void put_file(struct ks_buf *text, const char *key, const char *path)
{
    char line[256];
    if (first_line(path, line, sizeof(line)))
        ks_buf_printf(text, "%s=%s\n", key, line);
}

/* "flags : fpu vme": the value of a key of the first processor in /proc/cpuinfo. */
static void put_cpuinfo(struct ks_buf *text, const char *info, const char *name, const char *key,
                        int most)
{
    const char *at = strstr(info, name);
    const char *colon = at ? strchr(at, ':') : NULL;
    if (!colon)
        return;
    colon += strspn(colon, ": \t");
    int n = (int)strcspn(colon, "\n");
    ks_buf_printf(text, "%s=%.*s\n", key, n < most ? n : most, colon);
}

void ks_provenance_host(const struct ks_net *net, const char *compiler, struct ks_buf *text)
{
    struct utsname u;
    struct ks_buf info;
    char now[32];
    ks_buf_init(&info);
    if (uname(&u) == 0)
        ks_buf_printf(text, "host=%s\nkernel=%s %s\nmachine=%s\n", u.nodename, u.sysname, u.release,
                      u.machine);
    if (ks_file_read("/proc/cpuinfo", &info, NULL) == 0) {
        put_cpuinfo(text, ks_buf_text(&info), "model name", "cpu_model", 120);
        put_cpuinfo(text, ks_buf_text(&info), "microcode", "microcode", 40);
        put_cpuinfo(text, ks_buf_text(&info), "flags", "cpu_flags", 2600);
    }
    ks_buf_release(&info);
    put_file(text, "governor", "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
    put_file(text, "boot_id", "/proc/sys/kernel/random/boot_id");
    ks_buf_printf(text, "mpi=%s\n", ks_net_text(net));
    if (compiler && compiler[0])
        ks_buf_printf(text, "compiler=%s\n", compiler);
    ks_utc_text(ks_realtime_ns(), now, sizeof(now));
    ks_buf_printf(text, "ksweep=%s\nrevision=%s\nstarted=%s\n", KS_VERSION, KS_REVISION, now);
}

static void text_of_gpu(const char *host, const char *unique, char *out, size_t cap)
{
    snprintf(out, cap, "%s %s", host, unique);
}

uint64_t ks_provenance_gpu(const char *unique)
{
    char host[64] = "", text[256];
    gethostname(host, sizeof(host) - 1);
    text_of_gpu(host, unique, text, sizeof(text));
    return ks_id64(text, strlen(text));
}

/* For people, and what the id is made of: nothing in here may change from run to run. */
static void name_device(const struct ks_rank_seat *seat, struct ks_device_rec *out)
{
    char machine[64] = "unknown-machine";
    first_line("/etc/machine-id", machine, sizeof(machine));
    if (seat->device.unique[0])
        text_of_gpu(out->host, seat->device.unique, out->text, sizeof(out->text));
    else if (seat->is_pinned)
        snprintf(out->text, sizeof(out->text), "%s %s cpu %u", out->host, machine,
                 seat->bind.cores.cpu);
    else
        snprintf(out->text, sizeof(out->text), "%s %s rank %u", out->host, machine, out->rank);
    out->device_id = ks_id64(out->text, strlen(out->text));
}

/* Devices whose times may be compared. */
static void name_class(const struct ks_job *job, const struct ks_rank_seat *seat,
                       struct ks_device_rec *out)
{
    char text[256];
    snprintf(text, sizeof(text), "%s|%s|%s", out->backend, out->arch, out->model);
    if (ks_job_is_gpu(job)) {
        size_t n = strlen(text);
        snprintf(text + n, sizeof(text) - n, "|%u|%llu|%s", seat->own.n_units,
                 (unsigned long long)seat->own.memory_bytes, seat->own.driver);
    } else if (!seat->device.unique[0] && seat->domain != KS_DOMAIN_CORE) {
        size_t n = strlen(text);
        snprintf(text + n, sizeof(text) - n, "|%s", ks_host_domains[seat->domain]);
    }
    out->device_class = ks_id64(text, strlen(text));
}

static void describe_gpu(const struct ks_rank_seat *seat, struct ks_device_rec *out)
{
    snprintf(out->model, sizeof(out->model), "%s", seat->own.name);
    snprintf(out->driver, sizeof(out->driver), "%s", seat->own.driver);
    out->memory_bytes = seat->own.memory_bytes;
    out->n_units = seat->own.n_units;
}

void ks_provenance_device(const struct ks_job *job, uint32_t rank, uint32_t local_rank,
                          const struct ks_rank_seat *seat, struct ks_device_rec *out)
{
    struct ks_topo_host host;
    *out = (struct ks_device_rec){
        .rank = rank, .local_rank = local_rank, .idle_switches_per_s = -1, .idle_stolen = -1
    };
    gethostname(out->host, sizeof(out->host) - 1);
    first_line("/proc/sys/kernel/random/boot_id", out->boot_id, sizeof(out->boot_id));
    snprintf(out->backend, sizeof(out->backend), "%s", ks_job_backend(job)->name);
    snprintf(out->arch, sizeof(out->arch), "%s", job->device.arch_text);
    if (seat->is_pinned) {
        snprintf(out->core_set, sizeof(out->core_set), "%s", seat->bind.cores.text);
        snprintf(out->numa, sizeof(out->numa), "%s", seat->bind.numa);
        out->n_neighbours = seat->bind.n_neighbours;
        out->n_memory_neighbours = seat->bind.n_memory_neighbours;
    }
    if (seat->is_pinned && !seat->device.unique[0])
        snprintf(out->host_domain, sizeof(out->host_domain), "%s", ks_host_domains[seat->domain]);
    snprintf(out->pci, sizeof(out->pci), "%s", seat->device.pci);
    if (ks_job_is_gpu(job))
        describe_gpu(seat, out);
    else if (ks_topo_read(&host, NULL) == 0)
        snprintf(out->model, sizeof(out->model), "%s", host.cpu_model);
    name_device(seat, out);
    name_class(job, seat, out);
}

static void spin_once(double *switches_per_s_out, double *stolen_out)
{
    struct rusage a, b;
    getrusage(RUSAGE_THREAD, &a);
    uint64_t t0 = ks_now_ns(), c0 = ks_thread_cpu_ns(), t1 = t0;
    while (t1 - t0 < IDLE_SPIN_NS)
        t1 = ks_now_ns();
    uint64_t cpu_ns = ks_thread_cpu_ns() - c0;
    getrusage(RUSAGE_THREAD, &b);
    double wall = (double)(t1 - t0), used = (double)cpu_ns;
    *switches_per_s_out = (double)(b.ru_nivcsw - a.ru_nivcsw) / (wall * 1e-9);
    *stolen_out = used < wall ? (wall - used) / wall : 0;
}

void ks_provenance_idle(uint32_t cpu, double *switches_per_s_out, double *stolen_out)
{
    cpu_set_t was, one;
    double switches = 0, stolen = 0;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    if (sched_getaffinity(0, sizeof(was), &was) < 0 || sched_setaffinity(0, sizeof(one), &one) < 0)
        return;
    spin_once(switches_per_s_out, stolen_out);
    for (int i = 1; i < IDLE_PROBES; i++) {
        spin_once(&switches, &stolen);
        if (switches < *switches_per_s_out)
            *switches_per_s_out = switches;
        if (stolen < *stolen_out)
            *stolen_out = stolen;
    }
    sched_setaffinity(0, sizeof(was), &was);
}
