#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The mxverify authors
# SPDX-License-Identifier: Apache-2.0
"""Judge attention that PyTorch computes on the CPU.

    check_torch.py [path of mxverify]

Saves Q, K, V and the output of scaled_dot_product_attention (before PyTorch 2: of matmul and
softmax) as one .safetensors file where safetensors is installed, else as .npy, and asks mxverify
for a verdict; then once more with the causal mask left out, which must fail. Tensors are
[batch][heads][tokens][channels], the layout that check expects. With safetensors, Q and K are
stored in each FP8, E8M0 and FP4 type that this PyTorch has, too: the file names the type, so no
option is needed. Exit status 0 when all verdicts are as they should be,
3 without PyTorch or mxverify.
"""
import math
import os
import shutil
import subprocess
import sys
import tempfile


def refuse(why):
    print(f"check_torch.py: {why}", file=sys.stderr)
    sys.exit(3)


try:
    import torch
except ImportError as missing:
    refuse(f"PyTorch is needed: {missing}")

try:
    from safetensors.torch import save_file
except ImportError:
    save_file = None


FLOAT_TYPES = ("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz",
               "float8_e8m0fnu")
FP4_VALUES = (0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6)


def attention(q, k, v, causal):
    """Of binary32 tensors."""
    function = getattr(torch.nn.functional, "scaled_dot_product_attention", None)
    if function:
        return function(q, k, v, is_causal=causal)
    scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    if causal:
        hidden = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
        scores = scores.masked_fill(hidden, -math.inf)
    return torch.softmax(scores, -1) @ v


def store(folder, tensors):
    """Paths of the stored tensors, by name."""
    if save_file:
        path = os.path.join(folder, "all.safetensors")
        save_file({name: t.contiguous() for name, t in tensors.items()}, path)
        return {name: f"{path}:{name}" for name in tensors}
    import numpy
    paths = {name: os.path.join(folder, name + ".npy") for name in tensors}
    for name, t in tensors.items():
        numpy.save(paths[name], t.float().numpy())
    return paths


def verdict(program, name, expected, q, k, v, out):
    """1 if the exit status of check is not the expected one."""
    with tempfile.TemporaryDirectory() as folder:
        command = [program, "check", "--kernel", "flash", "--set", "mask=causal",
                   "--folder", folder]
        for tensor, path in store(folder, dict(q=q, k=k, v=v, out=out)).items():
            command += ["--" + tensor, path]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    last = [line for line in done.stdout.splitlines() if line.startswith("verdict")]
    print(f"{name}: {last[0] if last else done.stdout + done.stderr}")
    return int(done.returncode != expected)


def narrow_operands(shape):
    """(name, as stored, as binary32) of random tensors in every narrow type there is."""
    for name in FLOAT_TYPES:
        kind = getattr(torch, name, None)
        if kind:
            x = [torch.randn(shape) for _ in range(2)]
            x = [(t.abs() if "e8m0" in name else t).to(kind) for t in x]
            yield name, x, [t.float() for t in x]
    kind = getattr(torch, "float4_e2m1fn_x2", None)
    if kind:
        codes = [torch.randint(0, 16, shape, dtype=torch.uint8) for _ in range(2)]
        packed = [(c[..., 0::2] | c[..., 1::2] << 4).contiguous().view(kind) for c in codes]
        values = torch.tensor(FP4_VALUES)
        yield "float4_e2m1fn_x2", packed, [values[c.long()] for c in codes]


def main():
    program = sys.argv[1] if len(sys.argv) > 1 else "mxverify"
    if not shutil.which(program):
        refuse(f"{program}: no such program; give the path of mxverify")
    torch.manual_seed(1)
    shape = (2, 2, 48, 64)
    q, k, v = (torch.randn(shape).to(torch.bfloat16) for _ in range(3))
    wide = [x.float() for x in (q, k, v)]
    failures = verdict(program, "causal", 0, q, k, v, attention(*wide, causal=True))
    failures += verdict(program, "mask left out", 1, q, k, v, attention(*wide, causal=False))
    for name, (q, k), (wide_q, wide_k) in narrow_operands(shape) if save_file else ():
        out = attention(wide_q, wide_k, wide[2], causal=True)
        failures += verdict(program, name, 0, q, k, v, out)
    return failures


if __name__ == "__main__":
    sys.exit(main())
