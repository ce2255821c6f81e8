/* SPDX-License-Identifier: MIT */
/* json.h - strict JSON over libcjson. Keys are case-sensitive; duplicate keys, trailing garbage,
 * numbers that are no exact int64 or finite double, invalid UTF-8, and texts above 64 MiB are
 * refused; every error names the file and line. No measurement ever travels as JSON text. cJSON
 * keeps the place of its last parse error in a global variable: do not parse in two threads. */
#ifndef KS_JSON_H
#define KS_JSON_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cJSON;

struct ks_json; /* a parsed document; owns all its nodes */
struct ks_node; /* a borrowed node of it; NULL means absent */

enum ks_json_kind {
    KS_JSON_NULL,
    KS_JSON_BOOL,
    KS_JSON_INT,
    KS_JSON_REAL,
    KS_JSON_STRING,
    KS_JSON_ARRAY,
    KS_JSON_OBJECT
};

/* Longer texts are refused, so that indices of values fit cJSON's int. */
enum { KS_JSON_MAX_BYTES = 64 << 20 };

/* Nesting is limited to 64. KS_ENOENT/KS_EIO for the file, KS_EFORMAT with "file:line: cause". */
int ks_json_open(const char *path, struct ks_json **doc_out, struct ks_err *err);
/* `name` stands for the file in messages; copied. */
int ks_json_parse(const char *text, size_t len, const char *name, struct ks_json **doc_out,
                  struct ks_err *err);
void ks_json_close(struct ks_json *doc); /* NULL is fine */

const char *ks_json_name(const struct ks_json *doc); /* the path or name given; borrowed */
const struct ks_node *ks_json_root(const struct ks_json *doc);
enum ks_json_kind ks_node_kind(const struct ks_node *n);
const char *ks_node_key(const struct ks_node *n); /* NULL in arrays and for the root */
unsigned ks_node_line(const struct ks_node *n);   /* from 1; 0 for NULL */
size_t ks_node_size(const struct ks_node *n);     /* children of an array or object; 0 for NULL */
const struct ks_node *ks_node_first(const struct ks_node *n);                 /* NULL when empty */
const struct ks_node *ks_node_next(const struct ks_node *n);                  /* NULL at the end */
const struct ks_node *ks_node_at(const struct ks_node *obj, const char *key); /* NULL: absent */

/* "file:line: key.path" of a node, for messages; of a name of more than 160 bytes the end. doc
 * NULL, here and below: without the file. */
void ks_node_where(const struct ks_json *doc, const struct ks_node *n, char *out, size_t cap);
/* KS_EINVAL "file:line: key.path: <text>". */
int ks_node_fail(const struct ks_json *doc, const struct ks_node *n, struct ks_err *err,
                 const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* Typed access; the wrong kind is KS_EINVAL through ks_node_fail. Strings are borrowed. */
int ks_node_bool(const struct ks_json *doc, const struct ks_node *n, bool *out, struct ks_err *err);
int ks_node_int(const struct ks_json *doc, const struct ks_node *n, int64_t *out,
                struct ks_err *err);
int ks_node_real(const struct ks_json *doc, const struct ks_node *n, double *out,
                 struct ks_err *err); /* INT also */
int ks_node_str(const struct ks_json *doc, const struct ks_node *n, const char **out,
                struct ks_err *err);
/* The scalar as the text it would have as an option value ("5", "0.005", "yes", "warm"). */
int ks_node_text(const struct ks_json *doc, const struct ks_node *n, char *out, size_t cap,
                 struct ks_err *err);
/* Every key of obj must be in `keys` (NULL-terminated); else KS_EINVAL naming it and the nearest.
 */
int ks_node_only(const struct ks_json *doc, const struct ks_node *obj, const char *const *keys,
                 struct ks_err *err);

/* Writer: builds a value, which cJSON prints into the buffer when it is complete: when its
 * outermost bracket closes, a scalar outside of brackets at once, and each element of an outermost
 * array by itself, so that a long list needs no more memory than its text. Pretty: 2 spaces,
 * `"key": value`, an array of scalars on one line. Sets the buffer's failed flag: nesting deeper
 * than 32, a bracket or a key out of place, a number that is not finite, out of memory, a value of
 * more than 2 GiB. Bytes that are no UTF-8 become U+FFFD; control characters are escaped, those of
 * Unicode (C1, marks of direction), too. Whole numbers above INT64_MAX are written but not read
 * back by this module. Memory is held while brackets are open; a failure releases it. */
struct ks_jw {
    struct ks_buf *to;      /* borrowed */
    int depth;              /* open brackets */
    struct cJSON *open[32]; /* [depth]; the first one that is not NULL is owned */
    bool is_pretty;
    bool is_list; /* the outermost bracket is an array: it stands in the buffer, open[0] is NULL */
    bool is_element; /* it has one already */
};
void ks_jw_init(struct ks_jw *w, struct ks_buf *to, bool is_pretty);
void ks_jw_open(struct ks_jw *w, const char *key,
                char bracket);                   /* '{' or '['; key NULL in arrays */
void ks_jw_close(struct ks_jw *w, char bracket); /* '}' or ']' */
void ks_jw_str(struct ks_jw *w, const char *key, const char *v); /* NULL: null */
void ks_jw_int(struct ks_jw *w, const char *key, int64_t v);
void ks_jw_u64(struct ks_jw *w, const char *key, uint64_t v);
void ks_jw_real(struct ks_jw *w, const char *key, double v); /* round-trip exact; finite */
/* A quantity that may be missing: null where it is negative or not finite. */
void ks_jw_known(struct ks_jw *w, const char *key, double v);
void ks_jw_id(struct ks_jw *w, const char *key, uint64_t id); /* 16 hex digits, a string */
void ks_jw_bool(struct ks_jw *w, const char *key, bool v);
void ks_jw_null(struct ks_jw *w, const char *key);
/* A parsed node copied as it is. */
void ks_jw_node(struct ks_jw *w, const char *key, const struct ks_node *n);
/* What is open is dropped unwritten: for callers that give up between brackets. */
void ks_jw_drop(struct ks_jw *w);

#endif
