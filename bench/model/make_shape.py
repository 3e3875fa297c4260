#!/usr/bin/env python3
"""Writes a model of a real one's shape with random weights: for speed, its answers are noise.

    make_shape.py OUT.gguf --shape 1.1b --type q4_0        shapes: 1.1b (22 layers of 2,048, 32 heads, 4 of them for keys), small (4 layers of 256)
                                                           types: q4_0, q8_0, q4_k_m (Q6_K for the output and half of the value and down matrices)

Every block of a matrix comes from a pool of random ones, so a gigabyte takes seconds. Standard library only.
"""
import argparse
import pathlib
import random
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "tests" / "data"))
from gguf_file import (F32, Q4_0, Q4_K, Q6_K, Q8_0, array, entry, f32_entry, head, padded, text, text_entry,  # noqa: E402
                       u32_entry)

SHAPES = {"1.1b": dict(width=2048, layers=22, heads=32, kv_heads=4, feed_forward=5632, vocabulary=32000, context=32768),
          "small": dict(width=256, layers=4, heads=8, kv_heads=2, feed_forward=768, vocabulary=1024, context=4096)}
POOL_BLOCKS = 1 << 16
RUN_BLOCKS = 1 << 10  # neighbours in the pool that stay neighbours

rng = random.Random(1)


def half(value):
    return struct.pack("<e", value)


# Values of about 0.02, as of a trained matrix: (weights of a block, its bytes, a random one).
BLOCKS = {
    Q4_0: (32, 18, lambda: half(0.005) + rng.randbytes(16)),
    Q8_0: (32, 34, lambda: half(0.0003) + rng.randbytes(32)),
    Q4_K: (256, 144, lambda: half(0.0001) + half(0.0008) + rng.randbytes(140)),
    Q6_K: (256, 210, lambda: rng.randbytes(192) + bytes(rng.randrange(20, 60) for _ in range(16)) + half(0.00003)),
}


class RandomMatrices:
    def __init__(self):
        self.pools = {}

    def pieces(self, kind, elements):
        weights, size, make = BLOCKS[kind]
        if kind not in self.pools:
            self.pools[kind] = b"".join(make() for _ in range(POOL_BLOCKS))
        left = elements // weights
        while left:
            count = min(left, RUN_BLOCKS)
            start = rng.randrange(POOL_BLOCKS - count + 1)
            yield self.pools[kind][start * size:(start + count) * size]
            left -= count


def matrix_kinds(name, type_name, layers):
    """What a usual file of this name holds."""
    if type_name != "q4_k_m":
        return {"q4_0": Q4_0, "q8_0": Q8_0}[type_name]
    if name == "output.weight":
        return Q6_K
    if name.endswith(("attn_v.weight", "ffn_down.weight")) and int(name.split(".")[1]) < (layers + 1) // 2:
        return Q6_K
    return Q4_K


def tensors(shape, type_name):
    """(name, shape, kind)"""
    width, kv_width = shape["width"], shape["width"] // shape["heads"] * shape["kv_heads"]
    matrices = [("token_embd.weight", width, shape["vocabulary"]), ("output.weight", width, shape["vocabulary"])]
    vectors = ["output_norm.weight"]
    for layer in range(shape["layers"]):
        block = f"blk.{layer}."
        vectors += [block + "attn_norm.weight", block + "ffn_norm.weight"]
        matrices += [(block + "attn_q.weight", width, width), (block + "attn_k.weight", width, kv_width), (block + "attn_v.weight", width, kv_width),
                     (block + "attn_output.weight", width, width), (block + "ffn_gate.weight", width, shape["feed_forward"]),
                     (block + "ffn_up.weight", width, shape["feed_forward"]), (block + "ffn_down.weight", shape["feed_forward"], width)]
    return [(name, (width,), F32) for name in vectors] + [(name, (columns, rows), matrix_kinds(name, type_name, shape["layers"])) for name, columns, rows in matrices]


def metadata(shape, name):
    pieces = ["<unk>", "<s>", "</s>"] + [f"<0x{byte:02X}>" for byte in range(256)]
    types = [2, 3, 3] + [6] * 256
    words = shape["vocabulary"] - len(pieces)
    pieces += [f"\u2581w{i}" for i in range(words)]
    types += [1] * words
    scores = [0.0] * 259 + [-float(i) for i in range(words)]
    return [text_entry("general.architecture", "llama"), text_entry("general.name", name), u32_entry("llama.context_length", shape["context"]),
            u32_entry("llama.embedding_length", shape["width"]), u32_entry("llama.block_count", shape["layers"]),
            u32_entry("llama.feed_forward_length", shape["feed_forward"]), u32_entry("llama.attention.head_count", shape["heads"]),
            u32_entry("llama.attention.head_count_kv", shape["kv_heads"]), f32_entry("llama.attention.layer_norm_rms_epsilon", 1e-5),
            u32_entry("llama.rope.dimension_count", shape["width"] // shape["heads"]), u32_entry("llama.vocab_size", shape["vocabulary"]),
            text_entry("tokenizer.ggml.model", "llama"), entry("tokenizer.ggml.tokens", 9, array(8, list(map(text, pieces)))),
            entry("tokenizer.ggml.scores", 9, array(6, [struct.pack("<f", score) for score in scores])),
            entry("tokenizer.ggml.token_type", 9, array(5, [struct.pack("<i", kind) for kind in types])),
            u32_entry("tokenizer.ggml.bos_token_id", 1), u32_entry("tokenizer.ggml.eos_token_id", 2), u32_entry("tokenizer.ggml.unknown_token_id", 0)]


def data_bytes(dims, kind):
    elements = dims[0] * (dims[1] if len(dims) > 1 else 1)
    return elements * 4 if kind == F32 else elements // BLOCKS[kind][0] * BLOCKS[kind][1]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--shape", choices=SHAPES, default="1.1b")
    parser.add_argument("--type", choices=["q4_0", "q8_0", "q4_k_m"], default="q4_0")
    arguments = parser.parse_args()
    shape = SHAPES[arguments.shape]
    table = [(name, dims, kind, data_bytes(dims, kind)) for name, dims, kind in tensors(shape, arguments.type)]
    matrices = RandomMatrices()
    unfinished = arguments.out.with_suffix(".part")
    with unfinished.open("wb") as file:
        file.write(head(metadata(shape, f"random-{arguments.shape}-{arguments.type}"), table))
        for _, dims, kind, size in table:
            if kind == F32:
                file.write(padded(struct.pack("<f", 1.0) * dims[0]))
                continue
            for piece in matrices.pieces(kind, dims[0] * dims[1]):
                file.write(piece)
            file.write(b"\0" * (-size % 32))
    unfinished.rename(arguments.out)
    print(f"{arguments.out}: {arguments.out.stat().st_size / 1e6:.0f} MB")


if __name__ == "__main__":
    main()
