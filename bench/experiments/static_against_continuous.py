#!/usr/bin/env python3
"""Static against continuous batching on the Anyscale length mix (2023), at its four output caps, scaled by 4.

Prompts of 128 tokens, all sent at once; answers from an exponential of mean 32, those above the cap drawn again; a KV budget of 2,175 / 1,875 /
2,025 / 2,025 tokens. (a) static: batches of 16 / 12 / 8 / 4, padded, each runs to its end. (b) continuous, a whole worst case reserved for each
sequence. (c) continuous, paged. Throughput counts prompt and answer tokens, as the original does. The original (one A100, OPT-13B): continuous
batching 8x, with paging 23x over naive static; of that, batching alone can give at most 2.0 to 2.6x (mean over expected longest of a batch).
"""
import random
import tempfile

from experiment import Server, arguments, print_table, run, spread, total_tokens_per_second, trace_of_lengths

CAPS = ((8, 16, 2175), (32, 12, 1875), (128, 8, 2025), (384, 4, 2025))
PROMPT = 128
BLOCK = 16
REQUESTS = 48


def capped_exponential(source, cap, mean=32):
    while True:
        value = max(1, round(source.expovariate(1 / mean)))
        if value <= cap:
            return value


def options_of(way, batch, budget, cap):
    # Never fewer blocks than one sequence of this mix needs.
    blocks = max(budget, PROMPT + cap + 64) // BLOCK + 1
    common = ["--kv-blocks", str(blocks), "--set", f"compute.max_context_tokens={blocks * BLOCK - BLOCK}", "--set", "kv.prefix_cache=false"]
    if way == "static":
        return ["--preset", "static", "--max-sequences", str(batch), "--set", f"scheduler.window_min_batch={batch}", *common]
    if way == "reserve":
        return ["--set", "scheduler.reserve=worst_case", "--set", "scheduler.admission=worst_case", *common]
    return common


def main():
    given = arguments(__doc__)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for cap, batch, budget in CAPS:
            source = random.Random(0xCADE)
            trace = trace_of_lengths(folder, f"cap{cap}.csv", [(PROMPT, capped_exponential(source, cap)) for _ in range(REQUESTS)])
            speeds = {way: [] for way in ("static", "reserve", "paged")}
            for round_number in range(given.rounds):
                for way in speeds:
                    with Server(*options_of(way, batch, budget, cap)) as server:
                        report = run(given.out, f"cap{cap}-{way}-{round_number}", trace, server.url, command="replay")
                    speeds[way].append(total_tokens_per_second(report))
            ratios = {way: [b / a for a, b in zip(speeds["static"], speeds[way])] for way in ("reserve", "paged")}
            rows.append((cap, spread(speeds["static"]), spread(speeds["reserve"]), spread(speeds["paged"]), spread(ratios["reserve"]),
                         spread(ratios["paged"])))
    print_table("Throughput, prompt and answer tokens per second", ("output cap", "(a) static", "(b) continuous, worst case reserved",
                                                                    "(c) continuous, paged", "b / a", "c / a"), rows)


main()
