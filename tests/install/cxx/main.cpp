// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// A user's program in C++: encodes 3.0 as E2M1 and prints code and value. With EVERYTHING it also
// calls what needs MPFR and, through the tensor reader, the analysis layer.
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <mxverify/element.h>
#ifdef EVERYTHING
#include <mxverify/special.h>
#include <mxverify/tensor_file.h>
#endif

static bool layers_answer()
{
#ifdef EVERYTHING
    mxv_tensor tensor;
    char message[256] = "";

    return mxv_ex2_rn(0x40000000) == 0x40800000 && // 2^2 = 4
           mxv_tensor_read("/nonexistent/x.npy", nullptr, &tensor, message, sizeof message) ==
               MXV_ERR_IO &&
           message[0] != '\0';
#else
    return true;
#endif
}

int main()
{
    std::uint32_t word = UINT32_C(0x40400000);
    const std::uint64_t code = mxv_element_from_f32(MXV_E2M1, word, nullptr);
    float value;

    word = mxv_element_to_f32(MXV_E2M1, code);
    std::memcpy(&value, &word, sizeof value);
    std::printf("e2m1 %02" PRIx64 " -> %g\n", code, static_cast<double>(value));
    return layers_answer() ? 0 : 1;
}
