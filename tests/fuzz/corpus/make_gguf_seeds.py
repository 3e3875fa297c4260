#!/usr/bin/env python3
"""Writes the seed corpus of fuzz_gguf: small files that reach every part of the reader."""
import pathlib
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "data"))
from gguf_file import array, entry, head, padded, text  # noqa: E402

OUT = pathlib.Path(__file__).with_name("fuzz_gguf")


def u32(value):
    return struct.pack("<I", value)


def file(version, entries, tensors):
    table = [(name, shape, kind, len(data)) for name, shape, kind, data in tensors]
    return head(entries, table, version) + b"".join(padded(data) for _, _, _, data in tensors)


LLAMA = [entry("general.architecture", 8, text("llama")), entry("llama.context_length", 4, u32(64)), entry("llama.embedding_length", 4, u32(32)),
         entry("llama.block_count", 4, u32(1)), entry("llama.feed_forward_length", 4, u32(32)), entry("llama.attention.head_count", 4, u32(2)),
         entry("llama.attention.head_count_kv", 4, u32(1)), entry("llama.attention.layer_norm_rms_epsilon", 6, struct.pack("<f", 1e-5)),
         entry("llama.rope.scaling.type", 8, text("yarn")), entry("llama.rope.scaling.factor", 6, struct.pack("<f", 4.0))]
VOCABULARY = [entry("tokenizer.ggml.model", 8, text("gpt2")), entry("tokenizer.ggml.tokens", 9, array(8, [text("a"), text("b"), text("ab")])),
              entry("tokenizer.ggml.token_type", 9, array(5, [u32(1), u32(1), u32(3)])), entry("tokenizer.ggml.merges", 9, array(8, [text("a b")])),
              entry("tokenizer.ggml.scores", 9, array(6, [struct.pack("<f", 0.5)] * 3)), entry("tokenizer.ggml.eos_token_id", 4, u32(2)),
              entry("tokenizer.ggml.add_bos_token", 7, b"\1"), entry("tokenizer.ggml.precompiled_charsmap", 9, array(0, [b"x", b"y"]))]
SCALARS = [entry(f"k{kind}", kind, b"\1" + b"\0" * (size - 1)) for kind, size in
           ((0, 1), (1, 1), (2, 2), (3, 2), (4, 4), (5, 4), (6, 4), (7, 1), (10, 8), (11, 8), (12, 8))]

SEEDS = {
    "empty": file(3, [], []),
    "scalars": file(2, SCALARS, []),
    "arrays": file(3, [entry(f"a{kind}", 9, array(kind, [b"\1" + b"\0" * (size - 1)] * 2)) for kind, size in
                       ((0, 1), (1, 1), (2, 2), (3, 2), (4, 4), (5, 4), (6, 4), (7, 1), (10, 8), (11, 8), (12, 8))], []),
    "vocabulary": file(3, VOCABULARY, []),
    "llama": file(3, LLAMA + VOCABULARY, []),
    "tensors": file(3, [entry("general.alignment", 4, u32(32))], [("f32", (4, 2), 0, bytes(32)), ("q4_0", (32,), 2, bytes(18)), ("q6_k", (256, 1, 1, 1), 14, bytes(210))]),
}

OUT.mkdir(exist_ok=True)
for name, content in SEEDS.items():
    (OUT / name).write_bytes(content)
