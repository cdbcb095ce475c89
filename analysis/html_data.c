// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// What the HTML page shows, as one JSON object:
//
//   log, complete, has_totals, torn, repeated, seconds, exit_status
//   header, totals  [name, value] pairs
//   verdicts        {name, text, class} in the order of MXV_VERDICTS; class good, bad or skipped
//   palette         colours of levels 0..1
//   names           of values
//   cases           {id, kernel, line, verdict, reason, seconds, repro, values, maps};
//                   values: pairs of an index into names and a number or text
//
// Maps of cases that did not pass go in first, as the page has a limit of size.
// tests/unit/test_report_html.c fails if this file is wrong.
#include "report_internal.h"

#include <math.h>
#include <mxverify/map.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PALETTE = 65, MAPS_LIMIT = 64 << 20 };

static json_t *value_json(const struct mxv_report_value *v)
{
    return v->text ? json_string(v->text) : json_real(v->number);
}

static json_t *pairs(const struct mxv_report_values *values)
{
    json_t *list = json_array();
    for (size_t i = 0; i < values->count; i++)
        json_array_append_new(list,
                              json_pack("[s,o]", values->at[i].name, value_json(&values->at[i])));
    return list;
}

static json_t *verdict_list(void)
{
    static const char *const classes[] = {"good", "bad", "skipped"};
    json_t *list = json_array();
    for (unsigned v = 0; v < MXV_VERDICT_COUNT; v++)
        json_array_append_new(list, json_pack("{s:s,s:s,s:s}", "name", mxv_verdict_name(v), "text",
                                              mxv_verdict_text(v), "class",
                                              classes[mxv_verdict_class_of((enum mxv_verdict)v)]));
    return list;
}

static json_t *palette(void)
{
    json_t *list = json_array();
    for (int i = 0; i < PALETTE; i++) {
        char colour[8];
        snprintf(colour, sizeof colour, "#%06x", (unsigned)mxv_map_colour(i / (PALETTE - 1.0)));
        json_array_append_new(list, json_string(colour));
    }
    return list;
}

static json_t *optional_text(const char *text)
{
    return text ? json_string(text) : json_null();
}

// Places of the value names in the list `names`.
static json_t *indexed_values(const struct mxv_report_case *c, json_t *places, json_t *names)
{
    json_t *list = json_array();
    for (size_t i = 0; i < c->values.count; i++) {
        const struct mxv_report_value *v = &c->values.at[i];
        json_t *place = json_object_get(places, v->name);
        if (!place) {
            json_object_set_new(places, v->name, json_integer((json_int_t)json_array_size(names)));
            json_array_append_new(names, json_string(v->name));
            place = json_object_get(places, v->name);
        }
        json_array_append(list, place);
        json_array_append_new(list, value_json(v));
    }
    return list;
}

static json_t *case_json(const struct mxv_report *report, const struct mxv_report_case *c,
                         json_t *places, json_t *names)
{
    char *repro = mxv_report_repro(report, c);
    json_t *object =
        repro ? json_pack("{s:s,s:s,s:s,s:i,s:o,s:f,s:s,s:o,s:[]}", "id", c->id, "kernel",
                          c->kernel, "line", c->line, "verdict", (int)c->verdict, "reason",
                          optional_text(c->reason), "seconds", c->seconds, "repro", repro, "values",
                          indexed_values(c, places, names), "maps")
              : NULL;
    free(repro);
    return object;
}

static bool add_maps(const struct mxv_report *report, json_t *cases, bool bad, size_t *bytes)
{
    for (size_t i = 0; i < report->case_count; i++) {
        const struct mxv_report_case *c = &report->cases[i];
        if ((mxv_verdict_class_of(c->verdict) == MXV_VERDICT_BAD) != bad)
            continue;
        json_t *maps = json_object_get(json_array_get(cases, i), "maps");
        for (size_t m = 0; m < c->map_count; m++) {
            json_t *map = mxv_html_map(report, c, m, MAPS_LIMIT, bytes);
            if (!map || json_array_append_new(maps, map))
                return false;
        }
    }
    return true;
}

static json_t *case_list(const struct mxv_report *report, json_t *names)
{
    size_t bytes = 0;
    json_t *cases = json_array(), *places = json_object();
    bool good = cases && places;
    for (size_t i = 0; good && i < report->case_count; i++)
        good =
            json_array_append_new(cases, case_json(report, &report->cases[i], places, names)) == 0;
    good = good && add_maps(report, cases, true, &bytes) && add_maps(report, cases, false, &bytes);
    json_decref(places);
    if (good)
        return cases;
    json_decref(cases);
    return NULL;
}

json_t *mxv_html_data(const struct mxv_report *report)
{
    json_t *names = json_array(), *cases = case_list(report, names);
    if (!cases) {
        json_decref(names);
        return NULL;
    }
    return json_pack("{s:s,s:b,s:b,s:I,s:I,s:f,s:i,s:o,s:o,s:o,s:o,s:o,s:o}", "log", report->path,
                     "complete", report->complete, "has_totals", report->has_totals, "torn",
                     (json_int_t)report->torn, "repeated", (json_int_t)report->repeated, "seconds",
                     report->seconds, "exit_status", mxv_report_exit_status(report), "header",
                     pairs(&report->header), "totals", pairs(&report->totals), "verdicts",
                     verdict_list(), "palette", palette(), "names", names, "cases", cases);
}
