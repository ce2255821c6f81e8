/* SPDX-License-Identifier: MIT */
/* status_watch.c - follows a running sweep: a screen rewritten in place, or a line every 10 s */
#include "cmd/status_watch.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/term.h"
#include "base/text.h"
#include "journal/journal.h"
#include "mpi/progress.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LOOK_NS 1000000000ull
#define LINE_NS 10000000000ull /* where nothing can be rewritten */

static void put(const struct ks_buf *text)
{
    fwrite(ks_buf_text(text), 1, text->len, stdout);
    fflush(stdout);
}

/* Of n bytes of UTF-8; a color takes none. */
static size_t columns_of(const char *line, size_t n)
{
    size_t columns = 0;
    bool is_color = false;

    for (size_t i = 0; i < n; i++) {
        is_color |= line[i] == '\033';
        columns += !is_color && ((unsigned char)line[i] & 0xc0) != 0x80;
        is_color &= line[i] != 'm';
    }
    return columns;
}

/* Each line to its end, and what stood below: the picture does not flicker. A terminal that
 * scrolled would: only the lines that fit above its last row are shown, and how many do not. */
static void put_lines(const char *plain, const struct ks_term *t, struct ks_buf *to)
{
    const unsigned width = t->width ? t->width : 1;
    unsigned rows = 0, n_more = 0;

    for (size_t n; *plain; plain += n + (plain[n] == '\n')) {
        n = strcspn(plain, "\n");
        rows += n ? (unsigned)((columns_of(plain, n) + width - 1) / width) : 1;
        if (t->height && rows + 1 >= t->height)
            n_more++;
        else
            ks_buf_printf(to, "%.*s" KS_TERM_END "\n", (int)n, plain);
    }
    if (n_more)
        ks_buf_printf(to, "... %u more line%s" KS_TERM_END, n_more, n_more == 1 ? "" : "s");
}

static void redraw(const char *dir, const struct ks_progress *p, const struct ks_term *t)
{
    struct ks_buf plain, text;

    ks_buf_init(&plain);
    ks_buf_init(&text);
    ks_text_put(&plain, dir, strlen(dir), KS_LINES_NONE);
    ks_buf_printf(&plain, ": running\n");
    ks_progress_bar(p, t, &plain);
    ks_buf_u8(&plain, '\n');
    ks_progress_line(p, &plain);
    ks_buf_u8(&plain, '\n');
    ks_progress_details(p, dir, &plain);
    ks_buf_printf(&text, KS_TERM_HOME);
    put_lines(ks_buf_text(&plain), t, &text);
    ks_buf_printf(&text, KS_TERM_REST);
    put(&text);
    ks_buf_release(&plain);
    ks_buf_release(&text);
}

static void add_line(const struct ks_progress *p)
{
    struct ks_buf text;

    ks_buf_init(&text);
    ks_progress_line(p, &text);
    ks_buf_u8(&text, '\n');
    put(&text);
    ks_buf_release(&text);
}

/* What rank 0 wrote last. Its first report may still be missing: the file is then absent, or that
 * of the life before, whose rank 0 had another pid. */
static void look(const char *dir, int32_t pid, const struct ks_term *t, uint64_t *line_ns)
{
    struct ks_progress p;
    uint64_t now = ks_now_ns();

    if (ks_progress_read(dir, &p, NULL) < 0 || p.pid != pid)
        return;
    ks_progress_age(&p, ks_realtime_ns());
    if (t->is_terminal)
        redraw(dir, &p, t);
    else if (!*line_ns || now - *line_ns >= LINE_NS) {
        *line_ns = now;
        add_line(&p);
    }
}

int ks_status_watch(const char *dir, struct ks_err *err)
{
    struct ks_term t = { .width = 0 };
    struct ks_journal_owner owner = { .is_closed = true };
    uint64_t line_ns = 0;
    char journal[1100];
    bool has_cleared = false;
    int rc = ks_path_is_dir(dir)
                 ? ks_path_join(journal, sizeof(journal), dir, "journal", err)
                 : ks_fail(err, KS_ENOENT, "'%s' is missing or not the directory of a run", dir);

    while (rc == 0 && (rc = ks_journal_owner(journal, &owner, err)) == 0) {
        if (!owner.is_alive || owner.is_closed)
            break;
        t = ks_term_look(STDOUT_FILENO); /* its size may change */
        if (t.is_terminal && !has_cleared)
            fputs(KS_TERM_HOME KS_TERM_REST, stdout);
        has_cleared = true;
        look(dir, owner.segment.pid, &t, &line_ns);
        ks_sleep_ns(LOOK_NS);
    }
    if (rc == 0 && t.is_terminal && has_cleared)
        fputs(KS_TERM_HOME KS_TERM_REST, stdout);
    return rc;
}
