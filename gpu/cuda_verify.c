// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// cuda_verify: runs the cases of a tier on the device and in the emulation and counts differing
// words; writes what the device computed as recorded results. docs/gpu.md is the manual.
//
// Exit status: 0 no differing word, 1 some, 3 usage or no device, 77 nothing ran.
#include "verify_case.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <mxverify/tiers.h>

struct settings {
    struct mxv_tier_options tier;
    struct verify_options verify;
    size_t first;
    bool adapt;         // cases of other architectures become sm_90's
    bool wgmma;         // d and key tile become what the wgmma path takes
    double budget;      // seconds after which no case is started; 0: none
    const char *folder; // for recorded results; NULL: none
    const char *name;   // of the file there
};

struct totals {
    uint64_t ran, skipped, bad, words, taps, differing, trace_differing;
    uint64_t cases[MXV_KERNEL_COUNT], wgmma[MXV_KERNEL_COUNT], fused[MXV_KERNEL_COUNT],
        tiles[MXV_KERNEL_COUNT][MXV_ROUTE_COUNT];
    double device_seconds, emulation_seconds;
};

static const char usage[] =
    " [--kernel K] [--cases TIER] [--count N] [--seed HEX] [--first I]\n"
    "                   [--taps] [--adapt] [--wgmma] [--tiles N] [--fault NAME] [--budget S] "
    "[--out DIR]\n"
    "                   [--whole N] [--name FILE]\n"
    "  --kernel K    flash, dma, tilemix or all          --cases TIER  smoke, quick, fuzz, a file\n"
    "  --taps        compare every tap, not only out and lse\n"
    "  --adapt       set arch=sm_90, instead of skipping cases of other architectures\n"
    "  --wgmma       set d and key tile to 64 or 128, which the wgmma path takes\n"
    "  --tiles N     emulate N query tiles of each head only (large cases)\n"
    "  --fault NAME  switch a defect on in the emulation, to see the report\n"
    "  --budget S    start no case after S seconds       --out DIR     write recorded.txt there\n"
    "  --whole N     record all output and LSE words of cases with N or fewer of them, and with\n"
    "                --taps those of every other tap, if they are N or fewer\n"
    "  --name FILE   the file's name instead of recorded.txt\n";

static const char *program; // its own name: emulate_verify is built of this file, too

static int refuse(const char *text)
{
    fprintf(stderr, "%s: %s\n", program, text);
    return 3;
}

static int refuse_value(const char *option, const char *value, const char *expected)
{
    fprintf(stderr, "%s: --%s %s: expected %s\n", program, option, value, expected);
    return 3;
}

static bool read_number(const char *text, int base, uint64_t *out)
{
    char *end;
    errno = 0;
    *out = strtoull(text, &end, base);
    return errno == 0 && end != text && *end == '\0' && text[0] != '-' && text[0] != '+';
}

// An option with a number. 0, or 3 after a message.
static int take_number(struct settings *s, int key, const char *name, const char *value)
{
    uint64_t n;
    char *end;
    if (key == 'b') {
        s->budget = strtod(value, &end);
        const bool good = end != value && *end == '\0' && s->budget >= 0 && s->budget < 1e9;
        return good ? 0 : refuse_value(name, value, "seconds");
    }
    if (!read_number(value, key == 's' ? 16 : 10, &n))
        return refuse_value(name, value, key == 's' ? "a hexadecimal seed" : "a whole number");
    if (key == 'n')
        s->tier.count = n;
    else if (key == 's')
        s->tier.seed = n;
    else if (key == 'f')
        s->first = n;
    else if (key == 'T')
        s->verify.tiles = n;
    else
        s->verify.whole = n;
    return 0;
}

static int take_option(struct settings *s, int key, const char *name)
{
    enum mxv_fault fault;
    switch (key) {
    case 'k':
        s->tier.kernel = optarg;
        return 0;
    case 'c':
        s->tier.tier = optarg;
        return 0;
    case 't':
        s->verify.taps = true;
        return 0;
    case 'a':
        s->adapt = true;
        return 0;
    case 'w':
        s->wgmma = true;
        return 0;
    case 'o':
        s->folder = optarg;
        return 0;
    case 'N':
        s->name = optarg;
        return 0;
    case 'F':
        if (!mxv_fault_find(optarg, &fault))
            return refuse_value(name, optarg, "a fault (mxverify list faults)");
        s->verify.faults |= UINT64_C(1) << fault;
        return 0;
    default:
        return take_number(s, key, name, optarg);
    }
}

// -1: go on; else the exit status, everything said.
static int read_options(int argc, char **argv, struct settings *s)
{
    static const struct option options[] = {
        {"kernel", 1, 0, 'k'}, {"cases", 1, 0, 'c'}, {"count", 1, 0, 'n'},  {"seed", 1, 0, 's'},
        {"first", 1, 0, 'f'},  {"taps", 0, 0, 't'},  {"adapt", 0, 0, 'a'},  {"tiles", 1, 0, 'T'},
        {"fault", 1, 0, 'F'},  {"out", 1, 0, 'o'},   {"budget", 1, 0, 'b'}, {"wgmma", 0, 0, 'w'},
        {"whole", 1, 0, 'W'},  {"name", 1, 0, 'N'},  {"help", 0, 0, 'h'},   {0}};
    int key, at = 0, status = 0;
    *s = (struct settings){.tier = {.tier = "smoke", .kernel = "all", .seed = 1},
                           .name = "recorded.txt"};
    while (status == 0 && (key = getopt_long(argc, argv, "h", options, &at)) != -1) {
        if (key == 'h') {
            printf("usage: %s%s", program, usage);
            return 0;
        }
        if (key == '?') // getopt has said why
            return 3;
        status = take_option(s, key, options[at].name);
    }
    if (status == 0 && optind < argc)
        status = refuse("options alone are understood; see --help");
    if (status == 0 && s->verify.whole && !s->folder)
        status = refuse("--whole N records words: give --out DIR, too");
    return status ? status : -1;
}

static void fit_wgmma(struct mxv_case *c)
{
    c->d = c->d <= 64 ? 64 : 128;
    c->tile.n = c->tile.n <= 64 ? 64 : 128;
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void add_outcome(struct totals *t, enum mxv_kernel kernel, const struct verify_outcome *o)
{
    const bool bad = o->differing || o->trace_differing;
    t->ran += o->ran;
    t->skipped += !o->ran;
    t->bad += bad;
    t->words += o->words;
    t->taps += o->taps;
    t->differing += o->differing;
    t->trace_differing += o->trace_differing;
    t->device_seconds += o->device_seconds;
    t->emulation_seconds += o->emulation_seconds;
    t->cases[kernel] += o->ran;
    t->wgmma[kernel] += o->ran && o->wgmma;
    t->fused[kernel] += o->ran && o->fused;
    for (unsigned r = 0; r < MXV_ROUTE_COUNT; r++)
        t->tiles[kernel][r] += o->tile_count[r];
}

static void report(const struct mxv_case *c, const struct verify_outcome *o)
{
    char line[MXV_CASE_LINE_SIZE];
    mxv_case_print(c, line, sizeof line);
    if (!o->ran)
        printf("skip  %s\n      %s\n", line, o->message);
    else if (o->differing || o->trace_differing)
        printf("FAIL  %s\n      %" PRIu64 " differing words, %" PRIu64
               " between its builds; first: %s\n",
               line, o->differing, o->trace_differing, o->first);
    fflush(stdout);
}

static void run_case(const struct settings *s, const struct mxv_tier *tier, size_t i,
                     struct totals *totals, char **record)
{
    struct verify_outcome o;
    struct mxv_case c;
    mxv_tier_case(tier, i, &c);
    if (s->adapt)
        c.arch = MXV_ARCH_SM_90;
    if (s->wgmma)
        fit_wgmma(&c);
    verify_case(&c, &s->verify, &o);
#pragma omp critical(report)
    {
        add_outcome(totals, c.kernel, &o);
        report(&c, &o);
    }
    if (o.ran)
        *record = mxv_recorded_print(&o.record);
    mxv_recorded_free(&o.record);
}

static void run_cases(const struct settings *s, const struct mxv_tier *tier, size_t end,
                      struct totals *totals, char **records)
{
    const double start = seconds();
#pragma omp parallel
#pragma omp single
    for (size_t i = s->first; i < end; i++)
#pragma omp task firstprivate(i)
        if (s->budget <= 0 || seconds() - start < s->budget)
            run_case(s, tier, i, totals, &records[i - s->first]);
}

// First line of a file, without its end; "" if there is none.
static void first_line(const char *path, char *text, int size)
{
    FILE *f = fopen(path, "r");
    if (!f || !fgets(text, size, f))
        text[0] = '\0';
    text[strcspn(text, "\n")] = '\0';
    if (f)
        fclose(f);
}

// Device, driver, architecture and day, as comments of <mxverify/recorded.h>.
static void write_origin(FILE *f, const char *device)
{
    char driver[128], day[32] = "";
    unsigned major = 0, minor = 0;
    const char *capability = strstr(device, "compute capability ");
    const time_t now = time(NULL);
    first_line("/sys/module/nvidia/version", driver, sizeof driver);
    strftime(day, sizeof day, "%Y-%m-%d", gmtime(&now));
    fprintf(f, "# device: %.*s\n", (int)strcspn(device, ","), device);
    if (driver[0])
        fprintf(f, "# driver: %s\n", driver);
    if (capability && sscanf(capability, "compute capability %u.%u", &major, &minor) == 2)
        fprintf(f, "# arch: sm_%u%u\n", major, minor);
    fprintf(f, "# made %s on %s\n", day, device);
}

static int write_records(const struct settings *s, const char *device, char **records, size_t n)
{
    char path[4096];
    if (!s->folder)
        return 0;
    snprintf(path, sizeof path, "%s/%s", s->folder, s->name);
    FILE *f = fopen(path, "w");
    if (f)
        write_origin(f, device);
    for (size_t i = 0; f && i < n; i++)
        if (records[i])
            fprintf(f, "%s\n", records[i]);
    if (!f || fclose(f)) {
        fprintf(stderr, "%s: %s: %s\n", program, path, strerror(errno));
        return -1;
    }
    return 0;
}

static void print_totals(const struct totals *t, double wall)
{
    printf("cases %" PRIu64 ", skipped %" PRIu64 ", with a difference %" PRIu64 "\n", t->ran,
           t->skipped, t->bad);
    for (unsigned k = 0; k < MXV_KERNEL_COUNT; k++) {
        if (!t->cases[k])
            continue;
        printf("  %-8s %" PRIu64 " cases, %" PRIu64 " by wgmma, %" PRIu64
               " as one kernel with its quantisers; score tiles",
               mxv_choice_name(MXV_CHOICE_KERNEL, k), t->cases[k], t->wgmma[k], t->fused[k]);
        for (unsigned r = 0; r < MXV_ROUTE_COUNT; r++)
            if (t->tiles[k][r])
                printf(" %s %" PRIu64, mxv_choice_name(MXV_CHOICE_ROUTE, r), t->tiles[k][r]);
        printf("\n");
    }
    printf("taps %" PRIu64 ", words %" PRIu64 ", differing words %" PRIu64
           ", between builds of a kernel %" PRIu64 "\n",
           t->taps, t->words, t->differing, t->trace_differing);
    printf("device part %.1f s, emulation %.1f core s, wall %.1f s\n", t->device_seconds,
           t->emulation_seconds, wall);
}

// The cases from `first` on, at most `count` of them; 0, or 3 after a message.
static int open_cases(struct settings *s, struct mxv_tier **tier, size_t *end)
{
    char text[512];
    const size_t count = s->tier.count;
    s->tier.count = count ? s->first + count : 0;
    if (mxv_tier_open(&s->tier, tier, text, sizeof text) != MXV_OK)
        return refuse(text);
    *end = mxv_tier_count(*tier);
    if (count && *end > s->first + count)
        *end = s->first + count;
    if (*end == SIZE_MAX)
        return refuse("this tier has no end; give --count");
    return 0;
}

int main(int argc, char **argv)
{
    struct settings s;
    struct totals totals = {0};
    struct mxv_tier *tier;
    char text[512];
    size_t end;
    const char *slash = strrchr(argv[0], '/');
    program = slash ? slash + 1 : argv[0];
    int status = read_options(argc, argv, &s);
    if (status >= 0)
        return status;
    if (open_cases(&s, &tier, &end))
        return 3;
    if (mxv_cuda_device(text, sizeof text))
        return refuse(text);
    const double start = seconds();
    const size_t n = end > s.first ? end - s.first : 0;
    char **records = calloc(n + 1, sizeof *records);
    printf("device: %s\n", text);
    if (records)
        run_cases(&s, tier, end, &totals, records);
    print_totals(&totals, seconds() - start);
    status = records ? write_records(&s, text, records, n) : refuse("out of memory");
    for (size_t i = 0; records && i < n; i++)
        free(records[i]);
    free(records);
    mxv_tier_close(tier);
    if (status)
        return 3;
    return totals.bad ? 1 : totals.ran ? 0 : 77;
}
