/* SPDX-License-Identifier: MIT */
/* code_object_amd.c - AMD: a note of type NT_AMDGPU_METADATA by "AMDGPU" holds a MessagePack map;
 * its "amdhsa.kernels" is a list with a map for each kernel. */
#include "build/code_object_impl.h"
#include "build/msgpack.h"

#include <stdbool.h>
#include <string.h>

#define NOTE_METADATA 32u
#define NOTE_OWNER    "AMDGPU"

#define NUMBER(key, member)                                                                        \
    {                                                                                              \
        key, offsetof(struct ks_code_object, member), sizeof(((struct ks_code_object *)0)->member) \
    }
static const struct {
    const char *key;
    size_t offset, size;
} numbers[] = {
    NUMBER(".vgpr_count", vgprs),
    NUMBER(".agpr_count", agprs),
    NUMBER(".sgpr_count", sgprs),
    NUMBER(".vgpr_spill_count", vgpr_spills),
    NUMBER(".sgpr_spill_count", sgpr_spills),
    NUMBER(".group_segment_fixed_size", lds_bytes),
    NUMBER(".private_segment_fixed_size", scratch_bytes),
    NUMBER(".kernarg_segment_size", kernarg_bytes),
    NUMBER(".wavefront_size", wave),
    NUMBER(".max_flat_workgroup_size", max_threads),
};

static int store(const struct ks_msgpack *key, int64_t v, struct ks_code_object *out,
                 struct ks_err *err)
{
    for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
        const int32_t narrow = (int32_t)v;
        char *at = (char *)out + numbers[i].offset;
        if (!ks_msgpack_is(key, numbers[i].key))
            continue;
        if (v < 0 || (numbers[i].size == sizeof(narrow) && v > INT32_MAX))
            return ks_fail(err, KS_EFORMAT, "code object: %s is out of range", numbers[i].key);
        if (numbers[i].size == sizeof(narrow))
            memcpy(at, &narrow, sizeof(narrow));
        else
            memcpy(at, &v, sizeof(v));
    }
    return 0;
}

static int malformed(struct ks_err *err)
{
    return ks_fail(err, KS_EFORMAT, "code object: its metadata is malformed");
}

/* One kernel; *is_it_out: it is the one that is wanted. */
static int read_kernel(struct ks_cur *c, const char *name, struct ks_code_object *out,
                       bool *is_it_out, struct ks_err *err)
{
    const struct ks_msgpack map = ks_msgpack_next(c);
    bool is_it = false;
    int rc = map.kind == KS_MP_MAP ? 0 : malformed(err);
    for (uint32_t i = 0; i < map.n && rc == 0; i++) {
        const struct ks_msgpack key = ks_msgpack_next(c);
        struct ks_cur ahead = *c;
        const struct ks_msgpack value = ks_msgpack_next(&ahead);
        if (value.kind == KS_MP_NUMBER) {
            rc = store(&key, value.number, out, err);
        } else if (value.kind == KS_MP_TEXT && ks_msgpack_is(&key, ".name")) {
            ks_code_copy_text(out->name, sizeof(out->name), value.text, value.n);
            is_it = !name || ks_msgpack_is(&value, name);
        }
        if (rc == 0 && !ks_msgpack_skip(c))
            rc = malformed(err);
    }
    *is_it_out = is_it;
    return rc;
}

static int read_kernels(struct ks_cur *c, const char *name, struct ks_code_object *out, bool *found,
                        struct ks_err *err)
{
    const struct ks_msgpack list = ks_msgpack_next(c);
    int rc = list.kind == KS_MP_LIST ? 0 : malformed(err);
    for (uint32_t i = 0; i < list.n && rc == 0; i++) {
        struct ks_code_object k;
        bool is_it;
        ks_code_object_init(&k);
        rc = read_kernel(c, name, &k, &is_it, err);
        if (rc < 0 || !is_it || *found)
            continue;
        *out = k;
        *found = true;
    }
    return rc;
}

/* "amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-" -> "gfx90a" */
static void read_target(const struct ks_msgpack *text, char *out, size_t room)
{
    const char *at = text->n ? memmem(text->text, text->n, "gfx", 3) : NULL;
    const size_t n = at ? (size_t)(text->text + text->n - at) : 0;
    const char *end = at ? memchr(at, ':', n) : NULL;
    if (at)
        ks_code_copy_text(out, room, at, end ? (size_t)(end - at) : n);
}

static int read_metadata(struct ks_cur c, const char *name, struct ks_code_object *out,
                         struct ks_err *err)
{
    char target[sizeof(out->target)] = "";
    const struct ks_msgpack map = ks_msgpack_next(&c);
    bool found = false;
    int rc = map.kind == KS_MP_MAP ? 0 : malformed(err);
    for (uint32_t i = 0; i < map.n && rc == 0; i++) {
        const struct ks_msgpack key = ks_msgpack_next(&c);
        struct ks_cur ahead = c;
        const struct ks_msgpack value = ks_msgpack_next(&ahead);
        if (ks_msgpack_is(&key, "amdhsa.kernels")) {
            rc = read_kernels(&c, name, out, &found, err);
            continue;
        }
        if (value.kind == KS_MP_TEXT && ks_msgpack_is(&key, "amdhsa.target"))
            read_target(&value, target, sizeof(target));
        if (!ks_msgpack_skip(&c))
            rc = malformed(err);
    }
    if (rc == 0 && !found)
        rc = ks_code_no_kernel(name, err);
    memcpy(out->target, target, sizeof(target));
    return rc;
}

/* The description of the first such note among those of a section. */
static bool find_note(struct ks_cur c, struct ks_cur *out)
{
    while (!c.failed && c.left) {
        const uint32_t n_owner = ks_cur_u32(&c), n = ks_cur_u32(&c), type = ks_cur_u32(&c);
        const char *owner = ks_cur_take(&c, ((size_t)n_owner + 3) & ~(size_t)3);
        const void *bytes = ks_cur_take(&c, n);
        if (!owner || !bytes)
            return false;
        if (type == NOTE_METADATA && n_owner == sizeof(NOTE_OWNER) &&
            memcmp(owner, NOTE_OWNER, sizeof(NOTE_OWNER)) == 0) {
            *out = ks_cur(bytes, n);
            return true;
        }
        ks_cur_take(&c, -(size_t)n & 3u);
    }
    return false;
}

static int find_metadata(const struct ks_object *o, struct ks_cur *out, struct ks_err *err)
{
    for (uint32_t i = 0; i < o->head.e_shnum; i++) {
        Elf64_Shdr s;
        int rc = ks_object_section(o, i, &s, err);
        if (rc < 0)
            return rc;
        if (s.sh_type == SHT_NOTE &&
            find_note(ks_cur(o->bytes + s.sh_offset, (size_t)s.sh_size), out))
            return 0;
    }
    return ks_fail(err, KS_EFORMAT, "AMD code object without metadata");
}

int ks_code_read_amd(const struct ks_object *o, const char *name, struct ks_code_object *out,
                     struct ks_err *err)
{
    struct ks_cur metadata;
    Elf64_Sym code;
    int rc = find_metadata(o, &metadata, err);
    if (rc == 0)
        rc = read_metadata(metadata, name, out, err);
    if (rc == 0 && ks_object_find(o, name ? name : out->name, &code, NULL) == 0 &&
        code.st_size <= INT64_MAX)
        out->code_bytes = (int64_t)code.st_size;
    return rc;
}
