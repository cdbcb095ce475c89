// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Tensor memory and the fifth-generation tensor core (PTX ISA 9.2, 9.7.16) as one block sees them.
// Operands are found by decoding the descriptors that the text hands over; a product is one step of
// the matrix-unit model of ref/ for the same instruction.
//
// Modelled: the order that 9.7.16.6 promises and no other (an operation of one thread waits for
// that thread's earlier copies if it is a product, for its earlier products of the same
// accumulator, for all of them if it is a commit), fences before and after synchronisation,
// accesses that are done at their wait or before it, the lanes a warp can reach, aligned
// instructions by all lanes of a warp. Not modelled: more than one block's columns, instructions
// that this kernel lacks, how lanes that branched apart come together again without a barrier.
#ifndef MXV_TESTS_KERNEL_TEXT_TENSOR_CORE_H
#define MXV_TESTS_KERNEL_TEXT_TENSOR_CORE_H

#include <cstdint>

enum { TENSOR_MEMORY_COLUMNS = 512, TENSOR_MEMORY_LANES = 128 };

enum scaled_kind { KIND_MXF8F6F4, KIND_MXF4, KIND_MXF4NVF4 };

struct scaled_product { // tcgen05.mma with block scaling, as it is written
    enum scaled_kind kind;
    uint32_t c;
    uint64_t a, b;
    uint32_t instruction, scale_a, scale_b;
    bool accumulate;
};

struct f16_product { // tcgen05.mma.kind::f16, A in tensor memory
    uint32_t c, a;
    uint64_t b;
    uint32_t instruction;
    bool accumulate;
};

void tensor_start();   // a block begins
void tensor_end();     // a block has ended: nothing may be left over
bool tensor_run_one(); // one operation that may run, if there is any

// By the thread that runs now.
void tensor_issue_scales(uint32_t columns, uint64_t source);
void tensor_issue(const struct scaled_product &product);
void tensor_issue(const struct f16_product &product);
void tensor_issue_commit(uint32_t barrier);

// By every thread of a warp.
void tensor_take_columns(uint32_t columns, uint32_t result);
void tensor_return_columns(uint32_t columns, uint32_t first);
void tensor_read(uint32_t *words, uint32_t address);
void tensor_write(uint32_t address, const uint32_t *words);
void tensor_await_loads();
void tensor_await_stores();
void tensor_fence_before();
void tensor_fence_after();

// Between the two files of this part.
extern uint32_t tensor_memory[TENSOR_MEMORY_COLUMNS][TENSOR_MEMORY_LANES];
uint32_t tensor_placed(uint32_t column); // where sabotage lets a column lie
void tensor_operation_begins();          // an instruction of the running thread touches it

#endif
