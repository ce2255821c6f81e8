/* SPDX-License-Identifier: MIT */
/* lines.h - versioned text of keyed lines, for files that a machine without JSON reads and writes.
 *
 *     ksweep-unit 4                   what it is, and the version of its form
 *     compiler "gcc (Debian) 12.2"    a key and its words, one blank between two
 *     end 0123456789abcdef            ks_id64() of all bytes before this line; nothing follows
 *
 * A word stands bare, or in double quotes when it is empty or holds a blank, a quote, a backslash
 * or a control character: \" \\ \n and \xHH stand for themselves there. No byte is 0. */
#ifndef KS_BASE_LINES_H
#define KS_BASE_LINES_H

#include "base/buf.h"
#include "base/err.h"
#include "base/hash.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Writing: the buffer holds nothing else. A line is ks_lines_key(), its words, ks_lines_end_line().
 */
void ks_lines_begin(struct ks_buf *b, const char *kind, unsigned version);
void ks_lines_key(struct ks_buf *b, const char *key);
void ks_lines_word(struct ks_buf *b, const char *text);
void ks_lines_number(struct ks_buf *b, int64_t v);
void ks_lines_end_line(struct ks_buf *b);
void ks_lines_put(struct ks_buf *b, const char *key, const char *text); /* a line of one word */
void ks_lines_put_number(struct ks_buf *b, const char *key, int64_t v); /* likewise */
void ks_lines_finish(struct ks_buf *b);

enum { KS_LINES_WORDS = 64 }; /* of a line, at most */

/* Reading, line by line. The first failure stays in rc; from then on every call does nothing, and
 * numbers are 0 and words "". */
struct ks_lines {
    const char *name;                 /* of the file, for messages; borrowed */
    char *text;                       /* owned; words point into it */
    char *next;                       /* behind the current line */
    const char *word[KS_LINES_WORDS]; /* of the current line, without its key */
    const char *key;                  /* of the current line; NULL behind the last one */
    size_t n_words;
    unsigned line; /* of the current line, from 1 */
    struct ks_err *err;
    int rc;
};

/* Checks the first line and the digest, and makes the second line the current one. Copies text,
 * borrows name and err. KS_EFORMAT: not of this kind, another version, cut, or changed; KS_ENOMEM.
 * To be closed in any case. */
int ks_lines_open(struct ks_lines *l, const char *text, size_t n, const char *name,
                  const char *kind, unsigned version, struct ks_err *err);
void ks_lines_close(struct ks_lines *l);

bool ks_lines_is(const struct ks_lines *l, const char *key); /* false behind the last line, too */
void ks_lines_next(struct ks_lines *l);
/* The current line must have this key and so many words. */
bool ks_lines_expect(struct ks_lines *l, const char *key, size_t n_words);

/* Words of the current line: borrowed until ks_lines_close(). */
const char *ks_lines_text(struct ks_lines *l, size_t i);
void ks_lines_copy(struct ks_lines *l, size_t i, char *out, size_t cap); /* must fit */
int64_t ks_lines_int(struct ks_lines *l, size_t i, int64_t min, int64_t max);
uint64_t ks_lines_id(struct ks_lines *l, size_t i); /* 16 hex digits */

/* KS_EFORMAT "name:line: cause", unless something has failed already. Returns l->rc. */
int ks_lines_fail(struct ks_lines *l, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
