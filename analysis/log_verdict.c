// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Verdict words and the exit status that follows from them. tests/unit/test_log.c fails if this
// file is wrong.
#include <mxverify/log.h>

#include <string.h>

static const struct {
    const char *name, *text;
    enum mxv_verdict_class class_;
} verdicts[] = {
#define X(id, name, class_, text) {name, text, MXV_VERDICT_##class_},
    MXV_VERDICTS(X)
#undef X
};

const char *mxv_verdict_name(unsigned verdict)
{
    return verdict < MXV_VERDICT_COUNT ? verdicts[verdict].name : NULL;
}

const char *mxv_verdict_text(unsigned verdict)
{
    return verdict < MXV_VERDICT_COUNT ? verdicts[verdict].text : NULL;
}

enum mxv_verdict_class mxv_verdict_class_of(enum mxv_verdict verdict)
{
    return verdicts[verdict].class_;
}

bool mxv_verdict_find(const char *name, enum mxv_verdict *out)
{
    for (unsigned i = 0; i < MXV_VERDICT_COUNT; i++) {
        if (strcmp(verdicts[i].name, name) == 0) {
            *out = (enum mxv_verdict)i;
            return true;
        }
    }
    return false;
}

int mxv_exit_status(const size_t counts[MXV_VERDICT_COUNT], bool stopped_early)
{
    size_t by_class[MXV_VERDICT_SKIPPED + 1] = {0};
    for (unsigned i = 0; i < MXV_VERDICT_COUNT; i++)
        by_class[verdicts[i].class_] += counts[i];
    if (by_class[MXV_VERDICT_BAD] > 0)
        return 1;
    if (stopped_early)
        return 2;
    if (by_class[MXV_VERDICT_GOOD] > 0)
        return 0;
    return by_class[MXV_VERDICT_SKIPPED] > 0 ? 77 : 3;
}
