// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// A run log under way.
#ifndef MXV_LOG_INTERNAL_H
#define MXV_LOG_INTERNAL_H

#include "log_json.h"

#include <mxverify/log.h>

struct mxv_log {
    struct mxv_json json;
    char *path;
    size_t unsynced; // records since the last flush to the disk
};

// Ends the record, flushes to the disk when it is time (or `now`), and reports an error.
enum mxv_status mxv_log_finish_record(struct mxv_log *log, bool now, char *message,
                                      size_t message_size);

// Members "machine" and "compiler" of the header; "date" as YYYY-MM-DDTHH:MM:SSZ.
void mxv_log_put_machine(struct mxv_json *json);
void mxv_log_put_date(struct mxv_json *json);

#endif
