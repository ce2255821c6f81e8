/* SPDX-License-Identifier: MIT */
/* vault.h - keeps the key of the references (mask.h) out of this process' memory while kernels run.
 *
 * The key waits as a datagram in the queue of a socket, which is memory of the operating system. It
 * is looked at without being taken out, used and erased at once, so whoever searches this process'
 * memory between two uses does not find it. A kernel that reads or closes the descriptor ends its
 * worker; a kernel that knows what it reads there is an attacker of the host, not a program that
 * optimises for the benchmark. */
#ifndef KS_WORKER_VAULT_H
#define KS_WORKER_VAULT_H

#include "base/err.h"
#include "base/hash.h"
#include "worker/mask.h"

#include <stdbool.h>

struct ks_vault {
    bool is_open;
    int fd[2]; /* valid when is_open: what is sent to one is queued at the other */
};

/* ks_vault_open() - empty; before the cage is closed, which refuses sockets. KS_EIO. */
int ks_vault_open(struct ks_vault *v, struct ks_err *err);
void ks_vault_close(struct ks_vault *v); /* a zeroed one is fine */

/* ks_vault_put() - keeps this key instead of the one before, and erases the caller's copy, also
 * when it fails. KS_EIO. */
int ks_vault_put(const struct ks_vault *v, struct ks_id128 *key, struct ks_err *err);

/* ks_vault_take() - a copy of the key; the caller gives it to ks_vault_forget() before anything of
 * a kernel runs. KS_EDEVLOST: there is none any more, this process can verify nothing. */
int ks_vault_take(const struct ks_vault *v, struct ks_mask *mask_out, struct ks_err *err);
/* Erases the copy, and what calls since have left in vector registers and on the stack below the
 * caller. */
void ks_vault_forget(struct ks_mask *mask);
/* The latter alone. */
void ks_vault_scrub(void);

#endif
