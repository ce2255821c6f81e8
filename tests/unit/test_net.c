/* SPDX-License-Identifier: MIT */
/* test_net.c - at the start of MPI, a rank that is out of memory does not leave the others in a
 * collective: all agree on the error first. A rank that returns after it was lost can read what it
 * is sent. MPI is replaced by a log of its calls. */
#include "fault.h"

#include "mpi/launch.h"
#include "mpi/mpi_calls.h"
#include "mpi/net.h"
#include "mpi/segment.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define START_MS 10000u

static struct {
    int rank;
    bool does_other_fail;
    char log[256];
    uint32_t n_room;           /* messages that MPI takes before it is full */
    struct ks_frame_reader in; /* what the other rank makes of them */
} world;

static void note(const char *what)
{
    const size_t at = strlen(world.log), n_free = sizeof(world.log) - at;

    assert_true((size_t)snprintf(world.log + at, n_free, "%s, ", what) < n_free);
}

static void init(struct ks_mpi_place *out)
{
    note("init");
    *out = (struct ks_mpi_place){ .rank = world.rank, .size = 2 };
}

static void finalize(void)
{
    note("finalize");
}

static void version(char *text_out, size_t cap)
{
    snprintf(text_out, cap, "a fake");
}

static void *host_open(int rank, int *local_rank_out, int *n_local_out)
{
    *local_rank_out = rank;
    *n_local_out = 2;
    return &world;
}

static void host_allgather(void *host, const void *mine, int n, void *all_out)
{
    assert_ptr_equal(host, &world);
    memcpy((char *)all_out + (size_t)n * (size_t)world.rank, mine, (size_t)n);
    note("cards");
}

static void host_close(void *host)
{
    assert_ptr_equal(host, &world);
}

static void smallest(int value, int rank, int *value_out, int *rank_out)
{
    note("agree");
    *value_out = value && !world.does_other_fail;
    *rank_out = value ? 1 - rank : rank;
}

static void bcast(void *bytes, int n, int root)
{
    const int code = KS_ENOMEM;

    note("why");
    if (root == world.rank)
        return;
    memcpy(bytes, &code, sizeof(code));
    snprintf((char *)bytes + sizeof(code), (size_t)n - sizeof(code), "the other one");
}

static void gather(const void *mine, int n, void *all_out)
{
    note("gather");
    if (world.rank == 0)
        memcpy(all_out, mine, (size_t)n);
}

static bool send_to(const void *bytes, int n, int to, void **request_out)
{
    assert_int_equal(to, 1);
    *request_out = NULL;
    if (!world.n_room)
        return false;
    world.n_room--;
    assert_int_equal(ks_frame_feed(&world.in, bytes, (size_t)n, NULL), 0);
    return true;
}

static bool is_sent(void **request)
{
    (void)request;
    return true;
}

static int receive(void *bytes_out, int cap, int *from_out)
{
    (void)bytes_out;
    (void)cap;
    (void)from_out;
    return -1;
}

static const struct ks_mpi_calls calls = {
    .abi = KS_MPI_CALLS_ABI,
    .init = init,
    .finalize = finalize,
    .version = version,
    .host_open = host_open,
    .host_allgather = host_allgather,
    .host_close = host_close,
    .smallest = smallest,
    .bcast = bcast,
    .gather = gather,
    .send = send_to,
    .is_sent = is_sent,
    .receive = receive,
};

int ks_mpi_calls_load(const struct ks_mpi_calls **out, struct ks_err *err)
{
    (void)err;
    *out = &calls;
    return 0;
}

bool ks_launch_is_live(void)
{
    return true;
}

const char *ks_launch_transports(void)
{
    return "self";
}

void ks_segment_hide(const char *maps, uint32_t local_rank, char *path_out, size_t cap)
{
    (void)maps;
    (void)local_rank;
    assert_true(cap > 0);
    path_out[0] = '\0';
}

void ks_segment_show(const char *path)
{
    assert_string_equal(path, "");
}

static int open_as(int rank, bool does_other_fail, struct ks_net **net_out, struct ks_err *err)
{
    static const struct ks_bind_card card;

    world.rank = rank;
    world.does_other_fail = does_other_fail;
    world.log[0] = '\0';
    return ks_net_open(START_MS, &card, net_out, err);
}

static void test_the_start(void **state)
{
    struct ks_net *net = NULL;
    struct ks_err err;

    (void)state;
    for (int rank = 0; rank < 2; rank++) {
        unsigned k = 0;
        for (;; k++) {
            fault_arm(k);
            const int rc = open_as(rank, false, &net, &err);
            if (!fault_disarm()) {
                assert_int_equal(rc, 0);
                break;
            }
            assert_int_equal(rc, KS_ENOMEM);
            assert_null(net);
            assert_string_equal(world.log, k ? "init, agree, why, finalize, " : "");
        }
        assert_true(k >= 4); /* the net, its cards, its peers, the messages of one */
        assert_string_equal(world.log, "init, agree, cards, ");
        assert_int_equal(ks_net_cards(net)[rank].rank, rank);
        assert_int_equal(ks_net_agree(net, 0, &err), 0);
        assert_true(ks_net_close(net, true, START_MS));
        net = NULL;
        assert_int_equal(open_as(rank, true, &net, &err), KS_ENOMEM);
        assert_string_equal(err.text, "the other one");
        assert_string_equal(world.log, "init, agree, why, finalize, ");
    }
}

static void test_gathering(void **state)
{
    struct ks_net *net = NULL;
    struct ks_err err;
    const uint32_t mine = 7;
    void *all = NULL;

    (void)state;
    assert_int_equal(open_as(0, false, &net, &err), 0);
    world.log[0] = '\0';
    fault_arm(0);
    assert_int_equal(ks_net_gather(net, &mine, sizeof(mine), &all, &err), KS_ENOMEM);
    assert_true(fault_disarm());
    assert_string_equal(world.log, "agree, why, ");
    assert_null(all);
    assert_int_equal(ks_net_gather(net, &mine, sizeof(mine), &all, &err), 0);
    assert_string_equal(world.log, "agree, why, agree, gather, ");
    assert_int_equal(*(uint32_t *)all, mine);
    free(all);
    assert_true(ks_net_close(net, true, START_MS));

    all = NULL;
    assert_int_equal(open_as(1, false, &net, &err), 0);
    world.log[0] = '\0';
    assert_int_equal(ks_net_gather(net, &mine, sizeof(mine), &all, &err), 0);
    world.does_other_fail = true;
    assert_int_equal(ks_net_gather(net, &mine, sizeof(mine), &all, &err), KS_ENOMEM);
    assert_string_equal(err.text, "the other one");
    assert_string_equal(world.log, "agree, gather, agree, why, ");
    assert_null(all);
    assert_true(ks_net_close(net, true, START_MS));
}

static void heard(const char *want)
{
    struct ks_frame f;
    char got[64] = "";

    while (ks_frame_next(&world.in, &f) == 1)
        snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s %zu ",
                 ks_frame_type_name(f.type), f.n);
    assert_string_equal(got, want);
    assert_int_equal(world.in.n_damaged_bytes, 0);
}

/* A rank is lost while a frame has left in part, and is heard of again: it gets the rest of that
 * frame and then what was sent since, but none of what was queued between. */
static void test_a_rank_returns(void **state)
{
    static const uint8_t body[10000] = { 1 };
    struct ks_net *net = NULL;
    struct ks_err err;

    (void)state;
    assert_int_equal(open_as(0, false, &net, &err), 0);
    ks_frame_reader_init(&world.in);
    assert_int_equal(ks_net_send(net, 1, KS_F_MSG_BEAT, body, 16, &err), 0);
    assert_int_equal(ks_net_send(net, 1, KS_F_MSG_PIECE, body, sizeof(body), &err), 0);
    assert_int_equal(ks_net_send(net, 1, KS_F_MSG_LEASE, body, 100, &err), 0);
    world.n_room = 2;
    assert_true(ks_net_progress(net));
    heard("msg_beat 16 ");
    world.n_room = 9;
    ks_net_forget(net, 1);
    assert_int_equal(ks_net_send(net, 1, KS_F_MSG_ACK, body, 16, &err), 0);
    assert_false(ks_net_progress(net));
    assert_true(ks_net_recall(net, 1));
    assert_int_equal(ks_net_send(net, 1, KS_F_MSG_DRAIN, body, 16, &err), 0);
    assert_true(ks_net_progress(net));
    heard("msg_piece 10000 msg_drain 16 ");
    ks_net_forget(net, 1); /* between two frames nothing is left to be sent */
    assert_true(ks_net_recall(net, 1));
    assert_false(ks_net_progress(net));
    assert_true(ks_net_is_flushed(net));
    ks_frame_reader_release(&world.in);
    assert_true(ks_net_close(net, true, START_MS));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_the_start),
                                        cmocka_unit_test(test_gathering),
                                        cmocka_unit_test(test_a_rank_returns) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
