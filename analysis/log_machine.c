// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Machine, compiler and date of a run. Linux: the processor's name comes from /proc/cpuinfo; where
// that cannot be read the name is null. SOURCE_DATE_EPOCH as reproducible-builds.org words it.
// tests/unit/test_log.c fails if this file is wrong.
#include "log_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

// The value of the first "model name" line, without its line end; false if there is none.
static bool read_processor_name(char *name, size_t size)
{
    FILE *file = fopen("/proc/cpuinfo", "re");
    char line[512];
    bool found = false;
    while (file && !found && fgets(line, sizeof line, file)) {
        char *colon = strchr(line, ':');
        if (!colon || strncmp(line, "model name", 10) != 0)
            continue;
        colon += 1 + strspn(colon + 1, " \t");
        colon[strcspn(colon, "\n")] = '\0';
        snprintf(name, size, "%s", colon);
        found = true;
    }
    if (file)
        fclose(file);
    return found;
}

void mxv_log_put_machine(struct mxv_json *json)
{
    char processor[256];
    struct utsname system;
    bool known = uname(&system) == 0;
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    mxv_json_open(json, "machine", '{');
    mxv_json_text(json, "cpu", read_processor_name(processor, sizeof processor) ? processor : NULL);
    mxv_json_integer(json, "cores", cores > 0 ? (uint64_t)cores : 0);
    mxv_json_text(json, "architecture", known ? system.machine : NULL);
    mxv_json_text(json, "system", known ? system.sysname : NULL);
    mxv_json_text(json, "release", known ? system.release : NULL);
    mxv_json_close(json, '}');
#ifdef __clang__
    mxv_json_text(json, "compiler", "clang " __clang_version__);
#else
    mxv_json_text(json, "compiler", "gcc " __VERSION__);
#endif
}

void mxv_log_put_date(struct mxv_json *json)
{
    time_t now = time(NULL);
    const char *fixed = getenv("SOURCE_DATE_EPOCH");
    if (fixed && fixed[0]) {
        char *end;
        long long seconds = strtoll(fixed, &end, 10);
        if (*end == '\0' && seconds >= 0)
            now = (time_t)seconds;
    }
    struct tm parts;
    char text[40] = "";
    if (gmtime_r(&now, &parts))
        strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
    mxv_json_text(json, "date", text[0] ? text : NULL);
}
