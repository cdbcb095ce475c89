// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Regression driver for the fuzz targets where libFuzzer is not linked: feeds the target the empty
// input, every file of each folder (or file) named on the command line, and a fixed number of
// mutations of each, drawn from a seed that depends on nothing but the file's bytes. Fails when a
// target crashes, trips a sanitizer, returns non-zero, or when a corpus named here has no file.
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MUTATIONS = 500, INPUT_LIMIT = 1 << 20, MAX_EDITS = 8 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t inputs, files;

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static void run_one(const uint8_t *data, size_t size)
{
    // An exact-size copy lets a sanitizer see the first byte read past the end.
    uint8_t *copy = calloc(size ? size : 1, 1);
    if (!copy)
        abort();
    memcpy(copy, data, size);
    if (LLVMFuzzerTestOneInput(copy, size) != 0) {
        fprintf(stderr, "replay: the target refused an input of %zu bytes\n", size);
        exit(1);
    }
    free(copy);
    inputs++;
}

static void mutate(const uint8_t *data, size_t size, uint64_t *state)
{
    static uint8_t buffer[INPUT_LIMIT];
    unsigned edits = 1 + (unsigned)(next_random(state) % MAX_EDITS);

    memcpy(buffer, data, size);
    while (edits-- && size > 0) {
        size_t at = (size_t)(next_random(state) % size);
        switch (next_random(state) % 5) {
        case 0:
            buffer[at] ^= (uint8_t)(1U << (next_random(state) % 8));
            break;
        case 1:
            buffer[at] = (uint8_t)next_random(state);
            break;
        case 2:
            buffer[at] = "\x00\xff\x7f\x80"[next_random(state) % 4];
            break;
        case 3:
            size = at;
            break;
        default:
            memmove(buffer + at, buffer + at + 1, size - at - 1);
            size--;
        }
    }
    run_one(buffer, size);
}

static void replay_file(const char *path)
{
    static uint8_t data[INPUT_LIMIT];
    uint64_t state = UINT64_C(0x9e3779b97f4a7c15);
    FILE *f = fopen(path, "rb");
    size_t size;

    if (!f) {
        perror(path);
        exit(1);
    }
    size = fread(data, 1, sizeof data, f);
    fclose(f);
    run_one(data, size);
    for (size_t i = 0; i < size; i++)
        state = (state ^ data[i]) * UINT64_C(0x100000001b3) + 1;
    for (int i = 0; i < MUTATIONS; i++)
        mutate(data, size, &state);
    files++;
}

static void replay_path(const char *path)
{
    struct stat info;
    struct dirent **entries;
    int count;

    if (stat(path, &info) != 0) {
        perror(path);
        exit(1);
    }
    if (!S_ISDIR(info.st_mode)) {
        replay_file(path);
        return;
    }
    count = scandir(path, &entries, NULL, alphasort);
    for (int i = 0; i < count; i++) {
        char name[4096];
        snprintf(name, sizeof name, "%s/%s", path, entries[i]->d_name);
        if (entries[i]->d_name[0] != '.')
            replay_path(name);
        free(entries[i]);
    }
    if (count >= 0)
        free(entries);
}

int main(int argc, char **argv)
{
    run_one((const uint8_t *)"", 0);
    for (int i = 1; i < argc; i++) {
        size_t before = files;
        replay_path(argv[i]);
        if (files == before) {
            fprintf(stderr, "replay: %s holds no file\n", argv[i]);
            return 1;
        }
    }
    printf("replayed %zu files, %zu inputs\n", files, inputs);
    return 0;
}
