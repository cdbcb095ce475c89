// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// The bare special-function unit (MUFU) on binary32 words; the wrappers of special.c build on it.
#ifndef MXV_REF_SPECIAL_UNIT_H
#define MXV_REF_SPECIAL_UNIT_H

#include <stdint.h>

uint32_t mxv_unit_ex2(uint32_t x);
uint32_t mxv_unit_rcp(uint32_t x);
uint32_t mxv_unit_lg2(uint32_t x);
uint32_t mxv_unit_rsq(uint32_t x);

#endif
