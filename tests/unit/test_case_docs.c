// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// docs/case-language.md says what the program does: its tables are those of the field, generator
// and tier lists, its example lines parse, its error messages are the ones that appear. The files
// of data/cases parse too.
#include "cases.h"
#include <dirent.h>
#include <mxverify/tiers.h>

static char page[1 << 17];

static int read_page(void **state)
{
    FILE *f = fopen(MXV_SOURCE_DIR "/docs/case-language.md", "r");
    (void)state;
    if (!f)
        return -1;
    size_t n = fread(page, 1, sizeof page - 1, f);
    fclose(f);
    page[n] = '\0';
    return n > 1000 && n < sizeof page - 1 ? 0 : -1;
}

static void fields_table(void **state)
{
    static char table[1 << 16];
    (void)state;
    assert_true(mxv_case_fields_markdown(table, sizeof table) < sizeof table);
    if (!strstr(page, table))
        print_error("the table of fields should read:\n%s", table);
    assert_non_null(strstr(page, table));
}

static void generators_and_tiers(void **state)
{
    char row[400];
    (void)state;
    for (unsigned g = 0; mxv_generator_name(g); g++) {
        snprintf(row, sizeof row, "| `%s` | %s |\n", mxv_generator_name(g), mxv_generator_text(g));
        if (!strstr(page, row))
            fail_msg("missing: %s", row);
    }
    for (unsigned t = 0; mxv_tier_name(t); t++) {
        snprintf(row, sizeof row, "| `%s` | %s |\n", mxv_tier_name(t), mxv_tier_text(t));
        if (!strstr(page, row))
            fail_msg("missing: %s", row);
    }
}

// Indented lines that begin with a kernel's name and hold a `=` are cases.
static void example_lines(void **state)
{
    char *rest = NULL, copy[sizeof page];
    size_t cases = 0;
    (void)state;
    memcpy(copy, page, sizeof copy);
    for (char *line = strtok_r(copy, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        char kernel[40];
        unsigned k;
        struct mxv_case c;
        if (sscanf(line, "    %39[a-z-] ", kernel) != 1 || strncmp(line, "    ", 4) != 0 ||
            !strchr(line, '=') || !mxv_choice_find(MXV_CHOICE_KERNEL, kernel, &k))
            continue;
        parse(line, &c);
        cases++;
    }
    assert_true(cases >= 5);
}

static void example_errors(void **state)
{
    static const char *const lines[] = {"dma lq=3 tile=100x128", "dma hq=3 hk=2",
                                        "dma mode=high low=nvfp4"};
    char message[600], said[700];
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct mxv_case c;
        assert_int_not_equal(mxv_case_parse(lines[i], &c, message, sizeof message), MXV_OK);
        snprintf(said, sizeof said, "    %s\n", message);
        if (!strstr(page, said))
            fail_msg("the page does not show: %s", message);
    }
}

static int is_case_file(const struct dirent *entry)
{
    size_t n = strlen(entry->d_name);
    return n > 6 && strcmp(entry->d_name + n - 6, ".cases") == 0;
}

static void case_files(void **state)
{
    struct dirent **entries;
    int n = scandir(MXV_SOURCE_DIR "/data/cases", &entries, is_case_file, alphasort);
    size_t cases = 0;
    (void)state;
    assert_true(n >= 3);
    for (int i = 0; i < n; i++) {
        char path[1000], message[1000], *name = entries[i]->d_name;
        struct mxv_tier *tier;
        snprintf(path, sizeof path, MXV_SOURCE_DIR "/data/cases/%s", name);
        struct mxv_tier_options options = {.tier = path};
        if (mxv_tier_open(&options, &tier, message, sizeof message) != MXV_OK)
            fail_msg("%s", message);
        cases += mxv_tier_count(tier);
        mxv_tier_close(tier);
        assert_non_null(strstr(page, name));
        free(entries[i]);
    }
    free(entries);
    assert_true(cases > 60);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_table),  cmocka_unit_test(generators_and_tiers),
        cmocka_unit_test(example_lines), cmocka_unit_test(example_errors),
        cmocka_unit_test(case_files),
    };
    return cmocka_run_group_tests(tests, read_page, NULL);
}
