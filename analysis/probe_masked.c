// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Probe: what an attention gives for a row whose keys are all masked. Two requests: one key of four
// visible (a control, whose answer is that key's value whatever the policy), and none. Values 1, 2,
// 4, 5 have the mean 3, which is none of them. tests/cli/test_probe.sh fails if this is wrong.
#include "probe_internal.h"
#include <stdlib.h>

const char *mxv_probe_masked_name(unsigned row)
{
#define X(id, name, text) name,
    static const char *const names[] = {MXV_PROBE_MASKED_ROWS(X)};
#undef X
    return row < MXV_PROBE_MASKED_COUNT ? names[row] : NULL;
}

const char *mxv_probe_masked_text(unsigned row)
{
#define X(id, name, text) text,
    static const char *const texts[] = {MXV_PROBE_MASKED_ROWS(X)};
#undef X
    return row < MXV_PROBE_MASKED_COUNT ? texts[row] : NULL;
}

static enum mxv_probe_masked_row classify(uint32_t out)
{
    if ((out & 0x7fffffff) > 0x7f800000)
        return MXV_PROBE_MASKED_NAN_;
    if ((out & 0x7fffffff) == 0)
        return MXV_PROBE_MASKED_ZERO;
    return out == 0x40400000 ? MXV_PROBE_MASKED_MEAN : MXV_PROBE_MASKED_OTHER;
}

enum mxv_status mxv_probe_masked_run(const char *command, struct mxv_probe_masked *out,
                                     char *message, size_t size)
{
    static const char request[] = "00000000 00000000 00000000 00000000 | "
                                  "3F800000 40000000 40800000 40A00000 | ";
    uint32_t control[2] = {0}, masked[2] = {0};
    size_t counts[2] = {0};
    char *text = NULL;
    FILE *f = tmpfile();
    if (!f) {
        snprintf(message, size, "no temporary file");
        return MXV_ERR_IO;
    }
    fprintf(f, "%s00 01 00 00\n%s00 00 00 00\n", request, request);
    enum mxv_status status = probe_command(command, f, &text, message, size);
    fclose(f);
    if (status != MXV_OK)
        return status;
    char *at = text;
    const char *line = "";
    bool good = probe_next_answer(&at, control, 2, &counts[0], &line) &&
                probe_next_answer(&at, masked, 2, &counts[1], &line) && counts[0] && counts[1] &&
                counts[0] <= 2 && counts[1] <= 2 && control[0] == 0x40000000;
    free(text);
    if (!good) {
        snprintf(message, size,
                 "`%.200s`: a row with one visible key of value 2 gives %08X, not 40000000, or an "
                 "answer is missing",
                 command, control[0]);
        return MXV_ERR_INPUT;
    }
    *out = (struct mxv_probe_masked){classify(masked[0]), masked[0], counts[1] > 1, masked[1]};
    return MXV_OK;
}
