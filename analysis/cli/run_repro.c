// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// `mxverify repro`: one case again, by its line or by its id in a log.
#include "cli.h"
#include "run.h"
#include <argp.h>
#include <errno.h>
#include <mxverify/text_file.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPT_LOG = RUN_OPT_LAST };

static char *line_in(const json_t *record)
{
    const char *line = json_string_value(json_object_get(record, "case"));
    return line ? strdup(line) : NULL;
}

// Line of the case `id` in a log; NULL if there is none. *error: errno of a log that cannot be
// read.
static char *line_of_id(const char *log, const char *id, int *error)
{
    FILE *file = mxv_text_open(log);
    char *line = NULL, *found = NULL;
    size_t room = 0;
    while (file && !found && mxv_text_line(&line, &room, file) >= 0) {
        json_t *record = json_loads(line, 0, NULL);
        const char *text = json_string_value(json_object_get(record, "id"));
        if (text && strncmp(text, id, strlen(id)) == 0)
            found = line_in(record);
        json_decref(record);
    }
    *error = !file || ferror(file) ? errno : 0;
    if (file)
        fclose(file);
    free(line);
    return found;
}

struct repro_config {
    struct run_config run;
    const char *what, *log;
};

static error_t parse_repro(int key, char *arg, struct argp_state *state)
{
    struct repro_config *c = state->input;
    struct argp_state forwarded;
    switch (key) {
    case OPT_LOG:
        c->log = arg;
        return 0;
    case ARGP_KEY_ARG:
        if (c->what)
            argp_failure(state, 3, 0, "give one case line, in quotes, or one id");
        c->what = arg;
        return 0;
    default:
        forwarded = *state; // same streams, the configuration of run
        forwarded.input = &c->run;
        return run_parse_option(key, arg, &forwarded);
    }
}

int cli_repro(int argc, char **argv)
{
    static const struct argp_option repro_options[] = {
        {"impl", RUN_OPT_IMPL, "NAME", 0, "implementation, default plain", 1},
        {"out", RUN_OPT_OUT, "DIR", 0, "folder of log and maps, default out/repro", 1},
        {"log", OPT_LOG, "FILE", 0, "log in which an id is looked up, default out/run.jsonl", 1},
        {"truth-scores", RUN_OPT_TRUTH_SCORES, "N", 0, "as in run", 1},
        {"no-truth", RUN_OPT_NO_TRUTH, NULL, 0, "as in run", 1},
        {"timeout", RUN_OPT_TIMEOUT, "SECONDS", 0, "as in run: in a worker process", 1},
        {"wide-p", RUN_OPT_WIDE_P, NULL, 0, "as in run", 1},
        {"no-retry", RUN_OPT_NO_RETRY, NULL, 0, "as in run", 1},
        {"explain", RUN_OPT_EXPLAIN, NULL, 0, "as in run", 1},
        {0},
    };
    static const struct argp argp = {repro_options,
                                     parse_repro,
                                     "'CASE LINE' | ID",
                                     "Runs one case again and draws its maps.",
                                     NULL,
                                     NULL,
                                     NULL};
    struct repro_config c = {.log = "out/run.jsonl"};
    struct run_source source = {.count = 1};
    char message[MXV_VERIFY_TEXT], name[] = "mxverify repro", *line = NULL;
    char **words = cli_realloc(NULL, ((size_t)argc + 2) * sizeof *words);
    words[0] = name;
    memcpy(words + 1, argv, (size_t)argc * sizeof *words);
    words[argc + 1] = NULL;
    run_config_defaults(&c.run);
    c.run.out = "out/repro";
    argp_err_exit_status = 3;
    argp_parse(&argp, argc + 1, words, 0, NULL, &c);
    c.run.argc = argc + 1;
    c.run.argv = words;
    c.run.shard = (struct mxv_shard){0, 1};
    if (run_config_finish(&c.run))
        return 3;
    if (!c.what)
        return cli_usage("repro: the case line or id is missing");
    int error;
    if (cli_is_id(c.what) && !(line = line_of_id(c.log, c.what, &error)))
        return cli_usage("repro: no case %s in %s%s%s", c.what, c.log, error ? ": " : "",
                         error ? mxv_text_error(error) : "");
    if (mxv_case_parse(line ? line : c.what, &source.single, message, sizeof message) != MXV_OK)
        return cli_usage("repro: %s", message);
    c.run.kernel = mxv_choice_name(MXV_CHOICE_KERNEL, source.single.kernel);
    c.run.cases = "one line";
    c.run.maps = MAPS_ALL;
    if (source.single.faults)
        c.run.impl_name = mxv_impl_name(MXV_IMPL_EMULATION);
    int status = run_cases(&c.run, &source);
    free(line);
    free(words);
    return status;
}
