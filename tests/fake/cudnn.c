/* SPDX-License-Identifier: MIT */
/* cudnn.c - a stub of cuDNN's graph interface */
/* A stub of cuDNN's graph interface. A descriptor keeps what it was given as text;
 * $KSWEEP_FAKE_CUDNN gets the text of each plan that is executed, and "set AFTER", "unfinished" and
 * the like where the order is wrong. It computes nothing: it fills the first bytes of the output on
 * the stream (with the fake HIP runtime). Two configurations are proposed; the plan of the first is
 * refused. */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern int hipMemsetD32Async(void *dst, unsigned pattern, size_t n, void *stream);

struct handle {
    void *stream;
};
struct descriptor {
    int kind, is_finished;
    void *output;
    char text[4096];
};

static void say(struct descriptor *d, const char *text)
{
    strncat(d->text, text, sizeof(d->text) - strlen(d->text) - 1);
}

size_t cudnnGetVersion(void)
{
    return 92400;
}

int cudnnCreate(void **out)
{
    return (*out = calloc(1, sizeof(struct handle))) == NULL;
}

int cudnnDestroy(void *handle)
{
    free(handle);
    return 0;
}

int cudnnSetStream(void *handle, void *stream)
{
    ((struct handle *)handle)->stream = stream;
    return 0;
}

int cudnnBackendCreateDescriptor(int kind, void **out)
{
    struct descriptor *d = calloc(1, sizeof(*d));

    if (d == NULL)
        return 1;
    d->kind = kind;
    *out = d;
    return 0;
}

int cudnnBackendDestroyDescriptor(void *d)
{
    free(d);
    return 0;
}

int cudnnBackendFinalize(void *what)
{
    struct descriptor *d = what;

    if (d->is_finished || (d->kind == 5 && strstr(d->text, "config 0") != NULL))
        return 1;
    d->is_finished = 1;
    return 0;
}

static void say_value(struct descriptor *d, int type, const void *values, int64_t i)
{
    char text[64] = "";

    if (type == 3)
        snprintf(text, sizeof(text), " %" PRId64, ((const int64_t *)values)[i]);
    else if (type == 4)
        snprintf(text, sizeof(text), " %g", (double)((const float *)values)[i]);
    else if (type == 1 || type == 7 || type == 8)
        snprintf(text, sizeof(text), " %d", ((const int *)values)[i]);
    say(d, text);
    if (type == 15) {
        struct descriptor *part = ((void *const *)values)[i];

        say(d, part->is_finished ? " (" : " (UNFINISHED ");
        say(d, part->text);
        say(d, ")");
    }
}

int cudnnBackendSetAttribute(void *what, int name, int type, int64_t n, const void *values)
{
    struct descriptor *d = what;
    char text[64];

    if (d->is_finished)
        return 1;
    snprintf(text, sizeof(text), "%s%d:%d", d->text[0] != '\0' ? " " : "", name, type);
    say(d, text);
    for (int64_t i = 0; i < n; i++)
        say_value(d, type, values, i);
    if (name == 1001 && n == 3)
        d->output = ((void *const *)values)[2];
    return 0;
}

int cudnnBackendGetAttribute(void *what, int name, int type, int64_t n, int64_t *n_out,
                             void *values)
{
    const struct descriptor *d = what;

    if (!d->is_finished)
        return 1;
    if (name == 402 && type == 3) {
        *(int64_t *)values = 4096;
        *n_out = 1;
        return 0;
    }
    if (name != 202 || type != 15 || n < 2)
        return 1;
    for (int i = 0; i < 2; i++) {
        struct descriptor *config = ((void **)values)[i];

        snprintf(config->text, sizeof(config->text), "config %d of %.3900s", i, d->text);
        config->is_finished = 1;
    }
    *n_out = 2;
    return 0;
}

int cudnnBackendExecute(void *handle, void *plan, void *pack)
{
    const struct descriptor *p = plan, *v = pack;
    const char *path = getenv("KSWEEP_FAKE_CUDNN");
    FILE *log = path != NULL ? fopen(path, "a") : NULL;

    if (log != NULL) {
        fprintf(log, "execute %s | %s\n", p->text, v->text);
        fclose(log);
    }
    if (!p->is_finished || !v->is_finished || p->kind != 5 || v->kind != 16)
        return 1;
    return hipMemsetD32Async(v->output, 0, 16, ((struct handle *)handle)->stream);
}
