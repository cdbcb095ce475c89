// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// `mxverify bench --scaling`: processor time (all threads) and memory of one head of `dma`, causal,
// d = 128, and of its truth, over lengths; the exponent p of the fit time = c * tokens^p by least
// squares of the logarithms. A length whose time would exceed the budget is measured on a sample of
// query rows and scaled by the score elements; the table says so.
#include "bench.h"
#include "bench_head.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LENGTHS = 6, SERIES = 2 };

// One measurement, made in a process of its own so that its memory can be told.
struct measure {
    double seconds, megabytes;
    size_t sampled; // query rows measured; 0: all
};

static void measure_child(int series, size_t tokens, int to)
{
    struct measure m = {0};
    m.seconds = series == 0 ? bench_head_emulation(tokens, &m.sampled)
                            : bench_head_truth(tokens, &m.sampled);
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    m.megabytes = (double)usage.ru_maxrss / 1024;
    const ssize_t written = write(to, &m, sizeof m);
    _exit(written == (ssize_t)sizeof m && m.seconds > 0 ? 0 : 1);
}

static bool measure(int series, size_t tokens, struct measure *m)
{
    int ends[2], status = 1;
    if (pipe(ends))
        return false;
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0)
        measure_child(series, tokens, ends[1]);
    close(ends[1]);
    const bool got = child > 0 && read(ends[0], m, sizeof *m) == (ssize_t)sizeof *m;
    close(ends[0]);
    if (child > 0)
        waitpid(child, &status, 0);
    return got && status == 0;
}

// Slope of log y over log x.
static double exponent(const double *x, const double *y, size_t n)
{
    double sx = 0, sy = 0, sxx = 0, sxy = 0;
    for (size_t i = 0; i < n; i++) {
        const double u = log(x[i]), v = log(y[i]);
        sx += u;
        sy += v;
        sxx += u * u;
        sxy += u * v;
    }
    const double count = (double)n;
    return (count * sxy - sx * sy) / (count * sxx - sx * sx);
}

int bench_scaling(const struct bench_options *options)
{
    static const char *const names[SERIES] = {"emulation", "truth"};
    (void)options;
    printf("| work      | tokens | cpu s    | peak MB | rows measured |\n"
           "|-----------|--------|----------|---------|---------------|\n");
    for (int series = 0; series < SERIES; series++) {
        double tokens[LENGTHS], seconds[LENGTHS], megabytes[LENGTHS];
        for (size_t i = 0; i < LENGTHS; i++) {
            struct measure m;
            const size_t length = (size_t)1024 << i;
            if (!measure(series, length, &m)) {
                fprintf(stderr, "mxverify bench: %s of %zu tokens failed\n", names[series], length);
                return 1;
            }
            tokens[i] = (double)length;
            seconds[i] = m.seconds;
            megabytes[i] = m.megabytes;
            printf("| %-9s | %6zu | %8.3f | %7.1f | %-13zu |\n", names[series], length, m.seconds,
                   m.megabytes, m.sampled ? m.sampled : length);
        }
        printf("%s: time ~ tokens^%.2f, memory ~ tokens^%.2f (last four lengths)\n", names[series],
               exponent(tokens + 2, seconds + 2, LENGTHS - 2),
               exponent(tokens + 2, megabytes + 2, LENGTHS - 2));
    }
    return 0;
}
