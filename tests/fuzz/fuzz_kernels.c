/* SPDX-License-Identifier: MIT */
/* fuzz_kernels.c - any bytes as a file of kernels of any kind: refused, or exported the same */
/* After a refusal the set is unchanged; otherwise its export is a config of the same instances and
 * exports to the same bytes. As T1 it is refused with a reason, or comes back complete. Families
 * are those of the installed data. */
#include "base/file.h"
#include "grid/family.h"
#include "grid/kernel_export.h"
#include "grid/t1.h"
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_EXPORTED = 3000 };

struct places {
    char input[64], output[64];
};

static void demand(bool holds)
{
    if (!holds)
        abort();
}

static void put_file(const char *path, const void *bytes, size_t n)
{
    FILE *f = fopen(path, "w");

    demand(f && fwrite(bytes, 1, n, f) == n);
    demand(fclose(f) == 0);
}

static void try_json(const struct ks_kernel_set *set, const struct places *p)
{
    const char *const from[] = { p->input, NULL }, *const again[] = { p->output, NULL };
    struct ks_kernel_set back = { 0 };
    struct ks_buf a, b;
    struct ks_err err = { 0 };

    ks_buf_init(&a);
    ks_buf_init(&b);
    demand(ks_kernel_export(set, from, "native", &a, &err) == 0);
    put_file(p->output, a.data, a.len);
    demand(ks_kernel_set_add(&back, p->output, "", NULL, &err) == 0);
    demand(back.n_instances == set->n_instances);
    for (uint32_t i = 0; i < set->n_instances; i++)
        demand(back.instances[i].id == set->instances[i].id);
    demand(ks_kernel_export(&back, again, "native", &b, &err) == 0);
    demand(a.len == b.len && memcmp(a.data, b.data, a.len) == 0);
    ks_buf_release(&a);
    ks_buf_release(&b);
    ks_kernel_set_release(&back);
}

static void try_t1(const struct ks_kernel_set *set, const struct places *p)
{
    static const char *const none[] = { NULL };
    struct ks_kernel_set back = { 0 };
    struct ks_err err = { 0 };
    struct ks_buf text;
    int rc;

    ks_buf_init(&text);
    rc = ks_t1_export(set, none, &text, &err);
    demand(rc == 0 || rc == KS_EUNSUPPORTED);
    if (rc == 0) {
        put_file(p->output, text.data, text.len);
        rc = ks_kernel_set_add(&back, p->output, "", NULL, &err);
        demand(rc == 0 ? back.n_instances == set->n_instances
                       : strstr(err.text, "stands for several instances") != NULL);
    }
    ks_kernel_set_release(&back);
    ks_buf_release(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct ks_kernel_set set = { 0 };
    struct ks_err err = { 0 };
    struct places p;

    snprintf(p.input, sizeof p.input, "/tmp/fuzz_kernels_%d_in.json", (int)getpid());
    snprintf(p.output, sizeof p.output, "/tmp/fuzz_kernels_%d_out.json", (int)getpid());
    put_file(p.input, bytes, n);
    if (ks_kernel_set_add(&set, p.input, "", NULL, &err) < 0) {
        demand(strstr(err.text, p.input) != NULL);
        demand(set.n_instances == 0 && set.n_families == 0);
    } else if (set.n_instances <= MOST_EXPORTED) {
        try_json(&set, &p);
        try_t1(&set, &p);
    }
    ks_kernel_set_release(&set);
    unlink(p.input);
    unlink(p.output);
    return 0;
}
