// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// The log of an earlier run is read, checked to be of the same run, and cut behind its last whole
// case record; what is appended then makes it the log of one run.
// tests/cli/test_runner_resume.sh fails if this file is wrong.
#include "cli.h"
#include "run.h"
#include <errno.h>
#include <fcntl.h>
#include <mxverify/text_file.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

static int check_header(const struct run *run, const json_t *record)
{
    const struct run_config *config = run->config;
    const char *implementation = json_string_value(json_object_get(record, "implementation"));
    const char *version = json_string_value(json_object_get(record, "version"));
    if (!version || strcmp(version, MXV_VERSION) != 0)
        return cli_usage("--resume: %s is of version %s, this is %s", run->log_path,
                         version ? version : "unknown", MXV_VERSION);
    if (!implementation || strcmp(implementation, config->impl_name) != 0)
        return cli_usage("--resume: %s is of implementation %s, not %s", run->log_path,
                         implementation ? implementation : "unknown", config->impl_name);
    return run_judging_check(config, record, run->log_path);
}

static void mark_finished(struct run *run, uint64_t index)
{
    if (index >= run->finished_count) {
        uint64_t count = index + index / 2 + 64;
        run->finished = cli_realloc(run->finished, count);
        memset(run->finished + run->finished_count, 0, count - run->finished_count);
        run->finished_count = count;
    }
    run->finished[index] = true;
}

// Whether a case that could not take the settings then cannot take them now, and neither one that
// could, as its line is the same with other settings.
static bool same_settings(const json_t *record, const struct run_slot *now)
{
    const char *then =
        json_string_value(json_object_get(json_object_get(record, "texts"), "settings"));
    return now->refused ? then && strcmp(then, now->message) == 0 : !then;
}

// The record must be of the case that has this index now.
static int take_case(struct run *run, const json_t *record, size_t number)
{
    struct run_outcome outcome;
    struct run_slot *now = cli_realloc(NULL, sizeof *now);
    struct mxv_case *then = cli_realloc(NULL, sizeof *then);
    char id_now[MXV_CASE_ID_SIZE], id_then[MXV_CASE_ID_SIZE];
    int status = 0;
    if (!run_read_record(record, &outcome, then)) {
        status = cli_usage("--resume: %s: line %zu is no case record of this program",
                           run->log_path, number);
    } else if (outcome.index < run->source->count &&
               mxv_shard_has(&run->config->shard, outcome.index)) {
        run_slot_make(run, now, outcome.index);
        mxv_case_id(&now->c, id_now);
        mxv_case_id(then, id_then);
        bool twice = outcome.index < run->finished_count && run->finished[outcome.index];
        if (strcmp(id_now, id_then) != 0)
            status = cli_usage("--resume: %s is the log of another run: its case %llu is %s, "
                               "here it is %s",
                               run->log_path, (unsigned long long)outcome.index, id_then, id_now);
        else if (!same_settings(record, now))
            status = cli_usage("--resume: %s is the log of another run: its case %llu was run with "
                               "other settings (--set, --arch, --fault)",
                               run->log_path, (unsigned long long)outcome.index);
        else if (!twice) {
            mark_finished(run, outcome.index);
            run_totals_add(&run->totals, &outcome, &now->c);
            run->totals.resumed++;
        }
    } else {
        status = cli_usage("--resume: %s: line %zu: case %llu is not part of this run",
                           run->log_path, number, (unsigned long long)outcome.index);
    }
    free(now);
    free(then);
    return status;
}

// Takes one whole line; *keep is whether it stays in the file.
static int take_line(struct run *run, const char *line, size_t number, bool *has_header, bool *keep)
{
    json_error_t error;
    json_t *record = json_loads(line, 0, &error);
    const char *kind = json_string_value(json_object_get(record, "record"));
    int status = 0;
    if (!kind) {
        status = cli_usage("--resume: %s: line %zu is no record", run->log_path, number);
    } else if (strcmp(kind, "header") == 0) {
        *has_header = true;
        status = check_header(run, record);
    } else if (strcmp(kind, "case") == 0) {
        status = *has_header ? take_case(run, record, number)
                             : cli_usage("--resume: %s has no header", run->log_path);
    }
    *keep = kind && strcmp(kind, "totals") != 0;
    json_decref(record);
    return status;
}

// Two runs on one log would mix their records. Where the file system has no locks, nothing is done.
int run_lock_log(struct run *run)
{
    run->lock = open(run->log_path, O_RDWR | O_CREAT | O_CLOEXEC, (mode_t)0666);
    if (run->lock >= 0 && flock(run->lock, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK)
        return cli_usage("%s: another run is writing this log; give this one a folder of its own "
                         "(--out)",
                         run->log_path);
    return 0;
}

int run_resume(struct run *run, bool *has_header)
{
    FILE *file = mxv_text_open(run->log_path);
    char *line = NULL;
    size_t room = 0, number = 0;
    off_t end = 0;
    ssize_t length;
    int status = 0;
    *has_header = false;
    if (!file)
        return errno == ENOENT ? 0 : cli_usage("%s: %s", run->log_path, strerror(errno));
    while (status == 0 && (length = mxv_text_line(&line, &room, file)) > 0 &&
           line[length - 1] == '\n') {
        bool keep;
        number++;
        if (strlen(line) != (size_t)length)
            status = cli_usage("--resume: %s: line %zu: a NUL byte", run->log_path, number);
        else
            status = take_line(run, line, number, has_header, &keep);
        if (status != 0 || !keep)
            break;
        end += length;
    }
    if (status == 0 && ferror(file))
        status = cli_usage("--resume: %s: %s", run->log_path, mxv_text_error(errno));
    free(line);
    fclose(file);
    if (status == 0 && truncate(run->log_path, end))
        status = cli_usage("%s: %s", run->log_path, strerror(errno));
    run->drawn = run->totals.resumed > 0;
    if (status == 0 && !run->config->quiet)
        fprintf(stderr, "resumed: %zu cases are in %s\n", run->totals.resumed, run->log_path);
    return status;
}
