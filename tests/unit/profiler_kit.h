/* SPDX-License-Identifier: MIT */
/* profiler_kit.h - outputs of programs through an adapter, as text to compare. */
#ifndef KS_TEST_PROFILER_KIT_H
#define KS_TEST_PROFILER_KIT_H

#include "profiler/adapter.h"

#include <stddef.h>

/* What a run's output gives: one line per row,
 *     outcome "name" #ordinal t=ns f=flop/s b=bytes/s k=requested/used i=index [v] [?reason]
 *     [key=value..] [+rest]
 * with what is not told left out, then "= rows ok unsupported wrong untrusted listed other" and, if
 * any, "end", "unimplemented", "found N", "valid N", "best NAME", "running NAME [#ordinal]", "says
 * REASON". */
void profiler_read(const char *adapter, const char *options, const struct ks_problem *p,
                   const struct ks_profiler_choice *choice, const void *bytes, size_t n,
                   size_t chunk, struct ks_buf *out);
/* Reads the output whole and in pieces of 1, 3 and 64 bytes, all with the same result `want`. */
void profiler_expect(const char *adapter, const char *options, const char *output,
                     const char *want);
/* A convolution from its CSV row without operator and trailing columns, for example
 * "forward,bf16,nhwgc,2,n,g,c,k,1,h,w,1,y,x,1,sh,sw,1,dh,dw,0,ph,pw,0,ph,pw". */
struct ks_problem profiler_problem(const char *canonical);
/* The command line as a shell would take it, or "! " and why not. */
void profiler_words(const char *adapter, const char *options, const struct ks_problem *p,
                    const char *program, const struct ks_profiler_choice *choice,
                    struct ks_buf *out);
/* The message that these options are refused with. */
void profiler_refuses(const char *adapter, const char *options, const char *want);

#endif
