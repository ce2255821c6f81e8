/* SPDX-License-Identifier: MIT */
#include "mpi/net.h"

#include "base/buf.h"
#include "base/clock.h"
#include "mpi/chaos.h"
#include "mpi/launch.h"
#include "mpi/segment.h"

#include <assert.h>
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Open MPI 5 calls its shared memory sm, which was vader. */
#if OMPI_MAJOR_VERSION >= 5
#define SHARED_MEMORY "self,sm,tcp"
#else
#define SHARED_MEMORY "self,vader,tcp"
#endif

enum { TAG = 1, MOST_PULLED = 2048 };

struct slot {
    MPI_Request request;
    uint8_t bytes[KS_NET_MESSAGE_MAX];
};

struct peer {
    struct ks_buf out;
    size_t at;          /* bytes of out that are on their way */
    struct slot *slots; /* [n_slots]; NULL for the loop to oneself */
    uint32_t n_slots, i_oldest, n_busy;
    struct ks_frame_reader in;
    bool is_forgotten;
};

struct ks_net {
    uint32_t rank, size, local_rank, n_local;
    bool is_mpi;
    struct ks_bind_card *cards; /* [n_local] */
    char text[256];
    uint32_t n_peers; /* rank 0: size; others: 1 (rank 0) */
    uint32_t i_next;  /* where ks_net_next continues, so that no rank starves */
    struct peer *peers;
    struct ks_chaos chaos;
    char segment[512];    /* see segment.h */
    bool is_shareable;    /* two threads may call MPI, one at a time */
    pthread_mutex_t lock; /* around MPI and peers[].out */
    uint64_t progress_ns; /* last call of ks_net_progress */
};

static int exchange_cards(struct ks_net *n, MPI_Comm host, const struct ks_bind_card *card,
                          struct ks_err *err)
{
    struct ks_bind_card *mine = malloc(sizeof(*mine));
    n->cards = calloc(n->n_local, sizeof(*n->cards));
    if (!mine || !n->cards) {
        free(mine);
        return ks_fail(err, KS_ENOMEM, "net: out of memory");
    }
    *mine = *card;
    mine->rank = n->rank;
    n->cards[0] = *mine;
    if (n->is_mpi)
        MPI_Allgather(mine, sizeof(*mine), MPI_BYTE, n->cards, sizeof(*mine), MPI_BYTE, host);
    free(mine);
    return 0;
}

static void give_up(int signo)
{
    static const char text[] = "ksweep: MPI did not start in time: a rank or a node is gone; start "
                               "again (--lost-after gives it longer)\n";
    (void)signo;
    (void)!write(STDERR_FILENO, text, sizeof(text) - 1);
    _exit(ks_code_exit(KS_ETIMEOUT));
}

static int start_mpi(struct ks_net *n, uint32_t start_ms, const struct ks_bind_card *card,
                     struct ks_err *err)
{
    signal(SIGALRM, give_up);
    alarm((start_ms + 999) / 1000);
    setenv("OMPI_MCA_pml", "ob1", 0);
    setenv("OMPI_MCA_btl", SHARED_MEMORY, 0);
    int level = MPI_THREAD_SINGLE;
    MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &level);
    n->is_shareable = level >= MPI_THREAD_SERIALIZED;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    int rank = 0, size = 1, local = 0, n_local = 1, len = 0;
    MPI_Comm host;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    n->chaos.rank = (uint32_t)rank;
    ks_chaos(&n->chaos, KS_CHAOS_START);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &host);
    MPI_Comm_rank(host, &local);
    MPI_Comm_size(host, &n_local);
    n->is_mpi = true;
    n->rank = (uint32_t)rank;
    n->size = (uint32_t)size;
    n->local_rank = (uint32_t)local;
    n->n_local = (uint32_t)n_local;
    int rc = exchange_cards(n, host, card, err);
    ks_segment_hide("/proc/self/maps", n->local_rank, n->segment, sizeof(n->segment));
    MPI_Comm_free(&host);
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    MPI_Get_library_version(version, &len);
    version[strcspn(version, ",")] = '\0';
    snprintf(n->text, sizeof(n->text), "%.80s; pml=%.24s btl=%.48s", version,
             getenv("OMPI_MCA_pml"), getenv("OMPI_MCA_btl"));
    return rc;
}

int ks_net_open(uint32_t start_ms, const struct ks_bind_card *card, struct ks_net **net_out,
                struct ks_err *err)
{
    struct ks_net *n = calloc(1, sizeof(*n));
    if (!n)
        return ks_fail(err, KS_ENOMEM, "net: out of memory");
    pthread_mutex_init(&n->lock, NULL);
    n->progress_ns = ks_now_ns();
    n->size = n->n_local = 1;
    snprintf(n->text, sizeof(n->text), "none (one process)");
    int rc = ks_launch_is_live() ? start_mpi(n, start_ms, card, err)
                                 : exchange_cards(n, MPI_COMM_NULL, card, err);
    if (rc < 0) {
        ks_net_close(n, false, 0);
        return rc;
    }
    n->n_peers = n->rank == 0 ? n->size : 1;
    n->peers = calloc(n->n_peers, sizeof(*n->peers));
    if (!n->peers) {
        ks_net_close(n, false, 0);
        return ks_fail(err, KS_ENOMEM, "net: out of memory");
    }
    for (uint32_t i = 0; i < n->n_peers; i++) {
        struct peer *p = &n->peers[i];
        ks_buf_init(&p->out);
        ks_frame_reader_init(&p->in);
        bool is_self = n->rank == 0 && i == 0;
        p->n_slots = n->rank == 0 ? KS_NET_OUTSTANDING : KS_NET_REPORTING;
        p->slots = is_self ? NULL : calloc(p->n_slots, sizeof(*p->slots));
        if (!is_self && !p->slots) {
            ks_net_close(n, false, 0);
            return ks_fail(err, KS_ENOMEM, "net: no memory for %u ranks", n->size);
        }
    }
    *net_out = n;
    return 0;
}

int ks_net_agree(struct ks_net *n, int rc, struct ks_err *err)
{
    int mine[2] = { rc < 0 ? 0 : 1, (int)n->rank }, first[2];
    struct {
        int code;
        char text[sizeof(err->text)];
    } why = { .code = rc };
    if (!n->is_mpi)
        return rc;
    MPI_Allreduce(mine, first, 1, MPI_2INT, MPI_MINLOC, MPI_COMM_WORLD);
    if (first[0] == 0) {
        if (rc < 0)
            memcpy(why.text, err->text, sizeof(why.text));
        MPI_Bcast(&why, sizeof(why), MPI_BYTE, first[1], MPI_COMM_WORLD);
        rc = ks_fail(err, why.code, "%s", why.text);
    }
    alarm(0);
    signal(SIGALRM, SIG_DFL);
    return rc;
}

void ks_net_gather(struct ks_net *n, const void *mine, size_t bytes, void *all_out)
{
    if (n->is_mpi)
        MPI_Gather(mine, (int)bytes, MPI_BYTE, all_out, (int)bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
    else
        memcpy(all_out, mine, bytes);
}

uint32_t ks_net_rank(const struct ks_net *n)
{
    return n->rank;
}
uint32_t ks_net_size(const struct ks_net *n)
{
    return n->size;
}
uint32_t ks_net_local_rank(const struct ks_net *n)
{
    return n->local_rank;
}
uint32_t ks_net_n_local(const struct ks_net *n)
{
    return n->n_local;
}
const struct ks_bind_card *ks_net_cards(const struct ks_net *n)
{
    return n->cards;
}

const char *ks_net_text(const struct ks_net *n)
{
    return n->text;
}

static struct peer *peer_of(struct ks_net *n, uint32_t rank)
{
    if (n->rank != 0)
        return rank == 0 ? &n->peers[0] : NULL;
    return rank < n->n_peers ? &n->peers[rank] : NULL;
}

int ks_net_send(struct ks_net *n, uint32_t to, uint16_t type, const void *body, size_t len,
                struct ks_err *err)
{
    struct peer *p = peer_of(n, to);
    assert(p);
    pthread_mutex_lock(&n->lock);
    if (!p->is_forgotten)
        ks_frame_put(&p->out, type, body, len);
    bool is_ok = ks_buf_ok(&p->out);
    pthread_mutex_unlock(&n->lock);
    if (!is_ok)
        return ks_fail(err, KS_ENOMEM, "net: no memory for a message to rank %u", to);
    return 0;
}

/* Messages to one rank leave in order, so only the oldest is asked after: each test makes MPI go
 * round all its transports. */
static bool is_oldest_sent(struct peer *p)
{
    int done = 1;
    if (!p->n_busy)
        return false;
    MPI_Test(&p->slots[p->i_oldest].request, &done, MPI_STATUS_IGNORE);
    if (!done)
        return false;
    p->i_oldest = (p->i_oldest + 1) % p->n_slots;
    p->n_busy--;
    return true;
}

static struct slot *free_slot(struct peer *p)
{
    if (p->n_busy == p->n_slots && !is_oldest_sent(p))
        return NULL;
    return &p->slots[(p->i_oldest + p->n_busy) % p->n_slots];
}

static bool push(struct ks_net *n, struct peer *p, uint32_t rank)
{
    bool moved = false;
    if (!p->slots) { /* to oneself */
        if (p->out.len && ks_frame_feed(&p->in, p->out.data, p->out.len, NULL) == 0) {
            ks_buf_clear(&p->out);
            moved = true;
        }
        return moved;
    }
    (void)n;
    while (p->at < p->out.len) {
        struct slot *s = free_slot(p);
        if (!s)
            break;
        size_t len = p->out.len - p->at;
        if (len > KS_NET_MESSAGE_MAX)
            len = KS_NET_MESSAGE_MAX;
        memcpy(s->bytes, p->out.data + p->at, len);
        assert(len <= KS_NET_MESSAGE_MAX);
        if (MPI_Isend(s->bytes, (int)len, MPI_BYTE, (int)rank, TAG, MPI_COMM_WORLD, &s->request) !=
            MPI_SUCCESS)
            break;
        p->n_busy++;
        p->at += len;
        moved = true;
    }
    if (p->at > p->out.len / 2) { /* what is moved is the smaller part */
        ks_buf_drop(&p->out, p->at);
        p->at = 0;
    }
    return moved;
}

static bool pull_one(struct ks_net *n)
{
    int is_there = 0, len = 0;
    MPI_Message message;
    MPI_Status status;
    uint8_t bytes[KS_NET_MESSAGE_MAX];
    if (MPI_Improbe(MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &is_there, &message, &status) !=
            MPI_SUCCESS ||
        !is_there)
        return false;
    MPI_Get_count(&status, MPI_BYTE, &len);
    assert(len >= 0 && (uint32_t)len <= KS_NET_MESSAGE_MAX);
    MPI_Mrecv(bytes, len, MPI_BYTE, &message, MPI_STATUS_IGNORE);
    struct peer *p = peer_of(n, (uint32_t)status.MPI_SOURCE);
    if (p)
        ks_frame_feed(&p->in, bytes, (size_t)len, NULL);
    return true;
}

bool ks_net_progress(struct ks_net *n)
{
    bool moved = false;
    uint64_t now = ks_now_ns();
    pthread_mutex_lock(&n->lock);
    n->progress_ns = now;
    for (uint32_t i = 0; i < n->n_peers; i++)
        if (!n->peers[i].is_forgotten)
            moved |= push(n, &n->peers[i], n->rank == 0 ? i : 0);
    if (n->is_mpi)
        for (int k = 0; k < MOST_PULLED && pull_one(n); k++)
            moved = true;
    pthread_mutex_unlock(&n->lock);
    return moved;
}

bool ks_net_can_beat(const struct ks_net *n)
{
    return n->is_mpi && n->is_shareable && n->size > 1;
}

uint64_t ks_net_beat(struct ks_net *n, uint64_t now_ns, uint64_t away_ns)
{
    static const uint8_t body[16] = { 0 };
    pthread_mutex_lock(&n->lock);
    bool is_away = now_ns >= n->progress_ns + away_ns && now_ns < n->progress_ns + KS_NET_STUCK_NS;
    for (uint32_t i = 0; is_away && i < n->n_peers; i++) {
        struct peer *p = &n->peers[i];
        if (p->is_forgotten || !p->slots)
            continue;
        if (p->at == p->out.len) /* else something goes there anyway, as soon as it can */
            ks_frame_put(&p->out, KS_F_MSG_BEAT, body, sizeof(body));
        push(n, p, n->rank == 0 ? i : 0);
    }
    uint64_t due_ns = n->progress_ns + away_ns;
    pthread_mutex_unlock(&n->lock);
    return due_ns > now_ns ? due_ns - now_ns : 0;
}

int ks_net_next(struct ks_net *n, uint32_t *from_out, struct ks_frame *f_out)
{
    for (uint32_t k = 0; k < n->n_peers; k++) {
        uint32_t i = (n->i_next + k) % n->n_peers;
        if (ks_frame_next(&n->peers[i].in, f_out) == 1) {
            *from_out = n->rank == 0 ? i : 0;
            n->i_next = i;
            return 1;
        }
    }
    n->i_next = n->n_peers > 1 ? (n->i_next + 1) % n->n_peers : 0;
    return 0;
}

void ks_net_forget(struct ks_net *n, uint32_t rank)
{
    struct peer *p = peer_of(n, rank);
    if (!p)
        return;
    pthread_mutex_lock(&n->lock);
    p->is_forgotten = true;
    ks_buf_clear(&p->out);
    p->at = 0;
    pthread_mutex_unlock(&n->lock);
}

void ks_net_recall(struct ks_net *n, uint32_t rank)
{
    struct peer *p = peer_of(n, rank);
    pthread_mutex_lock(&n->lock);
    if (p)
        p->is_forgotten = false;
    pthread_mutex_unlock(&n->lock);
}

bool ks_net_is_flushed(struct ks_net *n)
{
    bool is_flushed = true;
    pthread_mutex_lock(&n->lock);
    for (uint32_t i = 0; i < n->n_peers && is_flushed; i++) {
        struct peer *p = &n->peers[i];
        if (p->is_forgotten)
            continue;
        while (is_oldest_sent(p))
            ;
        is_flushed = !p->out.len && !p->n_busy;
    }
    pthread_mutex_unlock(&n->lock);
    return is_flushed;
}

static void *finalize(void *ignored)
{
    MPI_Finalize();
    return ignored;
}

/* In a thread of its own, which is left behind when it does not come back. */
static bool finalize_within(uint32_t end_ms)
{
    pthread_t thread;
    struct timespec until;
    if (pthread_create(&thread, NULL, finalize, NULL) != 0)
        return false;
    uint64_t end_ns = ks_now_ns() + (end_ms + 1000) * 1000000ull;
    until = (struct timespec){ (time_t)(end_ns / 1000000000u), (long)(end_ns % 1000000000u) };
    return pthread_clockjoin_np(thread, NULL, CLOCK_MONOTONIC, &until) == 0;
}

bool ks_net_close(struct ks_net *n, bool is_clean, uint32_t end_ms)
{
    if (!n)
        return is_clean;
    if (n->is_mpi && is_clean) {
        ks_chaos(&n->chaos, KS_CHAOS_END);
        ks_segment_show(n->segment);
        is_clean = finalize_within(end_ms);
    }
    for (uint32_t i = 0; n->peers && i < n->n_peers; i++) {
        ks_buf_release(&n->peers[i].out);
        ks_frame_reader_release(&n->peers[i].in);
        if (is_clean || !n->is_mpi) /* else a send may still read from them */
            free(n->peers[i].slots);
    }
    free(n->peers);
    free(n->cards);
    free(n);
    return is_clean;
}
