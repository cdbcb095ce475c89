// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Tensors on host and device, and one launch of a quantiser against formats/: what the checks of
// gpu/device_check share (check_tensor.c). Each ends the program with status 3 when the device
// fails.
#ifndef MXV_CHECK_TENSOR_H
#define MXV_CHECK_TENSOR_H

#include "cuda_memory.h"
#include "operands.h"

#include <mxverify/element.h>

struct check_tensor {
    size_t rows, d;
    enum mxv_gpu_type type;
    uint32_t *words;    // binary32 words of the values
    const void *device; // the same as `type`
    const float *amax;  // device: of all values that are numbers, at least 2^-20
    const float *ones;  // device: 1 for each row
    // Rows as `heads` heads; tokens take turns in two sequences, of which each has a mean vector.
    int32_t heads;
    const int32_t *sequence_of; // device
    uint32_t *mean_words;       // [heads][2][d], of the caller to free; NULL: no means
    const float *means;         // device: the same
    uint32_t amax_word;
};

// Steps on the way of values, which the kernels treat apart: none, a factor that is part of a
// block's multiplier, one that is not, a mean alone and with a factor, and division by row scales
// of 1.
enum check_steps {
    CHECK_STEPS_NONE,
    CHECK_STEPS_FACTOR,
    CHECK_STEPS_LARGE_FACTOR,
    CHECK_STEPS_MEAN,
    CHECK_STEPS_MEAN_FACTOR,
    CHECK_STEPS_ROWS,
    CHECK_STEPS_COUNT
};

extern const char *const check_step_names[CHECK_STEPS_COUNT];
extern const enum mxv_element check_elements[]; // by enum mxv_gpu_type
extern const char *const check_type_names[];
extern struct cuda_run check_run;

void check_stop_if(bool failed, const char *what);
void check_call(int error, const char *what); // stops if it is not cudaSuccess
void *check_memory(size_t bytes);
uint64_t check_mix(uint64_t z);

// Puts the values of a tensor, words of its type in t->words, on the device and widens the words.
void check_send(struct check_tensor *t);
// Draws means for the tensor and puts them on the device.
void check_send_means(struct check_tensor *t);
// A value after the steps.
uint32_t check_stepped(const struct check_tensor *t, enum check_steps steps, size_t row,
                       size_t channel);
// The same steps for the device.
struct mxv_gpu_rows check_rows(const struct check_tensor *t, enum check_steps steps);
// The tensor maximum that quantisers are given instead of the tensor's own.
void check_send_amax(struct check_tensor *t, uint32_t word);

// One launch, of which codes and scales are compared, padding too; the number of differing bytes.
uint64_t check_quantiser(const char *what, const struct mxv_gpu_quantiser *q,
                         const struct check_tensor *t, enum check_steps steps, uint64_t *compared);
// Number of differing bytes of n; the first three are printed.
uint64_t check_differing(const char *what, const char *part, const uint8_t *want,
                         const uint8_t *device, size_t n);

#endif
