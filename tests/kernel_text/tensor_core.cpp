// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
#include "tensor_core.h"

#include "block.h"
#include "sabotage.h"

#include <cstring>
#include <mxverify/matrix_unit.h>

enum operation_kind { SCALE_COPY, PRODUCT, COMMIT };

struct operation {
    enum operation_kind kind;
    int thread;
    uint32_t accumulator;
    std::function<void()> run;
};
static std::vector<operation> queue; // in the order of their issue

void tensor_memory_start();
void tensor_memory_end();

void tensor_start()
{
    queue.clear();
    tensor_memory_start();
}

void tensor_end()
{
    if (!queue.empty())
        rule_break("the block ended before its tensor operations");
    tensor_memory_end();
}

// 9.7.16.6.2: what earlier operations of the same thread an operation waits for.
static bool waits_for(const struct operation &later, const struct operation &earlier)
{
    if (later.thread != earlier.thread)
        return false;
    switch (later.kind) {
    case PRODUCT:
        return earlier.kind == PRODUCT
                   ? earlier.accumulator == later.accumulator
                   : earlier.kind == SCALE_COPY && !sabotaged(SABOTAGE_SCALES_UNORDERED);
    case COMMIT:
        return earlier.kind != COMMIT;
    default:
        return false;
    }
}

bool tensor_run_one()
{
    std::vector<size_t> may;
    for (size_t i = 0; i < queue.size(); i++) {
        bool free = true;
        for (size_t k = 0; k < i && free; k++)
            free = !waits_for(queue[i], queue[k]);
        if (free)
            may.push_back(i);
    }
    if (may.empty())
        return false;
    const size_t i = may[block_random((uint32_t)may.size())];
    const std::function<void()> run = std::move(queue[i].run);
    queue.erase(queue.begin() + (long)i);
    run();
    return true;
}

static uint32_t field(uint64_t word, int first, int last)
{
    return (uint32_t)(word >> first & (((uint64_t)1 << (last - first + 1)) - 1));
}

static void demand(bool holds, const char *what)
{
    if (!holds)
        rule_break("%s", what);
}

// The copy engine's swizzle of a width: address bits 4 and on, with those of the row.
uint32_t swizzled(uint32_t address, uint32_t width)
{
    return address ^ (address >> 7 & (width / 16 - 1)) << 4;
}

// Table 40: layout types of a shared-memory descriptor, as widths.
static uint32_t swizzle_width(uint64_t descriptor)
{
    switch (field(descriptor, 61, 63)) {
    case 2:
        return 128;
    case 4:
        return 64;
    case 6:
        return 32;
    default:
        return 16; // none
    }
}

static uint32_t start_address(uint64_t descriptor)
{
    demand(field(descriptor, 46, 48) == 1, "bits 46 to 48 of a shared-memory descriptor");
    demand(field(descriptor, 49, 51) == 0, "base offset of a shared-memory descriptor");
    return field(descriptor, 0, 13) << 4;
}

static uint32_t stride_of(uint64_t descriptor)
{
    return field(descriptor, 32, 45) << 4;
}

// 32 bytes of each of 128 rows, K-major (9.7.16.3.3).
static void read_rows(uint64_t descriptor, uint8_t (*to)[32])
{
    const uint32_t width = swizzle_width(descriptor), first = start_address(descriptor);
    demand(width > 16, "K-major operand without swizzle");
    for (uint32_t r = 0; r < 128; r++)
        for (uint32_t b = 0; b < 32; b += 16) {
            const uint32_t at = first + r % 8 * width + r / 8 * stride_of(descriptor) + b;
            memcpy(to[r] + b, shared_at(swizzled(at, width), 16), 16);
        }
}

// 16 keys of each of n columns of 16 bits, MN-major in panels of 64 columns (9.7.16.3.3).
static void read_columns(uint64_t descriptor, uint32_t n, uint16_t (*to)[16])
{
    const uint32_t first = start_address(descriptor), panel = field(descriptor, 16, 29) << 4;
    demand(swizzle_width(descriptor) == 128, "MN-major operand not swizzled at 128 bytes");
    for (uint32_t c = 0; c < n; c++)
        for (uint32_t k = 0; k < 16; k++) {
            const uint32_t at =
                first + c % 64 * 2 + c / 64 * panel + k % 8 * 128 + k / 8 * stride_of(descriptor);
            memcpy(&to[c][k], shared_at(swizzled(at, 128), 2), 2);
        }
}

// tcgen05.cp.32x128b.warpx4: 16 bytes of each of 32 rows to four columns, in each group of lanes.
static void run_scale_copy(uint32_t columns, uint64_t source)
{
    demand(field(source, 61, 63) == 0, "scales lie unswizzled");
    for (uint32_t lane = 0; lane < TENSOR_MEMORY_LANES; lane++) {
        const uint32_t row = lane % 32;
        const uint32_t at = start_address(source) + row % 8 * 16 + row / 8 * stride_of(source);
        for (uint32_t c = 0; c < 4; c++)
            memcpy(&tensor_memory[columns + c][lane], shared_at(at + 4 * c, 4), 4);
    }
}

struct kind_row { // tables 43 and 44, 54 and 55
    const char *model;
    uint32_t element, ue8m0, channels, scales;
};
static const struct kind_row kinds[] = {
    {"sm_100.tcgen05.mxf8f6f4.e4m3.f32", 0, 1, 32, 1},
    {"sm_100.tcgen05.mxf4.ue8m0.f32", 1, 1, 64, 2},
    {"sm_100.tcgen05.mxf4nvf4.ue4m3.f32", 1, 0, 64, 4},
};

// Instruction descriptor of block-scaled kinds: 128 x 128, both operands K-major, nothing negated.
static void check_instruction(const struct kind_row &kind, uint32_t word)
{
    const uint32_t id = field(word, 29, 30);
    demand(field(word, 17, 22) == 128 / 8 && field(word, 27, 28) == 1, "size of a scaled product");
    demand(field(word, 13, 16) == 0 && field(word, 0, 3) == 0, "flags of a scaled product");
    demand(field(word, 7, 9) == kind.element && field(word, 10, 12) == kind.element,
           "operand types of a scaled product");
    demand(field(word, 23, 23) == kind.ue8m0, "scale type of a scaled product");
    demand(field(word, 4, 5) == id && id % kind.scales == 0, "scale ids of a scaled product");
    demand(field(word, 6, 6) == 0 && field(word, 24, 26) == 0 && field(word, 31, 31) == 0,
           "reserved bits of an instruction descriptor");
}

static const struct mxv_mma_model &model_of(const char *name)
{
    const struct mxv_mma_model *m = mxv_mma_find(name);
    demand(m != NULL, name);
    return *m;
}

// Operand and scales of one side, as the model takes them.
static void decode_side(const struct kind_row &kind, bool side_b, uint64_t descriptor,
                        uint32_t scale_columns, uint32_t id, struct mxv_operand *operands,
                        uint8_t *scales)
{
    static uint8_t rows[128][32], codes[128 * 64];
    read_rows(descriptor, rows);
    for (uint32_t r = 0; r < 128; r++) {
        for (uint32_t i = 0; i < kind.channels; i++)
            codes[r * kind.channels + i] =
                kind.channels == 32 ? rows[r][i] : (uint8_t)(rows[r][i / 2] >> i % 2 * 4 & 15);
        // 9.7.16.10.7.2 and .3: the word of row r in lane r mod 32, column r / 32
        for (uint32_t i = 0; i < kind.scales; i++)
            scales[r * kind.scales + i] =
                (uint8_t)(tensor_memory[scale_columns + r / 32][r % 32] >> 8 * (id + i));
    }
    mxv_mma_decode_bytes(&model_of(kind.model), side_b, codes, 128 * kind.channels, operands);
}

static void load_accumulator(uint32_t c, uint32_t n, bool accumulate, uint32_t *words)
{
    for (uint32_t r = 0; r < 128; r++)
        for (uint32_t i = 0; i < n; i++)
            words[r * n + i] = accumulate ? tensor_memory[c + i][r] : 0;
}

static void store_accumulator(uint32_t c, uint32_t n, const uint32_t *words)
{
    for (uint32_t r = 0; r < 128; r++)
        for (uint32_t i = 0; i < n; i++)
            tensor_memory[c + i][r] = words[r * n + i];
}

static void run_scaled(const struct scaled_product &p)
{
    static struct mxv_operand a[128 * 64], b[128 * 64];
    static uint8_t scale_a[128 * 4], scale_b[128 * 4];
    static uint32_t words[128 * 128];
    const struct kind_row &kind = kinds[p.kind];
    check_instruction(kind, p.instruction);
    const uint32_t id = sabotaged(SABOTAGE_SCALE_ID_0) ? 0 : field(p.instruction, 29, 30);
    decode_side(kind, false, p.a, p.scale_a, id, a, scale_a);
    decode_side(kind, true, p.b, p.scale_b, id, b, scale_b);
    load_accumulator(p.c, 128, p.accumulate, words);
    mxv_mma_tile(&model_of(kind.model), 128, 128, kind.channels, a, b, scale_a, scale_b, words,
                 128);
    store_accumulator(p.c, 128, words);
}

// Table 42: f16 times f16 to f32, 128 rows, B MN-major.
static void run_f16(const struct f16_product &p)
{
    static struct mxv_operand a[128 * 16], b[128 * 16];
    static uint16_t codes[128 * 16], columns[128][16];
    static uint32_t words[128 * 128];
    const struct mxv_mma_model &m = model_of("sm_100.tcgen05.f16.f32");
    const uint32_t n = field(p.instruction, 17, 22) * 8, rest = (uint32_t) ~(0x3f << 17);
    demand((p.instruction & rest) == (1u << 4 | 1u << 16 | 8u << 24) && n <= 128,
           "instruction descriptor of kind::f16");
    for (uint32_t r = 0; r < 128; r++)
        for (uint32_t k = 0; k < 16; k++)
            codes[r * 16 + k] = (uint16_t)(tensor_memory[p.a + k / 2][r] >> k % 2 * 16);
    read_columns(p.b, n, columns);
    mxv_mma_decode_halves(&m, false, codes, 128 * 16, a);
    mxv_mma_decode_halves(&m, true, columns[0], n * 16, b);
    load_accumulator(p.c, n, p.accumulate, words);
    mxv_mma_tile(&m, 128, n, 16, a, b, NULL, NULL, words, n);
    store_accumulator(p.c, n, words);
}

static void issue(enum operation_kind kind, uint32_t accumulator, std::function<void()> run)
{
    tensor_operation_begins();
    queue.push_back({kind, block.current, accumulator, std::move(run)});
    if (kind != COMMIT)
        thread_now().uncommitted = true;
    block_pause();
}

static void check_columns(uint32_t first, uint32_t count)
{
    demand(first + count <= TENSOR_MEMORY_COLUMNS, "columns of a tensor operation");
}

void tensor_issue_scales(uint32_t columns, uint64_t source)
{
    check_columns(columns, 4);
    demand(columns % 4 == 0, "columns of scales");
    const uint32_t to = tensor_placed(columns);
    issue(SCALE_COPY, 0, [=] { run_scale_copy(to, source); });
}

void tensor_issue(const struct scaled_product &product)
{
    struct scaled_product p = product;
    check_columns(p.c, 128);
    check_columns(p.scale_a, 4);
    check_columns(p.scale_b, 4);
    p.c = tensor_placed(p.c);
    p.scale_b = tensor_placed(p.scale_b);
    p.accumulate = p.accumulate || sabotaged(SABOTAGE_ALWAYS_ACCUMULATE);
    issue(PRODUCT, p.c, [=] { run_scaled(p); });
}

void tensor_issue(const struct f16_product &product)
{
    struct f16_product p = product;
    check_columns(p.c, field(p.instruction, 17, 22) * 8);
    check_columns(p.a, 8);
    p.accumulate = p.accumulate || sabotaged(SABOTAGE_ALWAYS_ACCUMULATE);
    issue(PRODUCT, p.c, [=] { run_f16(p); });
}

void tensor_issue_commit(uint32_t barrier)
{
    thread_now().uncommitted = false;
    if (sabotaged_barrier(SABOTAGE_COMMIT_EARLY, barrier_at(barrier).group)) {
        barrier_take_arrival(barrier);
        return;
    }
    issue(COMMIT, 0, [=] { barrier_take_arrival(barrier); });
}
