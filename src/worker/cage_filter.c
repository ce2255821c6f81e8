/* SPDX-License-Identifier: MIT */
/* cage_filter.c - which calls a kernel may not make, as data, and the filter made of it. */
#include "worker/cage_impl.h"

#include <assert.h>
#include <errno.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#else
#error "no system call filter for this CPU architecture"
#endif

enum rule {
    DENY,         /* always */
    NOT_A_THREAD, /* clone: unless CLONE_THREAD; CLONE_VFORK fails uncounted */
    NOT_SELF,     /* unless argument 0 is this process */
    NOT_SELF_0,   /* unless argument 0 is this process, or 0 for it */
    LOOK_ONLY,    /* prlimit64: as before, and only when it sets nothing */
    NAMES_ONLY,   /* prctl: unless it names a thread or a mapping */
    MISSING       /* ENOSYS, not counted: the C library has another way */
};

#define BOTH    (KS_CAGE_HOST | KS_CAGE_GPU)
#define CALL(c) #c, SYS_##c

struct row {
    const char *name;
    int number;
    unsigned lists;
    enum rule rule;
};

/* GPU runtimes open sockets, shared memory and files of their own while they run; nothing on either
 * list is needed to compute. */
static const struct row table[] = {
    /* a new process, another program */
    { CALL(clone), BOTH, NOT_A_THREAD },
    { CALL(clone3), BOTH, MISSING },
    { CALL(execve), BOTH, DENY },
    { CALL(execveat), BOTH, DENY },
    { CALL(unshare), BOTH, DENY },
    { CALL(setns), BOTH, DENY },
    /* out of the group that is killed with the worker */
    { CALL(setsid), BOTH, DENY },
    { CALL(setpgid), BOTH, DENY },
    { CALL(prctl), BOTH, NAMES_ONLY },
    /* other processes */
    { CALL(kill), BOTH, NOT_SELF },
    { CALL(tkill), BOTH, NOT_SELF },
    { CALL(tgkill), BOTH, NOT_SELF },
    { CALL(rt_sigqueueinfo), BOTH, NOT_SELF },
    { CALL(rt_tgsigqueueinfo), BOTH, NOT_SELF },
    { CALL(pidfd_send_signal), BOTH, DENY },
    { CALL(pidfd_getfd), BOTH, DENY },
    { CALL(prlimit64), KS_CAGE_GPU, NOT_SELF_0 },
    { CALL(prlimit64), KS_CAGE_HOST, LOOK_ONLY },
    { CALL(ptrace), BOTH, DENY },
    { CALL(process_vm_writev), BOTH, DENY },
    /* ways around this filter */
    { CALL(io_uring_setup), BOTH, DENY },
    { CALL(io_uring_enter), BOTH, DENY },
    { CALL(io_uring_register), BOTH, DENY },
    { CALL(bpf), BOTH, DENY },
    { CALL(perf_event_open), BOTH, DENY },
    /* the machine */
    { CALL(mount), BOTH, DENY },
    { CALL(umount2), BOTH, DENY },
    { CALL(pivot_root), BOTH, DENY },
    { CALL(chroot), BOTH, DENY },
    { CALL(swapon), BOTH, DENY },
    { CALL(swapoff), BOTH, DENY },
    { CALL(reboot), BOTH, DENY },
    { CALL(kexec_load), BOTH, DENY },
    { CALL(init_module), BOTH, DENY },
    { CALL(finit_module), BOTH, DENY },
    { CALL(delete_module), BOTH, DENY },
    { CALL(settimeofday), BOTH, DENY },
    { CALL(clock_settime), BOTH, DENY },
    { CALL(sethostname), BOTH, DENY },
    /* what the neighbours would inherit: cores, priority, limits */
    { CALL(sched_setaffinity), KS_CAGE_HOST, DENY },
    { CALL(sched_setscheduler), KS_CAGE_HOST, DENY },
    { CALL(sched_setparam), KS_CAGE_HOST, DENY },
    { CALL(sched_setattr), KS_CAGE_HOST, DENY },
    { CALL(setpriority), KS_CAGE_HOST, DENY },
    { CALL(setrlimit), KS_CAGE_HOST, DENY },
    /* files and the network */
    { CALL(socket), KS_CAGE_HOST, DENY },
    { CALL(connect), KS_CAGE_HOST, DENY },
    { CALL(bind), KS_CAGE_HOST, DENY },
    { CALL(truncate), KS_CAGE_HOST, DENY },
    { CALL(ftruncate), KS_CAGE_HOST, DENY },
    { CALL(unlinkat), KS_CAGE_HOST, DENY },
    { CALL(renameat2), KS_CAGE_HOST, DENY },
    { CALL(fchmodat), KS_CAGE_HOST, DENY },
    { CALL(fchownat), KS_CAGE_HOST, DENY },
#ifdef SYS_renameat
    { CALL(renameat), KS_CAGE_HOST, DENY },
#endif
#ifdef SYS_fork /* the calls that newer architectures do not have */
    { CALL(fork), BOTH, DENY },
    { CALL(vfork), BOTH, DENY },
    { CALL(unlink), KS_CAGE_HOST, DENY },
    { CALL(rmdir), KS_CAGE_HOST, DENY },
    { CALL(rename), KS_CAGE_HOST, DENY },
    { CALL(chmod), KS_CAGE_HOST, DENY },
    { CALL(chown), KS_CAGE_HOST, DENY },
    { CALL(lchown), KS_CAGE_HOST, DENY },
#endif
};

#define N_ROWS (sizeof(table) / sizeof(table[0]))

const char *ks_cage_call_name(int32_t number)
{
    for (size_t i = 0; i < N_ROWS; i++)
        if (table[i].number == number)
            return table[i].name;
    return "?";
}

/* ---- the program ---- */

struct program {
    struct sock_filter *at;
    size_t n;
    enum ks_cage_list list;
};

static void put(struct program *p, uint16_t code, uint32_t k, uint8_t jump_true, uint8_t jump_false)
{
    assert(p->n < KS_FILTER_MAX);
    p->at[p->n++] = (struct sock_filter){ code, jump_true, jump_false, k };
}

static void put_load(struct program *p, size_t offset)
{
    put(p, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
}

/* Low half: process numbers, options and flags have 32 bits. */
static void put_load_argument(struct program *p, int i)
{
    put_load(p, offsetof(struct seccomp_data, args) + (size_t)i * sizeof(uint64_t));
}

static void put_return(struct program *p, uint32_t action)
{
    put(p, BPF_RET | BPF_K, action, 0, 0);
}

/* On the host a refused call traps: the handler of SIGSYS counts it and makes it fail. The runtime
 * of a GPU has threads of its own, some of which block SIGSYS: the trap would kill the worker. */
static void put_refuse(struct program *p)
{
    put_return(p, p->list == KS_CAGE_GPU ? SECCOMP_RET_ERRNO | EPERM : SECCOMP_RET_TRAP);
}

static void put_allow_or_refuse(struct program *p, uint32_t compare, const uint32_t *value,
                                size_t n)
{
    for (size_t i = 0; i < n; i++) {
        put(p, (uint16_t)(BPF_JMP | compare | BPF_K), value[i], 0, 1);
        put_return(p, SECCOMP_RET_ALLOW);
    }
    put_refuse(p);
}

static void put_verdict(struct program *p, enum rule rule, pid_t self)
{
    static const uint32_t naming[] = { PR_SET_NAME, PR_GET_NAME, 0x53564d41 /* PR_SET_VMA */ };
    const uint32_t pids[] = { (uint32_t)self, 0 }, thread = CLONE_THREAD;

    switch (rule) {
    case DENY:
        put_refuse(p);
        return;
    case MISSING:
        put_return(p, SECCOMP_RET_ERRNO | ENOSYS);
        return;
    case NOT_A_THREAD:
        /* posix_spawn, system and popen block SIGSYS around it: a trap would kill. */
        put_load_argument(p, 0);
        put(p, BPF_JMP | BPF_JSET | BPF_K, CLONE_VFORK, 0, 1);
        put_return(p, SECCOMP_RET_ERRNO | EPERM);
        put_allow_or_refuse(p, BPF_JSET, &thread, 1);
        return;
    case LOOK_ONLY:
        for (size_t half = 0; half < 2; half++) { /* of a pointer */
            put_load(p, offsetof(struct seccomp_data, args) + 2 * sizeof(uint64_t) + 4 * half);
            put(p, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0);
            put_refuse(p);
        }
        put_load_argument(p, 0);
        put_allow_or_refuse(p, BPF_JEQ, pids, 2);
        return;
    case NOT_SELF:
    case NOT_SELF_0:
        put_load_argument(p, 0);
        put_allow_or_refuse(p, BPF_JEQ, pids, rule == NOT_SELF ? 1 : 2);
        return;
    case NAMES_ONLY:
        put_load_argument(p, 0);
        put_allow_or_refuse(p, BPF_JEQ, naming, sizeof(naming) / sizeof(naming[0]));
        return;
    }
}

/* Calls of another architecture are not in the table: they kill. The second set of x86-64 (x32) has
 * its numbers above the others. */
size_t ks_cage_filter(enum ks_cage_list list, pid_t self, struct sock_filter out[KS_FILTER_MAX])
{
    struct program p = { .at = out, .list = list };

    put_load(&p, offsetof(struct seccomp_data, arch));
    put(&p, BPF_JMP | BPF_JEQ | BPF_K, ARCH, 1, 0);
    put_return(&p, SECCOMP_RET_KILL_PROCESS);
    put_load(&p, offsetof(struct seccomp_data, nr));
    put(&p, BPF_JMP | BPF_JGE | BPF_K, 0x40000000u, 0, 1);
    put_return(&p, SECCOMP_RET_KILL_PROCESS);
    for (size_t i = 0; i < N_ROWS; i++) {
        if (!(table[i].lists & (unsigned)list))
            continue;
        size_t test = p.n;
        put(&p, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)table[i].number, 0, 0);
        put_verdict(&p, table[i].rule, self); /* ends with a return, whatever the arguments */
        out[test].jf = (uint8_t)(p.n - test - 1);
    }
    put_return(&p, SECCOMP_RET_ALLOW);
    return p.n;
}
