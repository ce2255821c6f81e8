/* SPDX-License-Identifier: MIT */
/* dirt.c - words for what is wrong with a trace: damage, cuts, skipped events */
#include "base/buf.h"
#include "trace/reader.h"

#include <string.h>

static void put_count(struct ks_buf *to, uint64_t n, const char *one, const char *many)
{
    if (n)
        ks_buf_printf(to, "%s%llu %s", to->len ? ", " : "", (unsigned long long)n,
                      n == 1 ? one : many);
}

static void put_word(struct ks_buf *to, bool is_so, const char *text)
{
    if (is_so)
        ks_buf_printf(to, "%s%s", to->len ? ", " : "", text);
}

void ks_trace_dirt_put(const struct ks_trace_dirt *d, struct ks_buf *to)
{
    put_word(to, d->damage != NULL, d->damage ? d->damage : "");
    put_word(to, d->is_cut, "the file ends inside the events");
    put_count(to, d->n_bad, "skipped event that is not JSON", "skipped events that are not JSON");
    put_count(to, d->n_long, "skipped event that is too long", "skipped events that are too long");
    if (d->first_bad != UINT64_MAX)
        ks_buf_printf(to, " (the first at byte %llu)", (unsigned long long)d->first_bad);
    put_count(to, d->n_numbers, "time that is not a finite number",
              "times that are not finite numbers");
    put_count(to, d->n_twice, "event with a key twice (the last one counts)",
              "events with a key twice (the last one counts)");
    put_word(to, d->has_rest, "data after the outermost value");
}
