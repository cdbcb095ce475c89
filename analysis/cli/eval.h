// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// `mxverify eval OP`: the emulation as a filter. Private to the command line.
//
// A request line is groups of hexadecimal words. The driver (eval.c) parses it into struct
// eval_request; an operation's `answer` appends words to the answer line. Operations are the rows
// of eval_ops.def; their options are looked up by name, so that an operation states its own
// defaults.
#ifndef MXV_CLI_EVAL_H
#define MXV_CLI_EVAL_H

#include <mxverify/element.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { EVAL_MAX_OPTIONS = 32, EVAL_MAX_GROUPS = 1 << 24 };

struct eval_group {
    const uint64_t *words;
    size_t count;
};

struct eval_option {
    const char *key, *value;
};

struct eval {
    const char *op;
    struct eval_option options[EVAL_MAX_OPTIONS];
    size_t option_count;
    size_t line; // number of the request line, from 1
    // the request
    uint64_t *words;
    size_t word_count, word_room;
    struct eval_group *groups;
    size_t group_count, group_room;
    // the answer
    char *answer;
    size_t answer_length, answer_room;
    bool refused; // some request was refused: exit status 3 at the end
    char error[512];
    void *state; // of the operation; freed with free()
};

// Each answers one request: 0, or -1 with e->error set. setup may be NULL.
struct eval_operation {
    const char *name, *keys, *text;
    bool reads_input;
    int (*setup)(struct eval *e);
    int (*answer)(struct eval *e);
};

int cli_eval(int argc, char **argv);

const char *eval_get(const struct eval *e, const char *key, const char *fallback);
int eval_fail(struct eval *e, const char *format, ...) __attribute__((format(printf, 2, 3)));
// Integer option in [lo, hi].
int eval_number(struct eval *e, const char *key, long fallback, long lo, long hi, long *out);
int eval_element(struct eval *e, const char *key, const char *fallback, enum mxv_element *out);
// Option whose value must be one of the words of `list` (separated by blanks); index into *out.
int eval_choice(struct eval *e, const char *key, const char *list, int *out);
// Fails unless the request has n groups.
int eval_groups(struct eval *e, size_t n, const char *what);
// Fails unless every word of the group fits in `bits` bits.
int eval_fits(struct eval *e, size_t group, unsigned bits);
void eval_put(struct eval *e, uint64_t word, unsigned digits);
// Refuses one word of a request: prints `reject` in its place and remembers the refusal.
void eval_reject(struct eval *e, const char *why);
unsigned eval_digits(enum mxv_element f); // hexadecimal digits of a word of the format

// Reads option KEY as a value of policy POLICY into *OUT; nonzero when there is no such value.
#define EVAL_POLICY(e, key, policy, out)                                                           \
    (eval_get(e, key, NULL) && !mxv_##policy##_find(eval_get(e, key, NULL), out)                   \
         ? eval_fail(e, "--%s %s: no such value; see mxverify list policies", key,                 \
                     eval_get(e, key, NULL))                                                       \
         : 0)

// Encoding options shared by encode, quantize and scaled_encode.
int eval_encode_policy(struct eval *e, struct mxv_encode *p);

#define EVAL_OPERATION(name, keys, input, text)                                                    \
    int eval_setup_##name(struct eval *e);                                                         \
    int eval_answer_##name(struct eval *e);
#include "eval_ops.def"
#undef EVAL_OPERATION

#endif
