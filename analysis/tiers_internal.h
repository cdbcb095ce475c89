// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// What the files of the tiers share.
#ifndef MXV_TIERS_INTERNAL_H
#define MXV_TIERS_INTERNAL_H

#include <mxverify/tiers.h>

// A list of cases that grows; false when memory ends.
struct case_list {
    struct mxv_case *cases;
    size_t count, room;
};
bool tiers_append(struct case_list *list, const struct mxv_case *c);

// The sampler without the options that came after the tiers quick and nightly had been fixed
// (rebase, fold); whether a kernel has one; that option switched on, with what it needs.
void tiers_sample_first(enum mxv_kernel kernel, uint64_t seed, uint64_t index, uint64_t scores,
                        struct mxv_case *out);
bool tiers_has_later(enum mxv_kernel kernel);
void tiers_set_later(struct mxv_case *c);

// Kernels are bit sets of enum mxv_kernel. Each appends what is for those kernels.
enum mxv_status tiers_smoke(struct case_list *list, unsigned kernels, char *message, size_t size);
enum mxv_status tiers_file(struct case_list *list, const char *path, unsigned kernels,
                           char *message, size_t size);
// The cases of data/golden/h200.
enum mxv_status tiers_recorded(struct case_list *list, unsigned kernels, char *message,
                               size_t size);
// All captured layers, or (brief) a few small cases of them.
enum mxv_status tiers_real(struct case_list *list, const char *dir, unsigned kernels, bool brief,
                           char *message, size_t size);

#endif
