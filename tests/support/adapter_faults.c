// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// An adapter for tests of the runner: it computes what the emulation computes, except where the
// length of the queries says otherwise. Built as a shared object by
// tests/cli/test_runner_adapter.sh with -DNAME="..." and -DCAPABILITIES=...; what goes wrong is a
// row of the table below.
#include <fenv.h>
#include <math.h>
#include <mxverify/impl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef NAME
#define NAME "test"
#endif
#ifndef CAPABILITIES
#define CAPABILITIES (MXV_IMPL_SAME_BITS | MXV_IMPL_LSE)
#endif

// What happens for lq = 101, 102, ...; ADAPTER_ACT=101 in the environment: for every length.
enum act {
    NORMAL = 100,
    SEGFAULT,
    HANG,
    NOISE_IN_OUTPUT,
    NOISE_IN_CHANNEL,
    EXIT_QUIETLY,
    BEYOND_THE_END,
    NO_OUTPUT,
    LOST,
    REFUSES,
    FAILS,
    ONCE_IN_TWO,
    TALKS,
    ONE_ULP,
    NAN_PAYLOAD,
    WRONG_LSE,
    NO_SUCH_STATUS,
    WIDE_P, // healthy, but its weights are never rounded to the type of the PV product
    CHANGES_V,
    LEAVES_MODES, // healthy, and from then on rounds up and traps what is inexact
    CONTROL_CHARACTERS,
    NO_MEMORY
};

static int info(struct mxv_impl_info *out, char *message, size_t size)
{
    const char *refusal = getenv("ADAPTER_REFUSES");
    if (refusal && strcmp(refusal, "crash") == 0)
        raise(SIGSEGV);
    if (refusal) {
        snprintf(message, size, "%s", refusal);
        return MXV_IMPL_UNSUPPORTED;
    }
    snprintf(out->device, sizeof out->device, "Test device");
    snprintf(out->driver, sizeof out->driver, "550.9");
    return MXV_IMPL_OK;
}

static bool device_lost; // such errors stick to the process

static int can_do(const struct mxv_attention *a, char *message, size_t size)
{
    if (device_lost) {
        snprintf(message, size, "used after the device was lost");
        return MXV_IMPL_FAILED;
    }
    if (a->cu_q[1] != REFUSES)
        return MXV_IMPL_OK;
    snprintf(message, size, "no kernel for this length");
    return MXV_IMPL_UNSUPPORTED;
}

static int setup(const struct mxv_attention *a, void **state, char *message, size_t size)
{
    (void)a;
    *state = strdup("open");
    if (*state)
        return MXV_IMPL_OK;
    snprintf(message, size, "out of memory");
    return MXV_IMPL_FAILED;
}

static void done(void *state)
{
    if (!state || strcmp(state, "open") != 0)
        abort();
    free(state);
}

// The marker file says whether this case was run before, by whichever process.
static int second_time(void)
{
    const char *path = getenv("ADAPTER_MARKER");
    FILE *file = path ? fopen(path, "r") : NULL;
    if (file) {
        fclose(file);
        return 1;
    }
    file = path ? fopen(path, "w") : NULL;
    if (file)
        fclose(file);
    return 0;
}

static void spoil_channels(void)
{
    static const char noise[4096] = "not an answer";
    for (int fd = 3; fd < 64; fd++) {
        int type;
        socklen_t size = sizeof type;
        if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 &&
            write(fd, noise, sizeof noise) < 0)
            abort();
    }
}

static int misbehave(enum act act, size_t words, uint32_t *out, uint32_t *lse, char *message,
                     size_t size)
{
    switch (act) {
    case SEGFAULT:
        raise(SIGSEGV);
        break;
    case HANG:
        while (getppid() > 0)
            pause();
        break;
    case NOISE_IN_OUTPUT:
        for (size_t i = 0; i < words; i++)
            out[i] = (uint32_t)(i * 2654435761u);
        break;
    case NOISE_IN_CHANNEL:
        spoil_channels();
        break;
    case EXIT_QUIETLY:
        _exit(0);
    case BEYOND_THE_END:
        out[words] = 1;
        break;
    case LOST:
        device_lost = true;
        // fall through
    case FAILS:
        snprintf(message, size, act == LOST ? "the device fell off the bus" : "no memory left");
        return act == LOST ? MXV_IMPL_LOST : MXV_IMPL_FAILED;
    case NO_MEMORY:
        snprintf(message, size, "out of memory for the weights on the device");
        return MXV_IMPL_NO_MEMORY;
    case ONCE_IN_TWO:
        out[words - 1] ^= second_time() ? 0 : 1;
        break;
    case TALKS:
        printf("hash ffffffffffffffff\n");
        fflush(stdout);
        break;
    case ONE_ULP:
        out[words / 2] ^= 1;
        break;
    case NAN_PAYLOAD:
        for (size_t i = 0; i < words; i++)
            out[i] = out[i] == MXV_NAN_WORD ? 0xFFC00001u : out[i];
        break;
    case WRONG_LSE:
        if (lse)
            lse[act - 1] ^= 1; // of the last row: the first ones see no key
        break;
    case NO_SUCH_STATUS:
        return 77;
    case LEAVES_MODES:
        fesetround(FE_UPWARD);
        feenableexcept(FE_INEXACT);
        break;
    case CONTROL_CHARACTERS:
        snprintf(message, size, "one\ntwo\033[31m\001");
        return MXV_IMPL_FAILED;
    default:
        break;
    }
    return MXV_IMPL_OK;
}

// Attention in binary64, of heads that see at least one key, binary32 output.
static void wide_row(const struct mxv_attention *a, size_t sequence, size_t head, size_t row,
                     uint32_t *out)
{
    size_t rows = a->cu_q[sequence + 1] - a->cu_q[sequence], first, end;
    size_t keys = a->cu_k[sequence + 1] - a->cu_k[sequence], kv = head / (a->heads_q / a->heads_kv);
    const float *q = a->q + (head * a->cu_q[a->sequences] + a->cu_q[sequence] + row) * a->d;
    const float *k = a->k + (kv * a->cu_k[a->sequences] + a->cu_k[sequence]) * a->d;
    const float *v = a->v + (kv * a->cu_k[a->sequences] + a->cu_k[sequence]) * a->d;
    double *acc = calloc(a->d, sizeof *acc), sum = 0;
    mxv_attention_visible(a, rows, keys, row, &first, &end);
    for (size_t n = first; n < end; n++) {
        double s = 0;
        for (size_t c = 0; c < a->d; c++)
            s += (double)q[c] * k[n * a->d + c];
        double p = exp(s * a->scale);
        sum += p;
        for (size_t c = 0; acc && c < a->d; c++)
            acc[c] += p * v[n * a->d + c];
    }
    for (size_t c = 0; acc && c < a->d; c++) {
        float x = (float)(acc[c] / sum);
        memcpy(&out[row * a->d + c], &x, sizeof x);
    }
    free(acc);
}

static int run(void *state, const struct mxv_attention *a, size_t sequence, size_t head,
               uint32_t *out, uint32_t *lse, const struct mxv_tap_sink *sink, char *message,
               size_t size)
{
    size_t rows = a->cu_q[sequence + 1] - a->cu_q[sequence];
    (void)state;
    if (rows == NO_OUTPUT)
        return MXV_IMPL_OK;
    for (size_t row = 0; rows == WIDE_P && row < rows; row++)
        wide_row(a, sequence, head, row, out);
    if (rows == WIDE_P)
        return MXV_IMPL_OK;
    const int status = mxv_plain_head(a, sequence, head, out, lse, sink, message, size);
    if (status != MXV_HEAD_OK)
        return status == MXV_HEAD_NO_MEMORY ? MXV_IMPL_NO_MEMORY : MXV_IMPL_UNSUPPORTED;
    const char *always = getenv("ADAPTER_ACT");
    enum act act = always ? (enum act)atoi(always) : (enum act)rows;
    if (act == CHANGES_V)
        memset((float *)(uintptr_t)a->v, 0, sizeof(float) * a->d);
    return misbehave(act, rows * a->d, out, lse, message, size);
}

const struct mxv_implementation *mxv_implementation(void);

const struct mxv_implementation *mxv_implementation(void)
{
    static const struct mxv_implementation implementation = {
        .abi = MXV_IMPL_ABI,
#ifdef WRONG_SIZE
        .call_size = 8,
#else
        .call_size = sizeof(struct mxv_attention),
#endif
        .name = NAME,
        .version = "1",
        .capabilities = CAPABILITIES,
        .info = info,
        .can_do = can_do,
        .setup = setup,
        .run = run,
        .done = done,
    };
    return &implementation;
}
