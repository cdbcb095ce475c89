// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// What the files of the adapter share. Private.
#ifndef MXV_ADAPTER_INTERNAL_H
#define MXV_ADAPTER_INTERNAL_H

#include <stddef.h>

// The shared object for dlsym and dlclose; NULL with a message that begins with the path.
void *adapter_load(const char *path, char *message, size_t size);

#endif
