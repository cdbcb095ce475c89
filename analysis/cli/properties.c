// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// `mxverify properties`: what must hold of a kernel without any reference.
#include "cli.h"

int cli_properties(int argc, char **argv)
{
    (void)argc, (void)argv;
    return cli_usage("properties: not ready");
}
