/* SPDX-License-Identifier: MIT */
/* fuzz_profiler.c - any bytes as the output of a program: the same rows in whatever pieces */
/* Counts of rows add up. The first byte chooses the adapter and its options, the second the size of
 * the pieces. */
#include "base/hash.h"
#include "profiler/adapter.h"
#include "record/outcome.h"
#include "tests/fuzz/fuzz.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COMMAND "{\"command\": [\"{program}\"], "

static const struct {
    const char *adapter, *options;
} programs[] = {
    { "ckprofiler", "" },
    { "ckprofiler", "{\"version\": \"2026\", \"verify\": \"cpu\"}" },
    { "miopendriver", "" },
    { "lines", COMMAND "\"output\": \"json\", \"fields\": {\"instance\": \"a\", \"time\": \"b.c\", "
                       "\"outcome\": \"o\", \"t\": \"t\"}}" },
    { "lines", COMMAND "\"output\": \"csv\", \"fields\": {\"instance\": \"a\", \"time\": \"b\"}}" },
    { "lines",
      COMMAND "\"output\": \"pattern\", \"pattern\": [\"^(?<instance>[^ ]+) (?<time>[0-9.]+)$\", "
              "\"k=(?<split_k>-?[0-9]+)\"], \"start\": \"^> (?<instance>.+)$\", \"wrong\": "
              "\"^bad (?<instance>.*)$\", \"unsupported\": \"^no (?<instance>.+)$\", \"end\": "
              "\"^end$\", \"unimplemented\": \"^never\"}" },
};
enum { N_PROGRAMS = sizeof programs / sizeof programs[0] };

static void demand(bool holds)
{
    if (!holds)
        abort();
}

/* What a row says, into a digest. */
static int on_row(void *context, const struct ks_profiler_row *row, struct ks_err *err)
{
    struct ks_sha256 *h = context;

    (void)err;
    demand(row->n_instance > 0 && row->n_instance == strlen(row->instance) && row->line > 0);
    demand(row->outcome == KS_O_NONE || row->outcome == KS_O_OK ||
           row->outcome == KS_O_UNSUPPORTED || row->outcome == KS_O_WRONG_RESULT ||
           row->outcome == KS_O_UNTRUSTED);
    demand(isfinite(row->time_ns) && row->time_ns >= 0);
    demand(isfinite(row->flops_per_s) && isfinite(row->bytes_per_s));
    demand(row->outcome != KS_O_OK || row->time_ns > 0);
    demand(row->outcome != KS_O_UNTRUSTED || row->reason[0]);
    for (size_t i = 0; i < row->n_traits; i++)
        demand(row->traits[i].key[0] && row->traits[i].value);
    ks_sha256_add(h, row->instance, row->n_instance);
    ks_sha256_add(h, &row->time_ns, sizeof row->time_ns);
    ks_sha256_add(h, &row->ordinal, sizeof row->ordinal);
    ks_sha256_add(h, &row->outcome, sizeof row->outcome);
    ks_sha256_add(h, row->reason, strlen(row->reason));
    return 0;
}

static struct ks_id128 read_all(const struct ks_profiler_setup *s, const uint8_t *bytes, size_t n,
                                size_t piece)
{
    struct ks_profiler_reader *r = NULL;
    const struct ks_profiler_summary *sum;
    struct ks_sha256 h;
    struct ks_err err;

    ks_sha256_init(&h);
    demand(ks_profiler_reader_open(s, NULL, NULL, on_row, &h, &r, &err) == 0);
    for (size_t some; n > 0; bytes += some, n -= some) {
        some = n < piece ? n : piece;
        demand(ks_profiler_reader_feed(r, bytes, some, &err) == 0);
    }
    demand(ks_profiler_reader_end(r, &err) == 0);
    sum = ks_profiler_reader_summary(r);
    demand(sum->n_rows ==
           sum->n_ok + sum->n_unsupported + sum->n_wrong + sum->n_untrusted + sum->n_listed);
    demand(sum->n_other_lines <= sum->n_lines && sum->best_time_ns >= 0);
    ks_sha256_add(&h, sum->best, strlen(sum->best));
    ks_sha256_add(&h, sum->reason, strlen(sum->reason));
    ks_sha256_add(&h, &sum->n_lines, sizeof sum->n_lines);
    ks_profiler_reader_close(r);
    return ks_sha256_id128(&h);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    const struct ks_profiler *a = NULL;
    struct ks_profiler_setup *s = NULL;
    struct ks_err err;

    if (n < 2)
        return 0;
    demand(ks_profiler_find(programs[bytes[0] % N_PROGRAMS].adapter, &a, &err) == 0);
    demand(ks_profiler_setup_parse(a, programs[bytes[0] % N_PROGRAMS].options, &s, &err) == 0);
    demand(ks_id128_eq(read_all(s, bytes + 2, n - 2, n),
                       read_all(s, bytes + 2, n - 2, 1 + bytes[1] % 32)));
    ks_profiler_setup_destroy(s);
    return 0;
}
