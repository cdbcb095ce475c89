// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Driver of `mxverify eval`: options, request lines, answers. A request is one line of hexadecimal
// words without 0x, groups separated by `|`, `#` starts a comment, blank lines are passed over;
// each request gives one answer line. Input and output are buffered and linear in the line length.
// A malformed request stops with status 3 after the answers before it were printed; a refused word
// prints `reject` in its place, an error line, and status 3 at the end.
#include "eval.h"
#include "cli.h"
#include <errno.h>
#include <mxverify/text_file.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EVAL_OPERATION(name, keys, input, text)                                                    \
    {#name, keys, text, input, eval_setup_##name, eval_answer_##name},
static const struct eval_operation operations[] = {
#include "eval_ops.def"
};
#undef EVAL_OPERATION
enum { OPERATIONS = sizeof operations / sizeof operations[0] };

int eval_fail(struct eval *e, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(e->error, sizeof e->error, format, args);
    va_end(args);
    return -1;
}

const char *eval_get(const struct eval *e, const char *key, const char *fallback)
{
    for (size_t i = 0; i < e->option_count; i++)
        if (strcmp(e->options[i].key, key) == 0)
            return e->options[i].value;
    return fallback;
}

int eval_number(struct eval *e, const char *key, long fallback, long lo, long hi, long *out)
{
    const char *text = eval_get(e, key, NULL);
    char *end;
    *out = fallback;
    if (!text)
        return 0;
    errno = 0;
    *out = strtol(text, &end, 10);
    if (errno || end == text || *end || *out < lo || *out > hi)
        return eval_fail(e, "--%s %s: expected a whole number from %ld to %ld", key, text, lo, hi);
    return 0;
}

int eval_element(struct eval *e, const char *key, const char *fallback, enum mxv_element *out)
{
    const char *text = eval_get(e, key, fallback);
    if (!text)
        return eval_fail(e, "--%s is missing: name an element format (mxverify list formats)", key);
    if (!mxv_element_find(text, out))
        return eval_fail(e, "--%s %s: no such element format (mxverify list formats)", key, text);
    return 0;
}

int eval_choice(struct eval *e, const char *key, const char *list, int *out)
{
    const char *text = eval_get(e, key, NULL);
    *out = 0;
    if (!text)
        return 0;
    size_t length = strlen(text);
    int index = 0;
    for (const char *word = list; *word; index++) {
        size_t n = strcspn(word, " ");
        if (n == length && strncmp(word, text, n) == 0) {
            *out = index;
            return 0;
        }
        word += n + strspn(word + n, " ");
    }
    return eval_fail(e, "--%s %s: expected one of: %s", key, text, list);
}

int eval_groups(struct eval *e, size_t n, const char *what)
{
    if (e->group_count == n)
        return 0;
    return eval_fail(e, "%zu groups where %zu are expected: %s", e->group_count, n, what);
}

int eval_fits(struct eval *e, size_t group, unsigned bits)
{
    const struct eval_group *g = &e->groups[group];
    for (size_t i = 0; bits < 64 && i < g->count; i++)
        if (g->words[i] >> bits)
            return eval_fail(e, "group %zu, word %zu: %llX does not fit in %u bits", group + 1,
                             i + 1, (unsigned long long)g->words[i], bits);
    return 0;
}

unsigned eval_digits(enum mxv_element f)
{
    unsigned bits = mxv_element_get(f)->bits;
    if (f == MXV_TF32)
        return 8;
    return bits <= 8 ? 2 : bits <= 16 ? 4 : bits <= 32 ? 8 : 16;
}

static void answer_room(struct eval *e, size_t more)
{
    if (e->answer_length + more <= e->answer_room)
        return;
    e->answer_room = (e->answer_length + more) * 2;
    e->answer = cli_realloc(e->answer, e->answer_room);
}

void eval_put(struct eval *e, uint64_t word, unsigned digits)
{
    static const char hex[] = "0123456789ABCDEF";
    answer_room(e, digits + 2);
    char *at = e->answer + e->answer_length;
    if (e->answer_length)
        *at++ = ' ';
    for (unsigned i = digits; i-- > 0;)
        *at++ = hex[word >> (4 * i) & 15];
    e->answer_length = (size_t)(at - e->answer);
}

void eval_reject(struct eval *e, const char *why)
{
    answer_room(e, 8);
    e->answer_length +=
        (size_t)sprintf(e->answer + e->answer_length, "%sreject", e->answer_length ? " " : "");
    e->refused = true;
    fprintf(stderr, "mxverify eval %s: line %zu: refused: %s\n", e->op, e->line, why);
}

static void push_word(struct eval *e, uint64_t word)
{
    if (e->word_count == e->word_room) {
        e->word_room = e->word_room ? e->word_room * 2 : 1024;
        e->words = cli_realloc(e->words, e->word_room * sizeof *e->words);
    }
    e->words[e->word_count++] = word;
}

static void push_group(struct eval *e)
{
    if (e->group_count == e->group_room) {
        e->group_room = e->group_room ? e->group_room * 2 : 64;
        e->groups = cli_realloc(e->groups, e->group_room * sizeof *e->groups);
    }
    e->groups[e->group_count].words = NULL; // set when the words no longer move
    e->groups[e->group_count++].count = 0;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

// Splits a line into groups of words; false for a blank or comment line.
static int parse_request(struct eval *e, const char *line, bool *blank)
{
    const char *at = line;
    e->word_count = e->group_count = 0;
    push_group(e);
    *blank = true;
    for (;;) {
        at += strspn(at, " \t\r\n");
        if (*at == 0 || *at == '#')
            break;
        *blank = false;
        if (*at == '|') {
            push_group(e);
            at++;
            continue;
        }
        uint64_t word = 0;
        size_t digits = 0;
        for (int v; (v = hex_digit(at[digits])) >= 0 && digits < 17; digits++)
            word = word << 4 | (uint64_t)v;
        if (digits == 0 || digits > 16 || !strchr(" \t\r\n|#", at[digits]))
            return eval_fail(e, "column %zu: `%.*s` is not a hexadecimal word of at most 16 digits",
                             (size_t)(at - line) + 1, (int)strcspn(at, " \t\r\n|"), at);
        push_word(e, word);
        e->groups[e->group_count - 1].count++;
        at += digits;
    }
    const uint64_t *words = e->words;
    for (size_t g = 0; g < e->group_count; g++) {
        e->groups[g].words = words;
        words += e->groups[g].count;
    }
    return 0;
}

static int answer_once(struct eval *e, const struct eval_operation *op)
{
    e->answer_length = 0;
    if (op->answer(e))
        return -1;
    answer_room(e, 1);
    e->answer[e->answer_length++] = '\n';
    return fwrite(e->answer, 1, e->answer_length, stdout) == e->answer_length
               ? 0
               : eval_fail(e, "writing the answer failed: %s", strerror(errno));
}

// Standard input by the line. Before it has to wait for more, the answers so far are handed out, so
// that a program at the other end of two pipes can ask one question at a time.
struct input {
    char *bytes;
    size_t begin, end, room;
    bool closed;
};

static int fill(struct eval *e, struct input *in)
{
    struct pollfd ready = {.fd = 0, .events = POLLIN};
    if (poll(&ready, 1, 0) == 0 && fflush(stdout))
        return eval_fail(e, "writing the answer failed: %s", strerror(errno));
    if (in->begin) {
        memmove(in->bytes, in->bytes + in->begin, in->end - in->begin);
        in->end -= in->begin;
        in->begin = 0;
    }
    if (in->end > MXV_TEXT_LINE_BYTES)
        return eval_fail(e, "the line is longer than 64 MiB");
    if (in->end + 2 > in->room / 2) {
        in->room = in->room ? in->room * 2 : 1 << 16;
        in->bytes = cli_realloc(in->bytes, in->room);
    }
    ssize_t n;
    do
        n = read(0, in->bytes + in->end, in->room - in->end - 1);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return eval_fail(e, "reading standard input failed: %s", strerror(errno));
    in->closed = n == 0;
    in->end += (size_t)n;
    return 0;
}

// Next line, NUL-terminated without its line end; NULL at the end or after an error.
static char *next_line(struct eval *e, struct input *in, size_t *length)
{
    size_t searched = 0;
    for (;;) {
        char *start = in->bytes + in->begin;
        size_t n = in->end - in->begin;
        char *end = n > searched ? memchr(start + searched, '\n', n - searched) : NULL;
        if (end || (in->closed && n)) {
            *length = end ? (size_t)(end - start) : n;
            start[*length] = 0;
            in->begin += *length + (end != NULL);
            return start;
        }
        searched = n;
        if (in->closed || fill(e, in))
            return NULL;
    }
}

static int answer_stream(struct eval *e, const struct eval_operation *op)
{
    struct input in = {0};
    char *line;
    size_t length;
    int status = 0;
    while (status == 0 && (line = next_line(e, &in, &length))) {
        bool blank = true;
        e->line++;
        if (strlen(line) != length)
            status = eval_fail(e, "the line holds a NUL byte");
        else if (parse_request(e, line, &blank))
            status = -1;
        else if (!blank)
            status = answer_once(e, op);
    }
    free(in.bytes);
    return status ? status : e->error[0] ? -1 : 0;
}

static bool key_allowed(const char *keys, const char *key, size_t length)
{
    for (const char *at = keys; *at;) {
        size_t n = strcspn(at, " ");
        if (n == length && strncmp(at, key, n) == 0)
            return true;
        at += n + strspn(at + n, " ");
    }
    return false;
}

// --key value, --key=value
static int parse_options(struct eval *e, const struct eval_operation *op, int argc, char **argv)
{
    for (int i = 0; i < argc; i++) {
        if (strncmp(argv[i], "--", 2) != 0)
            return eval_fail(e, "`%s`: options are --key value; operands are read from stdin",
                             argv[i]);
        char *key = argv[i] + 2, *equals = strchr(key, '=');
        size_t length = equals ? (size_t)(equals - key) : strlen(key);
        if (!key_allowed(op->keys, key, length))
            return eval_fail(e, "--%.*s: %s has no such option; it has: %s", (int)length, key,
                             op->name, *op->keys ? op->keys : "none");
        if (!equals && i + 1 == argc)
            return eval_fail(e, "--%s: its value is missing", key);
        if (equals)
            *equals = 0;
        if (eval_get(e, key, NULL))
            return eval_fail(e, "--%s is given twice", key);
        e->options[e->option_count++] = (struct eval_option){key, equals ? equals + 1 : argv[++i]};
    }
    return 0;
}

static void print_operations(void)
{
    printf("Usage: mxverify eval OP [--key value]... < requests > answers\n\n"
           "One request a line: hexadecimal words without 0x, groups separated by |, # comments.\n"
           "One answer line each. docs/eval.md describes words, options and refusals.\n\n");
    for (int i = 0; i < OPERATIONS; i++)
        printf("  %-18s %s\n%20s options: %s\n", operations[i].name, operations[i].text, "",
               *operations[i].keys ? operations[i].keys : "none");
}

static int run_operation(struct eval *e, const struct eval_operation *op)
{
    if (op->setup(e))
        return -1;
    return op->reads_input ? answer_stream(e, op) : answer_once(e, op);
}

int cli_eval(int argc, char **argv)
{
    const struct eval_operation *op = NULL;
    if (argc < 1)
        return cli_usage("eval: the operation is missing; see mxverify eval --help");
    if (strcmp(argv[0], "--help") == 0 || strcmp(argv[0], "-h") == 0) {
        print_operations();
        return 0;
    }
    for (int i = 0; i < OPERATIONS; i++)
        if (strcmp(operations[i].name, argv[0]) == 0)
            op = &operations[i];
    if (!op)
        return cli_usage("eval: no operation named `%s`; see mxverify eval --help", argv[0]);
    struct eval e = {.op = op->name};
    setvbuf(stdout, NULL, _IOFBF, 1 << 18);
    int status = parse_options(&e, op, argc - 1, argv + 1) || run_operation(&e, op) ? 3 : 0;
    if (fflush(stdout) && status == 0) {
        eval_fail(&e, "writing the answer failed: %s", strerror(errno));
        status = 3;
    }
    if (e.error[0] && e.line)
        fprintf(stderr, "mxverify eval %s: line %zu: %s\n", op->name, e.line, e.error);
    else if (e.error[0])
        fprintf(stderr, "mxverify eval %s: %s\n", op->name, e.error);
    free(e.words);
    free(e.groups);
    free(e.answer);
    free(e.state);
    return status ? status : e.refused ? 3 : 0;
}
