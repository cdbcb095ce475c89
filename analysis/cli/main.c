// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// mxverify: verb dispatch. The first word is the verb; an option there means `run`.
#include "cli.h"
#include "in_child.h"
#include <locale.h>
#include <mxverify/attention.h>
#include <mxverify/log.h>
#include <mxverify/runner.h>
#include <mxverify/simd.h>
#include <mxverify/truth.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static const struct {
    const char *name, *text;
    int (*run)(int argc, char **argv);
} verbs[] = {
    {"run", "verify an implementation of a kernel over cases (the default verb)", cli_run},
    {"list", "kernels, formats, models, cases, impls, faults, metrics and more", cli_list},
    {"repro", "run one case again, by its line or by its id in a log", cli_repro},
    {"shrink", "make a failing case small enough to check by hand", cli_shrink},
    {"properties", "what must hold of a kernel without any reference", cli_properties},
    {"merge", "make one log of the logs of shards", cli_merge},
    {"eval", "the emulation as a filter: hexadecimal requests on stdin, answers on stdout",
     cli_eval},
    {"report", "verdicts of a log; JUnit XML and one HTML page from it", cli_report},
    {"diff", "what changed between two logs: failures, output, metrics, speed", cli_diff},
    {"check", "judge the tensors of a foreign kernel: Q, K, V and O from files", cli_check},
    {"probe", "what a black box is: matrix unit or quantiser", cli_probe},
    {"explain", "what a code of a format means", cli_explain},
    {"selftest", "the judge on trial: faults that must be caught, healthy kernels that must pass",
     cli_selftest},
    {"bench", "speed of the emulation and of truth on this machine, beside the targets", cli_bench},
    {"table", "accuracy of routes and defects on captured activations (docs/kernels/dma.md)",
     cli_table},
};
enum { VERBS = sizeof verbs / sizeof verbs[0] };

static bool said_why;

// Control characters, which come from what a message quotes, are written as \xNN.
int cli_usage(const char *format, ...)
{
    char *text = NULL, short_of_memory[512];
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int length = vasprintf(&text, format, args);
    va_end(args);
    if (length < 0) {
        vsnprintf(short_of_memory, sizeof short_of_memory, format, again);
        text = short_of_memory;
        length = (int)strlen(text);
    }
    va_end(again);
    fputs("mxverify: ", stderr);
    for (int i = 0; i < length; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c < 0x20 || c == 0x7f)
            fprintf(stderr, "\\x%02X", c);
        else
            fputc(c, stderr);
    }
    fputc('\n', stderr);
    if (text != short_of_memory)
        free(text);
    said_why = true;
    return 3;
}

// Whatever was printed last, the text of --help included, has to arrive.
static void check_output(void)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return;
    if (!said_why)
        cli_usage("writing to standard output failed");
    _exit(3);
}

bool cli_is_id(const char *text)
{
    return strlen(text) >= 4 && strlen(text) <= 10 &&
           strspn(text, "0123456789abcdef") == strlen(text);
}

#define LESS                                                                                       \
    "less is needed with fewer threads (OMP_NUM_THREADS=1), fewer --workers, --truth-scores N or " \
    "--no-truth"

int cli_no_memory(const char *line, const char *what)
{
    return cli_usage("case %s: %s; " LESS, line, what);
}

void *cli_realloc(void *p, size_t size)
{
    void *q = realloc(p, size ? size : 1);
    if (!q) {
        fprintf(stderr, "mxverify: out of memory for %zu bytes\n", size);
        cli_child_ends();
        exit(3);
    }
    return q;
}

static int help(void)
{
    printf("Usage: mxverify [VERB] [OPTION]...\n"
           "Proves that low-bit attention kernels compute what they claim.\n\n"
           "Verbs (mxverify VERB --help tells more):\n");
    for (int i = 0; i < VERBS; i++)
        printf("  %-10s %s\n", verbs[i].name, verbs[i].text);
    printf(
        "\nExamples:\n"
        "  mxverify --kernel dma --cases fuzz\n"
        "  mxverify --kernel tilemix --cases quick --out out\n"
        "  mxverify repro 'dma lq=130 lk=257 d=64 mask=causal gen=ties seed=7f3a'\n"
        "  echo '3E800000 3F400000' | mxverify eval encode --format e2m1\n\n"
        "Exit status: 0 all passed, 1 a mismatch, 2 stopped early, 3 usage or configuration,\n"
        "77 everything was skipped. Results go to stdout, progress and diagnostics to stderr.\n"
        "\nMXV_SIMD=portable|avx2|avx512|vnni in the environment limits the vector instructions;\n"
        "results do not depend on them.\n");
    return 0;
}

static int version(void)
{
    printf("mxverify %s\n", MXV_VERSION);
    return 0;
}

// MXV_SIMD=portable|avx2|avx512|vnni: the most that may be used. 0, or 3 after a message.
static int limit_simd(void)
{
    const char *name = getenv("MXV_SIMD");
    enum mxv_simd level;
    if (!name || !name[0])
        return 0;
    if (!mxv_simd_find(name, &level))
        return cli_usage("environment variable MXV_SIMD: no level named `%s`; use portable, avx2, "
                         "avx512 or vnni, or unset it",
                         name);
    if (mxv_simd_limit(level) < level)
        return cli_usage("environment variable MXV_SIMD: this processor has no %s; it has %s", name,
                         mxv_simd_name(mxv_simd_detected()));
    return 0;
}

// Of GMP and MPFR, on whatever thread; they cannot go on without memory.
static void stop_without_memory(size_t bytes)
{
    static atomic_flag said = ATOMIC_FLAG_INIT;
    mxv_runner_lacks_memory();
    while (atomic_flag_test_and_set(&said)) // another thread says it
        pause();
    cli_child_ends();
    fprintf(stderr, "mxverify: exact arithmetic: out of memory for %zu bytes; " LESS "\n", bytes);
    _exit(3);
}

// The first thread's stack, and that of workers, has its pages from here on: where address space is
// limited, a page that it cannot have later is a segmentation fault and no status.
__attribute__((noinline)) static void touch_stack(void)
{
    enum { BYTES = 1 << 20, PAGE = 4096 };
    volatile char stack[BYTES];
    for (size_t i = 0; i < sizeof stack; i += PAGE)
        stack[i] = 0;
}

static void reserve_stack(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_STACK, &limit) == 0 &&
        (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= 4 << 20))
        touch_stack();
}

int main(int argc, char **argv)
{
    reserve_stack();
    mxv_truth_stop_without_memory(stop_without_memory);
    setlocale(LC_CTYPE, "");
    atexit(check_output);
    if (limit_simd())
        return 3;
    if (argc < 2 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        strcmp(argv[1], "help") == 0)
        return argc < 2 ? (help(), 3) : help();
    if (strcmp(argv[1], "--version") == 0)
        return version();
    if (argv[1][0] == '-')
        return cli_run(argc - 1, argv + 1);
    for (int i = 0; i < VERBS; i++)
        if (strcmp(argv[1], verbs[i].name) == 0)
            return verbs[i].run(argc - 2, argv + 2);
    return cli_usage("no verb named `%s`; see mxverify --help", argv[1]);
}
