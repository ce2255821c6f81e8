/* SPDX-License-Identifier: MIT */
/* words.h - which characters names in families and configs are made of. */
#ifndef KS_GRID_WORDS_H
#define KS_GRID_WORDS_H

#define KS_LOWER    "abcdefghijklmnopqrstuvwxyz"
#define KS_UPPER    "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define KS_DIGITS   "0123456789"
#define KS_WORD     KS_LOWER KS_DIGITS "_"
#define KS_ANY_WORD KS_LOWER KS_UPPER KS_DIGITS "_"

#endif
