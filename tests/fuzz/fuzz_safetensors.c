// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Fuzz target: any bytes as a .safetensors file, the only tensor or the one named "a", under every
// kind of reading option. Aborts when a result breaks the contract of tensor_file.h.
#include "fuzz_tensor.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    for (size_t i = 0; i < 2 * sizeof fuzz_options / sizeof *fuzz_options; i++) {
        struct mxv_tensor tensor;
        char message[MXV_TENSOR_MESSAGE_SIZE] = "";
        enum mxv_status status =
            mxv_tensor_parse_safetensors(data, size, "fuzz", i % 2 ? "a" : NULL,
                                         &fuzz_options[i / 2], &tensor, message, sizeof message);
        fuzz_check(status, size, &tensor, message);
    }
    return 0;
}
