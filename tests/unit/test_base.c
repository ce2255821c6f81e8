/* SPDX-License-Identifier: MIT */
/* test_base.c - err, buf, hash, crc, clock, log */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first. */
#include <cmocka.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/sha.h"
#include "fault.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

static int a_failure(struct ks_err *err)
{
    return ks_fail(err, KS_EFORMAT, "line %d is bad", 7);
}

static void err_is_filled_and_returned(void **state)
{
    struct ks_err err = { 0 };

    (void)state;
    errno = EAGAIN;
    assert_int_equal(a_failure(&err), -4);
    assert_int_equal(errno, EAGAIN);
    assert_int_equal(err.code, KS_EFORMAT);
    assert_string_equal(err.text, "line 7 is bad");
    assert_non_null(strstr(err.file, "test_base.c"));
    assert_true(err.line > 0);
    assert_int_equal(a_failure(NULL), KS_EFORMAT);
}

static void err_context_goes_in_front(void **state)
{
    struct ks_err err = { 0 };
    char longer[900];

    (void)state;
    assert_int_equal(ks_err_context(&err, a_failure(&err), "job '%s'", "x"), KS_EFORMAT);
    assert_string_equal(err.text, "job 'x': line 7 is bad");
    assert_int_equal(ks_err_context(NULL, KS_EIO, "nobody listens"), KS_EIO);
    memset(longer, 'c', sizeof(longer));
    longer[sizeof(longer) - 1] = '\0';
    ks_err_context(&err, KS_EFORMAT, "%s", longer);
    assert_non_null(strstr(err.text, ": job 'x': line 7 is bad"));
    assert_true(strlen(err.text) < sizeof(err.text));
}

static void errno_becomes_a_code(void **state)
{
    static const struct {
        int e;
        enum ks_code want;
    } rows[] = { { ENOSPC, KS_ENOSPC }, { EDQUOT, KS_ENOSPC }, { ENOMEM, KS_ENOMEM },
                 { ENOENT, KS_ENOENT }, { EEXIST, KS_EEXIST }, { EACCES, KS_EIO },
                 { EISDIR, KS_EINVAL }, { ELOOP, KS_EINVAL },  { ENOTDIR, KS_EINVAL },
                 { EROFS, KS_EIO },     { EPERM, KS_EIO },     { ENAMETOOLONG, KS_EINVAL } };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct ks_err err = { 0 };
        char want[200];

        snprintf(want, sizeof(want), "opening 'f': %s", strerror(rows[i].e));
        errno = rows[i].e;
        assert_int_equal(ks_fail_errno(&err, "opening '%s'", "f"), rows[i].want);
        assert_string_equal(err.text, want);
        assert_int_equal(errno, rows[i].e);
        errno = rows[i].e;
        assert_int_equal(ks_fail_errno(NULL, "x"), rows[i].want);
    }
}

/* What the user named and only a person can mend ends with 2: scripts requeue on 3. */
static void errno_of_a_path_is_an_input_error(void **state)
{
    static const int mended_by_hand[] = { EACCES, EPERM, EROFS, ENXIO, ENODEV, EISDIR, ELOOP };
    struct ks_err err = { 0 };

    (void)state;
    for (size_t i = 0; i < sizeof(mended_by_hand) / sizeof(mended_by_hand[0]); i++) {
        errno = mended_by_hand[i];
        assert_int_equal(ks_code_exit(ks_fail_path(&err, "'%s'", "f")), 2);
        assert_non_null(strstr(err.text, strerror(mended_by_hand[i])));
    }
    errno = EIO;
    assert_int_equal(ks_fail_path(&err, "'%s'", "f"), KS_EIO);
    errno = ENOSPC;
    assert_int_equal(ks_fail_path(NULL, "x"), KS_ENOSPC);
}

static void codes_have_names_and_exits(void **state)
{
    (void)state;
    assert_string_equal(ks_code_name(KS_EDEVMEM), "KS_EDEVMEM");
    assert_string_equal(ks_code_text(KS_EOWNER), "owned by another process");
    assert_int_equal(ks_code_exit(KS_OK), 0);
    assert_int_equal(ks_code_exit(KS_EINVAL), 2);
    assert_int_equal(ks_code_exit(KS_ENOSPC), 3);
    assert_string_equal(ks_code_name(-999), "KS_?");
    assert_string_equal(ks_code_text(-999), "unknown error");
    assert_int_equal(ks_code_exit(-999), 3);
}

static void buf_numbers_are_little_endian(void **state)
{
    static const uint8_t want[] = { 0x01, 0x03, 0x02, 0x07, 0x06, 0x05, 0x04, 0x0f,
                                    0x0e, 0x0d, 0x0c, 0x0b, 0x0a, 0x09, 0x08 };
    struct ks_cur c;
    struct ks_buf b;

    (void)state;
    ks_buf_init(&b);
    ks_buf_u8(&b, 1);
    ks_buf_u16(&b, 0x0203);
    ks_buf_u32(&b, 0x04050607);
    ks_buf_u64(&b, 0x08090a0b0c0d0e0fu);
    assert_int_equal(b.len, sizeof(want));
    assert_memory_equal(b.data, want, sizeof(want));
    ks_buf_f64(&b, -0.1);
    c = ks_cur(b.data, b.len);
    assert_int_equal(ks_cur_u8(&c), 1);
    assert_int_equal(ks_cur_u16(&c), 0x0203);
    assert_int_equal(ks_cur_u32(&c), 0x04050607);
    assert_true(ks_cur_u64(&c) == 0x08090a0b0c0d0e0fu);
    assert_true(ks_cur_f64(&c) == -0.1);
    assert_false(c.failed);
    assert_int_equal(c.left, 0);
    ks_buf_release(&b);
}

static void cur_beyond_the_end_fails_for_good(void **state)
{
    static const uint8_t bytes[3] = { 1, 2, 3 };
    struct ks_cur c = ks_cur(bytes, sizeof(bytes));

    (void)state;
    assert_int_equal(ks_cur_u32(&c), 0);
    assert_true(c.failed);
    assert_int_equal(ks_cur_u8(&c), 0);
    assert_null(ks_cur_take(&c, 0));
    c = ks_cur(bytes, sizeof(bytes));
    assert_ptr_equal(ks_cur_take(&c, 2), bytes);
    assert_int_equal(ks_cur_u8(&c), 3);
    assert_null(ks_cur_take(&c, SIZE_MAX));
    assert_true(c.failed);
}

static void buf_text_and_drop(void **state)
{
    struct ks_buf b;

    (void)state;
    ks_buf_init(&b);
    assert_string_equal(ks_buf_text(&b), "");
    for (int i = 0; i < 1000; i++)
        ks_buf_printf(&b, "%03d,", i);
    assert_int_equal(b.len, 4000);
    assert_int_equal(b.data[4000], 0);
    assert_memory_equal(ks_buf_text(&b) + 3996, "999,", 5);
    ks_buf_drop(&b, 3992);
    assert_string_equal(ks_buf_text(&b), "998,999,");
    ks_buf_drop(&b, 100);
    assert_string_equal(ks_buf_text(&b), "");
    ks_buf_put(&b, "a\0b", 3);
    assert_memory_equal(b.data, "a\0b", 4);
    ks_buf_clear(&b);
    assert_int_equal(b.len, 0);
    assert_true(ks_buf_ok(&b));
    ks_buf_release(&b);
    assert_null(b.data);
}

static void buf_failure_is_sticky(void **state)
{
    struct ks_buf b;
    char half[100] = { 'x' };

    (void)state;
    ks_buf_init(&b);
    ks_buf_put(&b, half, sizeof(half));
    fault_arm(0);
    ks_buf_put(&b, half, sizeof(half));
    assert_true(fault_disarm());
    assert_false(ks_buf_ok(&b));
    ks_buf_u8(&b, 1);
    ks_buf_printf(&b, "more");
    assert_int_equal(b.len, sizeof(half));
    ks_buf_clear(&b);
    assert_true(ks_buf_ok(&b));
    ks_buf_put(&b, half, SIZE_MAX);
    assert_false(ks_buf_ok(&b));
    ks_buf_release(&b);
}

static void f64_text_reads_back(void **state)
{
    static const struct {
        double v;
        const char *want;
    } rows[] = { { 0.005, "0.005" },  { 0.1 + 0.2, "0.30000000000000004" },
                 { 5, "5" },          { -0.0, "-0" },
                 { 1e300, "1e+300" }, { 4.9406564584124654e-324, "4.94065645841247e-324" } };
    uint64_t rng = 1;

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char text[32];

        ks_f64_text(rows[i].v, text);
        assert_string_equal(text, rows[i].want);
    }
    for (int i = 0; i < 20000; i++) {
        uint64_t bits = ks_rng_next(&rng);
        char text[32];
        double v;

        memcpy(&v, &bits, sizeof(v));
        if (!isfinite(v))
            continue;
        ks_f64_text(v, text);
        assert_true(strtod(text, NULL) == v);
    }
}

static void sha_hex(struct ks_sha256 *h, char out[65])
{
    uint8_t digest[32];

    ks_sha256_end(h, digest);
    for (int i = 0; i < 32; i++)
        snprintf(out + 2 * i, 3, "%02x", digest[i]);
}

/* Vectors of FIPS 180-4 (examples of the NIST CAVP page). */
static void sha256_known_answers(void **state)
{
    static const struct {
        const char *text;
        unsigned times;
        const char *want;
    } rows[] = {
        { "", 1, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
        { "abc", 1, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
        { "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1,
          "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1" },
        { "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopq"
          "klmnopqrlmnopqrsmnopqrstnopqrstu",
          1, "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1" },
        { "aaaaaaaaaa", 100000,
          "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct ks_sha256 h;
        char hex[65];

        ks_sha256_init(&h);
        for (unsigned k = 0; k < rows[i].times; k++)
            ks_sha256_add(&h, rows[i].text, strlen(rows[i].text));
        sha_hex(&h, hex);
        assert_string_equal(hex, rows[i].want);
    }
}

/* However the input is cut, around every block border. */
static void sha256_does_not_see_the_cuts(void **state)
{
    uint8_t bytes[200];

    (void)state;
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (uint8_t)(i * 7);
    for (size_t n = 0; n <= sizeof(bytes); n++) {
        struct ks_id128 whole = ks_id128(bytes, n);

        for (size_t cut = 0; cut <= n; cut++) {
            struct ks_sha256 h;

            ks_sha256_init(&h);
            ks_sha256_add(&h, bytes, cut);
            ks_sha256_add(&h, bytes + cut, n - cut);
            assert_true(ks_id128_eq(ks_sha256_id128(&h), whole));
        }
    }
}

/* The CPU's instructions, where it has them, and plain C say the same. */
static void sha256_with_and_without_instructions(void **state)
{
    uint8_t bytes[64 * 9];
    uint64_t rng = 1;

    (void)state;
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (uint8_t)ks_rng_next(&rng);
    for (size_t n = 0; n <= 9; n++) {
        uint32_t a[8] = { 1, 2, 3, 4, 5, 6, 7, 0xffffffff }, b[8];

        memcpy(b, a, sizeof(b));
        ks_sha256_blocks(a, bytes, n);
        ks_sha256_blocks_portable(b, bytes, n);
        assert_memory_equal(a, b, sizeof(a));
    }
}

static void ids_are_the_digest_s_beginning(void **state)
{
    struct ks_id128 id = ks_id128("abc", 3), back = { 0 };
    char hex[33];
    uint64_t v = 0;

    (void)state;
    ks_hex128(id, hex);
    assert_string_equal(hex, "ba7816bf8f01cfea414140de5dae2223");
    assert_true(ks_unhex128(hex, &back));
    assert_true(ks_id128_eq(id, back));
    ks_hex64(ks_id64("abc", 3), hex);
    assert_string_equal(hex, "ba7816bf8f01cfea");
    assert_true(ks_unhex64("BA7816BF8F01CFEA", &v));
    assert_true(v == id.hi);
}

static void unhex_refuses(void **state)
{
    static const char *const bad[] = { "",
                                       "ba7816bf8f01cfe",
                                       "ba7816bf8f01cfeaa",
                                       "ba7816bf8f01cfeg",
                                       "0xba7816bf8f01cf",
                                       " a7816bf8f01cfea" };
    struct ks_id128 id = { .hi = 5 };
    uint64_t v = 5;

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_false(ks_unhex64(bad[i], &v));
        assert_false(ks_unhex128(bad[i], &id));
    }
    assert_false(ks_unhex128("ba7816bf8f01cfeaba7816bf8f01cfe-", &id));
    assert_int_equal(v, 5);
    assert_int_equal(id.hi, 5);
}

static void random_ids_differ(void **state)
{
    struct ks_id128 a = ks_id128_random(), b = ks_id128_random();

    (void)state;
    assert_false(ks_id128_is_zero(a));
    assert_false(ks_id128_eq(a, b));
    assert_true(ks_id128_is_zero((struct ks_id128){ 0 }));
}

static void crc32c_known_answers(void **state)
{
    static const uint8_t zeros[32];
    uint8_t ones[32], up[32];

    (void)state;
    memset(ones, 0xff, sizeof(ones));
    for (unsigned i = 0; i < 32; i++)
        up[i] = (uint8_t)i;
    /* RFC 3720, B.4 */
    assert_int_equal(ks_crc32c(0, "123456789", 9), 0xe3069283);
    assert_int_equal(ks_crc32c(0, zeros, 32), 0x8a9136aa);
    assert_int_equal(ks_crc32c(0, ones, 32), 0x62a8ab43);
    assert_int_equal(ks_crc32c(0, up, 32), 0x46dd794e);
    assert_int_equal(ks_crc32c_portable(0, "123456789", 9), 0xe3069283);
    assert_int_equal(ks_crc32c_portable(0, up, 32), 0x46dd794e);
    assert_int_equal(ks_crc32c(0, "", 0), 0);
}

/* Every length and alignment around the 8-byte steps, and any chaining. */
static void crc32c_paths_agree(void **state)
{
    uint8_t bytes[100];
    uint64_t rng = 3;

    (void)state;
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (uint8_t)ks_rng_next(&rng);
    for (size_t from = 0; from < 9; from++)
        for (size_t n = 0; from + n <= sizeof(bytes); n++) {
            uint32_t whole = ks_crc32c(0, bytes + from, n);
            uint32_t head = ks_crc32c(0, bytes + from, n / 3);

            assert_int_equal(whole, ks_crc32c_portable(0, bytes + from, n));
            assert_int_equal(whole, ks_crc32c(head, bytes + from + n / 3, n - n / 3));
        }
}

static void splitmix_known_answers(void **state)
{
    uint64_t s = 0, first = ks_rng_next(&s), second = ks_rng_next(&s);

    (void)state;
    /* Outputs of Vigna's splitmix64.c with seed 0. */
    assert_true(first == 0xe220a8397b1dcdafu);
    assert_true(second == 0x6e789e6aa1b965f4u);
    assert_true(ks_mix64(0) == first);
}

static void rng_below_is_even(void **state)
{
    unsigned hits[6] = { 0 };
    uint64_t s = 42, huge = (1ull << 63) + 1;
    unsigned n_high = 0;

    (void)state;
    for (int i = 0; i < 60000; i++) {
        uint64_t v = ks_rng_below(&s, 6);

        assert_true(v < 6);
        hits[v]++;
    }
    /* 10,000 each; five standard deviations are 456. */
    for (int i = 0; i < 6; i++)
        assert_in_range(hits[i], 9544, 10456);
    /* Without rejection a bound just above 2^63 would draw the low half twice as often. */
    for (int i = 0; i < 10000; i++)
        n_high += ks_rng_below(&s, huge) > huge / 2;
    assert_in_range(n_high, 4750, 5250);
}

static void utc_text(void **state)
{
    char text[32] = "old", small[5] = "old";

    (void)state;
    ks_utc_text(1769860800000000000u, text, sizeof(text));
    assert_string_equal(text, "2026-01-31T12:00:00Z");
    ks_utc_text(1769860800999999999u, text, sizeof(text));
    assert_string_equal(text, "2026-01-31T12:00:00Z");
    ks_utc_text(0, small, sizeof(small));
    assert_string_equal(small, "");
}

static void on_alarm(int signal_number)
{
    (void)signal_number;
}

static void sleep_outlasts_signals(void **state)
{
    struct sigaction act = { .sa_handler = on_alarm }, old;
    struct itimerval every = { { 0, 2000 }, { 0, 2000 } }, never = { { 0, 0 }, { 0, 0 } };
    uint64_t wall = ks_now_ns(), cpu = ks_thread_cpu_ns();

    (void)state;
    sigaction(SIGALRM, &act, &old);
    setitimer(ITIMER_REAL, &every, NULL);
    ks_sleep_ns(50000000);
    setitimer(ITIMER_REAL, &never, NULL);
    sigaction(SIGALRM, &old, NULL);
    wall = ks_now_ns() - wall;
    cpu = ks_thread_cpu_ns() - cpu;
    assert_true(wall >= 50000000);
    assert_true(cpu < wall / 2);
    assert_true(ks_realtime_ns() > 1700000000000000000u);
}

/* What one call writes, without its time. */
static void logged(enum ks_level level, int rank, enum ks_level at, const char *text, char *out,
                   size_t cap)
{
    char *memory = NULL, *space;
    size_t n = 0;
    FILE *to = open_memstream(&memory, &n);
    struct ks_log log = ks_log_stderr(level, rank);

    assert_non_null(to);
    assert_ptr_equal(log.to, stderr);
    log.to = to;
    ks_logf(&log, at, "%s", text);
    fclose(to);
    space = strchr(memory, ' ');
    snprintf(out, cap, "%s", space ? space + 1 : "");
    if (space)
        assert_int_equal(space - memory, strlen("2026-01-31T12:00:00Z"));
    free(memory);
}

static void log_lines(void **state)
{
    char line[4096], longer[4000];

    (void)state;
    logged(KS_INFO, 3, KS_WARN, "cell lost", line, sizeof(line));
    assert_string_equal(line, "warn rank 3 cell lost\n");
    logged(KS_INFO, -1, KS_INFO, "100 %", line, sizeof(line));
    assert_string_equal(line, "info 100 %\n");
    logged(KS_INFO, 0, KS_DEBUG, "hidden", line, sizeof(line));
    assert_string_equal(line, "");
    memset(longer, 'x', sizeof(longer));
    longer[sizeof(longer) - 1] = '\0';
    logged(KS_TRACE, 0, KS_TRACE, longer, line, sizeof(line));
    assert_in_range(strlen(line), 1900, 2048);
    assert_int_equal(line[strlen(line) - 1], '\n');
    assert_int_equal(strchr(line, '\n') - line, strlen(line) - 1);
}

static void lines_that_come_often_become_few(void **state)
{
    char *text = NULL;
    size_t n = 0, n_lines = 0;
    struct ks_log log = ks_log_stderr(KS_WARN, 0);
    struct ks_log_often often = { 0 };

    (void)state;
    log.to = open_memstream(&text, &n);
    for (unsigned i = 0; i < 100 * KS_LOG_OFTEN; i++)
        if (ks_log_often(&log, &often, "failures"))
            ks_logf(&log, KS_WARN, "failure %u.", i);
    fclose(log.to);
    for (const char *p = text; (p = strchr(p, '\n')); p++)
        n_lines++;
    assert_int_equal(n_lines, KS_LOG_OFTEN + 1 + 99);
    assert_non_null(strstr(text, "failure 999."));
    assert_null(strstr(text, "failure 1001."));
    assert_non_null(strstr(text, "1000 failures so far; from now on only one in 1000 is logged"));
    assert_non_null(strstr(text, "failure 99000."));
    free(text);
}
static void log_copy_and_levels(void **state)
{
    char *first = NULL, *second = NULL;
    size_t n_first = 0, n_second = 0;
    struct ks_log log = ks_log_stderr(KS_INFO, 1);

    (void)state;
    log.to = open_memstream(&first, &n_first);
    log.copy = open_memstream(&second, &n_second);
    ks_logf(&log, KS_ERROR, "stop %d", 5);
    fclose(log.to);
    fclose(log.copy);
    assert_string_equal(first, second);
    assert_non_null(strstr(first, " error rank 1 stop 5\n"));
    free(first);
    free(second);
    assert_int_equal(ks_level_from("trace", KS_INFO), KS_TRACE);
    assert_int_equal(ks_level_from("error", KS_INFO), KS_ERROR);
    assert_int_equal(ks_level_from("loud", KS_WARN), KS_WARN);
    assert_int_equal(ks_level_from(NULL, KS_WARN), KS_WARN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(err_is_filled_and_returned),
        cmocka_unit_test(err_context_goes_in_front),
        cmocka_unit_test(errno_becomes_a_code),
        cmocka_unit_test(errno_of_a_path_is_an_input_error),
        cmocka_unit_test(codes_have_names_and_exits),
        cmocka_unit_test(buf_numbers_are_little_endian),
        cmocka_unit_test(cur_beyond_the_end_fails_for_good),
        cmocka_unit_test(buf_text_and_drop),
        cmocka_unit_test(buf_failure_is_sticky),
        cmocka_unit_test(f64_text_reads_back),
        cmocka_unit_test(sha256_known_answers),
        cmocka_unit_test(sha256_does_not_see_the_cuts),
        cmocka_unit_test(sha256_with_and_without_instructions),
        cmocka_unit_test(ids_are_the_digest_s_beginning),
        cmocka_unit_test(unhex_refuses),
        cmocka_unit_test(random_ids_differ),
        cmocka_unit_test(crc32c_known_answers),
        cmocka_unit_test(crc32c_paths_agree),
        cmocka_unit_test(splitmix_known_answers),
        cmocka_unit_test(rng_below_is_even),
        cmocka_unit_test(utc_text),
        cmocka_unit_test(sleep_outlasts_signals),
        cmocka_unit_test(log_lines),
        cmocka_unit_test(lines_that_come_often_become_few),
        cmocka_unit_test(log_copy_and_levels),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("base", tests, NULL, NULL);
}
