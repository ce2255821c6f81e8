/* SPDX-License-Identifier: MIT */
/* artefacts.h - kernel files a worker has open. Each is opened once, and a sealed copy of what it
 * held is what is hashed and loaded (sealed.h). */
#ifndef KS_WORKER_ARTEFACTS_H
#define KS_WORKER_ARTEFACTS_H

#include "device/device.h"

#include <stdbool.h>
#include <stdint.h>

struct ks_artefact;

struct ks_artefacts {
    struct ks_device *dev;    /* borrowed */
    struct ks_artefact *list; /* owned */
    bool is_damaged;          /* why the last one could not be loaded: it is not what was built */
};

/* ks_artefacts_entry() - the entry of an instance, loading its file when it is not open yet.
 * @path [in] shared object; a virtual device reads no file
 * @digest [in] SHA-256 of the file
 * Returns 0; KS_ELOAD: missing, changed since it was built (a->is_damaged), not loadable, no such
 * entry; KS_ENOMEM, KS_EIO: not known, this process lacks memory or descriptors. */
int ks_artefacts_entry(struct ks_artefacts *a, const char *path, const uint8_t digest[32],
                       const char *name, const struct ks_abi_entry **entry_out, struct ks_err *err);
void ks_artefacts_release(struct ks_artefacts *a);

#endif
