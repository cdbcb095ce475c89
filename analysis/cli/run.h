// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// The run behind `run` and `repro`: configuration, source of cases, totals. Private.
#ifndef MXV_CLI_RUN_H
#define MXV_CLI_RUN_H

#include <mxverify/coverage.h>
#include <mxverify/tiers.h>
#include <mxverify/verify.h>

enum maps_wanted { MAPS_AUTO, MAPS_ALL, MAPS_FAIL, MAPS_NONE };
enum { RUN_SETTINGS_MAX = 64, RUN_MAPS_AUTO = 4 };

struct run_config {
    const char *kernel, *cases, *out, *log_name, *input, *fault, *arch, *impl_name;
    const char *settings[RUN_SETTINGS_MAX]; // key=value, applied to every case
    size_t setting_count;
    uint64_t seed;
    size_t count;
    double time_budget; // seconds, 0: none
    struct mxv_verify_options verify;
    enum maps_wanted maps;
    bool with_real, quiet, print_hash, require_coverage, print_coverage, no_log;
    const char *real_dir;
    int argc;
    char **argv;
};

// What the source of a run is: case i of a tier, or one case.
struct run_source {
    struct mxv_tier *tier;
    struct mxv_case single;
    size_t count; // SIZE_MAX: until the time is over
};

struct run_totals {
    size_t counts[MXV_VERDICT_COUNT];
    size_t by_kernel[MXV_KERNEL_COUNT][MXV_VERDICT_COUNT];
    uint64_t tiles[MXV_KERNEL_COUNT][MXV_ROUTE_COUNT], words[MXV_KERNEL_COUNT];
    double rel_l2_inputs[MXV_KERNEL_COUNT], rel_l2_operands[MXV_KERNEL_COUNT];
    double bound_ratio[MXV_KERNEL_COUNT];
    uint64_t truth_rows[MXV_KERNEL_COUNT], truth_rows_total[MXV_KERNEL_COUNT];
    size_t done, maps;
    bool stopped_early;
    double seconds;
    struct mxv_coverage coverage;
};

// Folder of the captured activations: the given one, else the first of data/real/... below the
// current folder, the source folder and the installed data that holds them.
const char *run_real_folder(const char *given);
void run_config_defaults(struct run_config *config);
// Makes the folder and its parents; 0, or an exit status after a message.
int run_make_folder(const char *path);
// Runs everything and prints the report; returns the exit status.
int run_cases(const struct run_config *config, struct run_source *source);
void run_report(const struct run_config *config, const struct run_totals *totals, uint64_t hash);

#endif
