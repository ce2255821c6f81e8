/* SPDX-License-Identifier: MIT */
/* show.c - shows progress: a bar or lines on the terminal, and DIR/progress */
#include "mpi/show.h"

#include <stdio.h>
#include <unistd.h>

#define S             1000000000ull
#define BAR_NS        500000000ull
#define FILE_NS       (2 * S)
#define LEAST_LINE_NS (5 * S)
#define MOST_LINE_NS  (300 * S)

const char *const ks_show_choices[] = { "auto", "bar", "lines", "none", NULL };

uint64_t ks_show_gap_ns(uint64_t age_ns)
{
    uint64_t gap = age_ns / 8;

    return gap < LEAST_LINE_NS ? LEAST_LINE_NS : gap > MOST_LINE_NS ? MOST_LINE_NS : gap;
}

void ks_show_open(struct ks_show *s, enum ks_show_how how, struct ks_log *log, const char *dir,
                  uint64_t now_ns)
{
    *s = (struct ks_show){ .log = log, .dir = dir, .begun_ns = now_ns };
    s->term = ks_term_look(how == KS_SHOW_BAR ? -1 : fileno(log->to));
    s->has_bar = s->term.is_terminal &&
                 (how == KS_SHOW_BAR || (how == KS_SHOW_AUTO && log->level >= KS_INFO));
    s->has_lines = how != KS_SHOW_NONE;
    if (s->has_bar)
        log->erase = KS_TERM_ERASE;
}

static bool is_due(uint64_t *last_ns, uint64_t gap_ns, uint64_t now_ns)
{
    if (*last_ns && now_ns - *last_ns < gap_ns)
        return false;
    *last_ns = now_ns;
    return true;
}

static void show_bar(struct ks_show *s)
{
    struct ks_buf line;

    ks_buf_init(&line);
    ks_buf_printf(&line, "%s", KS_TERM_ERASE);
    ks_progress_bar(&s->p, &s->term, &line);
    if (ks_buf_ok(&line)) {
        fwrite(line.data, 1, line.len, s->log->to);
        fflush(s->log->to);
    }
    ks_buf_release(&line);
}

/* Beside a bar the lines go to DIR/log alone. */
static void show_line(struct ks_show *s)
{
    struct ks_log log = *s->log;
    struct ks_buf line;

    if (s->has_bar || !s->has_lines)
        log.to = NULL;
    ks_buf_init(&line);
    ks_progress_line(&s->p, &line);
    ks_logf(&log, KS_INFO, "%s", ks_buf_text(&line));
    ks_buf_release(&line);
}

void ks_show_step(struct ks_show *s, struct ks_coord *c, uint64_t now_ns)
{
    const bool has_begun = ks_coord_is_measuring(c) && !s->was_measuring;
    bool is_file = is_due(&s->file_ns, has_begun ? 0 : FILE_NS, now_ns);
    bool is_bar = s->has_bar && is_due(&s->bar_ns, BAR_NS, now_ns);
    bool is_line = is_due(&s->line_ns, ks_show_gap_ns(now_ns - s->begun_ns), now_ns);

    s->was_measuring |= has_begun;
    if (!is_file && !is_bar && !is_line)
        return;
    ks_coord_progress(c, now_ns, &s->p);
    if (is_file)
        (void)ks_progress_write(&s->p, s->dir, NULL); /* the sweep goes on without it */
    if (is_line)
        show_line(s);
    if (is_bar)
        show_bar(s);
}

void ks_show_close(struct ks_show *s, struct ks_coord *c, uint64_t now_ns)
{
    if (!s->log)
        return;
    ks_coord_progress(c, now_ns, &s->p);
    (void)ks_progress_write(&s->p, s->dir, NULL);
    if (s->has_bar) {
        fputs(KS_TERM_ERASE, s->log->to);
        fflush(s->log->to);
        s->log->erase = NULL;
    }
}
