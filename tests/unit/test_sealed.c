/* SPDX-License-Identifier: MIT */
/* test_sealed.c - sealed copies of objects: what is hashed is loaded, whatever the file becomes */
#include "worker/sealed.h"

#include "base/file.h"
#include "tests/unit/so.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static void put(const struct so_place *p, const char *name, const char *text, char path_out[512])
{
    snprintf(path_out, 512, "%s/%s", p->dir, name);
    assert_int_equal(ks_file_replace(path_out, text, strlen(text), NULL), 0);
}

static void test_content(void **state)
{
    /* SHA-256 of "abc", FIPS 180-2 */
    static const uint8_t abc[32] = { 0xba, 0x78, 0x16, 0xbf, 0x8f, 0x01, 0xcf, 0xea,
                                     0x41, 0x41, 0x40, 0xde, 0x5d, 0xae, 0x22, 0x23,
                                     0xb0, 0x03, 0x61, 0xa3, 0x96, 0x17, 0x7a, 0x9c,
                                     0xb4, 0x10, 0xff, 0x61, 0xf2, 0x00, 0x15, 0xad };
    const struct so_place *p = *state;
    struct ks_sealed s;
    struct ks_err err = { 0 };
    char path[512], text[8] = "";
    int fd;

    put(p, "file", "abc", path);
    assert_int_equal(ks_sealed_open(path, &s, &err), 0);
    assert_memory_equal(s.digest, abc, sizeof(abc));
    fd = open(path, O_WRONLY); /* the same file, not another of its name */
    assert_int_equal(pwrite(fd, "xyz", 3, 0), 3);
    close(fd);
    fd = open(s.path, O_RDONLY | O_CLOEXEC);
    assert_int_equal(read(fd, text, sizeof(text)), 3);
    close(fd);
    assert_string_equal(text, "abc");
    assert_int_equal(write(s.fd, "x", 1), -1);
    assert_int_equal(errno, EPERM);
    assert_int_equal(ftruncate(s.fd, 1), -1);
    assert_true(mmap(NULL, 3, PROT_WRITE, MAP_SHARED, s.fd, 0) == MAP_FAILED);
    assert_int_equal(fcntl(s.fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    fd = s.fd;
    ks_sealed_close(&s);
    assert_int_equal(fcntl(fd, F_GETFD), -1);
}

static void test_refused(void **state)
{
    static const struct {
        const char *name, *reason;
    } rows[] = {
        { "missing", "No such file" },
        { "link", "is a symbolic link" },
        { "pipe", "is not a regular file" },
        { "dir", "is not a regular file" },
    };
    const struct so_place *p = *state;
    char path[512], to[512];

    put(p, "target", "abc", to);
    snprintf(path, sizeof(path), "%s/link", p->dir);
    assert_int_equal(symlink(to, path), 0);
    snprintf(path, sizeof(path), "%s/pipe", p->dir);
    assert_int_equal(mkfifo(path, 0600), 0);
    snprintf(path, sizeof(path), "%s/dir", p->dir);
    assert_int_equal(mkdir(path, 0700), 0);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct ks_sealed s = { .fd = -7 };
        struct ks_err err = { 0 };

        snprintf(path, sizeof(path), "%s/%s", p->dir, rows[i].name);
        assert_int_equal(ks_sealed_open(path, &s, &err), KS_ELOAD);
        assert_non_null(strstr(err.text, rows[i].reason));
        assert_non_null(strstr(err.text, path));
        assert_int_equal(s.fd, -7);
    }
}

/* Descriptors that a kernel left open are no damage to the next one's file. */
static void test_no_descriptors(void **state)
{
    const struct so_place *p = *state;
    struct rlimit was, none;
    struct ks_err err = { 0 };
    struct ks_sealed s;
    char path[512];
    int rc;

    put(p, "file", "abc", path);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &was), 0);
    none = (struct rlimit){ .rlim_cur = 0, .rlim_max = was.rlim_max };
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    rc = ks_sealed_open(path, &s, &err);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &was), 0);
    assert_int_equal(rc, KS_EIO);
    assert_non_null(strstr(err.text, "Too many open files"));
    assert_non_null(strstr(err.text, path));
}

static void *load(const char *path)
{
    struct ks_sealed s;
    struct ks_err err = { 0 };
    void *handle;

    if (ks_sealed_open(path, &s, &err) < 0)
        fail_msg("%s", err.text);
    handle = dlopen(s.path, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL)
        fail_msg("%s", dlerror());
    ks_sealed_close(&s); /* its number is given to the next one */
    return handle;
}

/* The loader knows objects by name: each copy has one of its own, though numbers come again. */
static void test_names(void **state)
{
    const struct so_place *p = *state;
    void *handle[4];

    for (int i = 0; i < 4; i++) {
        char name[32], source[64], path[512];

        snprintf(name, sizeof(name), "object%d", i);
        snprintf(source, sizeof(source), "int number(void) { return %d; }\n", i);
        so_build(p->dir, name, source, path, sizeof(path));
        handle[i] = load(path);
    }
    for (int i = 0; i < 4; i++) {
        int (*number)(void) = NULL;
        void *at = dlsym(handle[i], "number");

        memcpy(&number, &at, sizeof(number));
        assert_int_equal(number(), i);
        dlclose(handle[i]);
    }
}

static void test_blame(void **state)
{
    const struct ks_sealed s = { .fd = 9, .path = "/proc/self/fd/./9" };
    struct ks_err err = { 0 };

    (void)state;
    (void)ks_fail(&err, KS_ELOAD, "loading %s: undefined symbol: x", s.path);
    ks_sealed_blame(&s, "/cache/kernels.so", &err);
    assert_string_equal(err.text, "loading /cache/kernels.so: undefined symbol: x");
    ks_sealed_blame(&s, "/cache/kernels.so", &err);
    assert_string_equal(err.text, "loading /cache/kernels.so: undefined symbol: x");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_content, so_place_setup, so_place_teardown),
        cmocka_unit_test_setup_teardown(test_refused, so_place_setup, so_place_teardown),
        cmocka_unit_test_setup_teardown(test_no_descriptors, so_place_setup, so_place_teardown),
        cmocka_unit_test_setup_teardown(test_names, so_place_setup, so_place_teardown),
        cmocka_unit_test(test_blame),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("sealed", tests, NULL, NULL);
}
