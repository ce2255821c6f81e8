/* SPDX-License-Identifier: MIT */
/* segment.c - hides the shared-memory files of MPI so that killed ranks leave none behind */
#include "mpi/segment.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* .../vader_segment.HOST.UID.JOB.LOCAL_RANK; sm_segment. since Open MPI 5 */
static bool is_own(const char *path, uint32_t local_rank)
{
    const char *name = strrchr(path, '/'), *last = strrchr(path, '.');
    char number[16];
    snprintf(number, sizeof(number), "%u", local_rank);
    return name &&
           (strncmp(name, "/vader_segment.", 15) == 0 || strncmp(name, "/sm_segment.", 12) == 0) &&
           strcmp(last + 1, number) == 0;
}

void ks_segment_hide(const char *maps, uint32_t local_rank, char *path_out, size_t cap)
{
    FILE *f = fopen(maps, "re");
    char *line = NULL;
    size_t n = 0;
    path_out[0] = '\0';
    while (f && !path_out[0] && getline(&line, &n, f) > 0) {
        char *path = strchr(line, '/');
        line[strcspn(line, "\n")] = '\0';
        if (path && strlen(path) < cap && is_own(path, local_rank) && unlink(path) == 0)
            snprintf(path_out, cap, "%s", path);
    }
    free(line);
    if (f)
        fclose(f);
}

void ks_segment_show(const char *path)
{
    int fd = path[0] ? open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600) : -1;
    if (fd >= 0)
        close(fd);
}
