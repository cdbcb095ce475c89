#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The mxverify authors
# SPDX-License-Identifier: Apache-2.0
"""Times PyTorch's cuDNN and flash scaled-dot-product attention on the shapes of cuda_bench.

usage: compare.py [cuda_bench]   runs that program as well, when given
Events around each call, half a second of rest before a series, 3 warm-up calls, median of 15, two
input sets in turn, float16, batch 1, 32 heads, d = 128. TFLOP/s counts as cuda_bench does. With
cuda_bench, its lines also show their rate as a multiple of cuDNN's on the same shape. Exit status 3
without PyTorch 2.5 or later, a device, or that program; otherwise that program's.
"""
import shutil
import statistics
import subprocess
import sys
import time

HEADS, D = 32, 128


def refuse(why):
    print(f"compare.py: {why}", file=sys.stderr)
    sys.exit(3)


if "-h" in sys.argv[1:] or "--help" in sys.argv[1:]:
    print(__doc__.strip())
    sys.exit(0)
if len(sys.argv) > 2:
    refuse(f"`{sys.argv[2]}` is not understood; usage: compare.py [cuda_bench]")
try:
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.nn.functional import scaled_dot_product_attention as attention
    SDPBackend.CUDNN_ATTENTION
except (ImportError, AttributeError) as error:
    refuse(f"PyTorch 2.5 or later, built with CUDA, is needed: {error}")


def median_ms(call):
    torch.cuda.synchronize()
    time.sleep(0.5)
    for i in range(3):
        call(i % 2)
    times = []
    for i in range(15):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        call(i % 2)
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end))
    return statistics.median(times)


def run_kernels(program, cudnn):
    """Runs cuda_bench; cudnn: {(tokens, mask): milliseconds}."""
    with subprocess.Popen([program], stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            words = line.split()
            if "tokens" in words:
                at = words.index("tokens")
                ratio = cudnn[words[at - 1], words[at + 1]] / float(words[at + 2])
                line = f"{line.rstrip()}  {ratio:.2f} of cuDNN\n"
            sys.stdout.write(line)
            sys.stdout.flush()
    if process.returncode:
        sys.exit(process.returncode)


def main():
    cudnn = {}
    if not torch.cuda.is_available():
        refuse("PyTorch finds no CUDA device here")
    if len(sys.argv) > 1 and not shutil.which(sys.argv[1]):
        refuse(f"{sys.argv[1]}: no such program")
    print(f"PyTorch {torch.__version__}, cuDNN {torch.backends.cudnn.version()}, "
          f"{torch.cuda.get_device_name()}")
    for n in (8192, 16384):
        sets = [[torch.randn(1, HEADS, n, D, device="cuda", dtype=torch.float16)
                 for _ in range(3)] for _ in range(2)]
        for causal in (False, True):
            for name, backend in (("cuDNN", SDPBackend.CUDNN_ATTENTION),
                                  ("flash", SDPBackend.FLASH_ATTENTION)):
                with sdpa_kernel(backend):
                    ms = median_ms(lambda i: attention(*sets[i], is_causal=causal))
                if name == "cuDNN":
                    cudnn[str(n), "causal" if causal else "full"] = ms
                flop = 4 * HEADS * D * n * n * (0.5 if causal else 1)
                print(f"PyTorch {name:14} {n:6} tokens {'causal' if causal else 'full':6} "
                      f"{ms:9.3f} ms {flop / ms * 1e-9:7.1f} TFLOP/s")
    if len(sys.argv) > 1:
        sys.stdout.flush()
        run_kernels(sys.argv[1], cudnn)


if __name__ == "__main__":
    main()
