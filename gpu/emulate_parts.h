// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Parts of emulate_check in files of their own. They print their lines and return its exit status.
#ifndef MXV_EMULATE_PARTS_H
#define MXV_EMULATE_PARTS_H

int emulate_rates(void);
int emulate_kernels(void);

#endif
