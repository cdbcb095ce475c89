// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// The options that decide how cases are judged, in the header of a log: one log, and one merged of
// shards, must not mix them. tests/cli/test_runner_resume.sh and test_runner_shards.sh fail if this
// file is wrong.
#include "cli.h"
#include "run.h"
#include <stdio.h>
#include <string.h>

struct mxv_log_judging run_judging_of(const struct run_config *config)
{
    const struct mxv_verify_options *o = &config->verify;
    return (struct mxv_log_judging){.truth = o->truth,
                                    .truth_scores = o->truth_scores,
                                    .events = o->events,
                                    .wide_p = o->wide_weights,
                                    .psnr_peak = o->psnr_peak > 0 ? o->psnr_peak : 10};
}

// "--no-truth" or a beginning of it that the parser accepts.
static bool asks_no_truth(const json_t *command)
{
    size_t i;
    const json_t *word;
    json_array_foreach((json_t *)command, i, word)
    {
        const char *text = json_string_value(word);
        if (text && strlen(text) > 5 && strncmp("--no-truth", text, strlen(text)) == 0)
            return true;
    }
    return false;
}

// `judging` of a header; of one without it, what its command line tells. The caller releases it.
static json_t *judging_in(const json_t *header)
{
    json_t *judging = json_object_get(header, "judging");
    const json_t *command = json_object_get(header, "command");
    if (json_is_object(judging))
        return json_incref(judging);
    return json_is_array(command) ? json_pack("{s:b}", "truth", !asks_no_truth(command))
                                  : json_object();
}

static const struct {
    const char *member, *set, *clear; // clear NULL: `set` stands before a number
} judged[] = {
    {"truth", "truth", "--no-truth"},
    {"truth_scores", "--truth-scores", NULL},
    {"events", "events counted (--events)", "events not counted"},
    {"wide_p", "--wide-p", "no --wide-p"},
    {"psnr_peak", "PSNR peak", NULL},
};

static void say(size_t i, const json_t *value, char text[RUN_JUDGING_TEXT])
{
    if (judged[i].clear)
        snprintf(text, RUN_JUDGING_TEXT, "%s",
                 json_is_true(value) ? judged[i].set : judged[i].clear);
    else
        snprintf(text, RUN_JUDGING_TEXT, "%s %.17g", judged[i].set, json_number_value(value));
}

bool run_judging_differs(const json_t *a, const json_t *b, char said_a[RUN_JUDGING_TEXT],
                         char said_b[RUN_JUDGING_TEXT])
{
    json_t *x = judging_in(a), *y = judging_in(b);
    bool differs = false;
    for (size_t i = 0; i < sizeof judged / sizeof judged[0] && !differs; i++) {
        const json_t *in_a = json_object_get(x, judged[i].member);
        const json_t *in_b = json_object_get(y, judged[i].member);
        if (!in_a || !in_b)
            continue;
        differs = judged[i].clear ? json_is_true(in_a) != json_is_true(in_b)
                                  : json_number_value(in_a) != json_number_value(in_b);
        if (differs) {
            say(i, in_a, said_a);
            say(i, in_b, said_b);
        }
    }
    json_decref(x);
    json_decref(y);
    return differs;
}

int run_judging_check(const struct run_config *config, const json_t *header, const char *log_path)
{
    struct mxv_log_judging j = run_judging_of(config);
    char then[RUN_JUDGING_TEXT], here[RUN_JUDGING_TEXT];
    json_t *now = json_pack("{s:{s:b,s:b,s:b,s:f}}", "judging", "truth", j.truth, "events",
                            j.events, "wide_p", j.wide_p, "psnr_peak", j.psnr_peak);
    if (j.truth)
        json_object_set_new(json_object_get(now, "judging"), "truth_scores",
                            json_integer((json_int_t)j.truth_scores));
    bool differs = run_judging_differs(header, now, then, here);
    json_decref(now);
    return differs ? cli_usage("--resume: the log %s was begun with %s, this run has %s", log_path,
                               then, here)
                   : 0;
}
