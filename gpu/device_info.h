// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Name and driver of device 0 for an adapter's info; an enum mxv_impl_status, with a message when
// there is no device. Does not start CUDA in the calling process.
#ifndef MXV_DEVICE_INFO_H
#define MXV_DEVICE_INFO_H

#include <mxverify/impl.h>

int mxv_cuda_device_info(struct mxv_impl_info *out, char *message, size_t size);

#endif
