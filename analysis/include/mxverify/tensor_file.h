// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Tensors in files: reads .npy (format versions 1, 2, 3) and .safetensors, writes .npy.
//
// Sources: NumPy, "NEP 1: A Simple File Format for NumPy Arrays"; the safetensors format
// description (huggingface/safetensors, README).
//
// Reading is exact: the words of the file are handed over as they are, in C order and host byte
// order, one element a container (1 byte for formats of 8 bits or fewer, else 2, 4 or 8). No value
// is converted, NaN and Inf included: what they mean is the caller's policy.
//
// A file that loses the element type has it named by the caller. NumPy files of bfloat16 carry the
// descr '<V2', those of FP8, FP6, FP4 and E8M0 '<V1' (jax-ml/ml_dtypes#41, #148, #207, #216), and
// both are also shipped as plain '<u2' and '|u1'. Such a file is refused until
// mxv_tensor_read_options names the type.
//
// Errors: every function that takes `message` (NULL allowed) writes one line into it when it fails,
// without a line end: the file, the place, what is wrong, what to do. MXV_ERR_INPUT, _IO, _MEMORY
// or _UNSUPPORTED is returned, and the out-parameter is left empty: freeing it is allowed.
//
// Memory: what a successful call stores in its out-parameter belongs to the caller, who releases it
// with the free function named beside it. Threads: no shared state; calls are independent.
#ifndef MXVERIFY_TENSOR_FILE_H
#define MXVERIFY_TENSOR_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mxverify/element.h>
#include <mxverify/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Most dimensions a tensor may have.
enum { MXV_TENSOR_MAX_RANK = 8 };

/// Message buffers of this size hold every message whole, unless a path is very long.
enum { MXV_TENSOR_MESSAGE_SIZE = 1024 };

struct mxv_tensor {
    enum mxv_element type; ///< element format; MXV_ELEMENT_COUNT for wide integers (next line)
    unsigned integer_bits; ///< 16, 32 or 64 for integers that are no element format, else 0
    bool integer_signed;   ///< whether those integers are signed
    unsigned container;    ///< bytes of one element in data: 1, 2, 4 or 8
    unsigned rank;         ///< 0 for a scalar
    size_t shape[MXV_TENSOR_MAX_RANK];
    size_t count; ///< elements: the product of shape
    size_t bytes; ///< count * container
    void *data;   ///< C order, host byte order; not NULL after success, even if count is 0
};

/// How a file is to be understood. All zero (or a NULL pointer): the file names its own type.
struct mxv_tensor_read_options {
    bool has_type;         ///< the caller names the element type
    enum mxv_element type; ///< read when has_type; its container must fit the file's
    bool integers;         ///< u1 and u2 arrays are meant as integers (route words, lengths)
    bool packed;           ///< bytes of a V1, u1, U8 file hold two E2M1 codes each: the last
                           ///< dimension handed over is twice the file's. (safetensors F4 always
                           ///< is so, its shape counting elements already.)
    enum mxv_nibble_order nibble_order; ///< of packed E2M1 codes; default low nibble first
};

/// Reads the array of the .npy file at `path`; a pipe is allowed.
/// MXV_ERR_INPUT: not a .npy file, a lying or truncated header, bytes after the data, a type that
/// only the caller can name, a named type that contradicts the file. MXV_ERR_UNSUPPORTED: objects,
/// structured, complex, text and time types, more than 8 dimensions.
enum mxv_status mxv_tensor_read_npy(const char *path, const struct mxv_tensor_read_options *options,
                                    struct mxv_tensor *out, char *message, size_t message_size);

/// The same from `length` bytes in memory; `label` stands for the file name in messages.
enum mxv_status mxv_tensor_parse_npy(const void *buffer, size_t length, const char *label,
                                     const struct mxv_tensor_read_options *options,
                                     struct mxv_tensor *out, char *message, size_t message_size);

/// Reads the tensor `name` of the .safetensors file at `path`. NULL takes the only tensor of a file
/// that holds just one. The whole header is checked first: a file with duplicate keys, a hole, an
/// overlap, or bytes not covered by its tensors is refused whichever tensor is asked for.
enum mxv_status mxv_tensor_read_safetensors(const char *path, const char *name,
                                            const struct mxv_tensor_read_options *options,
                                            struct mxv_tensor *out, char *message,
                                            size_t message_size);

/// The same from `length` bytes in memory; `label` stands for the file name in messages.
enum mxv_status mxv_tensor_parse_safetensors(const void *buffer, size_t length, const char *label,
                                             const char *name,
                                             const struct mxv_tensor_read_options *options,
                                             struct mxv_tensor *out, char *message,
                                             size_t message_size);

/// Reads FILE.npy, FILE.safetensors or FILE.safetensors:TENSOR. The kind is told by the first
/// bytes; a colon separates a tensor's name only where no file has the whole text as its name.
enum mxv_status mxv_tensor_read(const char *where, const struct mxv_tensor_read_options *options,
                                struct mxv_tensor *out, char *message, size_t message_size);

/// Releases data and empties the struct. NULL and an empty struct are allowed.
void mxv_tensor_free(struct mxv_tensor *tensor);

/// The code word of element `index` (< count), zero-extended to 64 bits.
uint64_t mxv_tensor_code(const struct mxv_tensor *tensor, size_t index);

/// One row of a safetensors header, as the file states it.
struct mxv_tensor_entry {
    char *name;
    char dtype[16]; ///< F4, F6_E2M3, ..., BF16, ...
    unsigned rank;
    size_t shape[MXV_TENSOR_MAX_RANK];
    uint64_t begin, end; ///< bytes, relative to the start of the data
};

struct mxv_tensor_list {
    size_t count;
    struct mxv_tensor_entry *entries; ///< in the order of their data
};

/// Lists the tensors of a .safetensors file, after the same checks as reading makes.
enum mxv_status mxv_tensor_list_safetensors(const char *path, struct mxv_tensor_list *out,
                                            char *message, size_t message_size);

/// Releases the entries and empties the list. NULL and an empty list are allowed.
void mxv_tensor_list_free(struct mxv_tensor_list *list);

/// Bytes that a safetensors tensor of `dtype` and `shape` takes in the file. MXV_ERR_INPUT: a
/// sub-byte tensor whose bits are no whole number of bytes, or a size beyond size_t;
/// MXV_ERR_UNSUPPORTED: a dtype that the format does not name.
enum mxv_status mxv_tensor_storage_bytes(const char *dtype, unsigned rank, const size_t *shape,
                                         size_t *bytes);

/// Writes `data` (C order, host byte order, words of the width that `descr` states) as a .npy file
/// of version 1 with the data aligned to 64 bytes. `descr`: "<f2", "<f4", "<f8", "|i1", "|u1",
/// "<i2" ... "<u8", "|b1", "<V1", "<V2"; MXV_ERR_UNSUPPORTED for any other.
///
/// All or nothing: the bytes go to a temporary file in the same folder, which is flushed to the
/// disk and then renamed over `path`; on any failure (full disk, no permission) it is removed and
/// what stood at `path` stays. A path that exists and is no regular file (a pipe, a device) is
/// written directly.
enum mxv_status mxv_npy_write(const char *path, const char *descr, unsigned rank,
                              const size_t *shape, const void *data, char *message,
                              size_t message_size);

#ifdef __cplusplus
}
#endif

#endif
