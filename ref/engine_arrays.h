// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Private to the engine: the large arrays of a head. They are cut from one mapping of huge pages
// where the system has them, whose pages all threads clear together; thousands of small pages,
// faulted in one by one and given back by one thread, took a tenth of a head's time. Contents are
// zeros, as calloc gives them. unit.engine_arrays fails if they are not zero or overlap.
#ifndef MXV_ENGINE_ARRAYS_H
#define MXV_ENGINE_ARRAYS_H

#include <stdbool.h>
#include <stddef.h>

enum { ARRAYS_MOST = 32 };

struct arrays {
    void *mapping; // NULL: none
    unsigned char *from;
    size_t mapped, size, used; // bytes of the mapping, of its aligned part, taken from that
    void *other[ARRAYS_MOST];  // what did not fit
    size_t others;
};

// Makes room for about `bytes`, more is allocated when taken; all zeros of *a is an empty set.
// parallel: whether threads may help.
void arrays_open(struct arrays *a, size_t bytes, bool parallel);
// count * size zeros, at least one byte; NULL for lack of memory.
void *arrays_take(struct arrays *a, size_t count, size_t size);
void arrays_close(struct arrays *a);

#endif
