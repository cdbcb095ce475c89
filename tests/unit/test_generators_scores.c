// SPDX-FileCopyrightText: 2026 The mxverify authors
// SPDX-License-Identifier: Apache-2.0
//
// What the generators that shape scores promise (docs/case-language.md): the test forms the scores
// in binary64 and asks where they peak and how they move.
#include "cases.h"
#include <math.h>

static double dot(const float *q, const float *k, size_t d)
{
    double sum = 0;
    for (size_t c = 0; c < d; c++)
        sum += (double)q[c] * (double)k[c];
    return sum;
}

// Key of the largest score of a row among [first, end).
static size_t peak(const struct mxv_case_data *data, size_t row, size_t first, size_t end)
{
    size_t best = first;
    for (size_t n = first; n < end; n++)
        if (dot(data->q + row * data->a.d, data->k + n * data->a.d, data->a.d) >
            dot(data->q + row * data->a.d, data->k + best * data->a.d, data->a.d))
            best = n;
    return best;
}

// at=N: every row that sees key N peaks there. at open: each peak is an edge, the three edges of
// the tile of 128 keys among them.
static void one_hot_peaks(void **state)
{
    struct mxv_case_data data;
    size_t hits[300] = {0};
    (void)state;
    build("flash lq=260 lk=260 mask=full gen=one_hot at=129 seed=8", &data);
    for (size_t row = 0; row < 260; row++)
        assert_int_equal(peak(&data, row, 0, 260), 129);
    mxv_case_free(&data);
    build("flash lq=260 lk=260 mask=full gen=one_hot seed=8", &data);
    for (size_t row = 0; row < 260; row++)
        hits[peak(&data, row, 0, 260)]++;
    assert_true(hits[127] && hits[128] && hits[129] && hits[0] && hits[259] && hits[255]);
    assert_int_equal(hits[50] + hits[100] + hits[200], 0);
    mxv_case_free(&data);
}

// The largest score of all keys is at the first hidden one, and far above every visible one.
static void masked_edge_peaks(void **state)
{
    struct mxv_case_data data;
    (void)state;
    build("flash lq=140 lk=140 gen=masked_edges seed=8", &data);
    for (size_t row = 0; row + 1 < 140; row++) { // causal: keys 0..row are visible
        size_t n = peak(&data, row, 0, 140), seen = peak(&data, row, 0, row + 1);
        const float *q = data.q + row * 64;
        assert_int_equal(n, row + 1);
        double lead = dot(q, data.k + n * 64, 64) - dot(q, data.k + seen * 64, 64);
        assert_true(lead * data.a.scale > 30); // what is visible weighs e^-30 against it
    }
    mxv_case_free(&data);
}

static void equal_scores(void **state)
{
    struct mxv_case_data data;
    (void)state;
    build("flash lq=20 lk=40 gen=equal hq=2 seed=8", &data);
    for (size_t row = 0; row < 40; row++)
        for (size_t n = 1; n < 40; n++)
            assert_true(dot(data.q + row * 64, data.k + n * 64, 64) ==
                        dot(data.q + row * 64, data.k, 64));
    mxv_case_free(&data);
}

static void huge_logit_range(void **state)
{
    struct mxv_case_data data;
    size_t above = 0, below = 0;
    (void)state;
    build("flash lq=64 lk=64 gen=huge_logits seed=8", &data);
    for (size_t row = 0; row < 64; row++) {
        double highest = -INFINITY, lowest = INFINITY;
        for (size_t n = 0; n < 64; n++) {
            double s = data.a.scale * dot(data.q + row * 64, data.k + n * 64, 64);
            highest = fmax(highest, s);
            lowest = fmin(lowest, s);
        }
        above += highest > 6e4;
        below += highest < -6e4; // the whole row
    }
    assert_true(above > 8 && below > 8);
    mxv_case_free(&data);
}

// The maximum over tile j + 1 exceeds that over tile j by 0 to 16 log2 units, on both sides of 8.
static void rising_maxima(void **state)
{
    struct mxv_case_data data;
    size_t low = 0, high = 0;
    (void)state;
    build("flash lq=8 lk=640 tile=32x32 mask=full gen=rising_max in=f32 seed=8", &data);
    for (size_t row = 0; row < 8; row++) {
        for (size_t j = 0; j + 1 < 20; j++) {
            const float *q = data.q + row * 64;
            size_t a = peak(&data, row, 32 * j, 32 * j + 32);
            size_t b = peak(&data, row, 32 * j + 32, 32 * j + 64);
            double step =
                (dot(q, data.k + b * 64, 64) - dot(q, data.k + a * 64, 64)) * data.a.scale / log(2);
            assert_true(step > -2 && step < 18); // noise of either maximum
            low += step < 8;
            high += step > 8;
        }
    }
    assert_true(low > 40 && high > 40);
    mxv_case_free(&data);
}

static void probe_values(void **state)
{
    struct mxv_case_data data;
    (void)state;
    build("flash lq=4 lk=100 d=32 gen=v_ones seed=2", &data);
    for (size_t i = 0; i < 100 * 32; i++)
        assert_true(data.v[i] == 1);
    mxv_case_free(&data);
    build("flash lq=4 lk=100 d=32 gen=identity_v seed=2", &data);
    for (size_t i = 0; i < 100 * 32; i++)
        assert_true(data.v[i] == (i / 32 % 32 == i % 32 ? 1 : 0));
    mxv_case_free(&data);
    build("flash lq=4 lk=100 d=32 gen=integer seed=2", &data);
    for (size_t i = 0; i < 100 * 32; i++)
        assert_true(fabsf(data.k[i]) <= 3 && data.k[i] == rintf(data.k[i]) &&
                    fabsf(data.v[i]) <= 8 && data.v[i] == rintf(data.v[i]));
    mxv_case_free(&data);
    build("flash lq=4 lk=100 d=32 gen=power_of_two seed=2", &data);
    for (size_t i = 0; i < 100 * 32; i++) {
        int e;
        assert_true(fabsf(frexpf(data.k[i], &e)) == 0.5f && e >= -3 && e <= 4);
    }
    mxv_case_free(&data);
}

static void extremes(void **state)
{
    struct mxv_case_data data;
    (void)state;
    build("dma lq=50 lk=50 hq=2 hk=2 gen=signed_extreme seed=2", &data);
    for (size_t head = 0; head < 2; head++) {
        size_t large = 0;
        for (size_t i = 0; i < 50 * 64; i++) {
            large += data.k[head * 3200 + i] == -40;
            assert_true(data.k[head * 3200 + i] < 2);
        }
        assert_int_equal(large, 1);
    }
    mxv_case_free(&data);
    build("dma lq=50 lk=50 gen=row_scale seed=2", &data);
    double least = INFINITY, greatest = 0;
    for (size_t row = 0; row < 50; row++) {
        double norm = sqrt(dot(data.q + row * 64, data.q + row * 64, 64));
        least = fmin(least, norm);
        greatest = fmax(greatest, norm);
    }
    assert_true(greatest / least > 256);
    mxv_case_free(&data);
    build("dma lq=50 lk=200 gen=outlier seed=2", &data);
    size_t loud = 0;
    for (size_t c = 0; c < 64; c++) {
        double sum = 0;
        for (size_t n = 1; n < 200; n++)
            sum += (double)data.k[n * 64 + c] * (double)data.k[n * 64 + c];
        loud += sum / 199 > 4; // variance 16 against 0.25
    }
    assert_in_range(loud, 1, 4);
    mxv_case_free(&data);
}

// Scores and PV: the sum of magnitudes is far above the magnitude of the sum.
static void cancelling_sums(void **state)
{
    struct mxv_case_data data;
    double total = 0, magnitude = 0;
    (void)state;
    build("flash lq=32 lk=32 gen=cancelling seed=2", &data);
    for (size_t row = 0; row < 32; row++) {
        total += fabs(dot(data.q + row * 64, data.k + row * 64, 64));
        for (size_t c = 0; c < 64; c++)
            magnitude += fabs((double)data.q[row * 64 + c] * (double)data.k[row * 64 + c]);
    }
    assert_true(magnitude > 50 * total);
    for (size_t c = 0; c < 64; c++)
        assert_true(fabsf(data.v[c] + data.v[64 + c]) < 1);
    mxv_case_free(&data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_hot_peaks), cmocka_unit_test(masked_edge_peaks),
        cmocka_unit_test(equal_scores),  cmocka_unit_test(huge_logit_range),
        cmocka_unit_test(rising_maxima), cmocka_unit_test(probe_values),
        cmocka_unit_test(extremes),      cmocka_unit_test(cancelling_sums),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
