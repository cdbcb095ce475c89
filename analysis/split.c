// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Causes of error and their sums over tiles (split.h). tests/gate/test_split.c fails if it is
// wrong.
#include <math.h>
#include <mxverify/split.h>

#define X(id, name, text) name,
static const char *const names[] = {MXV_CAUSES(X)};
#undef X
#define X(id, name, text) text,
static const char *const texts[] = {MXV_CAUSES(X)};
#undef X

const char *mxv_cause_name(unsigned cause)
{
    return cause < MXV_CAUSE_COUNT ? names[cause] : NULL;
}

const char *mxv_cause_text(unsigned cause)
{
    return cause < MXV_CAUSE_COUNT ? texts[cause] : NULL;
}

void mxv_split_merge(struct mxv_split_cell *into, const struct mxv_split_cell *from)
{
    into->elements += from->elements;
    for (unsigned k = 0; k < MXV_CAUSE_COUNT; k++) {
        into->squares[k] += from->squares[k];
        into->largest[k] = fmax(into->largest[k], from->largest[k]);
    }
}

double mxv_split_rms(const struct mxv_split_cell *cell, enum mxv_cause cause)
{
    return cell->elements ? sqrt(cell->squares[cause] / (double)cell->elements) : 0;
}
