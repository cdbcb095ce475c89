// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// What a library call reports. 0 is success; every other value says who can mend the failure.
// The text for a person goes into the message buffer that the call takes beside it.
#ifndef MXVERIFY_STATUS_H
#define MXVERIFY_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

enum mxv_status {
    MXV_OK = 0,
    MXV_ERR_INPUT,       ///< the caller's data or arguments are wrong: file, case line, option
    MXV_ERR_IO,          ///< the system refused: missing file, no permission, full disk
    MXV_ERR_MEMORY,      ///< an allocation failed
    MXV_ERR_UNSUPPORTED, ///< well formed, but not handled here: the message says what is
    MXV_ERR_INTERNAL     ///< a broken invariant of the library: a bug to be reported
};

#ifdef __cplusplus
}
#endif

#endif
