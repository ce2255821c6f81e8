/* SPDX-License-Identifier: MIT */
/* bare.c - runs a command as in a bare container */
/* bare COMMAND.. - runs it as in a container whose kernel knows neither call filters nor seals of
 * memory files nor parent-death signals: seccomp(), fcntl(F_ADD_SEALS) and prctl(PR_SET_PDEATHSIG)
 * fail with EINVAL. */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CALL                  offsetof(struct seccomp_data, nr)
#define ARG(i)                ((unsigned)offsetof(struct seccomp_data, args) + 8u * (i)) /* its low half */
#define LOAD(at)              BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (at))
#define SKIP_UNLESS(value, n) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), 0, (n))
#define ANSWER(what)          BPF_STMT(BPF_RET | BPF_K, (what))

int main(int argc, char **argv)
{
    struct sock_filter code[] = {
        LOAD(CALL),
        SKIP_UNLESS(SYS_seccomp, 1),
        ANSWER(SECCOMP_RET_ERRNO | EINVAL),
        SKIP_UNLESS(SYS_fcntl, 3),
        LOAD(ARG(1)),
        SKIP_UNLESS(F_ADD_SEALS, 1),
        ANSWER(SECCOMP_RET_ERRNO | EINVAL),
        LOAD(CALL),
        SKIP_UNLESS(SYS_prctl, 3),
        LOAD(ARG(0)),
        SKIP_UNLESS(PR_SET_PDEATHSIG, 1),
        ANSWER(SECCOMP_RET_ERRNO | EINVAL),
        ANSWER(SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = { .len = sizeof(code) / sizeof(code[0]), .filter = code };

    if (argc < 2 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0) {
        perror("bare");
        return 125;
    }
    execvp(argv[1], argv + 1);
    perror(argv[1]);
    return 127;
}
