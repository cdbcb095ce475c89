// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Properties without reference: relations between outputs of one implementation that attention must
// fulfil, for kernels and sizes that no emulation covers. Each is checked on small calls made for
// it, over the variants of a kernel (mixed routes and each route alone). Where the arithmetic makes
// the relation exact, bits are compared; elsewhere the tolerance follows from formats, matrix unit
// and lengths of the call (docs/properties.md), from no measurement.
// Threads: independent calls.
#ifndef MXVERIFY_PROPERTIES_H
#define MXVERIFY_PROPERTIES_H

#include <mxverify/case.h>
#include <mxverify/impl.h>
#include <mxverify/verify.h>

#ifdef __cplusplus
extern "C" {
#endif

enum mxv_property {
#define X(id, name, exact, released, text) MXV_PROPERTY_##id,
#include <mxverify/properties.def>
#undef X
    MXV_PROPERTY_COUNT
};
const char *mxv_property_name(unsigned property); // NULL beyond the last one
const char *mxv_property_text(unsigned property);
bool mxv_property_exact(enum mxv_property property);

struct mxv_property_options {
    enum mxv_kernel kernel;
    enum mxv_impl impl;
    const struct mxv_adapter *adapter; // instead of impl; NULL: none
    uint64_t faults;                   // of impl emulation
    uint64_t seed;
    const struct mxv_case *base; // options of all calls instead of the kernel's variants; its
                                 // generator and shape are not kept. NULL: none
    // Another implementation, for tests; NULL: none. As mxv_engine_head.
    int (*head)(const struct mxv_attention *a, size_t sequence, size_t head, uint32_t *out,
                uint32_t *lse, const struct mxv_tap_sink *sink, char *message, size_t size);
};

enum mxv_property_outcome {
    MXV_PROPERTY_HOLDS,
    MXV_PROPERTY_VIOLATED,
    MXV_PROPERTY_EXPECTED,      // violated by a named defect that dma-released has by contract
    MXV_PROPERTY_NOT_APPLICABLE // no variant offers what it needs
};
const char *mxv_property_outcome_name(enum mxv_property_outcome outcome);

struct mxv_property_result {
    enum mxv_property_outcome outcome;
    uint64_t compared, beyond; // numbers compared, beyond their tolerance
    double worst;              // largest error / tolerance; Inf for different bits
    double error, tolerance;   // there
    char variant[512];         // the case it is from, as a line
    char text[256];            // where: sequence, head, row, channel, values
};

// Checks one property over the variants of the kernel. Errors: memory, a base case without the
// kernel, an implementation that fails (message).
enum mxv_status mxv_property_check(enum mxv_property property,
                                   const struct mxv_property_options *options,
                                   struct mxv_property_result *out, char *message, size_t size);

#ifdef __cplusplus
}
#endif
#endif
