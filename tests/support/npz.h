// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Arrays of a NumPy .npz archive: a ZIP file (PKWARE APPNOTE 6.3.10, sections 4.3.7, 4.3.12 and
// 4.3.16) whose members are .npy files, stored (method 0) or deflated (method 8). Lengths and
// CRC-32 of every member that is read are checked. Not handled: ZIP64, encryption, archives of
// several disks. Test code: stops the program with a message when the archive is damaged; exits
// with 77, skipped, when it is absent.
#ifndef MXV_TESTS_NPZ_H
#define MXV_TESTS_NPZ_H

#include "vector_file.h"

#include <mxverify/tensor_file.h>
#define ZLIB_CONST // next_in is not written through
#include <zlib.h>

enum { NPZ_NAME_SIZE = 128 };

struct npz_member {
    char name[NPZ_NAME_SIZE]; // of the array, without ".npy"
    unsigned flags, method;
    uint32_t crc;
    size_t packed, size; // bytes in the archive and unpacked
    size_t at;           // offset of the local header
};

struct npz {
    struct vector_bytes file;
    struct npz_member *members; // in the order of the directory
    size_t count;
};

// `bytes` bytes at `at` as a little-endian number.
static inline uint32_t npz_number(const struct npz *z, size_t at, size_t bytes)
{
    if (at > z->file.size || bytes > z->file.size - at)
        vector_fail("a header leads beyond the end of the archive", "npz");
    return vector_word(z->file.data + at, bytes);
}

// Offset of the end-of-directory record: the last signature whose comment ends with the file.
static inline size_t npz_directory_end(const struct npz *z)
{
    for (size_t back = 22; back <= z->file.size && back <= 22 + 65535; back++) {
        size_t at = z->file.size - back;
        if (npz_number(z, at, 4) == 0x06054b50u && npz_number(z, at + 20, 2) == back - 22)
            return at;
    }
    vector_fail("no end-of-directory record", "npz");
    return 0;
}

// Reads the directory entry at `at`; returns the offset of the next one.
static inline size_t npz_read_entry(const struct npz *z, size_t at, struct npz_member *m)
{
    if (npz_number(z, at, 4) != 0x02014b50u)
        vector_fail("no directory entry where one is promised", "npz");
    size_t length = npz_number(z, at + 28, 2);
    *m = (struct npz_member){
        .flags = npz_number(z, at + 8, 2),
        .method = npz_number(z, at + 10, 2),
        .crc = npz_number(z, at + 16, 4),
        .packed = npz_number(z, at + 20, 4),
        .size = npz_number(z, at + 24, 4),
        .at = npz_number(z, at + 42, 4),
    };
    if (length < 5 || length >= sizeof m->name || length > z->file.size - at - 46 ||
        memcmp(z->file.data + at + 46 + length - 4, ".npy", 4) != 0)
        vector_fail("a member's name does not end in .npy or is too long", "npz");
    memcpy(m->name, z->file.data + at + 46, length - 4);
    return at + 46 + length + npz_number(z, at + 30, 2) + npz_number(z, at + 32, 2);
}

static inline struct npz npz_open(const char *path)
{
    struct npz z = {vector_read_command("cat", path), NULL, 0};
    size_t end = npz_directory_end(&z), at = npz_number(&z, end + 16, 4);
    z.count = npz_number(&z, end + 10, 2);
    if (z.count == 0xffff || npz_number(&z, end + 8, 2) != z.count)
        vector_fail("ZIP64 or a part of a split archive", path);
    z.members = calloc(z.count + 1, sizeof *z.members);
    if (!z.members)
        vector_fail("out of memory", path);
    for (size_t i = 0; i < z.count; i++)
        at = npz_read_entry(&z, at, &z.members[i]);
    if (at != end)
        vector_fail("the directory does not end where it should", path);
    return z;
}

static inline void npz_close(struct npz *z)
{
    free(z->members);
    free(z->file.data);
    *z = (struct npz){{NULL, 0}, NULL, 0};
}

static inline void npz_inflate(const struct npz_member *m, const uint8_t *packed, uint8_t *out)
{
    uint8_t beyond; // an empty output buffer must not be NULL
    z_stream s = {.next_in = packed,
                  .avail_in = (uInt)m->packed,
                  .next_out = m->size ? out : &beyond,
                  .avail_out = (uInt)m->size};
    if (inflateInit2(&s, -MAX_WBITS) != Z_OK)
        vector_fail("zlib does not start", m->name);
    if (inflate(&s, Z_FINISH) != Z_STREAM_END || s.avail_in != 0 || s.avail_out != 0)
        vector_fail("damaged: the deflated data do not fit the directory", m->name);
    inflateEnd(&s);
}

// The unpacked bytes of a member, malloc.
static inline uint8_t *npz_unpack(const struct npz *z, const struct npz_member *m)
{
    if (npz_number(z, m->at, 4) != 0x04034b50u || (m->flags & 1u))
        vector_fail("no local header, or encrypted", m->name);
    size_t data = m->at + 30 + npz_number(z, m->at + 26, 2) + npz_number(z, m->at + 28, 2);
    if (data > z->file.size || m->packed > z->file.size - data || m->size > (1u << 30))
        vector_fail("data beyond the end of the archive", m->name);
    uint8_t *out = malloc(m->size + 1);
    if (!out)
        vector_fail("out of memory", m->name);
    if (m->method == 8)
        npz_inflate(m, z->file.data + data, out);
    else if (m->method == 0 && m->packed == m->size)
        memcpy(out, z->file.data + data, m->size);
    else
        vector_fail("neither stored nor deflated", m->name);
    if (crc32(0, out, (uInt)m->size) != m->crc)
        vector_fail("wrong CRC-32", m->name);
    return out;
}

static inline const struct npz_member *npz_find(const struct npz *z, const char *name)
{
    for (size_t i = 0; i < z->count; i++)
        if (strcmp(z->members[i].name, name) == 0)
            return &z->members[i];
    return NULL;
}

// The array `name`, which must be there; u1 and u2 are integers. mxv_tensor_free releases it.
static inline struct mxv_tensor npz_tensor(const struct npz *z, const char *name)
{
    const struct mxv_tensor_read_options integers = {.integers = true};
    const struct npz_member *m = npz_find(z, name);
    struct mxv_tensor t;
    char message[MXV_TENSOR_MESSAGE_SIZE];
    if (!m)
        vector_fail("no such array in the archive", name);
    uint8_t *bytes = npz_unpack(z, m);
    if (mxv_tensor_parse_npy(bytes, m->size, name, &integers, &t, message, sizeof message))
        vector_fail(message, name);
    free(bytes);
    return t;
}

#endif
