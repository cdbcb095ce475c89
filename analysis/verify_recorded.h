// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Private to verification: implementation `recorded`. Nothing here acts on another implementation.
#ifndef MXV_VERIFY_RECORDED_H
#define MXV_VERIFY_RECORDED_H

#include "verify.h"

// Verdict skip when no result is recorded, oracle-error when the device had other data.
void verify_recorded_begin(const struct verification *v, struct mxv_verify_result *out);
// The head's words: the emulation's own, until verify_recorded_end compares their hashes.
int verify_recorded_head(struct head_result *h, size_t d);
// Compares the whole call; an enum mxv_status.
enum mxv_status verify_recorded_end(const struct verification *v, struct mxv_verify_result *out,
                                    char *message, size_t size);

#endif
