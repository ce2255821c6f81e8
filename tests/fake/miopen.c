/* SPDX-License-Identifier: MIT */
/* miopen.c - a stub of MIOpen's immediate mode */
/* A stub of MIOpen's immediate mode. $KSWEEP_FAKE_MIOPEN gets a line of what each solution is run
 * with. It computes nothing: it fills the first bytes of the output on the stream (with the fake
 * HIP runtime). Of its three solutions the first needs too much workspace and the second does not
 * compile. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern int hipMemsetD32Async(void *dst, unsigned pattern, size_t n, void *stream);

struct handle {
    void *stream;
    uint64_t compiled;
};
struct descriptor {
    char text[200];
};
struct solution {
    float ms;
    size_t bytes;
    uint64_t id;
    int algorithm;
};

int miopenGetVersion(size_t *major, size_t *minor, size_t *patch)
{
    *major = 3;
    *minor = 4;
    *patch = 5;
    return 0;
}

int miopenCreate(void **out)
{
    return (*out = calloc(1, sizeof(struct handle))) == NULL;
}

int miopenDestroy(void *handle)
{
    free(handle);
    return 0;
}

int miopenSetStream(void *handle, void *stream)
{
    ((struct handle *)handle)->stream = stream;
    return 0;
}

int miopenCreateTensorDescriptor(void **out)
{
    return (*out = calloc(1, sizeof(struct descriptor))) == NULL;
}

int miopenSetTensorDescriptor(void *what, int type, int n, const int *dims, const int *strides)
{
    struct descriptor *d = what;
    size_t at = (size_t)snprintf(d->text, sizeof(d->text), "type %d", type);

    for (int i = 0; i < n; i++)
        at += (size_t)snprintf(d->text + at, sizeof(d->text) - at, " %d/%d", dims[i], strides[i]);
    return n != 4;
}

int miopenDestroyTensorDescriptor(void *d)
{
    free(d);
    return 0;
}

int miopenCreateConvolutionDescriptor(void **out)
{
    return miopenCreateTensorDescriptor(out);
}

int miopenInitConvolutionDescriptor(void *what, int mode, int pad_h, int pad_w, int u, int v,
                                    int dilation_h, int dilation_w)
{
    struct descriptor *d = what;

    snprintf(d->text, sizeof(d->text), "mode %d pad %d %d stride %d %d dilation %d %d", mode, pad_h,
             pad_w, u, v, dilation_h, dilation_w);
    return 0;
}

int miopenSetConvolutionGroupCount(void *what, int n)
{
    struct descriptor *d = what;
    size_t at = strlen(d->text);

    snprintf(d->text + at, sizeof(d->text) - at, " groups %d", n);
    return 0;
}

int miopenDestroyConvolutionDescriptor(void *d)
{
    free(d);
    return 0;
}

int miopenConvolutionForwardGetSolution(void *handle, void *w, void *x, void *conv, void *y,
                                        size_t cap, size_t *n, struct solution *out)
{
    static const struct solution all[] = { { 0.1f, (size_t)1 << 40, 7, 0 },
                                           { 0.2f, 64, 8, 0 },
                                           { 0.3f, 128, 9, 1 } };

    *n = cap < 3 ? cap : 3;
    memcpy(out, all, *n * sizeof(*out));
    return handle == NULL || w == NULL || x == NULL || conv == NULL || y == NULL;
}

int miopenConvolutionForwardCompileSolution(void *handle, void *w, void *x, void *conv, void *y,
                                            uint64_t id)
{
    (void)w;
    (void)x;
    (void)conv;
    (void)y;
    ((struct handle *)handle)->compiled = id;
    return id == 8;
}

int miopenConvolutionForwardImmediate(void *handle, void *w_of, const void *w, void *x_of,
                                      const void *x, void *conv, void *y_of, void *y,
                                      void *workspace, size_t bytes, uint64_t id)
{
    struct handle *h = handle;
    FILE *f = fopen(getenv("KSWEEP_FAKE_MIOPEN"), "a");

    if (f != NULL) {
        fprintf(f, "immediate %d workspace %zu: w %s, x %s, y %s, %s%s\n", (int)id, bytes,
                ((struct descriptor *)w_of)->text, ((struct descriptor *)x_of)->text,
                ((struct descriptor *)y_of)->text, ((struct descriptor *)conv)->text,
                h->compiled == id ? "" : ", never compiled");
        fclose(f);
    }
    return w == NULL || x == NULL || workspace == NULL || hipMemsetD32Async(y, 0, 16, h->stream);
}
