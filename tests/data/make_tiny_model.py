#!/usr/bin/env python3
"""Writes tiny.gguf, the model of the tests that need one: random weights, real metadata, a vocabulary of its own.

    make_tiny_model.py [OUT]        (default: tiny.gguf beside this script)

A llama of 2 layers with grouped-query attention, untied output and a mix of weight types; byte-level BPE with a few merges, control tokens and a
ChatML-like template. The same bytes come out on every machine: only integers, sums of random() and half floats are used. Standard library only.
"""
import pathlib
import random
import struct
import sys

from gguf_file import F16, F32, Q4_0, Q4_1, Q4_K, Q8_0, array, entry, f32_entry, head, padded, text, text_entry, u32_entry

SEED = 20261130
EMBEDDING, HEADS, KV_HEADS, HEAD_SIZE, FEED_FORWARD, LAYERS, CONTEXT = 64, 4, 2, 16, 256, 2, 2048
MERGES = ["t h", "th e", "\u0120 t", "\u0120 a", "i n", "e r", "\u0120t he", "\u0120a n", "\u0120an d", "o n", "r e", "\u0120 s", "e n",
          "in g", "h e", "\u0120 w", "o r", "a t", "l l", "o u", "\u0120 he", "he ll", "hell o", "w or", "wor ld", "l d", "\u0120w or"]
CONTROL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
TEMPLATE = ("{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n' }}"
            "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}")

rng = random.Random(SEED)


def normal():
    """About normal, variance 1 (a sum of twelve uniforms): no libm, so no difference between machines."""
    return sum(rng.random() for _ in range(12)) - 6.0


def code(sigma, low, high):
    return max(low, min(high, round(normal() * sigma)))


def half(value):
    return struct.pack("<e", value)


def f32_row(n, scale):
    return b"".join(struct.pack("<f", round((1.0 + 0.1 * normal()) * 1024) / 1024 * scale) for _ in range(n))


def f16_row(n, scale):
    return b"".join(half(normal() * scale) for _ in range(n))


def nibbles(n, sigma):
    codes = [code(sigma, -8, 7) + 8 for _ in range(n)]
    return bytes(codes[i] | codes[i + n // 2] << 4 for i in range(n // 2))


def q4_0_row(n, scale):
    return b"".join(half(scale / 3 * (0.8 + 0.4 * rng.random())) + nibbles(32, 3) for _ in range(n // 32))


def q4_1_row(n, scale):
    def block():
        d = scale / 3 * (0.8 + 0.4 * rng.random())
        return half(d) + half(-8 * d) + nibbles(32, 3)
    return b"".join(block() for _ in range(n // 32))


def q8_0_row(n, scale):
    return b"".join(half(scale / 40 * (0.8 + 0.4 * rng.random())) + bytes(code(40, -127, 127) & 255 for _ in range(32)) for _ in range(n // 32))


def q4_k_row(n, scale):
    def block():
        scales = [rng.randrange(24, 64) for _ in range(8)]
        mins = [min(63, s) for s in scales]
        packed = [0] * 12
        for j in range(8):
            if j < 4:
                packed[j] |= scales[j] & 63
                packed[j + 4] |= mins[j] & 63
            else:
                packed[j + 4] |= (scales[j] & 15) | (mins[j] & 15) << 4
                packed[j - 4] |= scales[j] >> 4 << 6
                packed[j] |= mins[j] >> 4 << 6
        d = scale / 3 / 44
        return half(d) + half(8 * d) + bytes(packed) + b"".join(nibbles(64, 3) for _ in range(4))
    return b"".join(block() for _ in range(n // 256))


ROWS = {F32: f32_row, F16: f16_row, Q4_0: q4_0_row, Q4_1: q4_1_row, Q8_0: q8_0_row, Q4_K: q4_k_row}


def matrix(kind, columns, rows, gain=1.0):
    scale = gain / columns ** 0.5
    return kind, (columns, rows), b"".join(ROWS[kind](columns, scale) for _ in range(rows))


def byte_tokens():
    """GPT-2's printable stand-ins for the 256 bytes, in byte order."""
    plain = list(range(33, 127)) + list(range(161, 173)) + list(range(174, 256))
    extra = iter(range(256, 512))
    return [chr(b) if b in plain else chr(next(extra)) for b in range(256)]


def vocabulary():
    tokens = byte_tokens()
    for merge in MERGES:
        joined = merge.replace(" ", "")
        if joined not in tokens:
            tokens.append(joined)
    return tokens + CONTROL, [1] * len(tokens) + [3] * len(CONTROL)


def output_rows(tokens):
    """Tokens of printable ASCII are the louder ones, so that generated text can be read."""
    rows = []
    for token in tokens:
        readable = all(32 < ord(c) < 127 or c == "\u0120" for c in token)
        rows.append(q8_0_row(EMBEDDING, (1.0 if readable else 0.4) / EMBEDDING ** 0.5 * 2.0))
    return Q8_0, (EMBEDDING, len(tokens)), b"".join(rows)


def tensors(tokens):
    kv = KV_HEADS * HEAD_SIZE
    yield "token_embd.weight", matrix(Q8_0, EMBEDDING, len(tokens), gain=8.0)
    for i in range(LAYERS):
        block = f"blk.{i}."
        yield block + "attn_norm.weight", (F32, (EMBEDDING,), f32_row(EMBEDDING, 1.0))
        yield block + "attn_q.weight", matrix(Q4_0, EMBEDDING, HEADS * HEAD_SIZE, gain=2.0)
        yield block + "attn_k.weight", matrix(Q8_0, EMBEDDING, kv, gain=2.0)
        yield block + "attn_v.weight", matrix((Q4_1, F16)[i % 2], EMBEDDING, kv)
        yield block + "attn_output.weight", matrix((F16, Q4_1)[i % 2], HEADS * HEAD_SIZE, EMBEDDING)
        yield block + "ffn_norm.weight", (F32, (EMBEDDING,), f32_row(EMBEDDING, 1.0))
        yield block + "ffn_gate.weight", matrix(Q4_0, EMBEDDING, FEED_FORWARD)
        yield block + "ffn_up.weight", matrix((Q4_1, Q8_0)[i % 2], EMBEDDING, FEED_FORWARD)
        yield block + "ffn_down.weight", matrix(Q4_K, FEED_FORWARD, EMBEDDING)
    yield "output_norm.weight", (F32, (EMBEDDING,), f32_row(EMBEDDING, 1.0))
    yield "output.weight", output_rows(tokens)


def metadata(tokens, types):
    yield text_entry("general.architecture", "llama")
    yield text_entry("general.name", "tiny")
    yield u32_entry("llama.context_length", CONTEXT)
    yield u32_entry("llama.embedding_length", EMBEDDING)
    yield u32_entry("llama.block_count", LAYERS)
    yield u32_entry("llama.feed_forward_length", FEED_FORWARD)
    yield u32_entry("llama.attention.head_count", HEADS)
    yield u32_entry("llama.attention.head_count_kv", KV_HEADS)
    yield f32_entry("llama.attention.layer_norm_rms_epsilon", 1e-5)
    yield u32_entry("llama.rope.dimension_count", HEAD_SIZE)
    yield f32_entry("llama.rope.freq_base", 10000.0)
    yield u32_entry("llama.vocab_size", len(tokens))
    yield text_entry("tokenizer.ggml.model", "gpt2")
    yield text_entry("tokenizer.ggml.pre", "gpt-2")
    yield entry("tokenizer.ggml.tokens", 9, array(8, list(map(text, tokens))))
    yield entry("tokenizer.ggml.token_type", 9, array(5, [struct.pack("<i", type) for type in types]))
    yield entry("tokenizer.ggml.merges", 9, array(8, list(map(text, MERGES))))
    yield u32_entry("tokenizer.ggml.bos_token_id", tokens.index("<|im_start|>"))
    yield u32_entry("tokenizer.ggml.eos_token_id", tokens.index("<|im_end|>"))
    yield u32_entry("tokenizer.ggml.unknown_token_id", tokens.index("<|endoftext|>"))
    yield entry("tokenizer.ggml.add_bos_token", 7, b"\0")
    yield text_entry("tokenizer.chat_template", TEMPLATE)


def main():
    out = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).with_name("tiny.gguf"))
    tokens, types = vocabulary()
    entries = list(metadata(tokens, types))
    contents = list(tensors(tokens))
    table = [(name, shape, kind, len(data)) for name, (kind, shape, data) in contents]
    out.write_bytes(head(entries, table) + b"".join(padded(data) for _, (_, _, data) in contents))
    print(f"{out}: {out.stat().st_size} bytes, {len(tokens)} tokens")


if __name__ == "__main__":
    main()
