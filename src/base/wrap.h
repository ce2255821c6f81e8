/* SPDX-License-Identifier: MIT */
/* wrap.h - text in lines of limited width, for help on a terminal. */
#ifndef KS_BASE_WRAP_H
#define KS_BASE_WRAP_H

#include "base/buf.h"

/* Columns of the terminal behind a descriptor: $COLUMNS where it is a number from 20 to 1000, else
 * what the terminal says, else 80. */
unsigned ks_wrap_width(int fd);

/* Appends `text` behind what stands in `column` columns of the last line: between words a line ends
 * before column `width`, and the next one begins with `indent` blanks. "[--to FILE | --count]" is a
 * word as long as it fits into a line of its own. Line ends in `text` stay, with the indent behind
 * them. A longer word stands alone, uncut. width 0: no limit. */
void ks_wrap_put(struct ks_buf *to, const char *text, unsigned column, unsigned indent,
                 unsigned width);

#endif
