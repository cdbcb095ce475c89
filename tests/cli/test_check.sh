#!/bin/sh
# SPDX-FileCopyrightText: 2026 The mxverify authors
# SPDX-License-Identifier: Apache-2.0
#
# check as a user calls it: tensors that Python's standard library writes, in several element
# formats and layouts; statuses, refusals.
set -u
program=$1
source=$2
command -v python3 > /dev/null || {
    echo "skipped: no python3"
    exit 77
}
. "$source/tests/cli/check.sh"
has() { # NAME TEXT
    check "$1" found "$(cat "$work/out" "$work/err" | grep -q -- "$2" && echo found)"
}

# Two sequences, two query heads on one KV head, 20 tokens, d = 32, causal. Values are small
# multiples of 1/8, exact in every format used; attention in binary64.
cat > "$work/make.py" << 'END'
import json, math, os, random, struct, sys
B, H, L, D = 2, 2, 20, 32
random.seed(1)
def tensor(heads):
    return [[[[random.randint(-7, 7) / 4 for _ in range(D)] for _ in range(L)]
             for _ in range(heads)] for _ in range(B)]
q, k, v = tensor(H), tensor(1), tensor(1)
def attend(b, h, i):
    s = [sum(x * y for x, y in zip(q[b][h][i], k[b][0][j])) / math.sqrt(D) for j in range(i + 1)]
    p = [math.exp(x - max(s)) for x in s]
    return [sum(w * v[b][0][j][c] for j, w in enumerate(p)) / sum(p) for c in range(D)]
o = [[[attend(b, h, i) for i in range(L)] for h in range(H)] for b in range(B)]
def e4m3(x):
    if x == 0: return 0
    m, e = math.frexp(abs(x)); return (x < 0) << 7 | (e + 6) << 3 | int(m * 16) - 8
def code(x, f):
    if f == 'e4m3': return struct.pack('B', e4m3(x))
    if f == 'f16': return struct.pack('<e', x)
    w = struct.pack('<f', x); return w[2:] if f == 'bf16' else w
descr = {'f32': '<f4', 'f16': '<f2', 'bf16': '<V2', 'e4m3': '|V1'}
def flat(t, swap):
    heads = len(t[0])
    if swap: return [x for b in t for i in range(L) for h in range(heads) for x in b[h][i]]
    return [x for b in t for h in b for row in h for x in row]
def npy(name, t, f, swap=False):
    shape = (B, L, len(t[0]), D) if swap else (B, len(t[0]), L, D)
    head = str({'descr': descr[f], 'fortran_order': False, 'shape': shape})
    head += ' ' * (-(len(head) + 11) % 64) + '\n'
    with open(os.path.join(sys.argv[1], name), 'wb') as file:
        file.write(b'\x93NUMPY\x01\x00' + struct.pack('<H', len(head)) + head.encode())
        file.write(b''.join(code(x, f) for x in flat(t, swap)))
for name, t in (('q', q), ('k', k), ('v', v), ('o', o)):
    npy(name + '.npy', t, 'f32')
    npy(name + '.blhd.npy', t, 'f32', True)
for name, t in (('q', q), ('k', k), ('v', v)):
    for f in ('f16', 'bf16', 'e4m3'): npy(name + '.' + f + '.npy', t, f)
k[1][0][3][5], kept = float('nan'), k[1][0][3][5]
npy('nan.npy', k, 'f32')
k[1][0][3][5] = kept
q[0][1][2][7], kept = 100000.0, q[0][1][2][7]
npy('huge.npy', q, 'f32')
q[0][1][2][7] = kept
npy('zero.npy', [[[[0.0] * D for _ in range(L)] for _ in range(H)] for _ in range(B)], 'f32')
npy('big.npy', [[[[1.05 * x for x in r] for r in h] for h in b] for b in o], 'f32')
npy('minus.npy', [[[[-x for x in r] for r in h] for h in b] for b in o], 'f32')
head, at, data = {}, 0, b''
for name, t, dt, f in (('q', q, 'BF16', 'bf16'), ('k', k, 'F8_E4M3', 'e4m3'), ('v', v, 'F16', 'f16'), ('o', o, 'F32', 'f32')):
    raw = b''.join(code(x, f) for x in flat(t, False))
    head[name] = {'dtype': dt, 'shape': [B, len(t[0]), L, D], 'data_offsets': [at, at + len(raw)]}
    at += len(raw); data += raw
text = json.dumps(head).encode(); text += b' ' * (-len(text) % 8)
open(os.path.join(sys.argv[1], 'all.safetensors'), 'wb').write(struct.pack('<Q', len(text)) + text + data)
END
python3 "$work/make.py" "$work" || exit 1
cd "$work" || exit 1
judge() { # EXPECTED NAME OPTIONS...
    expected=$1 name=$2
    shift 2
    "$program" check --kernel flash --set mask=causal --folder folder "$@" > out 2> err
    check "$name: status" "$expected" $?
}
qkv="--q q.npy --k k.npy --v v.npy"
judge 0 "binary64 attention" $qkv --out o.npy
has "its bound" 'bound: pass; of 2560 elements 2560 within\|(model: 0 wrong, 0 undecided)'
has "its verdict" '^verdict: pass'
has "its gain" '^gain of rows on the emulation: .* median 1'
has "its hull" '^elements beyond the visible values of their channel: 0 of 2560'
line=$(head -n 1 out | sed "s/^mxverify repro '//; s/'\$//")
"$program" repro "$line" --no-truth --out again > repro.txt 2>&1
check "the repro line" 0 $?

judge 0 "FlashAttention's layout" --layout blhd --q q.blhd.npy --k k.blhd.npy --v v.blhd.npy --out o.blhd.npy
judge 1 "the other layout" --q q.npy --k k.npy --v v.npy --out o.npy --set align=tl --set left=3
for f in f16 bf16 e4m3; do
    dtype="--dtype $f"
    judge 0 "$f operands" --q q.$f.npy --k k.$f.npy --v v.$f.npy --out o.npy $dtype
done
s=all.safetensors
judge 0 "safetensors, three formats" --q $s:q --k $s:k --v $s:v --out $s:o

# The outputs that public gates have let pass.
judge 1 "zeros" $qkv --out zero.npy
judge 1 "1.05 times" $qkv --out big.npy
has "1.05 times: its gain" 'median 1.05'
judge 1 "sign" $qkv --out minus.npy
judge 1 "no mask" $qkv --out o.npy --set mask=full

refuse() { # NAME TEXT OPTIONS...
    name=$1 text=$2
    shift 2
    judge 3 "$name" "$@"
    has "$name: said" "$text"
}
refuse "no output" 'are needed' $qkv
refuse "no file" 'none.npy' $qkv --out none.npy
refuse "a format the file does not say" 'V2' --q q.bf16.npy --k k.npy --v v.npy --out o.npy
refuse "a wrong format" 'e5m2\|F' --q q.npy --k k.npy --v v.npy --out o.npy --dtype q=e5m2
refuse "another shape" 'shape' $qkv --out k.npy
refuse "an unknown option" 'nonsense' $qkv --out o.npy --set nonsense=1
refuse "an unknown kernel" 'no such kernel' $qkv --out o.npy --kernel nonsense
refuse "a sample that is none" '--truth-scores -3: expected a whole number' $qkv --out o.npy --truth-scores -3
refuse "a fit that is none" '--fit-scores x: expected a whole number' $qkv --out o.npy --fit-scores x
refuse "a fit of nothing" '--fit-scores 0: expected a whole number above 0' $qkv --out o.npy --fit-scores 0
judge 0 "all rows" $qkv --out o.npy --truth-scores 0
"$program" check --q folder/check_q.npy --k k.npy --v v.npy --out o.npy --folder folder > out 2> err
check "its own operand as input: status" 3 $?
has "its own operand as input: said" 'folder/check_q.npy) and the operand written into --folder'
kept=$(ls folder/check_?.npy | wc -l)
check "its own operand as input: it stays" 3 "$kept"

# values that the case does not take: the caller's file and place, and nothing is left
clean() { # NAME TEXT OPTIONS...
    name=$1 text=$2
    shift 2
    "$program" check --kernel flash --set mask=causal --folder clean "$@" > out 2> err
    check "$name: status" 3 $?
    has "$name: said" "$text"
    check "$name: nothing is left" no "$([ -e clean ] && echo yes || echo no)"
}
clean "NaN" '^mxverify: check: k (nan.npy): batch 1, head 0, token 3, channel 5 is NaN; --set nonfinite=allow takes it' \
    --q q.npy --k nan.npy --v v.npy --out o.npy
clean "a value beyond the type" 'q (huge.npy): batch 0, head 1, token 2, channel 7 is 100000, no f16 value; --set in=f32' \
    --q huge.npy --k k.npy --v v.npy --out o.npy --set in=f16
clean "a shape that is found late" 'q-codes' $qkv --out o.npy --q-codes v.e4m3.npy --dtype q-codes=e4m3
refuse "FP8 output" 'an output is' $qkv --out q.e4m3.npy --dtype out=e4m3

finish
