// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// The command line, private: one function per verb, each returning the exit status of
// docs/architecture.md (0 passed, 1 mismatch, 2 stopped early, 3 usage or configuration, 77
// skipped).
#ifndef MXV_CLI_H
#define MXV_CLI_H

#include <stdbool.h>
#include <stddef.h>

int cli_run(int argc, char **argv);
int cli_list(int argc, char **argv);
int cli_repro(int argc, char **argv);
int cli_merge(int argc, char **argv);
int cli_explain(int argc, char **argv);
int cli_eval(int argc, char **argv);
int cli_selftest(int argc, char **argv);
int cli_table(int argc, char **argv);
int cli_report(int argc, char **argv);
int cli_diff(int argc, char **argv);
int cli_probe(int argc, char **argv);
int cli_check(int argc, char **argv);
int cli_shrink(int argc, char **argv);
int cli_properties(int argc, char **argv);
int cli_bench(int argc, char **argv);

// Prints `mxverify: ...` to stderr and returns 3.
int cli_usage(const char *format, ...) __attribute__((format(printf, 1, 2)));
// Whether a word is the id of a case, or its beginning, and not a case line.
bool cli_is_id(const char *text);
// The line of a case that memory does not suffice for: what for, and what needs less. Returns 3.
int cli_no_memory(const char *line, const char *what);
// realloc that ends the program with status 3 when memory is short.
void *cli_realloc(void *p, size_t size);
// Path of a file of the CUDA build beside this program (docs/gpu.md); the caller frees it. NULL
// with a message when there is none.
char *cli_beside(const char *name, char *message, size_t message_size);
// Whether a value of --impl is a shared object: it has a slash or ends in .so.
bool cli_names_library(const char *impl);

struct cli_file {
    const char *what, *path; // "--junit"; NULL path: no such file
    bool written;            // not only read
};
// 3 after a message that names both, where a file that is written is another one of these, by its
// path or through links; else 0. `verb` begins the message, or NULL. Devices and pipes are free.
int cli_files_apart(const char *verb, const struct cli_file *files, size_t count);
// 3 after a message where the file could not be written; nothing is created or changed.
int cli_file_writable(const char *what, const char *path);

struct argp;
// Parses the words behind a verb; options may follow arguments. Ends the program with status 3 for
// words that are not understood. `name` is what messages begin with: "mxverify report".
void cli_parse(const struct argp *argp, const char *name, int argc, char **argv, void *input);

#endif
