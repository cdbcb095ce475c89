// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
#include "kernel.h"

#include "instructions.h"

#include <dma_sm100.cuh>

struct block_index blockIdx;

struct barrier_kind {
    const char *name;
    int first;
};
static const struct barrier_kind barrier_kinds[] = {
    {"Q full", Q_FULL},
    {"weights ready", WEIGHTS_READY},
    {"output ready", OUTPUT_READY},
    {"scores ready", SCORES_READY},
    {"K full", K_FULL},
    {"K empty", K_EMPTY},
    {"V full", V_FULL},
    {"V empty", V_EMPTY},
};
enum { BARRIER_KINDS = sizeof barrier_kinds / sizeof barrier_kinds[0] };

static int barrier_group(int number)
{
    int group = BARRIER_KINDS - 1;
    while (number < barrier_kinds[group].first)
        group--;
    return group;
}

const char *kernel_barrier_name(int group)
{
    return group < BARRIER_KINDS ? barrier_kinds[group].name : NULL;
}

// The choice that launch_low of dma_sm100.cu makes among the kernel's builds.
template <int LOW> static void choose(const params &p, const struct maps &maps)
{
    static_assert(memory<128>::BYTES <= SHARED_BYTES && memory<64>::BYTES <= SHARED_BYTES,
                  "shared memory of a block");
    const bool options = p.codes.call.trace.score || p.codes.call.poly;
    if (p.codes.call.d == 128)
        options ? dma_sm100<LOW, 128, true>(p, maps) : dma_sm100<LOW, 128, false>(p, maps);
    else
        options ? dma_sm100<LOW, 64, true>(p, maps) : dma_sm100<LOW, 64, false>(p, maps);
}

std::string kernel_run(const struct mxv_gpu_dma_blocks &blocks, bool trace, unsigned block_number,
                       unsigned head, uint64_t seed)
{
    params p = blocks;
    struct maps maps = {};
    if (!trace)
        p.codes.call.trace.score = NULL;
    const int error =
        p.low_is_nvfp4 ? make_maps<MXV_UNIT_NVF4>(p, maps) : make_maps<MXV_UNIT_MXF4>(p, maps);
    if (error != cudaSuccess)
        return "no tensor map";
    blockIdx = {block_number, head};
    return block_run(seed, [&] {
        if (p.low_is_nvfp4)
            choose<MXV_UNIT_NVF4>(p, maps);
        else
            choose<MXV_UNIT_MXF4>(p, maps);
    });
}
