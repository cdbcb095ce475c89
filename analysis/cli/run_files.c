// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// The folder of a run and the files beside it, checked before the first case.
// tests/cli/test_bad_input.sh fails if this file is wrong.
#include "cli.h"
#include "run.h"
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int run_make_folder(const char *path)
{
    char part[1024];
    if (strlen(path) >= sizeof part)
        return cli_usage("--out %.60s...: the path is too long", path);
    for (size_t i = 1; i <= strlen(path); i++) {
        if (path[i] != '/' && path[i] != 0)
            continue;
        memcpy(part, path, i);
        part[i] = 0;
        if (mkdir(part, 0777) && errno != EEXIST)
            return cli_usage("--out %s: cannot make folder %s: %s", path, part, strerror(errno));
    }
    struct stat info;
    if (stat(path, &info) || !S_ISDIR(info.st_mode) || access(path, W_OK | X_OK))
        return cli_usage("--out %s: not a folder that can be written", path);
    return 0;
}

// No file that is written is another one of the run's, and those written last can be written.
int run_check_files(const struct run *run)
{
    const struct run_config *c = run->config;
    struct cli_file files[] = {
        {"the log", c->no_log ? NULL : run->log_path, true},
        {"--junit", c->junit, true},
        {"--html", c->html, true},
        {"--cases", run->source->tier && !run_is_tier(c->cases) ? c->cases : NULL, false},
        {"--ledger", c->ledger, false},
        {"--impl", c->impl_library, false},
    };
    int status = cli_files_apart(NULL, files, sizeof files / sizeof files[0]);
    if (status == 0 && c->junit)
        status = cli_file_writable("--junit", c->junit);
    if (status == 0 && c->html)
        status = cli_file_writable("--html", c->html);
    return status;
}
