/* SPDX-License-Identifier: MIT */
/* vault.c - keeps the key of the references in a socket, out of a kernel's reach */
#include "worker/vault.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define STACK_BYTES 65536u /* more than the comparisons of verify.c and a judge's launch need */

int ks_vault_open(struct ks_vault *v, struct ks_err *err)
{
    if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, v->fd) < 0)
        return ks_fail_errno(err, "a socket for the key of the references");
    v->is_open = true;
    return 0;
}

void ks_vault_close(struct ks_vault *v)
{
    if (v->is_open) {
        close(v->fd[0]);
        close(v->fd[1]);
    }
    *v = (struct ks_vault){ .is_open = false };
}

static ssize_t receive(const struct ks_vault *v, void *to, size_t n, int flags)
{
    ssize_t got;

    do {
        got = recv(v->fd[1], to, n, flags);
    } while (got < 0 && errno == EINTR);
    return got;
}

int ks_vault_put(const struct ks_vault *v, struct ks_id128 *key, struct ks_err *err)
{
    struct ks_mask mask = { { key->hi, key->lo } }, old;
    ssize_t n;

    explicit_bzero(key, sizeof(*key));
    do {
        n = receive(v, &old, sizeof(old), 0);
    } while (n >= 0);
    n = send(v->fd[0], &mask, sizeof(mask), MSG_NOSIGNAL);
    explicit_bzero(&old, sizeof(old));
    ks_vault_forget(&mask);
    return n == (ssize_t)sizeof(mask) ? 0 : ks_fail_errno(err, "keeping the key of the references");
}

int ks_vault_take(const struct ks_vault *v, struct ks_mask *mask_out, struct ks_err *err)
{
    struct ks_mask mask;
    ssize_t n = v->is_open ? receive(v, &mask, sizeof(mask), MSG_PEEK | MSG_TRUNC) : -1;

    if (n != (ssize_t)sizeof(mask))
        return ks_fail(err, KS_EDEVLOST,
                       "the key of the references is lost: the kernel read from or closed a "
                       "descriptor of ksweep");
    *mask_out = mask;
    explicit_bzero(&mask, sizeof(mask));
    return 0;
}

/* Calls through a table that is filled lazily save vector registers on the stack, and the registers
 * themselves outlast a function that had the key in them. */
#if defined(__x86_64__)
#define ZERO(n) "vpxorq %%zmm" #n ", %%zmm" #n ", %%zmm" #n "\n\t"
__attribute__((noinline)) static void clear_registers(void)
{
    if (__builtin_cpu_supports("avx512f"))
        __asm__ volatile(ZERO(16) ZERO(17) ZERO(18) ZERO(19) ZERO(20) ZERO(21) ZERO(22) ZERO(
            23) ZERO(24) ZERO(25) ZERO(26) ZERO(27) ZERO(28) ZERO(29) ZERO(30) ZERO(31)::);
    if (__builtin_cpu_supports("avx"))
        __asm__ volatile("vzeroall" ::
                             : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7",
                               "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14",
                               "xmm15");
}
#else
static void clear_registers(void) {}
#endif

/* As large as the frames of the calls before it, which lay where this one does. */
__attribute__((noinline)) void ks_vault_scrub(void)
{
    unsigned char below[STACK_BYTES];

    clear_registers();
    explicit_bzero(below, sizeof(below));
}

void ks_vault_forget(struct ks_mask *mask)
{
    explicit_bzero(mask, sizeof(*mask));
    ks_vault_scrub();
}
