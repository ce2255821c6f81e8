/* SPDX-License-Identifier: MIT */
/* gpu_check.h - holds gpu_table.h against one vendor's header, which its includer has included and
 * for which it has defined the G_* types (but G_HSRC) and KS_GPU_PICK(hip, cuda). A wrong line of
 * the table does not compile; nothing here runs. */
#ifndef KS_DEVICE_GPU_CHECK_H
#define KS_DEVICE_GPU_CHECK_H

#include "device/gpu_table.h"

#include <stddef.h>
#include <stdint.h>

#ifdef KS_GPU_PICK /* without a vendor there is nothing to hold it against */

#define SAME_TYPE(function, result, args)                                                          \
    __builtin_types_compatible_p(__typeof__(&(function)), result(*) args)

/* Releases differ in the const of a source of a copy; a call is the same either way. */
#define G_HSRC const void *
enum {
#define X(slot, hip, cuda, args) const_##slot = SAME_TYPE(KS_GPU_PICK(hip, cuda), G_RC, args),
    KS_GPU_CALLS(X)
#undef X
};
#undef G_HSRC
#define G_HSRC void *
#define X(slot, hip, cuda, args)                                                                   \
    _Static_assert(const_##slot || SAME_TYPE(KS_GPU_PICK(hip, cuda), G_RC, args), #slot);
KS_GPU_CALLS(X)
#undef X

#define SIZE(type, bytes)                                                                          \
    _Static_assert(sizeof(type) == (bytes) && _Alignof(type) == (bytes), #type)
SIZE(G_RC, sizeof(int));
SIZE(G_DEV, sizeof(int));
SIZE(G_DEVATTR, sizeof(int));
SIZE(G_FUNCATTR, sizeof(int));
SIZE(G_D32, sizeof(unsigned));
SIZE(G_PTR, sizeof(uint64_t));
SIZE(G_CTX, sizeof(void *));
SIZE(G_STREAM, sizeof(void *));
SIZE(G_EVENT, sizeof(void *));
SIZE(G_MODULE, sizeof(void *));
SIZE(G_FUNC, sizeof(void *));
SIZE(G_HOSTFN, sizeof(void *));
_Static_assert(sizeof(G_UUID) == 16, "uuid");

#define X(name, hip_number, cuda_number, hip, cuda)                                                \
    _Static_assert((int)KS_GPU_PICK(hip, cuda) == KS_GPU_PICK(hip_number, cuda_number), #name);
KS_GPU_ATTRS(X)
#undef X
#define X(name, number, hip, cuda) _Static_assert((int)KS_GPU_PICK(hip, cuda) == (number), #name);
KS_GPU_CODES(X)
KS_GPU_STICKY(X)
KS_GPU_NUMBERS(X)
#undef X

#endif
#endif
