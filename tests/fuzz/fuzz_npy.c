// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Fuzz target: any bytes as a .npy file, under every kind of reading option. Aborts when a result
// breaks the contract of tensor_file.h: sizes that do not agree, codes beyond their format, a
// refusal without a line of message or with data left behind.
#include "fuzz_tensor.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    for (size_t i = 0; i < sizeof fuzz_options / sizeof *fuzz_options; i++) {
        struct mxv_tensor tensor;
        char message[MXV_TENSOR_MESSAGE_SIZE] = "";
        enum mxv_status status = mxv_tensor_parse_npy(data, size, "fuzz", &fuzz_options[i], &tensor,
                                                      message, sizeof message);
        fuzz_check(status, size, &tensor, message);
    }
    return 0;
}
