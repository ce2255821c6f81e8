/* SPDX-License-Identifier: MIT */
/* cage.c - signal handlers and a filter of system calls around kernels */
#include "worker/cage.h"
#include "worker/cage_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#define STACK_BYTES  65536u
#define CODE_SECCOMP 1 /* si_code of a call that the filter stopped */

/* A handler gets no argument of ours, so what it needs stands at an address known beforehand; on a
 * page that is read-only, so that no wild store of a kernel reaches it. */
#if defined(__aarch64__)
#define STATE_ADDRESS 0x4000000000u
#else
#define STATE_ADDRESS 0x200000000000u
#endif
#define STATE_BYTES 4096u

struct state {
    struct ks_status *status;
    stack_t stack; /* the alternate one */
};

static const struct state *state(void)
{
    return (const struct state *)STATE_ADDRESS;
}

/* ---- a refused call ---- */

#if defined(__x86_64__)
static void set_result(ucontext_t *uc, long value)
{
    uc->uc_mcontext.gregs[REG_RAX] = value;
}
#elif defined(__aarch64__)
static void set_result(ucontext_t *uc, long value)
{
    uc->uc_mcontext.regs[0] = (unsigned long)value;
}
#endif

/* ---- in a signal handler: system calls and plain stores only ---- */

static uint64_t kib_after(const char *text, const char *key)
{
    const char *at = strstr(text, key);
    uint64_t kib = 0;

    for (at = at ? at + strlen(key) : ""; *at && *at != '\n'; at++)
        if (*at >= '0' && *at <= '9')
            kib = 10 * kib + (uint64_t)(*at - '0');
    return kib * 1024u;
}

struct ks_cage_peak ks_cage_peak(void)
{
    char text[4096];
    int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

    if (fd >= 0)
        close(fd);
    text[n < 0 ? 0 : n] = '\0';
    return (struct ks_cage_peak){ kib_after(text, "VmHWM:"), kib_after(text, "VmPeak:") };
}

/* Not safe in a handler, but only instrumented builds do it, and this is the last thing they do. */
#if defined(KSWEEP_COVERAGE)
void __gcov_dump(void);
static void save_coverage(void)
{
    __gcov_dump();
}
#else
static void save_coverage(void) {}
#endif

/* The signal is blocked until the handler returns, and kills then. */
static void die_by(int sig)
{
    struct sigaction dfl = { .sa_handler = SIG_DFL };

    save_coverage();
    (void)sigaction(sig, &dfl, NULL);
    (void)syscall(SYS_tgkill, getpid(), (pid_t)syscall(SYS_gettid), sig);
}

static void on_fault(int sig, siginfo_t *si, void *uc)
{
    struct ks_status *s = state()->status;
    bool has_address = si->si_code > 0 && sig != SIGABRT && sig != SIGSYS;
    struct ks_cage_peak peak = ks_cage_peak();

    (void)uc;
    s->fault_address = has_address ? (uint64_t)(uintptr_t)si->si_addr : 0;
    if (peak.bytes > s->peak_bytes)
        s->peak_bytes = peak.bytes;
    if (peak.space_bytes > s->peak_space_bytes)
        s->peak_space_bytes = peak.space_bytes;
    s->fault_signal = (uint32_t)sig;
    die_by(sig);
}

/* A refused call: it fails with EPERM, and the kernel goes on. */
static void on_sys(int sig, siginfo_t *si, void *uc)
{
    struct ks_status *s = state()->status;

    if (si->si_code != CODE_SECCOMP) {
        on_fault(sig, si, uc);
        return;
    }
    s->denied_call = si->si_syscall;
    atomic_fetch_add(&s->n_denied, 1);
    set_result(uc, -EPERM);
}

/* ---- opening and closing ---- */

static const struct {
    int signal;
    void (*handler)(int sig, siginfo_t *si, void *uc); /* NULL: ignored */
} signals[] = {
    { SIGSEGV, on_fault }, { SIGBUS, on_fault }, { SIGFPE, on_fault }, { SIGILL, on_fault },
    { SIGABRT, on_fault }, { SIGSYS, on_sys },   { SIGUSR1, NULL },    { SIGUSR2, NULL },
    { SIGTERM, NULL },     { SIGINT, NULL },     { SIGHUP, NULL },     { SIGPIPE, NULL },
};

#define N_SIGNALS (sizeof(signals) / sizeof(signals[0]))

static int set_signal(size_t i)
{
    struct sigaction a = { .sa_handler = SIG_IGN };

    if (signals[i].handler) {
        a.sa_sigaction = signals[i].handler;
        a.sa_flags = SA_SIGINFO | SA_ONSTACK;
    }
    sigemptyset(&a.sa_mask);
    return sigaction(signals[i].signal, &a, NULL);
}

static bool is_signal_ours(size_t i)
{
    struct sigaction a;

    if (sigaction(signals[i].signal, NULL, &a) < 0)
        return false;
    if (signals[i].handler)
        return (a.sa_flags & SA_SIGINFO) && a.sa_sigaction == signals[i].handler;
    return !(a.sa_flags & SA_SIGINFO) && a.sa_handler == SIG_IGN;
}

/* A stack of its own with a hole below it. */
static void *map_stack(void)
{
    uint8_t *p = mmap(NULL, STACK_BYTES + 4096u, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (p == MAP_FAILED || mprotect(p + 4096, STACK_BYTES, PROT_READ | PROT_WRITE) < 0)
        return NULL;
    return p + 4096;
}

static int map_state(struct ks_status *status, struct ks_err *err)
{
    void *want = (void *)STATE_ADDRESS;
    struct state *s = mmap(want, STATE_BYTES, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

    if (s == MAP_FAILED)
        return ks_fail_errno(err, "guard page of the sandbox");
    if (s != want) { /* kernels before 4.17 take the address for a hint */
        (void)munmap(s, STATE_BYTES);
        return ks_fail(err, KS_EEXIST, "guard page of the sandbox: its address is in use");
    }
    s->status = status;
    s->stack = (stack_t){ .ss_sp = map_stack(), .ss_size = STACK_BYTES };
    if (!s->stack.ss_sp)
        return ks_fail(err, KS_ENOMEM, "no memory for an alternate stack");
    if (mprotect(s, STATE_BYTES, PROT_READ) < 0)
        return ks_fail_errno(err, "guard page of the sandbox");
    return 0;
}

int ks_cage_open(struct ks_cage *cage_out, struct ks_status *status, struct ks_err *err)
{
    struct ks_cage c = { .list = KS_CAGE_HOST };
    int rc = map_state(status, err);

    if (rc < 0)
        return rc;
    ks_fpenv_save(&c.fpenv);
    if (sigprocmask(SIG_SETMASK, NULL, &c.mask) < 0 || sigaltstack(&state()->stack, NULL) < 0)
        return ks_fail_errno(err, "alternate stack");
    for (size_t i = 0; i < N_SIGNALS; i++)
        if (set_signal(i) < 0)
            return ks_fail_errno(err, "installing the handler of signal %d", signals[i].signal);
    *cage_out = c;
    return 0;
}

int ks_cage_close(const struct ks_cage *cage, struct ks_err *err)
{
    struct sock_filter code[KS_FILTER_MAX];
    struct sock_fprog program = { .filter = code };
    long rc;

    program.len = (unsigned short)ks_cage_filter(cage->list, getpid(), code);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return ks_fail(err, KS_EUNSUPPORTED, "no_new_privs: %s", strerror(errno));
    rc = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program);
    if (rc > 0)
        return ks_fail(err, KS_EUNSUPPORTED, "thread %ld has its own system call filter", rc);
    if (rc < 0)
        return ks_fail(err, KS_EUNSUPPORTED,
                       "the operating system does not accept a system call filter: %s",
                       strerror(errno));
    return 0;
}

/* ---- after a kernel ---- */

void ks_cage_before_kernel(const struct ks_cage *cage)
{
    (void)ks_fpenv_restore(&cage->fpenv);
}

/* The CPU's state first: with DF set, library calls may copy backwards. */
bool ks_cage_after_kernel(const struct ks_cage *cage)
{
    const bool is_changed = ks_fpenv_restore(&cage->fpenv);

    (void)sigprocmask(SIG_SETMASK, &cage->mask, NULL);
    return is_changed;
}

bool ks_cage_after_cell(const struct ks_cage *cage)
{
    stack_t now = { 0 };
    bool is_changed = false;

    (void)ks_cage_after_kernel(cage);
    (void)alarm(0); /* it would end a neighbour */
    for (size_t i = 0; i < N_SIGNALS; i++) {
        if (is_signal_ours(i))
            continue;
        (void)set_signal(i);
        is_changed = true;
    }
    if (sigaltstack(NULL, &now) == 0 && now.ss_sp != state()->stack.ss_sp) {
        (void)sigaltstack(&state()->stack, NULL);
        is_changed = true;
    }
    return is_changed;
}
