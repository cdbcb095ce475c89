// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// `mxverify merge`: the logs of shards become the log of one run, with the totals, hash, report and
// exit status that one run would have had. A shard that is missing or was cut short makes the whole
// one that stopped early. tests/cli/test_runner_shards.sh fails if this file is wrong.
#include "cli.h"
#include "run.h"
#include <errno.h>
#include <mxverify/text_file.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct entry {
    uint64_t index;
    struct run_outcome outcome;
    size_t file; // of the command line
    char *line;  // with its line end
};

struct merge {
    const char *out, **paths;
    size_t path_count;
    char *header;
    json_t *header_json;
    struct entry *entries;
    size_t count, room;
    size_t *shards; // of each of shard_count: the file that it has ended in, from 1; 0: in none
    uint64_t shard_count, twice; // twice: a shard, from 1, that has ended in two files; 0: none
    size_t twice_in[2];
    bool events_tier; // every log is of a whole shard of a tier that has to meet the events
    struct run_totals totals;
};

static int refuse_line(const struct merge *m, size_t file, size_t number, const char *why)
{
    return cli_usage("merge: %s: line %zu: %s", m->paths[file], number, why);
}

// Shards of one run agree in these.
static int take_header(struct merge *m, json_t *record, const char *line, size_t file)
{
    static const char *const members[] = {"version", "implementation", "seed", "device"};
    if (!m->header) {
        m->header = strdup(line);
        m->header_json = json_incref(record);
        return 0;
    }
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++)
        if (!json_equal(json_object_get(record, members[i]),
                        json_object_get(m->header_json, members[i])))
            return cli_usage("merge: %s and %s differ in `%s`: not shards of one run", m->paths[0],
                             m->paths[file], members[i]);
    char first[RUN_JUDGING_TEXT], here[RUN_JUDGING_TEXT];
    if (run_judging_differs(m->header_json, record, first, here))
        return cli_usage("merge: %s was begun with %s, %s with %s: not shards of one run",
                         m->paths[0], first, m->paths[file], here);
    return 0;
}

static int take_totals(struct merge *m, const json_t *record, size_t file, bool *ended)
{
    const json_t *numbers = json_object_get(record, "numbers");
    uint64_t index = (uint64_t)json_number_value(json_object_get(numbers, "shard"));
    uint64_t count = (uint64_t)json_number_value(json_object_get(numbers, "shards"));
    *ended = !json_is_true(json_object_get(record, "stopped_early"));
    if (json_number_value(json_object_get(numbers, "events.tier")) != 1)
        m->events_tier = false;
    m->totals.seconds += json_number_value(json_object_get(record, "seconds"));
    if (count < 1 || index < 1 || index > count || count > MXV_SHARD_COUNT_MAX)
        return 0; // written by something else: nothing is known of shards
    if (m->shards && count != m->shard_count)
        return cli_usage("merge: %s is shard %llu of %llu, others are of %llu", m->paths[file],
                         (unsigned long long)index, (unsigned long long)count,
                         (unsigned long long)m->shard_count);
    if (!m->shards) {
        m->shards = cli_realloc(NULL, count * sizeof *m->shards);
        memset(m->shards, 0, count * sizeof *m->shards);
        m->shard_count = count;
    }
    size_t *in = &m->shards[index - 1];
    if (*ended && *in && *in != file + 1) {
        m->twice = index;
        m->twice_in[0] = *in - 1;
        m->twice_in[1] = file;
    }
    if (*ended)
        *in = file + 1;
    return 0;
}

static int take_case(struct merge *m, const json_t *record, const char *line, size_t file,
                     size_t number)
{
    struct run_outcome outcome;
    struct mxv_case *c = cli_realloc(NULL, sizeof *c);
    bool good = run_read_record(record, &outcome, c);
    free(c);
    if (!good)
        return refuse_line(m, file, number, "no case record of this program");
    if (m->count == m->room) {
        m->room = m->room ? 2 * m->room : 256;
        m->entries = cli_realloc(m->entries, m->room * sizeof *m->entries);
    }
    m->entries[m->count++] = (struct entry){outcome.index, outcome, file, strdup(line)};
    return 0;
}

static int take_line(struct merge *m, const char *line, size_t file, size_t number, bool *ended)
{
    json_t *record = json_loads(line, 0, NULL);
    const char *kind = json_string_value(json_object_get(record, "record"));
    int status = 0;
    if (!kind)
        status = refuse_line(m, file, number, "no record");
    else if (strcmp(kind, "header") == 0)
        status = take_header(m, record, line, file);
    else if (strcmp(kind, "case") == 0)
        status = take_case(m, record, line, file, number);
    else if (strcmp(kind, "totals") == 0)
        status = take_totals(m, record, file, ended);
    json_decref(record);
    return status;
}

// A torn last line is passed over: its shard was cut short.
static int read_log(struct merge *m, size_t file)
{
    FILE *f = mxv_text_open(m->paths[file]);
    char *line = NULL;
    size_t room = 0, number = 0;
    ssize_t length;
    bool ended = false;
    int status = 0;
    if (!f)
        return cli_usage("merge: %s: %s", m->paths[file], strerror(errno));
    while (status == 0 && (length = mxv_text_line(&line, &room, f)) > 0 && line[length - 1] == '\n')
        if (strlen(line) != (size_t)length)
            status = refuse_line(m, file, number + 1, "a NUL byte");
        else if (line[0] != '\n')
            status = take_line(m, line, file, ++number, &ended);
    if (status == 0 && ferror(f))
        status = cli_usage("merge: %s: %s", m->paths[file], mxv_text_error(errno));
    free(line);
    fclose(f);
    if (status == 0 && number == 0)
        status = cli_usage("merge: %s holds no record", m->paths[file]);
    if (status == 0 && !ended) {
        m->totals.stopped_early = true;
        fprintf(stderr, "mxverify: merge: %s stopped early\n", m->paths[file]);
    }
    return status;
}

static int by_index(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    if (x->index != y->index)
        return x->index < y->index ? -1 : 1;
    return (x->file > y->file) - (x->file < y->file);
}

// The same case twice is one case when it came to the same; otherwise nothing can be said.
static int drop_doubles(struct merge *m)
{
    size_t kept = 0;
    if (m->count)
        qsort(m->entries, m->count, sizeof *m->entries, by_index);
    for (size_t i = 0; i < m->count; i++) {
        struct entry *e = &m->entries[i], *last = kept ? &m->entries[kept - 1] : NULL;
        if (!last || last->index != e->index) {
            m->entries[kept++] = *e;
            continue;
        }
        if (last->outcome.verdict != e->outcome.verdict ||
            last->outcome.output_hash != e->outcome.output_hash)
            return cli_usage("merge: case %llu differs between %s and %s",
                             (unsigned long long)e->index, m->paths[last->file], m->paths[e->file]);
        free(e->line);
        e->line = NULL;
    }
    m->count = kept;
    return 0;
}

static void find_missing(struct merge *m)
{
    for (uint64_t i = 0; i < m->shard_count; i++)
        if (!m->shards[i]) {
            m->totals.stopped_early = true;
            fprintf(stderr, "mxverify: merge: shard %llu of %llu is missing\n",
                    (unsigned long long)i + 1, (unsigned long long)m->shard_count);
        }
}

static void add_totals(struct merge *m)
{
    struct mxv_case *c = cli_realloc(NULL, sizeof *c);
    for (size_t i = 0; i < m->count; i++) {
        json_t *record = json_loads(m->entries[i].line, 0, NULL);
        struct run_outcome outcome;
        if (run_read_record(record, &outcome, c))
            run_totals_add(&m->totals, &outcome, c);
        json_decref(record);
    }
    free(c);
}

static int write_log(struct merge *m, uint64_t hash)
{
    char path[1200], message[MXV_VERIFY_TEXT];
    struct mxv_log *log = NULL;
    if (snprintf(path, sizeof path, "%s.tmp-%ld", m->out, (long)getpid()) >= (int)sizeof path)
        return cli_usage("merge: %.60s...: the path is too long", m->out);
    FILE *f = fopen(path, "w");
    bool good = f && fputs(m->header, f) >= 0;
    for (size_t i = 0; i < m->count && good; i++)
        good = fputs(m->entries[i].line, f) >= 0;
    if (f && fclose(f))
        good = false;
    int status = good ? 0 : cli_usage("merge: %s: %s", path, strerror(errno));
    if (status == 0 && mxv_log_open(path, true, &log, message, sizeof message) != MXV_OK)
        status = cli_usage("merge: %s", message);
    if (status == 0)
        status = run_write_totals(log, &m->totals, hash, NULL);
    if (mxv_log_close(log, message, sizeof message) != MXV_OK && status == 0)
        status = cli_usage("merge: %s", message);
    if (status == 0 && rename(path, m->out))
        status = cli_usage("merge: %s: %s", m->out, strerror(errno));
    if (status)
        unlink(path);
    return status;
}

static int merge_logs(struct merge *m)
{
    int status = 0;
    for (size_t i = 0; i < m->path_count && status == 0; i++)
        status = read_log(m, i);
    if (status == 0 && !m->header)
        status = cli_usage("merge: %s has no header", m->paths[0]);
    if (status == 0)
        status = drop_doubles(m);
    if (status == 0 && m->twice)
        status = cli_usage("merge: %s and %s both are shard %llu of %llu, whole: leave one out",
                           m->paths[m->twice_in[0]], m->paths[m->twice_in[1]],
                           (unsigned long long)m->twice, (unsigned long long)m->shard_count);
    if (status)
        return status;
    find_missing(m);
    add_totals(m);
    run_events_judge(&m->totals, EVENTS_BY_TIER, m->events_tier && m->shards,
                     !m->totals.stopped_early);
    uint64_t hash = run_totals_hash(&m->totals);
    status = write_log(m, hash);
    if (status)
        return status;
    struct run_config config;
    run_config_defaults(&config);
    config.kernel = "merged";
    config.cases = "of all shards";
    config.impl_name = json_string_value(json_object_get(m->header_json, "implementation"));
    config.out = "the folders of the shards";
    run_report(&config, &m->totals, hash, m->out);
    int events = run_events_report(&m->totals, false, false);
    if (fflush(stdout))
        return cli_usage("merge: writing the report failed: %s", strerror(errno));
    status = mxv_exit_status(m->totals.counts, m->totals.stopped_early);
    return status ? status : events;
}

static int check_files(const struct merge *m)
{
    int status = cli_file_writable("merge", m->out);
    for (size_t i = 0; i < m->path_count && status == 0; i++) {
        const struct cli_file files[] = {{"the merged log", m->out, true},
                                         {"an input", m->paths[i], false}};
        status = cli_files_apart("merge", files, 2);
    }
    return status;
}

int cli_merge(int argc, char **argv)
{
    struct merge m = {.events_tier = true};
    for (int i = 0; i < argc; i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            printf("Usage: mxverify merge OUT.jsonl IN.jsonl...\n"
                   "Makes one log of the logs of shards (mxverify run --shard I/N), and prints the "
                   "report\nand returns the exit status of the whole.\n");
            return 0;
        } else if (argv[i][0] == '-') {
            return cli_usage("merge: `%s` is not understood; see mxverify merge --help", argv[i]);
        }
    if (argc < 2)
        return cli_usage("merge: expected OUT.jsonl and at least one IN.jsonl");
    m.out = argv[0];
    m.paths = (const char **)argv + 1;
    m.path_count = (size_t)argc - 1;
    int status = check_files(&m);
    if (status == 0)
        status = merge_logs(&m);
    for (size_t i = 0; i < m.count; i++)
        free(m.entries[i].line);
    free(m.entries);
    free(m.header);
    json_decref(m.header_json);
    free(m.shards);
    run_totals_free(&m.totals);
    return status;
}
