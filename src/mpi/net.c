/* SPDX-License-Identifier: MIT */
/* net.c - frames between rank 0 and the others over MPI point-to-point messages */
#include "mpi/net.h"

#include "base/buf.h"
#include "base/clock.h"
#include "mpi/chaos.h"
#include "mpi/launch.h"
#include "mpi/mpi_calls.h"
#include "mpi/segment.h"

#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MOST_PULLED = 2048 };

struct slot {
    void *request; /* of MPI */
    uint8_t bytes[KS_NET_MESSAGE_MAX];
};

struct peer {
    struct ks_buf out;
    size_t at;          /* bytes of out that are on their way */
    size_t begun;       /* where the frame begins that `at` is in or before */
    struct slot *slots; /* [n_slots]; NULL for the loop to oneself */
    uint32_t n_slots, i_oldest, n_busy;
    struct ks_frame_reader in;
    bool is_forgotten;
};

struct ks_net {
    uint32_t rank, size, local_rank, n_local;
    const struct ks_mpi_calls *mpi; /* NULL: one process */
    struct ks_bind_card *cards;     /* [n_local] */
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

/* Of this rank: the cards of its host, one more to send, and a peer each. */
static int allocate(struct ks_net *n, struct ks_err *err)
{
    n->n_peers = n->rank == 0 ? n->size : 1;
    n->cards = calloc((size_t)n->n_local + 1, sizeof(*n->cards));
    n->peers = calloc(n->n_peers, sizeof(*n->peers));
    for (uint32_t i = 0; n->peers && i < n->n_peers; i++) {
        ks_buf_init(&n->peers[i].out);
        ks_frame_reader_init(&n->peers[i].in);
    }
    bool has_all = n->cards && n->peers;
    for (uint32_t i = 0; has_all && i < n->n_peers; i++) {
        struct peer *p = &n->peers[i];
        bool is_self = n->rank == 0 && i == 0;
        p->n_slots = n->rank == 0 ? KS_NET_OUTSTANDING : KS_NET_REPORTING;
        p->slots = is_self ? NULL : calloc(p->n_slots, sizeof(*p->slots));
        has_all = is_self || p->slots;
    }
    return has_all ? 0
                   : ks_fail(err, KS_ENOMEM, "rank %u: out of memory for messages of %u ranks",
                             n->rank, n->size);
}

/* Collective: where one failed, all return the code and the text of the lowest one that did. */
static int agree(const struct ks_net *n, int rc, struct ks_err *err)
{
    int has_all = 0, who = 0;
    struct {
        int code;
        char text[sizeof(err->text)];
    } why = { .code = rc };
    if (!n->mpi)
        return rc;
    n->mpi->smallest(rc < 0 ? 0 : 1, (int)n->rank, &has_all, &who);
    if (has_all)
        return rc;
    if (rc < 0)
        memcpy(why.text, err->text, sizeof(why.text));
    n->mpi->bcast(&why, (int)sizeof(why), who);
    return ks_fail(err, why.code, "%s", why.text);
}

static void give_up(int signo)
{
    static const char text[] = "ksweep: MPI did not start in time: a rank or a node is gone; start "
                               "again (a larger --lost-after waits longer)\n";
    (void)signo;
    (void)!write(STDERR_FILENO, text, sizeof(text) - 1);
    _exit(ks_code_exit(KS_ETIMEOUT));
}

static void exchange_cards(struct ks_net *n, void *host, const struct ks_bind_card *card)
{
    struct ks_bind_card *mine = &n->cards[n->n_local];
    *mine = *card;
    mine->rank = n->rank;
    if (n->mpi)
        n->mpi->host_allgather(host, mine, (int)sizeof(*mine), n->cards);
    else
        n->cards[0] = *mine;
}

static int start_mpi(struct ks_net *n, uint32_t start_ms, const struct ks_bind_card *card,
                     struct ks_err *err)
{
    const struct ks_mpi_calls *mpi;
    struct ks_mpi_place place;
    char version[96];
    int rc = ks_mpi_calls_load(&mpi, err), local = 0, n_local = 1;
    if (rc < 0)
        return rc;
    signal(SIGALRM, give_up);
    alarm((start_ms + 999) / 1000);
    setenv("OMPI_MCA_pml", "ob1", 0);
    setenv("OMPI_MCA_btl", ks_launch_transports(), 0);
    mpi->init(&place);
    n->mpi = mpi;
    n->is_shareable = place.is_shareable;
    n->chaos.rank = (uint32_t)place.rank;
    ks_chaos(&n->chaos, KS_CHAOS_START);
    void *host = mpi->host_open(place.rank, &local, &n_local);
    n->rank = (uint32_t)place.rank;
    n->size = (uint32_t)place.size;
    n->local_rank = (uint32_t)local;
    n->n_local = (uint32_t)n_local;
    rc = agree(n, allocate(n, err), err); /* else the others would wait for this one's card */
    if (rc == 0)
        exchange_cards(n, host, card);
    ks_segment_hide("/proc/self/maps", n->local_rank, n->segment, sizeof(n->segment));
    mpi->host_close(host);
    mpi->version(version, sizeof(version));
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
    const bool is_launched = ks_launch_is_live();
    int rc = is_launched ? start_mpi(n, start_ms, card, err) : allocate(n, err);
    if (rc < 0) {
        (void)ks_net_close(n, n->mpi != NULL, start_ms); /* all of them do */
        return rc;
    }
    if (!is_launched)
        exchange_cards(n, NULL, card);
    *net_out = n;
    return 0;
}

int ks_net_agree(struct ks_net *n, int rc, struct ks_err *err)
{
    if (!n->mpi)
        return rc;
    rc = agree(n, rc, err);
    alarm(0);
    signal(SIGALRM, SIG_DFL);
    return rc;
}

int ks_net_gather(struct ks_net *n, const void *mine, size_t bytes, void **all_out,
                  struct ks_err *err)
{
    void *all = n->rank == 0 ? malloc(bytes * n->size) : NULL;
    int rc = n->rank == 0 && !all ? ks_fail(err, KS_ENOMEM, "rank 0: out of memory") : 0;
    rc = agree(n, rc, err);
    if (rc < 0) {
        free(all);
        return rc;
    }
    if (n->mpi)
        n->mpi->gather(mine, (int)bytes, all);
    else
        memcpy(all, mine, bytes);
    *all_out = all;
    return 0;
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
static bool is_oldest_sent(const struct ks_net *n, struct peer *p)
{
    if (!p->n_busy || !n->mpi->is_sent(&p->slots[p->i_oldest].request))
        return false;
    p->i_oldest = (p->i_oldest + 1) % p->n_slots;
    p->n_busy--;
    return true;
}

static struct slot *free_slot(const struct ks_net *n, struct peer *p)
{
    if (p->n_busy == p->n_slots && !is_oldest_sent(n, p))
        return NULL;
    return &p->slots[(p->i_oldest + p->n_busy) % p->n_slots];
}

/* What has left is dropped, frame by frame, as soon as it is the larger part. */
static void drop_sent(struct peer *p)
{
    while (p->begun < p->at) {
        const size_t next = p->begun + ks_frame_size(p->out.data + p->begun);
        if (next > p->at)
            break;
        p->begun = next;
    }
    if (p->begun <= p->out.len / 2)
        return;
    ks_buf_drop(&p->out, p->begun);
    p->at -= p->begun;
    p->begun = 0;
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
    while (p->at < p->out.len) {
        struct slot *s = free_slot(n, p);
        if (!s)
            break;
        size_t len = p->out.len - p->at;
        if (len > KS_NET_MESSAGE_MAX)
            len = KS_NET_MESSAGE_MAX;
        memcpy(s->bytes, p->out.data + p->at, len);
        assert(len <= KS_NET_MESSAGE_MAX);
        if (!n->mpi->send(s->bytes, (int)len, (int)rank, &s->request))
            break;
        p->n_busy++;
        p->at += len;
        moved = true;
    }
    drop_sent(p);
    return moved;
}

static bool pull_one(struct ks_net *n)
{
    uint8_t bytes[KS_NET_MESSAGE_MAX];
    int from = 0;
    const int len = n->mpi->receive(bytes, (int)sizeof(bytes), &from);
    if (len < 0)
        return false;
    assert((uint32_t)len <= KS_NET_MESSAGE_MAX);
    struct peer *p = peer_of(n, (uint32_t)from);
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
    if (n->mpi)
        for (int k = 0; k < MOST_PULLED && pull_one(n); k++)
            moved = true;
    pthread_mutex_unlock(&n->lock);
    return moved;
}

bool ks_net_can_beat(const struct ks_net *n)
{
    return n->mpi && n->is_shareable && n->size > 1;
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

/* Frames of which nothing has left are dropped. The rest of one that was cut stays for the time
 * after ks_net_recall: without it the rank would take the frames that follow for its body. */
static void drop_unsent(struct peer *p)
{
    const bool is_cut = p->begun < p->at;
    ks_buf_cut(&p->out, p->begun + (is_cut ? ks_frame_size(p->out.data + p->begun) : 0));
}

void ks_net_forget(struct ks_net *n, uint32_t rank)
{
    struct peer *p = peer_of(n, rank);
    if (!p)
        return;
    pthread_mutex_lock(&n->lock);
    p->is_forgotten = true;
    drop_unsent(p);
    pthread_mutex_unlock(&n->lock);
}

bool ks_net_recall(struct ks_net *n, uint32_t rank)
{
    struct peer *p = peer_of(n, rank);
    pthread_mutex_lock(&n->lock);
    const bool was_forgotten = p && p->is_forgotten;
    if (p)
        p->is_forgotten = false;
    pthread_mutex_unlock(&n->lock);
    return was_forgotten;
}

bool ks_net_is_flushed(struct ks_net *n)
{
    bool is_flushed = true;
    pthread_mutex_lock(&n->lock);
    for (uint32_t i = 0; i < n->n_peers && is_flushed; i++) {
        struct peer *p = &n->peers[i];
        if (p->is_forgotten)
            continue;
        while (is_oldest_sent(n, p))
            ;
        is_flushed = !p->out.len && !p->n_busy;
    }
    pthread_mutex_unlock(&n->lock);
    return is_flushed;
}

static void *finalize(void *net)
{
    const struct ks_net *n = net;
    n->mpi->finalize();
    return NULL;
}

/* In a thread of its own, which is left behind when it does not come back. */
static bool finalize_within(struct ks_net *n, uint32_t end_ms)
{
    pthread_t thread;
    struct timespec until;
    if (pthread_create(&thread, NULL, finalize, n) != 0)
        return false;
    uint64_t end_ns = ks_now_ns() + (end_ms + 1000) * 1000000ull;
    until = (struct timespec){ (time_t)(end_ns / 1000000000u), (long)(end_ns % 1000000000u) };
    return pthread_clockjoin_np(thread, NULL, CLOCK_MONOTONIC, &until) == 0;
}

bool ks_net_close(struct ks_net *n, bool is_clean, uint32_t end_ms)
{
    if (!n)
        return is_clean;
    if (n->mpi && is_clean) {
        ks_chaos(&n->chaos, KS_CHAOS_END);
        ks_segment_show(n->segment);
        is_clean = finalize_within(n, end_ms);
    }
    for (uint32_t i = 0; n->peers && i < n->n_peers; i++) {
        ks_buf_release(&n->peers[i].out);
        ks_frame_reader_release(&n->peers[i].in);
        if (is_clean || !n->mpi) /* else a send may still read from them */
            free(n->peers[i].slots);
    }
    free(n->peers);
    free(n->cards);
    free(n);
    return is_clean;
}
