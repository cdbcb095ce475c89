#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The mxverify authors
# SPDX-License-Identifier: Apache-2.0
"""Judge attention that was computed with NumPy.

    check_numpy.py [path of mxverify]

Computes causal attention of FP16 tensors in binary32, once rightly and once with a row sum that
misses the last key, writes both with numpy.save, and asks mxverify for a verdict. With ml_dtypes
installed, Q and K go through FP8 E4M3 as well: NumPy files do not keep that type, so it is named
by --dtype. Exit status 0 when all verdicts are as they should be.
"""
import os
import subprocess
import sys
import tempfile

import numpy as np

try:
    import ml_dtypes
except ImportError:
    ml_dtypes = None

HEADS, KV_HEADS, TOKENS, CHANNELS = 2, 1, 48, 64


def attention(q, k, v, forget_last=False):
    """[heads][tokens][channels] -> the same; binary32 throughout."""
    k, v = (np.repeat(x, HEADS // KV_HEADS, axis=0).astype(np.float32) for x in (k, v))
    scores = q.astype(np.float32) @ k.transpose(0, 2, 1) / np.float32(np.sqrt(CHANNELS))
    scores[:, np.triu(np.ones((TOKENS, TOKENS), bool), 1)] = -np.inf
    p = np.exp(scores - scores.max(axis=-1, keepdims=True))
    total = p.sum(axis=-1, keepdims=True)
    if forget_last:
        total -= np.diagonal(p, axis1=1, axis2=2)[..., None] * np.float32(0.5)
    return (p @ v / total).astype(np.float32)


def verdict(program, folder, tensors, out, *options):
    """Exit status and report of one check."""
    command = [program, "check", "--kernel", "flash", "--set", "mask=causal", "--folder", folder]
    for name, array in dict(tensors, out=out).items():
        path = os.path.join(folder, name + ".npy")
        np.save(path, array)
        command += ["--" + name, path]
    done = subprocess.run(command + list(options), capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def main():
    program = sys.argv[1] if len(sys.argv) > 1 else "mxverify"
    random = np.random.default_rng(1)
    q, k, v = (random.standard_normal((h, TOKENS, CHANNELS)).astype(np.float16)
               for h in (HEADS, KV_HEADS, KV_HEADS))
    cases = [("right", dict(q=q, k=k, v=v), attention(q, k, v), (), 0),
             ("wrong row sum", dict(q=q, k=k, v=v), attention(q, k, v, True), (), 1)]
    if ml_dtypes:
        q8, k8 = (x.astype(ml_dtypes.float8_e4m3fn) for x in (q, k))
        cases.append(("FP8 operands", dict(q=q8, k=k8, v=v),
                      attention(q8.astype(np.float16), k8.astype(np.float16), v),
                      ("--dtype", "q=e4m3", "--dtype", "k=e4m3"), 0))
    failures = 0
    for name, tensors, out, options, expected in cases:
        with tempfile.TemporaryDirectory() as folder:
            status, report = verdict(program, folder, tensors, out, *options)
        last = [line for line in report.splitlines() if line.startswith("verdict")]
        print(f"{name}: {last[0] if last else report}")
        failures += status != expected
    return failures


if __name__ == "__main__":
    sys.exit(main())
