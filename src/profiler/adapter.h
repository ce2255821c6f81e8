/* SPDX-License-Identifier: MIT */
/* adapter.h - programs that time kernels: the command line of a problem, and its output as rows.
 * Pure: nothing here starts a process, opens a file or reads a clock.
 *
 * To add a program: 1. one file <name>.c with a `const struct ks_profiler` (profiler_impl.h);
 * 2. one row in ks_profilers[] (adapter.c); 3. its rows in tests/unit/test_profiler_<name>.c;
 * 4. its section in docs/profilers.md. */
#ifndef KS_PROFILER_ADAPTER_H
#define KS_PROFILER_ADAPTER_H

#include "base/buf.h"
#include "base/err.h"
#include "op/op.h"
#include "json/json.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- adapters and their options ---- */

struct ks_profiler; /* one kind of program; a row of the table */

extern const struct ks_profiler *const ks_profilers[]; /* NULL-terminated */

const char *ks_profiler_name(const struct ks_profiler *a);    /* "ckprofiler" */
const char *ks_profiler_summary(const struct ks_profiler *a); /* one line for --help */
/* KS_ENOENT: the message lists the known names and the nearest one. */
int ks_profiler_find(const char *name, const struct ks_profiler **out, struct ks_err *err);

/* An adapter with its options resolved. */
struct ks_profiler_setup;

/* ks_profiler_setup_read() - the options of a job's "kernels" entry.
 * @doc     [in] the document, for messages with file, line and key
 * @options [in] the object under "options"; NULL: all defaults
 * @out     [out] untouched on failure
 * Returns 0; KS_EINVAL unknown key or value, a required option is missing.   Owns: caller destroys.
 */
int ks_profiler_setup_read(const struct ks_profiler *a, const struct ks_json *doc,
                           const struct ks_node *options, struct ks_profiler_setup **out,
                           struct ks_err *err);
/* The same from a JSON text such as {"version": "2024"}; "" or NULL: all defaults. */
int ks_profiler_setup_parse(const struct ks_profiler *a, const char *json,
                            struct ks_profiler_setup **out, struct ks_err *err);
void ks_profiler_setup_destroy(struct ks_profiler_setup *s); /* NULL is fine */

const struct ks_profiler *ks_profiler_of(const struct ks_profiler_setup *s);
/* Resolved options as one line of JSON with defaults filled in: part of the identity of a run. */
void ks_profiler_setup_text(const struct ks_profiler_setup *s, struct ks_buf *text_out);

/* Who times and how, as far as the adapter knows it from the options: one condition of its own,
 * never to be mixed with samples of ksweep without saying so. */
struct ks_profiler_protocol {
    char version[32];   /* of the program, as the options give it; "" unknown */
    int32_t n_warmup;   /* untimed launches before; -1 unknown */
    int32_t n_repeats;  /* timed launches per row; -1 unknown */
    char cache[16];     /* "warm", "flushed"; "" unknown */
    char statistic[16]; /* "mean", "median", "min"; "" unknown */
    char verified[16];  /* by the program against: "none", "cpu", "gpu"; "" unknown */
};
void ks_profiler_protocol_of(const struct ks_profiler_setup *s, const struct ks_problem *p,
                             struct ks_profiler_protocol *out);

/* ---- programs and command lines ---- */

/* The i-th file name to look for when a job's "path" is a directory ("profile_grouped_conv_fwd",
 * "grouped_conv_fwd", "ckProfiler", "MIOpenDriver"); false: there are no more. It may depend on the
 * problem. name_out: replaced. */
bool ks_profiler_program_name(const struct ks_profiler_setup *s, const struct ks_problem *p,
                              unsigned i, struct ks_buf *name_out);

/* Words of a command line, as execv(3) and ks_shell_words() take them. */
struct ks_profiler_command {
    char **words; /* [n], then NULL; owned */
    size_t n;
};
void ks_profiler_command_release(struct ks_profiler_command *c); /* all zero is fine */

/* Which instance alone is to run: one row of a listing. */
struct ks_profiler_choice {
    int64_t index;    /* ks_profiler_row.index */
    const char *name; /* its name; NULL: unknown */
};

/* ks_profiler_command() - what to run for a problem.
 * @program [in] words[0]. Its file name decides the form of ckProfiler's arguments: one that names
 *               the operation (profile_OP, OP) takes no operation as its first argument
 * @choice  [in] NULL: all instances that the program has
 * Returns 0; KS_EUNSUPPORTED: this program cannot run this problem (or choose an instance), the
 * text says why: an outcome of the run, not an error of the job; KS_ENOMEM. */
int ks_profiler_command(const struct ks_profiler_setup *s, const struct ks_problem *p,
                        const char *program, const struct ks_profiler_choice *choice,
                        struct ks_profiler_command *out, struct ks_err *err);
/* The command whose output lists instances without timing them; the reader gives each as a row with
 * outcome KS_O_NONE and the index to choose it by. KS_EUNSUPPORTED: the program cannot list. */
int ks_profiler_list_command(const struct ks_profiler_setup *s, const struct ks_problem *p,
                             const char *program, struct ks_profiler_command *out,
                             struct ks_err *err);
/* Is a run to be split into a listing and one run per instance (miopendriver, mode "solutions")? */
bool ks_profiler_runs_by_choice(const struct ks_profiler_setup *s);

/* Environment that the program needs: NAME is set to DIR/subdirectory of the run's own working
 * directory (is_directory), else to the text. NULL: no more. */
struct ks_profiler_variable {
    const char *name, *value;
    bool is_directory;
};
const struct ks_profiler_variable *ks_profiler_variable(const struct ks_profiler_setup *s,
                                                        unsigned i);

/* ---- output ---- */

#define KS_PROFILER_UNTOLD INT64_MIN /* of split-k and index: the program does not say */

struct ks_profiler_trait {
    const char *key, *value;
};

/* One instance's line. All pointers are borrowed until the callback returns. Texts are as printed,
 * without escape sequences; whoever prints them escapes them (base/text.h). */
struct ks_profiler_row {
    const char *instance; /* whole name, NUL-terminated, any length, not empty */
    size_t n_instance;    /* bytes */
    uint32_t ordinal;     /* 0: first row of this name and requested split-k in this output */
    uint32_t outcome; /* KS_O_OK, KS_O_UNSUPPORTED, KS_O_WRONG_RESULT, KS_O_UNTRUSTED; KS_O_NONE: of
                         a listing */
    double time_ns;   /* one mean or median (ks_profiler_protocol); 0: not told */
    double flops_per_s;                      /* as printed; 0: not told */
    double bytes_per_s;                      /* as printed; 0: not told */
    int64_t split_k_requested, split_k_used; /* KS_PROFILER_UNTOLD; requested -1: the program chose
                                                it (then `used` says which) */
    int64_t index;                           /* to choose it by; KS_PROFILER_UNTOLD */
    bool is_verified;                        /* the program checked the result and found no fault */
    const char *reason;                      /* of an outcome that is not ok; "" none */
    const struct ks_profiler_trait *traits;  /* [n_traits] from the name, or from further fields */
    size_t n_traits;
    const char *rest; /* what of the line or name no trait holds; "" none */
    uint64_t line;    /* of the output, from 1 */
};
/* Returns 0, or < 0 with err filled: reading stops with that code. */
typedef int (*ks_profiler_row_fn)(void *context, const struct ks_profiler_row *row,
                                  struct ks_err *err);

/* What an output held. */
struct ks_profiler_summary {
    uint64_t n_rows; /* = n_ok + n_unsupported + n_wrong + n_untrusted +
                        n_listed */
    uint64_t n_ok, n_unsupported, n_wrong, n_untrusted, n_listed;
    uint64_t n_lines, n_other_lines; /* other: neither a row nor known text */
    uint64_t n_cut_lines;            /* longer than KS_PROFILER_LINE_MAX; their rest is lost */
    uint64_t n_bytes;
    int64_t n_found; /* instances the program says it has; -1 not told */
    int64_t n_valid; /* of them able to run the problem; -1 not told */
    bool has_end;    /* the program printed what it prints last */
    bool
        is_unimplemented; /* it says that it has nothing for this type and layout (exit status 1) */
    const char *reason;   /* then, or the program's own error text; "" none; borrowed from the
                             reader */
    const char *best;     /* the instance that the program calls best; "" none; borrowed */
    double best_time_ns;  /* 0: none */
};

enum { KS_PROFILER_LINE_MAX = 1 << 20 };

/* Reads one run's output: bytes in pieces of any size, as they come from a pipe, a terminal or a
 * file. Escape sequences (colours), carriage returns and NUL bytes are dropped; the last line needs
 * no end. A row is given when the next one begins, or at the end, because a later line may still
 * say that its result was wrong. */
struct ks_profiler_reader;

/* @p [in] NULL: unknown (a kept log); a row's rate is then only what the program prints
 * @choice [in] what ks_profiler_command() was given; borrowed only during the call */
int ks_profiler_reader_open(const struct ks_profiler_setup *s, const struct ks_problem *p,
                            const struct ks_profiler_choice *choice, ks_profiler_row_fn on_row,
                            void *context, struct ks_profiler_reader **out, struct ks_err *err);
/* KS_ENOMEM, or what the callback returned; from then on the reader only can be closed. Garbage is
 * no error. */
int ks_profiler_reader_feed(struct ks_profiler_reader *r, const void *bytes, size_t n,
                            struct ks_err *err);
/* The last line and the last row; whatever was printed counts, also before a crash. */
int ks_profiler_reader_end(struct ks_profiler_reader *r, struct ks_err *err);
/* Valid from open to close; final after end. */
const struct ks_profiler_summary *ks_profiler_reader_summary(const struct ks_profiler_reader *r);
/* The instance that was running when the output broke off, to which a crash or timeout belongs;
 * NULL: the program does not tell, it belongs to the run. Borrowed. The row of an instance that has
 * been given is not running any more. */
const char *ks_profiler_reader_running(const struct ks_profiler_reader *r);
/* The ordinal that a row of that instance would get now: how many of its name came before. */
uint32_t ks_profiler_reader_running_ordinal(const struct ks_profiler_reader *r);
void ks_profiler_reader_close(struct ks_profiler_reader *r); /* NULL is fine */

/* Id of an instance that a run found: digest of adapter, program version, operator, direction,
 * dtype, layout, whole name, requested split-k and ordinal. */
uint64_t ks_profiler_instance_id(const struct ks_profiler_setup *s, const char *version,
                                 const struct ks_problem *p, const struct ks_profiler_row *row);
/* The text that is hashed, as texts of kernel families are: "family=ckprofiler abi=1 version=2025
 * operator=.. name=..", one word per key; blanks, '|', '=', '%' and control characters of values as
 * %XX. */
void ks_profiler_instance_text(const struct ks_profiler_setup *s, const char *version,
                               const struct ks_problem *p, const struct ks_profiler_row *row,
                               struct ks_buf *text_out);

#endif
