#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The mxverify authors
# SPDX-License-Identifier: Apache-2.0
"""Judge torch.nn.functional.scaled_dot_product_attention on the CPU.

    check_torch.py [path of mxverify]

Saves Q, K, V and the output of PyTorch's attention as one .safetensors file where safetensors is
installed, else as .npy, and asks mxverify for a verdict; then once more with the causal mask left
out, which must fail. Tensors are [batch][heads][tokens][channels], the layout that check expects.
Exit status 0 when both verdicts are as they should be.
"""
import os
import subprocess
import sys
import tempfile

import torch
from torch.nn.functional import scaled_dot_product_attention

try:
    from safetensors.torch import save_file
except ImportError:
    save_file = None


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


def verdict(program, q, k, v, out):
    with tempfile.TemporaryDirectory() as folder:
        command = [program, "check", "--kernel", "flash", "--set", "mask=causal",
                   "--folder", folder]
        for name, path in store(folder, dict(q=q, k=k, v=v, out=out)).items():
            command += ["--" + name, path]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    last = [line for line in done.stdout.splitlines() if line.startswith("verdict")]
    print(last[0] if last else done.stdout + done.stderr)
    return done.returncode


def main():
    program = sys.argv[1] if len(sys.argv) > 1 else "mxverify"
    torch.manual_seed(1)
    q, k, v = (torch.randn(2, 2, 48, 64).to(torch.bfloat16) for _ in range(3))
    wide = [x.float() for x in (q, k, v)]
    right = scaled_dot_product_attention(*wide, is_causal=True)
    wrong = scaled_dot_product_attention(*wide, is_causal=False)
    return int(verdict(program, q, k, v, right) != 0) + int(verdict(program, q, k, v, wrong) != 1)


if __name__ == "__main__":
    sys.exit(main())
