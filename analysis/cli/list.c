// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// `mxverify list KIND [--json]`: every registry, one entry a line: name, then what it is.
// `mxverify list formats --markdown` is docs/formats.md.
#include "cli.h"
#include <jansson.h>
#include <mxverify/attention.h>
#include <mxverify/block.h>
#include <mxverify/case.h>
#include <mxverify/compare.h>
#include <mxverify/faults.h>
#include <mxverify/generators.h>
#include <mxverify/matrix_unit.h>
#include <mxverify/tiers.h>
#include <mxverify/verify.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Fills name and text (and more keys) of entry i; false beyond the last one.
typedef bool entry_function(size_t i, json_t *entry);

static void set(json_t *entry, const char *key, const char *value)
{
    json_object_set_new(entry, key, json_string(value ? value : ""));
}

static bool choice_entry(enum mxv_choice_kind kind, size_t i, json_t *entry)
{
    if (!mxv_choice_name(kind, (unsigned)i))
        return false;
    set(entry, "name", mxv_choice_name(kind, (unsigned)i));
    set(entry, "text", mxv_choice_text(kind, (unsigned)i));
    return true;
}

static bool kernel_entry(size_t i, json_t *entry)
{
    return choice_entry(MXV_CHOICE_KERNEL, i, entry);
}

static bool stage_entry(size_t i, json_t *entry)
{
    return choice_entry(MXV_CHOICE_STAGE, i, entry);
}

static bool route_entry(size_t i, json_t *entry)
{
    return choice_entry(MXV_CHOICE_ROUTE, i, entry);
}

static bool arch_entry(size_t i, json_t *entry)
{
    return choice_entry(MXV_CHOICE_ARCH, i, entry);
}

static void element_entry(enum mxv_element f, json_t *entry)
{
    const struct mxv_element_info *info = mxv_element_get(f);
    set(entry, "name", info->name);
    set(entry, "text", info->description);
    set(entry, "kind", "element");
    json_object_set_new(entry, "bits", json_integer(info->bits));
    json_object_set_new(entry, "exponent_bits", json_integer(info->exp_bits));
    json_object_set_new(entry, "fraction_bits", json_integer(info->frac_bits));
    json_object_set_new(entry, "bias", json_integer(info->bias));
    json_object_set_new(entry, "dlpack", json_integer(info->dlpack));
}

static bool format_entry(size_t i, json_t *entry)
{
    if (i < MXV_ELEMENT_COUNT) {
        element_entry((enum mxv_element)i, entry);
        return true;
    }
    i -= MXV_ELEMENT_COUNT;
    if (i >= MXV_BLOCK_COUNT)
        return false;
    const struct mxv_block_info *b = mxv_block_get((enum mxv_block)i);
    set(entry, "name", b->name);
    set(entry, "text", b->description);
    set(entry, "kind", "block");
    json_object_set_new(entry, "size", json_integer(b->size));
    set(entry, "element", mxv_element_get(b->element)->name);
    set(entry, "scale", mxv_element_get(b->scale)->name);
    return true;
}

static bool model_entry(size_t i, json_t *entry)
{
    if (i >= mxv_mma_count())
        return false;
    const struct mxv_mma_model *m = mxv_mma_at(i);
    char text[256];
    snprintf(text, sizeof text, "%s K=%u L=%u F=%u z=%d, %s: %s", mxv_mma_rule_name(m->rule), m->k,
             m->step, m->frac_bits, m->zero_exp, mxv_mma_evidence_name(m->evidence), m->note);
    set(entry, "name", m->name);
    set(entry, "text", text);
    set(entry, "arch", m->arch);
    set(entry, "rule", mxv_mma_rule_name(m->rule));
    set(entry, "evidence", mxv_mma_evidence_name(m->evidence));
    set(entry, "result", mxv_mma_result_name(m->result));
    json_object_set_new(entry, "k", json_integer(m->k));
    json_object_set_new(entry, "step", json_integer(m->step));
    json_object_set_new(entry, "frac_bits", json_integer(m->frac_bits));
    json_object_set_new(entry, "zero_exp", json_integer(m->zero_exp));
    return true;
}

static bool tier_entry(size_t i, json_t *entry)
{
    if (!mxv_tier_name((unsigned)i))
        return false;
    set(entry, "name", mxv_tier_name((unsigned)i));
    set(entry, "text", mxv_tier_text((unsigned)i));
    return true;
}

// Those of the library, then the two that are adapters.
static bool impl_entry(size_t i, json_t *entry)
{
    static const char *const adapters[][2] = {
        {"cuda", "the kernels of gpu/ on this machine's device (libmxv_cuda.so; docs/gpu.md)"},
        {"./LIB.so", "your own, behind the adapter interface (docs/adapters.md, gpu/template)"}};
    size_t linked = 0;
    while (mxv_impl_name((unsigned)linked))
        linked++;
    if (i >= linked + sizeof adapters / sizeof adapters[0])
        return false;
    set(entry, "name", i < linked ? mxv_impl_name((unsigned)i) : adapters[i - linked][0]);
    set(entry, "text", i < linked ? mxv_impl_text((unsigned)i) : adapters[i - linked][1]);
    return true;
}

static bool fault_entry(size_t i, json_t *entry)
{
    const struct mxv_fault_info *f = mxv_fault_get((enum mxv_fault)i);
    char text[320];
    if (!f)
        return false;
    snprintf(text, sizeof text, "%s [shows at %s; %s]", f->text,
             mxv_choice_name(MXV_CHOICE_STAGE, f->stage), f->source);
    set(entry, "name", f->name);
    set(entry, "text", text);
    set(entry, "stage", mxv_choice_name(MXV_CHOICE_STAGE, f->stage));
    set(entry, "source", f->source);
    return true;
}

static bool metric_entry(size_t i, json_t *entry)
{
    const struct mxv_metric_info *m = mxv_metric_get((unsigned)i);
    if (!m)
        return false;
    set(entry, "name", m->name);
    set(entry, "text", m->text);
    set(entry, "unit", m->unit);
    return true;
}

static bool generator_entry(size_t i, json_t *entry)
{
#define X(id, name, text) {#name, text},
    static const char *const rows[][2] = {
#include <mxverify/generators.def>
    };
#undef X
    if (i >= sizeof rows / sizeof rows[0])
        return false;
    set(entry, "name", rows[i][0]);
    set(entry, "text", rows[i][1]);
    return true;
}

static bool field_entry(size_t i, json_t *entry)
{
    if (i >= MXV_FIELD_COUNT)
        return false;
    set(entry, "name", mxv_case_field_get((enum mxv_case_field)i)->key);
    set(entry, "text", mxv_case_field_get((enum mxv_case_field)i)->text);
    return true;
}

static bool policy_entry(size_t i, json_t *entry)
{
    const struct mxv_policy *p = mxv_policy_get(i);
    char text[1024] = "";
    if (!p)
        return false;
    size_t n = (size_t)snprintf(text, sizeof text, "%s:", p->description);
    for (size_t v = 0; v < p->count && n < sizeof text; v++)
        n += (size_t)snprintf(text + n, sizeof text - n, " %s", p->values[v].name);
    set(entry, "name", p->name);
    set(entry, "text", text);
    return true;
}

static const struct {
    const char *name;
    entry_function *entry;
} kinds[] = {
    {"kernels", kernel_entry},       {"formats", format_entry}, {"models", model_entry},
    {"cases", tier_entry},           {"impls", impl_entry},     {"faults", fault_entry},
    {"metrics", metric_entry},       {"stages", stage_entry},   {"routes", route_entry},
    {"arches", arch_entry},          {"fields", field_entry},   {"policies", policy_entry},
    {"generators", generator_entry},
};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

static json_t *collect(entry_function *entry)
{
    json_t *list = json_array();
    for (size_t i = 0;; i++) {
        json_t *object = json_object();
        if (!entry(i, object)) {
            json_decref(object);
            return list;
        }
        json_array_append_new(list, object);
    }
}

static void print_lines(json_t *list)
{
    size_t i;
    json_t *entry;
    json_array_foreach(list, i, entry)
        printf("%-28s %s\n", json_string_value(json_object_get(entry, "name")),
               json_string_value(json_object_get(entry, "text")));
}

static void markdown_elements(void)
{
    printf("| name | bits S/E/M | bias | largest finite (code) | min normal (code) | smallest "
           "positive (code) | Inf | NaN codes | what |\n|---|---|---|---|---|---|---|---|---|\n");
    for (unsigned f = 0; f < MXV_ELEMENT_COUNT; f++) {
        const struct mxv_element_info *e = mxv_element_get((enum mxv_element)f);
        enum mxv_element id = (enum mxv_element)f;
        uint64_t max = mxv_element_limit(id, MXV_LIMIT_MAX);
        uint64_t normal = mxv_element_limit(id, MXV_LIMIT_MIN_NORMAL);
        uint64_t least = mxv_element_limit(id, MXV_LIMIT_MIN_POSITIVE);
        uint64_t nan = 0, inf = 0;
        for (uint64_t c = 0; e->bits <= 16 && c >> e->bits == 0; c++) {
            nan += mxv_element_is_nan(id, c);
            inf += mxv_element_is_inf(id, c);
        }
        printf("| `%s` | %u/%u/%u | %d | %.9g (%llX) | %.9g (%llX) | %.9g (%llX) |", e->name,
               e->sign, e->exp_bits, e->frac_bits, e->bias, mxv_code_value(id, max),
               (unsigned long long)max, mxv_code_value(id, normal), (unsigned long long)normal,
               mxv_code_value(id, least), (unsigned long long)least);
        if (e->bits <= 16)
            printf(" %s | %llu |", inf ? "yes" : "none", (unsigned long long)nan);
        else
            printf(" IEEE | IEEE |");
        printf(" %s |\n", e->description);
    }
}

static void markdown_codes(enum mxv_element f)
{
    const struct mxv_element_info *e = mxv_element_get(f);
    printf("\n### `%s`\n\n", e->name);
    for (uint64_t c = 0; c < UINT64_C(1) << (e->bits - e->sign); c++) {
        double x = mxv_code_value(f, c);
        printf("%s%0*llX %s%.9g",
               c % 8 ? " · "
               : c   ? "  \n"
                     : "",
               e->bits <= 4 ? 1 : 2, (unsigned long long)c, mxv_element_is_nan(f, c) ? "is " : "= ",
               x);
    }
    printf("\n");
}

static int markdown_formats(void)
{
    static const enum mxv_element small[] = {MXV_E2M1, MXV_E2M3, MXV_E3M2};
    printf("<!--\nSPDX-FileCopyrightText: 2026 The mxverify authors\n"
           "SPDX-License-Identifier: Apache-2.0\n-->\n\n# Formats\n\n"
           "Made by `mxverify list formats --markdown` from formats/include/mxverify/*.def; CI "
           "compares.\n\n## Elements\n\n");
    markdown_elements();
    printf("\n## Blocks\n\n| name | elements | element | scale | what |\n|---|---|---|---|---|\n");
    for (unsigned b = 0; b < MXV_BLOCK_COUNT; b++) {
        const struct mxv_block_info *i = mxv_block_get((enum mxv_block)b);
        printf("| `%s` | %u | `%s` | `%s` | %s |\n", i->name, i->size,
               mxv_element_get(i->element)->name, mxv_element_get(i->scale)->name, i->description);
    }
    printf(
        "\n## Policies\n\nWhat the published formats leave to the implementer. The first value is "
        "the default.\n");
    for (size_t i = 0; mxv_policy_get(i); i++) {
        const struct mxv_policy *p = mxv_policy_get(i);
        printf("\n**%s**: %s\n\n| value | meaning |\n|---|---|\n", p->name, p->description);
        for (size_t v = 0; v < p->count; v++)
            printf("| `%s` | %s |\n", p->values[v].name, p->values[v].description);
    }
    printf("\n## Values of the positive codes\n");
    for (size_t i = 0; i < sizeof small / sizeof small[0]; i++)
        markdown_codes(small[i]);
    return 0;
}

static int list_help(void)
{
    printf("Usage: mxverify list KIND [--json]\n\nKinds:");
    for (int i = 0; i < KINDS; i++)
        printf(" %s", kinds[i].name);
    printf("\n\nmxverify list formats --markdown prints docs/formats.md.\n");
    return 0;
}

int cli_list(int argc, char **argv)
{
    bool json = false, markdown = false;
    const char *kind = NULL;
    for (int i = 0; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return list_help();
        if (strcmp(argv[i], "--json") == 0)
            json = true;
        else if (strcmp(argv[i], "--markdown") == 0)
            markdown = true;
        else if (argv[i][0] == '-' || kind)
            return cli_usage("list: `%s` is not understood; see mxverify list --help", argv[i]);
        else
            kind = argv[i];
    }
    if (!kind)
        return cli_usage("list: the kind is missing; see mxverify list --help");
    if (markdown)
        return strcmp(kind, "formats") == 0 ? markdown_formats()
                                            : cli_usage("list: --markdown goes with formats");
    for (int i = 0; i < KINDS; i++) {
        if (strcmp(kinds[i].name, kind) != 0)
            continue;
        json_t *list = collect(kinds[i].entry);
        if (json)
            json_dumpf(list, stdout, JSON_INDENT(1) | JSON_PRESERVE_ORDER);
        else
            print_lines(list);
        json_decref(list);
        if (json)
            printf("\n");
        return fflush(stdout) ? cli_usage("list: writing failed") : 0;
    }
    return cli_usage("list: no kind named `%s`; see mxverify list --help", kind);
}
