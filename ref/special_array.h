// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Vector forms of the bare ex2 unit; chosen in special_array.c. Each takes n words, any n, x and
// out equal or apart.
#ifndef MXV_REF_SPECIAL_ARRAY_H
#define MXV_REF_SPECIAL_ARRAY_H

#include <stddef.h>
#include <stdint.h>

void mxv_unit_ex2_avx2(const uint32_t *x, size_t n, uint32_t *out);
void mxv_unit_ex2_avx512(const uint32_t *x, size_t n, uint32_t *out);

#endif
