/* SPDX-License-Identifier: MIT */
/* fuzz_code_object.c - any bytes as a code object: numbers in their range, or a reasoned refusal */
/* The first byte of an input says what it is: an image as it stands, or damage to one of those made
 * by hand (tests/unit/code_image.h), four bytes for each hit: where (2), how, what. Whatever it is,
 * the reader gives the same every time and reads nothing but the image. */
#include "build/code_object.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/code_image.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static void demand(bool holds)
{
    if (!holds)
        abort();
}

static void demand_sound(const struct ks_code_object *c)
{
    demand(memchr(c->name, 0, sizeof(c->name)) && memchr(c->target, 0, sizeof(c->target)));
    demand(c->vgprs >= -1 && c->agprs >= -1 && c->sgprs >= -1);
    demand(c->vgpr_spills >= -1 && c->sgpr_spills >= -1);
    demand(c->lds_bytes >= -1 && c->scratch_bytes >= -1 && c->kernarg_bytes >= -1);
    demand(c->wave >= -1 && c->max_threads >= -1 && c->code_bytes >= -1);
}

static void read_one(const void *image, size_t n, const char *name)
{
    struct ks_code_object c, again, before;
    struct ks_err err = { 0 };
    memset(&c, 0x5a, sizeof(c));
    memset(&again, 0x5a, sizeof(again));
    memset(&before, 0x5a, sizeof(before));
    int rc = ks_code_object_read(image, n, name, &c, &err);
    demand(rc == 0 || rc == KS_EFORMAT || rc == KS_ENOENT);
    demand(ks_code_object_read(image, n, name, &again, NULL) == rc);
    demand(memcmp(&c, &again, sizeof(c)) == 0);
    if (rc < 0)
        demand((int)err.code == rc && err.text[0] && memcmp(&c, &before, sizeof(c)) == 0);
    else
        demand_sound(&c);
}

/* 0: a byte; 1 to 3: a 2-, 4- or 8-byte number of equal bytes; others: the image ends here. */
static void hit(struct ks_buf *image, const uint8_t *how)
{
    const size_t at = image->len ? ((size_t)how[0] | (size_t)how[1] << 8) % image->len : 0;
    const size_t n = (size_t)1 << (how[2] & 3u);
    if (how[2] & 4u)
        image->len = at;
    else if (image->len - at >= n)
        memset(image->data + at, how[3], n);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    static const char *const names[] = { NULL, "plain", "one", "k0_kernel0" };
    const uint8_t kind = n ? bytes[0] % (CODE_IMAGES + 1) : 0;
    struct ks_buf image;

    ks_buf_init(&image);
    if (kind == 0)
        ks_buf_put(&image, bytes + (n ? 1 : 0), n ? n - 1 : 0);
    else
        code_image_make((enum code_image)(kind - 1), &image);
    for (size_t i = 1; kind && i + 4 <= n; i += 4)
        hit(&image, bytes + i);
    /* a block of its own, of this size: sanitizers see a byte too far */
    uint8_t *exact = malloc(image.len + 1);
    demand(exact != NULL && ks_buf_ok(&image));
    if (image.len)
        memcpy(exact + 1, image.data, image.len);
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        read_one(exact + 1, image.len, names[i]); /* at an odd address, too */
    free(exact);
    ks_buf_release(&image);
    return 0;
}
