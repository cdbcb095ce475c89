// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// What a stream can show: colour, Unicode, width. NO_COLOR as no-color.org words it: set and not
// empty means no colour. COLUMNS overrides the width that the terminal reports.
// tests/unit/test_map_terminal.c fails if this file is wrong.
#include <mxverify/map.h>

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { DEFAULT_COLUMNS = 80, MIN_COLUMNS = 20, MAX_COLUMNS = 1000 };

static bool is_set(const char *name)
{
    const char *value = getenv(name);
    return value && value[0] != '\0';
}

// The locale in force for characters, by the precedence of POSIX.
static bool locale_is_utf8(void)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (is_set(names[i])) {
            const char *value = getenv(names[i]);
            return strstr(value, "UTF-8") || strstr(value, "utf8") || strstr(value, "utf-8") ||
                   strstr(value, "UTF8");
        }
    }
    return false;
}

static unsigned width_of(int fd)
{
    const char *columns = getenv("COLUMNS");
    if (columns && columns[0]) {
        char *end;
        long value = strtol(columns, &end, 10);
        if (*end == '\0' && value >= MIN_COLUMNS)
            return value < MAX_COLUMNS ? (unsigned)value : MAX_COLUMNS;
    }
    struct winsize size;
    if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col >= MIN_COLUMNS)
        return size.ws_col;
    return DEFAULT_COLUMNS;
}

struct mxv_map_terminal mxv_map_terminal_for(int fd)
{
    struct mxv_map_terminal terminal = {0};
    bool interactive = isatty(fd) == 1;
    const char *kind = getenv("TERM");
    bool dumb = !kind || strcmp(kind, "dumb") == 0;
    terminal.columns = width_of(fd);
    terminal.colour = interactive && !is_set("NO_COLOR") && !dumb;
    terminal.unicode = interactive && locale_is_utf8();
    return terminal;
}
