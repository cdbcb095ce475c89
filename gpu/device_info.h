// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// What both adapters tell the judge: name and driver of device 0, and how a run ended.
#ifndef MXV_DEVICE_INFO_H
#define MXV_DEVICE_INFO_H

#include <mxverify/impl.h>

// For an adapter's info; an enum mxv_impl_status, with a message when there is no device. Does not
// start CUDA in the calling process.
int mxv_cuda_device_info(struct mxv_impl_info *out, char *message, size_t size);

// The enum mxv_impl_status of what mxv_cuda_run or mxv_emulate_run returned.
static inline int mxv_cuda_impl_status(int status)
{
    return status == 0 ? MXV_IMPL_OK : status == -2 ? MXV_IMPL_NO_MEMORY : MXV_IMPL_FAILED;
}

#endif
