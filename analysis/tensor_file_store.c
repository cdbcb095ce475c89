// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// From stored array to tensor: settles the element type between file and caller, then reads, swaps
// bytes, transposes column-major data and unpacks sub-byte codes. Exact; no value is converted.
//
// Left open by the file formats, and who decides:
//   element type of raw bytes and of u1, u2     options.type (or options.integers)
//   E2M1 nibble order                           options.nibble_order, low first by default
//   FP6 bit order in safetensors                a little-endian bit stream (mxv_sixbit_unpack)
//   E2M1 codes of a byte file                   one a byte, unless options.packed
// A one-byte container of a 4- or 6-bit format must have its upper bits clear (ml_dtypes writes it
// so); a set bit is an error that names the element, because it is the sign of packed codes.
// tests/unit/test_tensor_file_npy.c and test_tensor_file_safetensors.c fail if this is wrong.
#include "tensor_file_store.h"

#include <stdlib.h>
#include <string.h>

#include <mxverify/pack.h>

bool mxv_size_multiply(size_t a, size_t b, size_t *product)
{
    return !__builtin_mul_overflow(a, b, product);
}

unsigned mxv_element_container(enum mxv_element type)
{
    unsigned bits = mxv_element_get(type)->bits;
    return bits <= 8 ? 1 : bits / 8;
}

/// The product of a shape, its zero dimensions counted as 1: what must fit besides the true count.
static bool shape_extent(unsigned rank, const size_t *shape, size_t *extent, bool *empty)
{
    *extent = 1;
    *empty = false;
    for (unsigned i = 0; i < rank; i++) {
        *empty = *empty || shape[i] == 0;
        if (!mxv_size_multiply(*extent, shape[i] ? shape[i] : 1, extent))
            return false;
    }
    return true;
}

enum mxv_status mxv_stored_bytes(unsigned bits, unsigned rank, const size_t *shape, size_t *bytes)
{
    size_t extent, whole;
    bool empty;
    if (!shape_extent(rank, shape, &extent, &empty) || !mxv_size_multiply(extent / 8, bits, &whole))
        return MXV_ERR_INPUT;
    size_t rest = extent % 8 * bits;
    if (__builtin_add_overflow(whole, rest / 8, bytes))
        return MXV_ERR_INPUT;
    if (empty)
        *bytes = rest = 0;
    return rest % 8 ? MXV_ERR_INPUT : MXV_OK;
}

// Type --------------------------------------------------------------------------------------------

static enum mxv_status settle_unnamed(const struct mxv_stored_array *stored,
                                      const struct mxv_tensor_read_options *options,
                                      struct mxv_tensor *out, const struct mxv_file_report *report)
{
    if (stored->kind == MXV_STORED_LOST || (stored->ambiguous && !options->integers))
        return mxv_file_fail(
            report, MXV_ERR_INPUT,
            "%s '%s' does not say what the %u-byte words are; name their type (%s)", stored->field,
            stored->text, stored->bits / 8,
            stored->bits == 8    ? "such as e4m3, e5m2, e2m1, e8m0, u8"
            : stored->bits == 16 ? "such as bf16, f16"
            : stored->bits == 32 ? "such as f32, tf32"
                                 : "such as f64");
    if (stored->kind == MXV_STORED_ELEMENT) {
        out->type = stored->element;
    } else if (stored->bits == 8) {
        out->type = stored->kind == MXV_STORED_SIGNED ? MXV_S8 : MXV_U8;
    } else {
        out->type = MXV_ELEMENT_COUNT;
        out->integer_bits = stored->bits;
        out->integer_signed = stored->kind == MXV_STORED_SIGNED;
    }
    return MXV_OK;
}

/// Whether the caller may read words that the file says are `stored` as `type`: tf32 words are
/// binary32 words, and UE4M3 is how a matrix unit reads the E4M3 code of a scale.
static bool same_words(enum mxv_element stored, enum mxv_element type)
{
    return stored == type || (stored == MXV_F32 && type == MXV_TF32) ||
           (stored == MXV_E4M3 && type == MXV_UE4M3);
}

static enum mxv_status settle_type(const struct mxv_stored_array *stored,
                                   const struct mxv_tensor_read_options *options,
                                   struct mxv_tensor *out, const struct mxv_file_report *report)
{
    if (!options->has_type)
        return settle_unnamed(stored, options, out, report);
    const struct mxv_element_info *info = mxv_element_get(options->type);
    unsigned expected = stored->bits < 8 ? 1 : stored->bits / 8;
    if (mxv_element_container(options->type) != expected)
        return mxv_file_fail(report, MXV_ERR_INPUT,
                             "%s '%s' has words of %u bytes, but the named type %s takes %u; name "
                             "another type",
                             stored->field, stored->text, expected, info->name,
                             mxv_element_container(options->type));
    if (stored->kind == MXV_STORED_ELEMENT && !same_words(stored->element, options->type))
        return mxv_file_fail(report, MXV_ERR_INPUT,
                             "%s '%s' is %s and contradicts the named type %s; leave the type out",
                             stored->field, stored->text, mxv_element_get(stored->element)->name,
                             info->name);
    out->type = options->type;
    return MXV_OK;
}

// Packed codes ------------------------------------------------------------------------------------

/// Settles container, shape and count once the type is known; `packed` tells whether two E2M1 codes
/// share a byte of a byte file.
static enum mxv_status settle_shape(const struct mxv_stored_array *stored, bool packed,
                                    struct mxv_tensor *out, const struct mxv_file_report *report)
{
    bool empty;
    out->container = out->integer_bits ? out->integer_bits / 8 : mxv_element_container(out->type);
    out->rank = stored->rank;
    memcpy(out->shape, stored->shape, sizeof out->shape);
    if (packed && (out->type != MXV_E2M1 || out->rank == 0))
        return mxv_file_fail(report, MXV_ERR_INPUT,
                             "%s '%s': packed codes need the named type e2m1 and a dimension",
                             stored->field, stored->text);
    if ((packed && !mxv_size_multiply(out->shape[out->rank - 1], 2, &out->shape[out->rank - 1])) ||
        !shape_extent(out->rank, out->shape, &out->count, &empty) ||
        !mxv_size_multiply(out->count, out->container, &out->bytes))
        return mxv_file_fail(report, MXV_ERR_INPUT, "shape: its product exceeds %zu bytes",
                             SIZE_MAX);
    if (empty)
        out->count = out->bytes = 0;
    return MXV_OK;
}

static enum mxv_status unpack_nibbles(const uint8_t *bytes, enum mxv_nibble_order order,
                                      struct mxv_tensor *out, const struct mxv_file_report *report)
{
    size_t last = out->rank ? out->shape[out->rank - 1] : 1;
    size_t group = order == MXV_NIBBLE_SPLIT16 ? 32 : order == MXV_NIBBLE_SPLIT8 ? 16 : 1;
    if (last % group)
        return mxv_file_fail(report, MXV_ERR_INPUT,
                             "shape: nibble order %s needs a last dimension of a multiple of %zu, "
                             "it has %zu",
                             mxv_nibble_order_name(order), group, last);
    size_t done = out->count ? mxv_nibble_unpack(order, bytes, out->count, out->data) : 0;
    return done == out->count
               ? MXV_OK
               : mxv_file_fail(report, MXV_ERR_INTERNAL, "packed codes were not unpacked");
}

static enum mxv_status check_codes(const struct mxv_stored_array *stored,
                                   const struct mxv_tensor *tensor,
                                   const struct mxv_file_report *report)
{
    const struct mxv_element_info *info = mxv_element_get(tensor->type);
    const uint8_t *codes = tensor->data;
    for (size_t i = 0; info->bits < 8 && i < tensor->count; i++)
        if (codes[i] >> info->bits)
            return mxv_file_fail(
                report, MXV_ERR_INPUT,
                "%s '%s', element %zu: code %02x does not fit %s (%u bits); say so "
                "if the codes are packed",
                stored->field, stored->text, i, codes[i], info->name, info->bits);
    return MXV_OK;
}

// Order of bytes and elements ---------------------------------------------------------------------

static void swap_words(uint8_t *data, size_t bytes, unsigned width)
{
    for (size_t at = 0; at + width <= bytes; at += width)
        for (unsigned i = 0; i < width / 2; i++) {
            uint8_t byte = data[at + i];
            data[at + i] = data[at + width - 1 - i];
            data[at + width - 1 - i] = byte;
        }
}

/// Copies column-major words to row-major ones: an odometer over the row-major index carries the
/// column-major offset with it.
static void transpose(const uint8_t *from, uint8_t *to, const struct mxv_stored_array *stored,
                      size_t count)
{
    size_t width = stored->bits / 8, offset = 0;
    size_t stride[MXV_TENSOR_MAX_RANK], index[MXV_TENSOR_MAX_RANK] = {0};
    for (size_t axis = 0, step = width; axis < stored->rank; step *= stored->shape[axis++])
        stride[axis] = step;
    for (size_t i = 0; i < count; i++) {
        memcpy(to + i * width, from + offset, width);
        for (unsigned axis = stored->rank; axis-- > 0;) {
            offset += stride[axis];
            if (++index[axis] < stored->shape[axis])
                break;
            offset -= stride[axis] * index[axis];
            index[axis] = 0;
        }
    }
}

// Reading -----------------------------------------------------------------------------------------

static uint8_t *allocate(size_t bytes, const struct mxv_file_report *report)
{
    uint8_t *memory = malloc(bytes ? bytes : 1);
    if (!memory)
        mxv_file_fail(report, MXV_ERR_MEMORY, "no memory for %zu bytes of data", bytes);
    return memory;
}

/// Reads the array's words in row-major order and host byte order into *words, owned by the caller
/// whatever the outcome.
static enum mxv_status read_words(const struct mxv_file_source *source,
                                  const struct mxv_stored_array *stored, uint8_t **words,
                                  const struct mxv_file_report *report)
{
    size_t bytes;
    enum mxv_status status = mxv_stored_bytes(stored->bits, stored->rank, stored->shape, &bytes);
    if (status != MXV_OK)
        return mxv_file_fail(report, MXV_ERR_INTERNAL, "shape was not checked before reading");
    if (!(*words = allocate(bytes, report)))
        return MXV_ERR_MEMORY;
    status = mxv_file_source_read(source, stored->offset, *words, bytes, report);
    if (status != MXV_OK)
        return status;
    if (stored->big_endian)
        swap_words(*words, bytes, stored->bits / 8);
    if (!stored->column_major || stored->rank < 2)
        return MXV_OK;
    uint8_t *turned = allocate(bytes, report);
    if (!turned)
        return MXV_ERR_MEMORY;
    transpose(*words, turned, stored, bytes / (stored->bits / 8));
    free(*words);
    *words = turned;
    return MXV_OK;
}

/// Makes the tensor's data from the words: takes them over, or unpacks them.
static enum mxv_status store_words(const struct mxv_stored_array *stored, bool packed,
                                   enum mxv_nibble_order order, uint8_t **words,
                                   struct mxv_tensor *out, const struct mxv_file_report *report)
{
    if (!packed && stored->bits >= 8) {
        out->data = *words;
        *words = NULL;
        return stored->bits == 8 ? check_codes(stored, out, report) : MXV_OK;
    }
    if (!(out->data = allocate(out->bytes, report)))
        return MXV_ERR_MEMORY;
    if (stored->bits != 6)
        return unpack_nibbles(*words, order, out, report);
    mxv_sixbit_unpack(*words, out->count, (uint8_t *)out->data);
    return MXV_OK;
}

enum mxv_status mxv_stored_read(const struct mxv_file_source *source,
                                const struct mxv_stored_array *stored,
                                const struct mxv_tensor_read_options *options,
                                struct mxv_tensor *out, const struct mxv_file_report *report)
{
    static const struct mxv_tensor_read_options defaults;
    uint8_t *words = NULL;
    if (!options)
        options = &defaults;
    bool packed = options->packed && stored->bits != 4;
    *out = (struct mxv_tensor){.type = MXV_ELEMENT_COUNT};
    enum mxv_status status = settle_type(stored, options, out, report);
    if (status == MXV_OK)
        status = settle_shape(stored, packed, out, report);
    if (status == MXV_OK)
        status = read_words(source, stored, &words, report);
    if (status == MXV_OK)
        status = store_words(stored, packed, options->nibble_order, &words, out, report);
    free(words);
    if (status != MXV_OK)
        mxv_tensor_free(out);
    return status;
}
