/* SPDX-License-Identifier: MIT */
/* progress.c - texts of struct ks_progress. */
#include "mpi/progress.h"

#include "base/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_BAR = 40, LEAST_BAR = 10 };

void ks_progress_time(double s, char *out, size_t cap)
{
    if (s < 120)
        snprintf(out, cap, "%.0f s", ceil(s));
    else if (s < 7200)
        snprintf(out, cap, "%.0f min", ceil(s / 60));
    else if (s < 172800)
        snprintf(out, cap, "%.1f h", s / 3600);
    else
        snprintf(out, cap, "%.1f days", s / 86400);
}

void ks_progress_age(struct ks_progress *p, uint64_t realtime_ns)
{
    double age_s = realtime_ns > p->realtime_ns ? (double)(realtime_ns - p->realtime_ns) * 1e-9 : 0;

    if (p->left_s < 0)
        return;
    p->left_s = fmax(p->left_s - age_s, 0);
    p->low_s = fmax(p->low_s - age_s, 0);
    p->high_s = fmax(p->high_s - age_s, 0);
}

void ks_progress_put_left(const struct ks_progress *p, struct ks_buf *to)
{
    char left[32], low[32], high[32];

    if (p->left_s < 0)
        return;
    ks_progress_time(p->left_s, left, sizeof(left));
    ks_progress_time(p->low_s, low, sizeof(low));
    ks_progress_time(p->high_s, high, sizeof(high));
    ks_buf_printf(to, ", about %s left", left);
    if (strcmp(low, high) != 0)
        ks_buf_printf(to, " (%s to %s)", low, high);
}

static void put_outcomes(const struct ks_progress *p, const char *gap, struct ks_buf *to)
{
    for (uint32_t o = 1; o < KS_O_LIMIT; o++)
        if (p->outcome[o]) {
            ks_buf_printf(to, "%s%s %" PRIu64, gap, ks_outcome_text(o), p->outcome[o]);
            gap = ", ";
        }
    if (p->n_contaminated)
        ks_buf_printf(to, "%scontaminated %" PRIu64, gap, p->n_contaminated);
}

static bool is_building(const struct ks_progress *p)
{
    return !p->is_measuring && p->n_built < p->n_instances;
}

void ks_progress_line(const struct ks_progress *p, struct ks_buf *to)
{
    if (is_building(p)) {
        ks_buf_printf(to, "%u of %u instances compiled", p->n_built, p->n_instances);
        ks_progress_put_left(p, to);
        return;
    }
    ks_buf_printf(to, "%" PRIu64 " of %" PRIu64 " cells", p->n_done, p->n_cells);
    if (p->rate > 0)
        ks_buf_printf(to, ", %.1f/s", p->rate);
    if (!p->is_ending)
        ks_progress_put_left(p, to);
    if (p->has_visits)
        ks_buf_printf(to, "; %u of %u problems settled by visits", p->n_settled, p->n_problems);
    put_outcomes(p, "; ", to);
}

/* --- the bar --- */

static double part_done(const struct ks_progress *p)
{
    double n = is_building(p) ? p->n_instances : (double)p->n_cells;
    double done = is_building(p) ? p->n_built : (double)p->n_done;

    return n > 0 ? fmin(done / n, 1) : 0;
}

static void put_bar(double part, unsigned width, const struct ks_term *t, struct ks_buf *to)
{
    unsigned full = (unsigned)(part * width);

    ks_buf_printf(to, t->has_utf8 ? "" : "[");
    if (t->has_color)
        ks_buf_printf(to, "\033[32m");
    for (unsigned i = 0; i < width; i++) {
        if (i == full && t->has_color)
            ks_buf_printf(to, "\033[2m");
        if (t->has_utf8)
            ks_buf_printf(to, i < full ? "\u2588" : "\u2591");
        else
            ks_buf_u8(to, i < full ? '#' : '.');
    }
    if (t->has_color)
        ks_buf_printf(to, "\033[0m");
    ks_buf_printf(to, t->has_utf8 ? " " : "] ");
}

static uint64_t count_bad(const struct ks_progress *p)
{
    uint64_t n = 0;

    for (uint32_t o = 1; o < KS_O_LIMIT; o++)
        n += ks_outcome_needs_look(o) ? p->outcome[o] : 0;
    return n;
}

/* Behind the bar: what matters most first, because a narrow terminal shows the first facts only. */
static void put_words(const struct ks_progress *p, struct ks_buf *to)
{
    ks_buf_printf(to, "%3.0f %%", floor(100 * part_done(p)));
    if (is_building(p)) {
        ks_buf_printf(to, "  %u of %u compiled", p->n_built, p->n_instances);
        ks_progress_put_left(p, to);
        return;
    }
    ks_buf_printf(to, "  %" PRIu64 "/%" PRIu64, p->n_done, p->n_cells);
    if (count_bad(p))
        ks_buf_printf(to, ", %" PRIu64 " failed", count_bad(p));
    if (p->rate > 0)
        ks_buf_printf(to, ", %.1f/s", p->rate);
    if (!p->is_ending)
        ks_progress_put_left(p, to);
    if (p->has_visits)
        ks_buf_printf(to, "; %u/%u settled", p->n_settled, p->n_problems);
    put_outcomes(p, "; ", to);
}

/* Bytes of the facts that fit whole: half a number would be another number. */
static size_t whole_facts(const char *words, size_t n, size_t room)
{
    if (n <= room)
        return n;
    for (n = room; n > 0; n--)
        if (strncmp(words + n, ", ", 2) == 0 || strncmp(words + n, "; ", 2) == 0 ||
            strncmp(words + n, " (", 2) == 0 || strncmp(words + n, "  ", 2) == 0)
            break;
    return n;
}

void ks_progress_bar(const struct ks_progress *p, const struct ks_term *t, struct ks_buf *to)
{
    unsigned bar = t->width / 4, room;
    struct ks_buf words;

    bar = bar > MOST_BAR ? MOST_BAR : bar < LEAST_BAR ? LEAST_BAR : bar;
    put_bar(part_done(p), bar, t, to);
    ks_buf_init(&words);
    put_words(p, &words);
    room = t->width > bar + 4 ? t->width - bar - 4 : 0; /* a full line would scroll */
    ks_buf_put(to, ks_buf_text(&words), whole_facts(ks_buf_text(&words), words.len, room));
    ks_buf_release(&words);
}

/* --- status --- */

/* From outside. */
static void put_text(const char *text, struct ks_buf *to)
{
    ks_text_put(to, text, strlen(text), KS_LINES_NONE);
}

static void put_device(const struct ks_progress_device *d, struct ks_buf *to)
{
    ks_buf_printf(to, "  rank %-3u %-9s %8" PRIu64 " done  ", d->rank, d->state, d->n_cells);
    put_text(d->host, to);
    if (d->problem[0])
        ks_buf_printf(to, "  ");
    put_text(d->problem, to);
    if (d->silent_s >= 5)
        ks_buf_printf(to, "  (silent for %.0f s)", d->silent_s);
    ks_buf_u8(to, '\n');
}

void ks_progress_details(const struct ks_progress *p, const char *dir, struct ks_buf *to)
{
    uint32_t n =
        p->n_failures < KS_PROGRESS_FAILURES ? (uint32_t)p->n_failures : KS_PROGRESS_FAILURES;

    ks_buf_printf(to, "devices   %u in use\n", p->n_devices);
    for (uint32_t i = 0; i < p->n_shown; i++)
        put_device(&p->device[i], to);
    if (!n)
        return;
    ks_buf_printf(to, "failures  %" PRIu64 " since the start, most recent:\n", p->n_failures);
    for (uint32_t i = 0; i < n; i++) {
        const struct ks_progress_failure *f = &p->failure[i];

        ks_buf_printf(to, "  %s ", ks_outcome_text(f->outcome));
        put_text(f->names, to);
        ks_buf_printf(to, ": ");
        put_text(f->reason[0] ? f->reason : "no reason recorded", to);
        ks_buf_printf(to, "\n    ksweep cell ");
        ks_shell_put(to, dir);
        ks_buf_printf(to, " %016" PRIx64 ":%016" PRIx64 "\n", f->problem, f->instance);
    }
}
