// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// What both adapters say of the device. It is asked for in a child process: CUDA does not survive a
// fork, and workers are forked after info.
#include "device_info.h"
#include "cuda_run.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

// In a child: "0" or "1", then the text.
static void ask_device(int pipe_end)
{
    char text[256] = "";
    text[0] = mxv_cuda_device(text + 1, sizeof text - 1) ? '1' : '0';
    const ssize_t written = write(pipe_end, text, strlen(text) + 1);
    _exit(written > 0 ? 0 : 1);
}

int mxv_cuda_device_info(struct mxv_impl_info *out, char *message, size_t size)
{
    char text[256] = "1the device query died";
    int ends[2], status;
    if (pipe(ends))
        return MXV_IMPL_FAILED;
    const pid_t child = fork();
    if (child == 0)
        ask_device(ends[1]);
    close(ends[1]);
    const ssize_t n = child > 0 ? read(ends[0], text, sizeof text - 1) : -1;
    close(ends[0]);
    if (child > 0)
        waitpid(child, &status, 0);
    if (n > 0)
        text[n] = '\0';
    if (n <= 0 || text[0] != '0') {
        snprintf(message, size, "%s", text + 1);
        return MXV_IMPL_UNSUPPORTED;
    }
    const size_t name = strcspn(text + 1, ",");
    snprintf(out->device, sizeof out->device, "%.*s", (int)name, text + 1);
    snprintf(out->driver, sizeof out->driver, "%s", text[1 + name] ? text + name + 3 : "");
    return MXV_IMPL_OK;
}
