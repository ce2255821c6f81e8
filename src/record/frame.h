/* SPDX-License-Identifier: MIT */
/* frame.h - one byte format for the worker's pipe, for MPI and for the disk.
 *
 * frame  = sync(8) type(u16) version(u16) length(u32) header_crc(u32) body_crc(u32) body[length]
 * body   = { tag(u16) length(u32) bytes }*            little-endian, CRC-32C
 * header_crc covers sync..length (16 bytes), body_crc the body; version is that of the body's
 * layout. Unknown tags and unknown types are skipped and counted, never an error; meanings of tags
 * never change. Where a header or a body does not match its CRC, the reader searches the next sync
 * word from one byte further on, so a flipped byte costs one frame. */
#ifndef KS_RECORD_FRAME_H
#define KS_RECORD_FRAME_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KS_FRAME_HEADER   24u
#define KS_FRAME_BODY_MAX (1u << 20)
#define KS_FRAME_VERSION  1u
#define KS_FRAME_SYNC     "\x89KSWEEP\n" /* 8 bytes, no terminator on the wire */

/* X(name, value): below 100 may stand in a journal; from 100 on only on a wire. */
#define KS_FRAME_LIST(X)                                                                           \
    X(KS_F_SEGMENT, 1)     /* who owns this segment: struct ks_segment */                          \
    X(KS_F_JOB, 2)         /* resolved job: text, digest of the grid */                            \
    X(KS_F_HEARTBEAT, 3)   /* owner alive: realtime */                                             \
    X(KS_F_PROBLEM, 4)     /* id, canonical text, count, name */                                   \
    X(KS_F_INSTANCE, 5)    /* id, canonical text, name */                                          \
    X(KS_F_HOST, 6)        /* provenance of a host: key=value text */                              \
    X(KS_F_DEVICE, 7)      /* struct ks_device_rec */                                              \
    X(KS_F_BUILD, 8)       /* struct ks_build_rec: one instance built or failed */                 \
    X(KS_F_START, 9)       /* struct ks_start: cells that a device is about to measure */          \
    X(KS_F_DONE, 10)       /* struct ks_record: one attempt and round of one cell */               \
    X(KS_F_OUTPUT, 11)     /* struct ks_output: what a kernel printed, the last 64 KiB */          \
    X(KS_F_BLOCK, 12)      /* struct ks_block */                                                   \
    X(KS_F_EVENT, 13)      /* struct ks_event_rec: anything a person should know */                \
    X(KS_F_CLOSE, 14)      /* the owner ends this segment in order */                              \
    X(KS_F_RACE, 15)       /* struct ks_race_rec: where the visits of a problem stand */           \
    X(KS_F_FOUND, 16)      /* an instance that a program timed: struct ks_record, found.h */       \
    X(KS_F_PROGRAM, 17)    /* struct ks_program_run: what a program printed in one run */          \
    X(KS_F_REQ_SETUP, 100) /* agent -> worker, see request.h */                                    \
    X(KS_F_REQ_PROBLEM, 101)                                                                       \
    X(KS_F_REQ_CELL, 102)                                                                          \
    X(KS_F_REQ_CANARY, 103)                                                                        \
    X(KS_F_REQ_END, 104)                                                                           \
    X(KS_F_REQ_PROGRAM, 105) /* agent -> ksweep-profiler: what to run */                           \
    X(KS_F_READY, 110)       /* worker -> agent: set up, device named */                           \
    X(KS_F_PROBE, 111)       /* worker -> agent: --probe result */                                 \
    X(KS_F_MSG_HELLO, 120)   /* rank -> rank 0 and back: src/mpi/msg.h */                          \
    X(KS_F_MSG_LEASE, 121)                                                                         \
    X(KS_F_MSG_LEASE_END, 122)                                                                     \
    X(KS_F_MSG_ACK, 123)                                                                           \
    X(KS_F_MSG_BEAT, 124)                                                                          \
    X(KS_F_MSG_BUILD, 125)                                                                         \
    X(KS_F_MSG_BUILD_END, 126)                                                                     \
    X(KS_F_MSG_DRAIN, 127)                                                                         \
    X(KS_F_MSG_BYE, 128)                                                                           \
    X(KS_F_MSG_FETCH, 129)                                                                         \
    X(KS_F_MSG_SEND, 130)                                                                          \
    X(KS_F_MSG_SENT, 131)                                                                          \
    X(KS_F_MSG_PIECE, 132)                                                                         \
    X(KS_F_MSG_OUTPUT, 133) /* of a program, for its file beside the journal */

enum ks_frame_type {
#define X(name, value) name = value,
    KS_FRAME_LIST(X)
#undef X
};

const char *ks_frame_type_name(uint16_t type); /* "done"; "?" when unknown */

/* Append one whole frame. body may be NULL when n is 0. n <= KS_FRAME_BODY_MAX (asserted). */
void ks_frame_put(struct ks_buf *to, uint16_t type, const void *body, size_t n);
/* Bytes of the whole frame whose header, as ks_frame_put wrote it, begins at `header`. */
size_t ks_frame_size(const uint8_t *header);

/* Body writer: tags appended to a buffer. */
void ks_tag_u64(struct ks_buf *b, uint16_t tag, uint64_t v);
void ks_tag_f64(struct ks_buf *b, uint16_t tag, double v);
void ks_tag_bytes(struct ks_buf *b, uint16_t tag, const void *bytes, size_t n);
void ks_tag_text(struct ks_buf *b, uint16_t tag, const char *text);

/* Body reader: the next field, borrowed from the body. false at the end or when malformed
 * (then *bad is set). Numbers are accepted in 1, 2, 4 or 8 bytes. */
struct ks_field {
    uint16_t tag;
    const uint8_t *bytes;
    size_t n;
};
bool ks_body_next(struct ks_cur *body, struct ks_field *f_out, bool *bad);
uint64_t ks_field_u64(const struct ks_field *f);
double ks_field_f64(const struct ks_field *f);
/* Copies at most cap - 1 bytes and terminates. */
void ks_field_text(const struct ks_field *f, char *out, size_t cap);

struct ks_frame {
    uint16_t type, version;
    const uint8_t *body; /* borrowed from the reader until its next call */
    size_t n;
    uint64_t offset; /* of the sync word, in bytes since the start of the stream */
};

/* Streaming reader: feed bytes as they come, take frames as they complete. */
struct ks_frame_reader {
    struct ks_buf in;
    size_t at;     /* consumed bytes of in */
    uint64_t base; /* stream offset of in.data[0] */
    uint64_t n_frames, n_damaged_bytes, n_damaged_places;
    uint64_t damage_offset; /* of the first damaged byte, valid when n_damaged_places > 0 */
    uint64_t damage_end;    /* offset after the last damaged byte: one place = one run of bytes */
    bool is_ended;          /* ks_frame_finish was called */
};
void ks_frame_reader_init(struct ks_frame_reader *r);
void ks_frame_reader_release(struct ks_frame_reader *r);
int ks_frame_feed(struct ks_frame_reader *r, const void *bytes, size_t n, struct ks_err *err);
/* 1 = a frame, 0 = more bytes are needed. Damage never stops it; see the counters. */
int ks_frame_next(struct ks_frame_reader *r, struct ks_frame *f_out);
/* Erases a frame that was just taken, and all memory of the reader that holds nothing: what the
 * frame said is then nowhere in it, unless the reader's memory was moved (ks_buf_reserve). */
void ks_frame_erase(struct ks_frame_reader *r, const struct ks_frame *f);
/* Bytes fed but not yet consumed: a torn tail when the stream has ended. */
size_t ks_frame_left(const struct ks_frame_reader *r);
/* The stream has ended: treat the rest as data to resynchronise in, so that frames after a damaged
 * length field are still found. Then ks_frame_next as usual. */
void ks_frame_finish(struct ks_frame_reader *r);

#endif
