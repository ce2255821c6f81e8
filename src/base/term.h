/* SPDX-License-Identifier: MIT */
/* term.h - what a stream's terminal can show. */
#ifndef KS_BASE_TERM_H
#define KS_BASE_TERM_H

#include <stdbool.h>

struct ks_term {
    bool is_terminal; /* one whose lines can be rewritten: $TERM is neither unset nor dumb */
    bool has_color;   /* a terminal, and $NO_COLOR (no-color.org) is unset or empty */
    bool has_utf8;    /* by the first of $LC_ALL, $LC_CTYPE and $LANG that is set */
    unsigned width;   /* columns (ks_wrap_width) */
    unsigned height;  /* rows; 0: not known */
};

/* fd < 0: of a terminal that another process writes to. */
struct ks_term ks_term_look(int fd);

/* Moves to the line's start and erases it. */
#define KS_TERM_ERASE "\r\033[K"
/* Moves to the top left corner; erases the rest of the line; erases what is behind the cursor. */
#define KS_TERM_HOME "\033[H"
#define KS_TERM_END  "\033[K"
#define KS_TERM_REST "\033[J"

#endif
