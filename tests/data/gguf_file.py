"""The bytes of a GGUF file, for the scripts that write models. Standard library only."""
import struct

F32, F16, Q4_0, Q4_1, Q8_0, Q4_K, Q6_K = 0, 1, 2, 3, 8, 12, 14
ALIGNMENT = 32


def text(value):
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def entry(key, kind, data):
    return text(key) + struct.pack("<I", kind) + data


def array(kind, items):
    return struct.pack("<IQ", kind, len(items)) + b"".join(items)


def text_entry(key, value):
    return entry(key, 8, text(value))


def u32_entry(key, value):
    return entry(key, 4, struct.pack("<I", value))


def f32_entry(key, value):
    return entry(key, 6, struct.pack("<f", value))


def padded(data):
    return data + b"\0" * (-len(data) % ALIGNMENT)


def head(entries, tensors, version=3):
    """What stands before the data of the tensors, which follow in their order, each padded. A tensor: (name, shape, kind, bytes of data)."""
    infos, offset = [], 0
    for name, shape, kind, size in tensors:
        infos.append(text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, kind, offset))
        offset += size + -size % ALIGNMENT
    return padded(b"GGUF" + struct.pack("<IQQ", version, len(infos), len(entries)) + b"".join(entries) + b"".join(infos))
