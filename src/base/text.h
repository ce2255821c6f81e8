/* SPDX-License-Identifier: MIT */
/* text.h - texts from outside (names, paths, output of compilers and kernels) on their way to a
 * terminal, a log, a CSV file, a Markdown table or a shell. Modules carry such texts as they are;
 * whoever prints them escapes them here. */
#ifndef KS_BASE_TEXT_H
#define KS_BASE_TEXT_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Bytes of the first character of `left` > 0 bytes of UTF-8; 0: not valid (overlong forms,
 * surrogates and numbers above 0x10ffff are not). */
size_t ks_utf8_next(const unsigned char *p, size_t left);
/* The number of the n bytes that ks_utf8_next gave. */
uint32_t ks_utf8_code(const unsigned char *p, size_t n);
/* Characters of n bytes of UTF-8: all bytes but those that continue a character. */
size_t ks_utf8_count(const char *text, size_t n);
/* Is it one that moves a terminal's cursor, ends a line or turns the direction of text? C0, DEL,
 * C1, U+2028 to U+202E, U+2066 to U+2069. */
bool ks_utf8_is_control(uint32_t code);

/* Does the text end in these characters? */
bool ks_text_ends_in(const char *text, const char *end);

/* ks_tail_keep() - appends to the last `cap` bytes of a stream, dropping the oldest.
 * @tail [in,out] [cap], of which n_tail hold bytes
 * Returns the new n_tail. */
uint32_t ks_tail_keep(char *tail, uint32_t n_tail, uint32_t cap, const char *bytes, size_t n);

/* What becomes of line ends. Tabs stay where lines stay. */
enum ks_line_ends {
    KS_LINES_NONE,  /* \n and \t are escaped: one line */
    KS_LINES_KEEP,  /* as they are */
    KS_LINES_INDENT /* 4 blanks begin each further line, so that none looks like a new entry; those
                       at the end are dropped */
};

/* Control characters are escaped as \n, \t, \r or the \xNN of their bytes, and so are bytes that
 * are not UTF-8. Backslashes stay as they are. */
void ks_text_put(struct ks_buf *to, const char *text, size_t n, enum ks_line_ends lines);
/* The same into out [cap > 0], NUL-terminated, cut between two characters. Returns its length. */
size_t ks_text_escape(char *out, size_t cap, const char *text, size_t n, enum ks_line_ends lines);
/* And straight to a stream. false: it could not be written. */
bool ks_text_write(FILE *to, const char *text, size_t n, enum ks_line_ends lines);
/* A line of a message: "prefix: text", further lines indented, in one write. */
void ks_text_print(FILE *to, const char *prefix, const char *text);

/* A field of CSV: escaped to one line, in quotes where RFC 4180 wants them or blanks at an end
 * would be trimmed. */
void ks_csv_put(struct ks_buf *to, const char *text);
/* ks_csv_split() - splits a line of CSV in place (RFC 4180: "a, ""b""" is one field; a row is one
 * line).
 * @is_trimmed [in] blanks around a field do not belong to it
 * @fields [out] [most], of which *n_out are set
 * Returns NULL, or what is wrong. */
const char *ks_csv_split(char *line, bool is_trimmed, const char **fields, size_t most,
                         size_t *n_out);

/* A cell of a Markdown table: escaped to one line, with a backslash before each character that
 * means something to Markdown; '<' and '&' stand as "&lt;" and "&amp;". */
void ks_markdown_put(struct ks_buf *to, const char *text);

/* One word of a shell's command line, quoted unless it needs no quotes. 'a b' is for every shell;
 * control characters stand in $'\012', which bash, zsh, ksh and POSIX 2024 know. */
void ks_shell_put(struct ks_buf *to, const char *word);
/* A command line: words (NULL-terminated) with blanks between them. */
void ks_shell_words(struct ks_buf *to, const char *const *words);

#endif
