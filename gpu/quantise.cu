// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Block quantisers (operands.h; OCP Microscaling v1.0, 6.3; docs/kernels/dma.md 1.4): which kernel
// serves a call, sizes, the tensor maximum, and the way back to bf16. The kernel is quantise.cuh,
// its arithmetic quantise_e2m1.cuh, quantise_scale.cuh, quantise_nvfp4.cuh and quantise_code.cuh;
// NVFP4 calls beyond order exact without tensor scale fill a table first (quantise_table.cuh).
// gpu/device_check compares every format, rule, order, source and layout with formats/,
// gpu/cuda_verify with the emulation's taps.
#include "quantise.cuh"
#include "quantise_table.cuh"

#include <mutex>

static unsigned size_shift_of(enum mxv_gpu_block_format format)
{
    return format == MXV_GPU_NVFP4 ? 4 : 5;
}

// log2 of rows of a scale tile and of the row distance of neighbours (formats/scale_layout.c).
static void layout_shifts(enum mxv_gpu_scale_layout layout, uint32_t *rows, uint32_t *distance)
{
    static const uint8_t shifts[][2] = {{0, 0}, {7, 5}, {3, 3}, {6, 4}};
    *rows = shifts[layout][0];
    *distance = shifts[layout][1];
}

extern "C" size_t mxv_gpu_code_bytes(const struct mxv_gpu_quantiser *q, size_t rows, size_t d)
{
    return rows * d * (q->unpacked ? 8 : (size_t)element_of(q->format).bits) / 8;
}

extern "C" size_t mxv_gpu_scale_bytes(const struct mxv_gpu_quantiser *q, size_t rows, size_t d)
{
    const size_t columns = d >> size_shift_of(q->format);
    uint32_t row_shift, distance_shift;
    layout_shifts(q->layout, &row_shift, &distance_shift);
    if (q->layout == MXV_GPU_LAYOUT_LINEAR)
        return rows * columns;
    return (((rows - 1) >> row_shift) + 1) * ((columns + 3) / 4) << (row_shift + 2);
}

// Round-up reciprocal: block / d = block * magic >> shift for every block below 2^31.
static void set_division(struct division *by, uint32_t d)
{
    uint32_t log2_d = 0;
    while (log2_d < 31 && 1u << log2_d < d)
        log2_d++;
    by->shift = 31 + log2_d;
    by->magic = (uint32_t)((UINT64_C(1) << by->shift) / d + 1);
}

static bool offered(const struct mxv_gpu_rows *r, const struct mxv_gpu_quantiser *q)
{
    const size_t size = (size_t)1 << size_shift_of(q->format);
    return q->format <= MXV_GPU_NVFP4 && q->rule <= MXV_GPU_RULE_CEIL_LIBM &&
           q->order <= MXV_GPU_NVFP4_SAGE3 && q->layout <= MXV_GPU_LAYOUT_64X4 &&
           r->d % size == 0 && (size_t)r->heads * r->tokens * (r->d / size) < (size_t)1 << 31 &&
           !(q->order == MXV_GPU_NVFP4_SAGE3 && q->tensor_amax);
}

// Whether values need no steps but a mean and a factor that mx_codes_times takes, 16-bit ones not
// both.
static bool plain(const struct mxv_gpu_rows *r)
{
    return rows_of_their_type(*r) &&
           (!r->scaled || (r->factor >= 0x1p-30f && r->factor <= 0x1p30f)) &&
           !(r->type != MXV_GPU_F32 && r->scaled && r->mean);
}

static bool narrow(const struct mxv_gpu_rows *r)
{
    return plain(r) && r->type != MXV_GPU_F32;
}

static int launch(const struct quantise_args *a)
{
    const struct mxv_gpu_rows *r = &a->rows;
    if (!narrow(r))
        return mxv_quantise_wide(a, !plain(r));
    return mxv_quantise_narrow(a, r->scaled ? TIMES_FACTOR : r->mean ? LESS_MEAN : AS_STORED);
}

static __device__ struct nvfp4_table nvfp4_table;
// Held from the launch that fills the table to the one that reads it.
static std::mutex table_mutex;

static int launch_with_table(struct quantise_args *a)
{
    const struct mxv_gpu_quantiser *q = &a->q;
    void *table;
    a->how = how_of(q->order, q->tensor_amax != NULL);
    if (narrow(&a->rows) && a->how != NVFP4_FACTOR && (a->how != NVFP4_NEAR || a->rows.scaled))
        a->how = NVFP4_CHECKED; // order exact without tensor scale: of tensor maximum 2688
    if (q->format != MXV_GPU_NVFP4 || a->how == NVFP4_NEAR)
        return launch(a);
    const std::lock_guard<std::mutex> lock(table_mutex);
    cudaError_t error = cudaGetSymbolAddress(&table, nvfp4_table);
    if (error != cudaSuccess)
        return (int)error;
    a->table = (const struct nvfp4_table *)table;
    fill_table<<<128, 32>>>(q->order, q->tensor_amax,
                            a->how == NVFP4_CHECKED ? a->rows.type : MXV_GPU_F32, a->factor,
                            (struct nvfp4_table *)table);
    error = cudaGetLastError();
    return error == cudaSuccess ? launch(a) : (int)error;
}

extern "C" int mxv_gpu_quantise_blocks(const struct mxv_gpu_rows *rows,
                                       const struct mxv_gpu_quantiser *q, uint8_t *codes,
                                       uint8_t *scales)
{
    const size_t count = (size_t)rows->heads * rows->tokens;
    if (!offered(rows, q))
        return (int)cudaErrorInvalidValue;
    if (count == 0 || rows->d == 0)
        return (int)cudaSuccess;
    struct quantise_args a = {};
    a.rows = *rows;
    a.q = *q;
    a.codes = codes;
    a.scales = scales;
    a.factor = rows->scaled ? rows->factor : 1.0f;
    a.d_divides_256 = 256 % rows->d == 0;
    a.values = count * rows->d;
    a.size_shift = size_shift_of(q->format);
    a.per_row = (uint32_t)rows->d >> a.size_shift;
    a.blocks = (uint32_t)(count * a.per_row);
    a.tiles_across = (a.per_row + 3) / 4;
    set_division(&a.by_row, a.per_row);
    set_division(&a.by_head, a.per_row * (uint32_t)rows->tokens);
    layout_shifts(q->layout, &a.row_shift, &a.distance_shift);
    const size_t scale_bytes = mxv_gpu_scale_bytes(q, count, rows->d);
    if (scale_bytes != a.blocks) { // padding
        const cudaError_t error = cudaMemsetAsync(scales, 0, scale_bytes, 0);
        if (error != cudaSuccess)
            return (int)error;
    }
    return launch_with_table(&a);
}

extern "C" int mxv_gpu_quantise(const struct mxv_gpu_rows *rows, enum mxv_gpu_block_format format,
                                enum mxv_gpu_scale_rule rule, uint8_t *codes, uint8_t *scales)
{
    struct mxv_gpu_quantiser q = {};
    q.format = format;
    q.rule = rule;
    q.nan_is_zero = true;
    return mxv_gpu_quantise_blocks(rows, &q, codes, scales);
}

template <int SOURCE>
static __global__ void tensor_maximum(const uint4 *data, const void *tail, size_t chunks, size_t n,
                                      uint32_t *out)
{
    constexpr int WORDS = (int)sizeof(chunk<SOURCE>) / 16;
    constexpr size_t VALUE = chunk<SOURCE>::WIDE ? 4 : 2;
    const size_t step = (size_t)gridDim.x * blockDim.x;
    uint32_t m = 0;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < chunks; i += step) {
        chunk<SOURCE> c;
#pragma unroll
        for (int k = 0; k < WORDS; k++) {
            const uint4 v = __ldcs(data + i * WORDS + k);
            c.word[4 * k] = v.x, c.word[4 * k + 1] = v.y;
            c.word[4 * k + 2] = v.z, c.word[4 * k + 3] = v.w;
        }
        m = max(m, chunk_amax<SOURCE>(c));
    }
    if (blockIdx.x == 0 && threadIdx.x < n - chunks * CHUNK) {
        uint32_t word = 0;
        memcpy(&word, (const char *)tail + threadIdx.x * VALUE, VALUE);
        m = max(m, word & (VALUE == 4 ? 0x7fffffffu : 0x7fffu));
    }
    m = __reduce_max_sync(~0u, m);
    if (threadIdx.x % 32 == 0)
        atomicMax(out, amax_word<SOURCE>(m));
}

extern "C" int mxv_gpu_tensor_amax(const void *data, enum mxv_gpu_type type, size_t n, float *out)
{
    const size_t chunks = n / CHUNK, bytes = type == MXV_GPU_F32 ? 4 : 2;
    const unsigned grid = chunks / 256 < 4096 ? (unsigned)(chunks / 256 + 1) : 4096;
    const void *tail = (const char *)data + chunks * CHUNK * bytes;
    const cudaError_t error = cudaMemsetAsync(out, 0, sizeof *out, 0);
    if (error != cudaSuccess)
        return (int)error;
    if (type == MXV_GPU_F16)
        tensor_maximum<SOURCE_F16>
            <<<grid, 256>>>((const uint4 *)data, tail, chunks, n, (uint32_t *)out);
    else if (type == MXV_GPU_BF16)
        tensor_maximum<SOURCE_BF16>
            <<<grid, 256>>>((const uint4 *)data, tail, chunks, n, (uint32_t *)out);
    else
        tensor_maximum<SOURCE_F32>
            <<<grid, 256>>>((const uint4 *)data, tail, chunks, n, (uint32_t *)out);
    return (int)cudaGetLastError();
}

// E2M1 to binary16: its exponent field under that of binary16, subnormals included, times 2^14.
static __device__ __forceinline__ float e2m1_value(uint32_t code)
{
    const unsigned short bits = (unsigned short)((code & 8) << 12 | (code & 7) << 9);
    return __fmul_rn(__half2float(__ushort_as_half(bits)), 16384.0f);
}

static __global__ void decode_blocks(enum mxv_gpu_block_format format, int size_shift,
                                     const uint8_t *codes, const uint8_t *scales, size_t elements,
                                     uint4 *out)
{
    const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= elements / CHUNK)
        return;
    const bool packed = format == MXV_GPU_MXFP4 || format == MXV_GPU_NVFP4;
    const uint8_t byte = scales[i * CHUNK >> size_shift];
    const float scale = format == MXV_GPU_NVFP4 ? fp8_value(byte, false)
                        : byte == 0xFF          ? __uint_as_float(0x7fffffffu)
                                                : power_of_two((int)byte - 127);
    const uint64_t word = packed ? ((const uint32_t *)codes)[i] : ((const uint64_t *)codes)[i];
    uint32_t pairs[4];
#pragma unroll
    for (int k = 0; k < 4; k++) {
        float x[2];
#pragma unroll
        for (int j = 0; j < 2; j++)
            x[j] = packed ? e2m1_value((uint32_t)(word >> 4 * (2 * k + j)) & 15u)
                          : fp8_value((uint8_t)(word >> 8 * (2 * k + j)),
                                      format == MXV_GPU_MXFP8_E5M2);
        const __nv_bfloat162 y =
            __floats2bfloat162_rn(__fmul_rn(x[0], scale), __fmul_rn(x[1], scale));
        pairs[k] = word_of(y);
    }
    out[i] = make_uint4(pairs[0], pairs[1], pairs[2], pairs[3]);
}

extern "C" int mxv_gpu_decode(enum mxv_gpu_block_format format, const uint8_t *codes,
                              const uint8_t *scales, size_t elements, uint16_t *out)
{
    if (format == MXV_GPU_MXFP6_E2M3 || format == MXV_GPU_MXFP6_E3M2 || format == MXV_GPU_MXINT8)
        return (int)cudaErrorInvalidValue;
    if (elements)
        decode_blocks<<<linear_blocks(elements / CHUNK), MXV_GPU_LINEAR_THREADS>>>(
            format, (int)size_shift_of(format), codes, scales, elements, (uint4 *)out);
    return (int)cudaGetLastError();
}
