// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// Run at configure time by MxvCheckArithmetic.cmake. Each test separates IEEE arithmetic, one
// rounding an operation, from one thing a compiler or start-up file may do instead; exit 1 names
// it.
#include <float.h>
#include <stdio.h>

#if defined(__FAST_MATH__)
#error "compiled with -ffast-math"
#endif

static volatile float one = 1.0F, tiny = 0x1p-24F, near_one = 1.0F + 0x1p-12F;
static volatile float huge_value = 0x1p127F, min_normal = 0x1p-126F;
static volatile double near_one_d = 1.0 + 0x1p-27;

static int failures;

static void require(int holds, const char *what)
{
    if (!holds) {
        printf("  %s\n", what);
        failures++;
    }
}

// (1 + 2^-12)^2 - (1 + 2^-11) is 0 when the product is rounded and 2^-24 when it is not.
static float multiply_add(float a, float b, float c)
{
    return a * b + c;
}

static double multiply_add_d(double a, double b, double c)
{
    return a * b + c;
}

int main(void)
{
    float x = near_one, sum = 0.0F;
    double y = near_one_d;

    require(FLT_EVAL_METHOD == 0, "excess precision (FLT_EVAL_METHOD is not 0)");
    require(multiply_add(x, x, -(1.0F + 0x1p-11F)) == 0.0F, "binary32 multiply-add is contracted");
    require(multiply_add_d(y, y, -(1.0 + 0x1p-26)) == 0.0, "binary64 multiply-add is contracted");
    require(huge_value * 4.0F * 0.25F > FLT_MAX, "an intermediate overflow is lost");
    require(one + tiny == 1.0F && one + 3.0F * tiny == 1.0F + 0x1p-22F,
            "not round to nearest even");
    require(min_normal * 0.5F != 0.0F, "subnormal results are flushed to zero");
    for (int i = 0; i < 8; i++)
        sum += i == 0 ? one : tiny;
    require(sum == 1.0F, "sums are reassociated");
    return failures != 0;
}
