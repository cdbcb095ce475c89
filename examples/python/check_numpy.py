#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The mxverify authors
# SPDX-License-Identifier: Apache-2.0
"""Judge attention that was computed with NumPy.

    check_numpy.py [path of mxverify]

Computes causal attention of FP16 tensors in binary32, once rightly and once with a row sum that
misses the last key, writes both with numpy.save, and asks mxverify for a verdict. With ml_dtypes
installed, Q and K go through its FP8, FP6, FP4 and E8M0 types as well: NumPy files do not keep
them, so each is named by --dtype. Exit status 0 when all verdicts are as they should be,
3 without NumPy or mxverify.
"""
import os
import shutil
import subprocess
import sys
import tempfile


def refuse(why):
    print(f"check_numpy.py: {why}", file=sys.stderr)
    sys.exit(3)


try:
    import numpy as np
except ImportError as missing:
    refuse(f"NumPy is needed: {missing}")

try:
    import ml_dtypes
except ImportError:
    ml_dtypes = None

HEADS, KV_HEADS, TOKENS, CHANNELS = 2, 1, 48, 64
# ml_dtypes name: name in mxverify
NARROW = dict(bfloat16="bf16", float8_e4m3fn="e4m3", float8_e5m2="e5m2", float8_e4m3="e4m3ieee",
              float8_e4m3fnuz="e4m3fnuz", float8_e5m2fnuz="e5m2fnuz", float8_e8m0fnu="e8m0",
              float6_e2m3fn="e2m3", float6_e3m2fn="e3m2", float4_e2m1fn="e2m1")


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
    if not shutil.which(program):
        refuse(f"{program}: no such program; give the path of mxverify")
    random = np.random.default_rng(1)
    q, k, v = (random.standard_normal((h, TOKENS, CHANNELS)).astype(np.float16)
               for h in (HEADS, KV_HEADS, KV_HEADS))
    cases = [("right", dict(q=q, k=k, v=v), attention(q, k, v), (), 0),
             ("wrong row sum", dict(q=q, k=k, v=v), attention(q, k, v, True), (), 1)]
    for name, format_name in NARROW.items():
        kind = getattr(ml_dtypes, name, None) if ml_dtypes else None
        if not kind:
            continue
        # E8M0 has no sign
        narrow = [(abs(x) if format_name == "e8m0" else x).astype(kind) for x in (q, k)]
        wide = [x.astype(np.float32) for x in narrow]
        cases.append((name, dict(q=narrow[0], k=narrow[1], v=v), attention(*wide, v),
                      ("--dtype", "q=" + format_name, "--dtype", "k=" + format_name), 0))
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
