// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// A user's program: encodes 3.0 as E2M1 and prints code and value. With EVERYTHING it also calls
// what needs MPFR and, through the tensor reader, the analysis layer.
#include <inttypes.h>
#include <mxverify/element.h>
#include <stdio.h>
#include <string.h>
#ifdef EVERYTHING
#include <mxverify/special.h>
#include <mxverify/tensor_file.h>
#endif

static int layers_answer(void)
{
#ifdef EVERYTHING
    struct mxv_tensor tensor;
    char message[256] = "";

    return mxv_ex2_rn(0x40000000) == 0x40800000 && // 2^2 = 4
           mxv_tensor_read("/nonexistent/x.npy", NULL, &tensor, message, sizeof message) ==
               MXV_ERR_IO &&
           message[0] != '\0';
#else
    return 1;
#endif
}

int main(void)
{
    uint32_t word = UINT32_C(0x40400000);
    uint64_t code = mxv_element_from_f32(MXV_E2M1, word, NULL);
    float value;

    word = mxv_element_to_f32(MXV_E2M1, code);
    memcpy(&value, &word, sizeof value);
    printf("e2m1 %02" PRIx64 " -> %g\n", code, (double)value);
    return !layers_answer();
}
