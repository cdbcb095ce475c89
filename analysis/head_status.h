// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// What emulations, exact attention and implementations return, as a status of this layer: an option
// that is not offered and lack of memory must not be taken for one another.
// tests/unit/test_no_memory.c fails if this file is wrong.
#ifndef MXV_HEAD_STATUS_H
#define MXV_HEAD_STATUS_H

#include <mxverify/attention.h>
#include <mxverify/status.h>
#include <mxverify/truth.h>

static inline enum mxv_status status_of_head(int status) // enum mxv_head_status
{
    return status == MXV_HEAD_OK          ? MXV_OK
           : status == MXV_HEAD_NO_MEMORY ? MXV_ERR_MEMORY
                                          : MXV_ERR_UNSUPPORTED;
}

static inline enum mxv_status status_of_truth(enum mxv_truth_status status)
{
    return status == MXV_TRUTH_OK          ? MXV_OK
           : status == MXV_TRUTH_NO_MEMORY ? MXV_ERR_MEMORY
                                           : MXV_ERR_INTERNAL;
}

#endif
