// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Probe: what was found, as JSON (docs/probe.md shows one), and the architectures it fits.
// A parameter is a number, or [low, high] where no question told its values apart, or null where
// the rule has none. tests/cli/test_probe.sh fails if this is wrong.
#include "probe_internal.h"
#include <errno.h>
#include <jansson.h>
#include <string.h>

static json_t *range(struct mxv_probe_range r)
{
    if (r.values == 0)
        return json_null();
    if (r.values == 1)
        return json_integer(r.low);
    return json_pack("[i, i]", r.low, r.high);
}

static json_t *rules(unsigned set)
{
    json_t *list = json_array();
    for (unsigned r = 0; r < MXV_PROBE_RULES; r++)
        if (set >> r & 1)
            json_array_append_new(list, json_string(mxv_mma_rule_name((enum mxv_mma_rule)r)));
    return list;
}

static json_t *models(const struct mxv_probe_result *r)
{
    json_t *list = json_array();
    for (size_t i = 0; i < r->named_count; i++)
        json_array_append_new(list, json_pack("{s:s, s:I, s:I}", "model", r->named[i].model->name,
                                              "differing", (json_int_t)r->named[i].differing,
                                              "zero_signs", (json_int_t)r->named[i].zero_signs));
    return list;
}

static json_t *facts(const struct mxv_probe_result *r)
{
    json_t *all = json_object();
    char word[16];
    for (unsigned f = 0; f < MXV_PROBE_FACT_COUNT; f++) {
        if (!r->has_fact[f])
            continue;
        snprintf(word, sizeof word, "%08X", r->facts[f]);
        json_object_set_new(all, mxv_probe_fact_name(f), json_string(word));
    }
    return all;
}

static json_t *unit_json(const struct mxv_probe_entry *e)
{
    const struct mxv_mma_model *m = &e->face;
    const struct mxv_probe_result *r = e->result;
    json_t *o = json_object();
    json_object_set_new(o, "source", json_string(e->source));
    json_object_set_new(o, "a", json_string(mxv_element_get(m->a)->name));
    json_object_set_new(o, "b", json_string(mxv_element_get(m->b)->name));
    json_object_set_new(o, "out", json_string(mxv_mma_result_name(m->result)));
    json_object_set_new(o, "scale",
                        m->scale == MXV_MMA_NO_SCALE
                            ? json_null()
                            : json_string(mxv_element_get((enum mxv_element)m->scale)->name));
    json_object_set_new(o, "block", json_integer(m->block));
    json_object_set_new(o, "questions", json_integer((json_int_t)r->questions));
    json_object_set_new(o, "remaining", json_integer((json_int_t)r->remaining));
    json_object_set_new(o, "rules", rules(r->rules));
    json_object_set_new(o, "L", range(r->step));
    json_object_set_new(o, "F", range(r->frac_bits));
    json_object_set_new(o, "keep", range(r->keep_bits));
    json_object_set_new(o, "z", range(r->zero_exp));
    json_object_set_new(o, "K", range(r->k));
    json_object_set_new(o, "saturate", range(r->saturate));
    json_object_set_new(o, "facts", facts(r));
    json_object_set_new(o, "models", models(r));
    return o;
}

static json_t *quantiser_json(const struct mxv_probe_quantiser *q, enum mxv_block block)
{
    json_t *o = json_object(), *policies = json_object();
    for (unsigned p = 0; p < MXV_PROBE_POLICY_COUNT; p++) {
        json_t *values = json_array();
        for (unsigned v = 0; mxv_probe_policy_value(p, v); v++)
            if (q->values[p] >> v & 1)
                json_array_append_new(values, json_string(mxv_probe_policy_value(p, v)));
        if (json_array_size(values))
            json_object_set(policies, mxv_probe_policy_name(p), values);
        json_decref(values);
    }
    json_object_set_new(o, "block", json_string(mxv_block_get(block)->name));
    json_object_set_new(o, "questions", json_integer((json_int_t)q->questions));
    json_object_set_new(o, "remaining", json_integer((json_int_t)q->remaining));
    json_object_set_new(o, "missed", json_integer((json_int_t)q->missed));
    json_object_set_new(o, "policies", policies);
    return o;
}

static bool fits(const struct mxv_probe_result *r, const char *arch)
{
    for (size_t i = 0; i < r->named_count; i++)
        if (r->named[i].differing == 0 && strcmp(r->named[i].model->arch, arch) == 0)
            return true;
    return false;
}

size_t mxv_probe_arches(const struct mxv_probe_entry *units, size_t count, const char **arches,
                        size_t most)
{
    size_t found = 0;
    for (size_t i = 0; i < mxv_mma_count(); i++) {
        const char *arch = mxv_mma_at(i)->arch;
        bool known = false, all = count > 0;
        for (size_t j = 0; j < found; j++)
            known |= strcmp(arches[j], arch) == 0;
        for (size_t j = 0; j < count; j++)
            all = all && fits(units[j].result, arch);
        if (all && !known && found < most)
            arches[found++] = arch;
    }
    return found;
}

enum mxv_status mxv_probe_write(const char *path, const struct mxv_probe_entry *units, size_t count,
                                const struct mxv_probe_quantiser *quantiser, enum mxv_block block,
                                char *message, size_t size)
{
    const char *arches[MXV_PROBE_ARCHES];
    size_t fitting = mxv_probe_arches(units, count, arches, MXV_PROBE_ARCHES);
    json_t *root = json_object(), *list = json_array(), *names = json_array();
    json_object_set_new(root, "profile", json_integer(1));
    for (size_t i = 0; i < fitting; i++)
        json_array_append_new(names, json_string(arches[i]));
    for (size_t i = 0; i < count; i++)
        json_array_append_new(list, unit_json(&units[i]));
    json_object_set_new(root, "architectures", names);
    json_object_set_new(root, "units", list);
    if (quantiser)
        json_object_set_new(root, "quantiser", quantiser_json(quantiser, block));
    int failed = json_dump_file(root, path, JSON_INDENT(2) | JSON_REAL_PRECISION(17));
    json_decref(root);
    if (failed)
        snprintf(message, size, "%.400s: %s", path, strerror(errno));
    return failed ? MXV_ERR_IO : MXV_OK;
}
