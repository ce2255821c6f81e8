/* SPDX-License-Identifier: MIT */
/* test_file.c - files: replaced, written and read whole, under failures; folders and names */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first. */
#include <cmocka.h>

#include "base/file.h"
#include "base/new_dir.h"
#include "fault.h"
#include "tests/unit/temp_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* The calls that make a replacement durable, in the order they were made: "wfrd" = write, fsync of
 * a file, rename, fsync of a directory. `fail` names the one that fails. */
static struct {
    char calls[64];
    char fail;
    int fail_errno;
    bool is_lame; /* every other write is interrupted, the rest take one byte */
} io;

static bool io_step(char what)
{
    size_t n = strlen(io.calls);

    if (n + 1 < sizeof(io.calls))
        io.calls[n] = what;
    errno = io.fail_errno;
    return io.fail != what;
}

ssize_t __real_write(int fd, const void *bytes, size_t n);
int __real_fsync(int fd);
int __real_rename(const char *from, const char *to);
ssize_t __wrap_write(int fd, const void *bytes, size_t n);
int __wrap_fsync(int fd);
int __wrap_rename(const char *from, const char *to);

ssize_t __wrap_write(int fd, const void *bytes, size_t n)
{
    if (fd <= 2)
        return __real_write(fd, bytes, n);
    if (io.is_lame && n > 1)
        n = 1;
    if (io.is_lame && strlen(io.calls) % 2 == 0) {
        io_step('i');
        errno = EINTR;
        return -1;
    }
    return io_step('w') ? __real_write(fd, bytes, n) : -1;
}

int __wrap_fsync(int fd)
{
    struct stat st;
    bool is_dir = fstat(fd, &st) == 0 && S_ISDIR(st.st_mode);

    return io_step(is_dir ? 'd' : 'f') ? __real_fsync(fd) : -1;
}

int __wrap_rename(const char *from, const char *to)
{
    return io_step('r') ? __real_rename(from, to) : -1;
}

static void io_arm(char fail, int fail_errno)
{
    memset(&io, 0, sizeof(io));
    io.fail = fail;
    io.fail_errno = fail_errno;
}

static int make_temp(void **state)
{
    char *dir = malloc(TEMP_DIR_MAX);

    if (!dir)
        return -1;
    io_arm(0, 0);
    temp_dir_make(dir, TEMP_DIR_MAX);
    *state = dir;
    return 0;
}

static int remove_temp(void **state)
{
    struct ks_err err;
    int rc = ks_remove_tree(*state, &err);

    free(*state);
    return rc;
}

static const char *in(void **state, const char *name, char out[256])
{
    struct ks_err err;

    assert_int_equal(ks_path_join(out, 256, *state, name, &err), 0);
    return out;
}

static void assert_content(const char *path, const char *want)
{
    struct ks_err err = { 0 };
    struct ks_buf b;

    ks_buf_init(&b);
    assert_int_equal(ks_file_read(path, &b, &err), 0);
    assert_string_equal(ks_buf_text(&b), want);
    assert_int_equal(b.len, strlen(want));
    ks_buf_release(&b);
}

static unsigned n_entries(const char *dir)
{
    DIR *d = opendir(dir);
    unsigned n = 0;

    assert_non_null(d);
    while (readdir(d))
        n++;
    closedir(d);
    return n - 2;
}

static void replace_writes_then_syncs_then_renames(void **state)
{
    char path[256];
    struct ks_err err = { 0 };
    struct stat st;
    mode_t old = umask(027);

    in(state, "f", path);
    assert_int_equal(ks_file_replace(path, "one", 3, &err), 0);
    umask(old);
    assert_string_equal(io.calls, "wfrd");
    assert_content(path, "one");
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0640);
    assert_int_equal(ks_file_replace(path, "", 0, &err), 0);
    assert_content(path, "");
    assert_int_equal(n_entries(*state), 1);
}

static void failed_replace_leaves_the_old_file(void **state)
{
    static const struct {
        char step;
        int e;
        enum ks_code want;
    } rows[] = { { 'w', ENOSPC, KS_ENOSPC }, { 'w', EIO, KS_EIO },    { 'f', EIO, KS_EIO },
                 { 'f', EDQUOT, KS_ENOSPC }, { 'r', EACCES, KS_EIO }, { 'r', EROFS, KS_EIO } };
    char path[256];

    in(state, "f", path);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct ks_err err = { 0 };

        io_arm(0, 0);
        assert_int_equal(ks_file_replace(path, "old", 3, &err), 0);
        io_arm(rows[i].step, rows[i].e);
        assert_int_equal(ks_file_replace(path, "new", 3, &err), rows[i].want);
        assert_non_null(strstr(err.text, path));
        assert_non_null(strstr(err.text, strerror(rows[i].e)));
        assert_content(path, "old");
        assert_int_equal(n_entries(*state), 1);
    }
}

/* What a user names as the place of a result is not destroyed: a link still leads to the file, a
 * pipe is still a pipe. */
static void results_keep_what_they_are_written_to(void **state)
{
    char target[256], link[256], pipe_path[256], got[8] = "";
    struct ks_err err = { 0 };
    struct ks_new_file f;
    struct stat st;
    int fd;

    in(state, "target", target);
    in(state, "link", link);
    in(state, "pipe", pipe_path);
    assert_int_equal(ks_file_replace(target, "old", 3, &err), 0);
    assert_int_equal(symlink("target", link), 0);
    assert_int_equal(mkfifo(pipe_path, 0600), 0);
    io_arm(0, 0);
    assert_int_equal(ks_file_output(link, "new", 3, &err), 0);
    assert_string_equal(io.calls, "wfrd"); /* whole, or not at all */
    assert_content(target, "new");
    assert_true(lstat(link, &st) == 0 && S_ISLNK(st.st_mode));
    assert_int_equal(ks_file_begin_output(link, &f, &err), 0);
    assert_int_equal(ks_write_all(f.fd, "part", 4, &err), 0);
    ks_file_abandon(&f);
    assert_content(target, "new");

    fd = open(pipe_path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(ks_file_output(pipe_path, "through", 7, &err), 0);
    assert_int_equal(read(fd, got, 7), 7);
    assert_string_equal(got, "through");
    close(fd);
    assert_true(lstat(pipe_path, &st) == 0 && S_ISFIFO(st.st_mode));
    assert_int_equal(n_entries(*state), 3);
    assert_int_equal(ks_file_output(*state, "x", 1, &err), KS_EINVAL); /* a directory */
}

static void unsynced_directory_is_an_error(void **state)
{
    char path[256];
    struct ks_err err = { 0 };

    in(state, "f", path);
    io_arm('d', EIO);
    assert_int_equal(ks_file_replace(path, "new", 3, &err), KS_EIO);
    /* NFS answers EINVAL; its rename is durable by itself. */
    io_arm('d', EINVAL);
    assert_int_equal(ks_file_replace(path, "new", 3, &err), 0);
    io_arm(0, 0);
    assert_int_equal(ks_file_sync_dir(path, &err), KS_EINVAL);
    assert_int_equal(ks_file_sync_dir("/nowhere/at/all", &err), KS_ENOENT);
}

/* Its files are synced with the directory, then it gets its name, which is synced, too. What fails
 * leaves nothing behind, and what exists is not touched. */
static void new_directory_is_whole_or_not_there(void **state)
{
    static const char steps[] = "rd";
    char dir[256], tmp[KS_NEW_DIR_BYTES], path[300];
    struct ks_err err = { 0 };
    struct ks_buf b;

    ks_buf_init(&b);
    ks_buf_printf(&b, "one");
    in(state, "new", dir);
    for (size_t i = 0; steps[i]; i++) {
        io_arm(0, 0);
        assert_int_equal(ks_new_dir_begin(dir, tmp, &err), 0);
        assert_int_equal(ks_new_dir_put(tmp, "f", &b, &err), 0);
        assert_string_equal(io.calls, "wfrd");
        io_arm(steps[i], EIO);
        assert_int_equal(ks_new_dir_end(dir, tmp, 0, &err), KS_EIO);
        io_arm(0, 0);
        assert_int_equal(n_entries(*state), 0);
    }
    assert_int_equal(ks_new_dir_begin(dir, tmp, &err), 0);
    assert_int_equal(ks_new_dir_put(tmp, "f", &b, &err), 0);
    io_arm(0, 0);
    assert_int_equal(ks_new_dir_end(dir, tmp, 0, &err), 0);
    assert_string_equal(io.calls, "rd");
    snprintf(path, sizeof(path), "%s/f", dir);
    assert_content(path, "one");
    assert_int_equal(ks_new_dir_begin(dir, tmp, &err), KS_EEXIST);
    in(state, "newer/", dir);
    assert_int_equal(ks_new_dir_begin(dir, tmp, &err), 0);
    assert_int_equal(ks_new_dir_end(dir, tmp, KS_EINVAL, &err), KS_EINVAL);
    assert_int_equal(n_entries(*state), 1);
    ks_buf_release(&b);
}

static void write_all_resumes_and_reports(void **state)
{
    struct ks_err err = { 0 };
    int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
    char path[256];

    assert_true(fd >= 0);
    assert_int_equal(ks_write_all(fd, "x", 1, &err), KS_ENOSPC);
    assert_int_equal(ks_write_all(fd, "", 0, &err), 0);
    close(fd);
    assert_int_equal(ks_write_all(99, "x", 1, &err), KS_EIO);
    io_arm(0, 0);
    io.is_lame = true;
    in(state, "f", path);
    fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(ks_write_all(fd, "four", 4, &err), 0);
    close(fd);
    assert_string_equal(io.calls, "iwiwiwiw");
    assert_content(path, "four");
}

static void missing_places(void **state)
{
    struct ks_err err = { 0 };
    char path[256];
    struct ks_buf b;

    ks_buf_init(&b);
    ks_buf_put(&b, "kept", 4);
    in(state, "no/such/file", path);
    assert_int_equal(ks_file_replace(path, "x", 1, &err), KS_ENOENT);
    assert_int_equal(ks_file_read(path, &b, &err), KS_ENOENT);
    assert_non_null(strstr(err.text, path));
    assert_int_equal(ks_file_read(*state, &b, &err), KS_EINVAL);
    assert_string_equal(ks_buf_text(&b), "kept");
    ks_buf_release(&b);
    assert_int_equal(ks_file_replace("/proc/ks-nothing", "x", 1, &err), KS_ENOENT);
    assert_int_equal(ks_file_replace("/sys/ks-nothing", "x", 1, &err), KS_EINVAL);
}

/* None of them blocks, and none is read: each would wait or go on for ever. */
static void only_regular_files_are_read(void **state)
{
    char pipe_path[256], socket_path[256], loop[256], sparse[256], named[700];
    const struct {
        const char *path, *words;
    } rows[] = { { pipe_path, "is a pipe" },
                 { socket_path, "is a socket" },
                 { "/dev/zero", "is a device" },
                 { "/dev/tty", "is a device" },
                 { *state, "is a directory" },
                 { loop, "symbolic links" },
                 { named, "name too long" },
                 { sparse, "larger than 1024 MiB" },
                 { "/proc/self/pagemap", "larger than 16 MiB" },
                 { "/proc/self/status/no", "Not a directory" } };
    struct ks_buf b;

    assert_int_equal(mkfifo(in(state, "pipe", pipe_path), 0600), 0);
    assert_int_equal(mknod(in(state, "socket", socket_path), S_IFSOCK | 0600, 0), 0);
    assert_int_equal(symlink("loop", in(state, "loop", loop)), 0);
    assert_int_equal(close(creat(in(state, "sparse", sparse), 0600)), 0);
    assert_int_equal(truncate(sparse, 1ll << 40), 0);
    memset(named, 'n', sizeof(named) - 1);
    named[sizeof(named) - 1] = '\0';
    ks_buf_init(&b);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct ks_err err = { 0 };
        const int rc = ks_file_read(rows[i].path, &b, &err);

        assert_int_equal(rc, KS_EINVAL);
        assert_int_equal(ks_code_exit(rc), 2);
        assert_non_null(strcasestr(err.text, rows[i].words));
    }
    assert_int_equal(b.len, 0);
    ks_buf_release(&b);
}

/* As the server of a network file system does for a client that writes the file: whoever opens it
 * must wait until the lease is given back. Here its holder is killed by SIGIO, which asks for it.
 */
static void a_leased_file_is_read(void **state)
{
    char path[256], got = 0;
    int ready[2], fd;
    struct ks_err err = { 0 };
    pid_t pid;

    assert_int_equal(ks_file_replace(in(state, "leased", path), "old", 3, &err), 0);
    assert_int_equal(pipe(ready), 0);
    pid = fork();
    if (pid == 0) {
        fd = open(path, O_RDWR);
        got = fcntl(fd, F_SETLEASE, F_WRLCK) == 0 ? 'y' : 'n';
        (void)!write(ready[1], &got, 1);
        pause();
        _exit(1);
    }
    assert_int_equal(read(ready[0], &got, 1), 1);
    assert_content(path, "old");
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    close(ready[0]);
    close(ready[1]);
    if (got != 'y') {
        print_message("this file system knows no leases\n");
        skip();
    }
}

static void read_survives_no_memory(void **state)
{
    char path[256], big[40000];
    bool is_done = false;

    memset(big, 'b', sizeof(big));
    in(state, "big", path);
    assert_int_equal(ks_file_replace(path, big, sizeof(big), &(struct ks_err){ 0 }), 0);
    for (unsigned n = 0; !is_done; n++) {
        struct ks_err err = { 0 };
        struct ks_buf b;
        int rc;

        ks_buf_init(&b);
        fault_arm(n);
        rc = ks_file_read(path, &b, &err);
        is_done = !fault_disarm();
        assert_int_equal(rc, is_done ? 0 : KS_ENOMEM);
        assert_int_equal(b.len, is_done ? sizeof(big) : 0);
        ks_buf_release(&b);
        assert_true(n < 100);
    }
}

static void read_of_a_kernel_file(void **state)
{
    struct ks_err err = { 0 };
    struct ks_buf b;

    (void)state;
    ks_buf_init(&b);
    /* Its size by stat is 0. */
    assert_int_equal(ks_file_read("/proc/self/status", &b, &err), 0);
    assert_non_null(strstr(ks_buf_text(&b), "\nPid:"));
    ks_buf_release(&b);
}

static void first_line_of_a_file(void **state)
{
    static const struct {
        const char *text, *want;
    } rows[] = { { "one\ntwo\n", "one" },
                 { "no end", "no end" },
                 { "\n", "" },
                 { "", "" },
                 { "longer than it\n", "longer " } };
    struct ks_err err = { 0 };
    char path[256], line[8];

    in(state, "line", path);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(ks_file_replace(path, rows[i].text, strlen(rows[i].text), &err), 0);
        ks_file_first_line(path, line, sizeof(line));
        assert_string_equal(line, rows[i].want);
    }
    in(state, "no/such/file", path);
    ks_file_first_line(path, line, sizeof(line));
    assert_string_equal(line, "");
}

static void mkdirs_and_remove_tree(void **state)
{
    char deep[256], file[256], top[256], link_path[256];
    struct ks_err err = { 0 };

    in(state, "a/b/c", deep);
    in(state, "a/b/c/f", file);
    in(state, "a", top);
    in(state, "a/link", link_path);
    assert_int_equal(ks_mkdirs(deep, 0700, &err), 0);
    assert_int_equal(ks_mkdirs(deep, 0700, &err), 0);
    assert_true(ks_path_is_dir(deep));
    assert_int_equal(ks_file_replace(file, "x", 1, &err), 0);
    assert_true(ks_path_exists(file));
    assert_false(ks_path_is_dir(file));
    assert_int_equal(ks_mkdirs(file, 0700, &err), KS_EEXIST);
    assert_int_equal(ks_mkdirs("", 0700, &err), KS_EINVAL);
    /* the reason is that of mkdir, not that there is no such directory yet */
    assert_int_equal(ks_mkdirs("/sys/ksweep-test", 0700, &err), KS_EINVAL);
    assert_null(strstr(err.text, strerror(ENOENT)));
    /* A link is removed, not what it points to. */
    assert_int_equal(symlink("/usr/bin", link_path), 0);
    assert_int_equal(ks_remove_tree(top, &err), 0);
    assert_false(ks_path_exists(top));
    assert_true(ks_path_exists("/usr/bin"));
    assert_int_equal(ks_remove_tree(top, &err), 0);
    assert_true(ks_remove_tree("/proc/self/status", &err) < 0);
}

static void joins_and_parts(void **state)
{
    static const struct {
        const char *dir, *name, *want;
    } rows[] = { { "a", "b", "a/b" }, { "a/", "b", "a/b" }, { "a", "/b", "/b" },
                 { "", "b", "b" },    { "/", "b", "/b" },   { "a", "", "a/" } };
    char out[16], small[4] = "old";
    struct ks_err err = { 0 };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(ks_path_join(out, sizeof(out), rows[i].dir, rows[i].name, &err), 0);
        assert_string_equal(out, rows[i].want);
    }
    snprintf(out, sizeof(out), "dir");
    assert_int_equal(ks_path_join(out, sizeof(out), out, "x", &err), 0);
    assert_string_equal(out, "dir/x");
    assert_int_equal(ks_path_join(small, sizeof(small), "aa", "b", &err), KS_EINVAL);
    assert_string_equal(small, "old");
    ks_path_dir(out, sizeof(out), "a/b/c");
    assert_string_equal(out, "a/b");
    ks_path_dir(out, sizeof(out), "/c");
    assert_string_equal(out, "/");
    ks_path_dir(out, sizeof(out), "c");
    assert_string_equal(out, ".");
    assert_string_equal(ks_path_base("a/b/c"), "c");
    assert_string_equal(ks_path_base("c"), "c");
}

static void program_and_data(void **state)
{
    char out[4096], want[4096], file[256];
    struct ks_err err = { 0 };

    assert_int_equal(ks_program_dir(out, sizeof(out), &err), 0);
    assert_int_equal(ks_path_join(want, sizeof(want), out, "test_file", &err), 0);
    assert_true(ks_path_exists(want));
    assert_int_equal(ks_program_dir(out, 3, &err), KS_EINVAL);

    unsetenv("KSWEEP_DATA_DIR");
    assert_int_equal(ks_data_path(out, sizeof(out), "src/base/err.h", &err), 0);
    assert_string_equal(out, KS_SOURCE_DIR "/src/base/err.h");
    assert_int_equal(ks_data_path(out, sizeof(out), "no/such", &err), KS_ENOENT);
    assert_non_null(strstr(err.text, "KSWEEP_DATA_DIR"));

    setenv("KSWEEP_DATA_DIR", *state, 1);
    assert_int_equal(ks_data_path(out, sizeof(out), "src/base/err.h", &err), KS_ENOENT);
    in(state, "mine", file);
    assert_int_equal(ks_file_replace(file, "", 0, &err), 0);
    assert_int_equal(ks_data_path(out, sizeof(out), "mine", &err), 0);
    assert_string_equal(out, file);
    unsetenv("KSWEEP_DATA_DIR");
}

#define IN_TEMP(f) cmocka_unit_test_setup_teardown(f, make_temp, remove_temp)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_TEMP(replace_writes_then_syncs_then_renames),
        IN_TEMP(failed_replace_leaves_the_old_file),
        IN_TEMP(results_keep_what_they_are_written_to),
        IN_TEMP(unsynced_directory_is_an_error),
        IN_TEMP(new_directory_is_whole_or_not_there),
        IN_TEMP(write_all_resumes_and_reports),
        IN_TEMP(missing_places),
        IN_TEMP(only_regular_files_are_read),
        IN_TEMP(a_leased_file_is_read),
        IN_TEMP(read_survives_no_memory),
        IN_TEMP(read_of_a_kernel_file),
        IN_TEMP(first_line_of_a_file),
        IN_TEMP(mkdirs_and_remove_tree),
        IN_TEMP(joins_and_parts),
        IN_TEMP(program_and_data),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("file", tests, NULL, NULL);
}
