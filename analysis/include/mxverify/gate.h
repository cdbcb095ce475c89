// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Gate power: the comparison that judged an output judges mutations of it. What it lets through, a
// broken kernel could have done. docs/bounds.md, "Gate power".
//
// Three gates are tried on each mutant: `bits` (against the emulation's words), `bound` (contract
// bound), `model` (bound of the declared model: what judges a foreign kernel). A mutant whose words
// equal the output's own is not applicable. Killed means: some judged element is proved wrong, or
// is NaN.
// Threads: no shared state.
#ifndef MXVERIFY_GATE_H
#define MXVERIFY_GATE_H

#include <mxverify/element.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { MXV_GATE_ROWS = 6 }; // rows of a head on which mutants of kind ROW are made

enum mxv_mutant {
#define X(id, name, kind, mandatory, text) MXV_MUTANT_##id,
#include <mxverify/mutants.def>
#undef X
    MXV_MUTANT_COUNT
};

enum mxv_mutant_kind { MXV_MUTANT_KIND_OUTPUT, MXV_MUTANT_KIND_ROW };

struct mxv_mutant_info {
    const char *name, *text;
    enum mxv_mutant_kind kind;
    bool mandatory;
};
const struct mxv_mutant_info *mxv_mutant_get(unsigned mutant); // NULL beyond the last one
uint64_t mxv_mutants_mandatory(void);                          // bit set

// Bit sets of enum mxv_mutant. applicable: changes a word; judged: changes one of a judged row;
// bits is a subset of applicable, bound and model are subsets of judged.
struct mxv_gate_report {
    uint64_t applicable, judged, bits, bound, model;
    uint64_t elements;           // judged, and finite
    int gain_up, gain_down;      // smallest gain 1 + 2^-k and 1 - 2^-k that the contract bound
    int model_up, model_down;    // catches, and the model bound: k, 0 if not even k = 1
    double element, element_ulp; // smallest error of one element that is certain to be caught,
    double blind, blind_ulp;     // and the largest that might pass; absolute, and in output ulp
};

void mxv_gate_report_init(struct mxv_gate_report *report);
// The report of two parts of one output: a mutant is killed if a part kills it.
void mxv_gate_report_merge(struct mxv_gate_report *into, const struct mxv_gate_report *from);
// Mandatory mutants that a gate by bits, or by one of the bounds, had a chance to notice and did
// not.
uint64_t mxv_gate_survivors_bits(const struct mxv_gate_report *report);
uint64_t mxv_gate_survivors(const struct mxv_gate_report *report, uint64_t killed);
// "zero x1.05", or "none"; returns the length as snprintf does.
size_t mxv_mutants_print(uint64_t mutants, char *buffer, size_t size);

// One output as a gate sees it: [rows][d] dense.
struct mxv_gate_output {
    enum mxv_element format;
    size_t rows, d;
    const uint32_t *words;
    const bool *judged; // [rows]
    // Contract: proved wrong iff |x - centre| - noise > rest; so the model. A centre that is NaN or
    // infinite is the word itself: another is wrong. Rest and model both infinite: not judged.
    const double *centre, *noise, *rest;
    const double *model_centre, *model_noise, *model;
};

// Judges `mutated` words [rows][d] as mutant m of the output.
void mxv_gate_try(const struct mxv_gate_output *o, enum mxv_mutant m, const uint32_t *mutated,
                  struct mxv_gate_report *report);
// Gains until not caught, and single-element errors.
void mxv_gate_limits(const struct mxv_gate_output *o, struct mxv_gate_report *report);
// Word of x in an output format, nearest even, overflow to infinity where there is one.
uint32_t mxv_gate_word(enum mxv_element format, double x);

#ifdef __cplusplus
}
#endif
#endif
