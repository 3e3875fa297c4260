#!/usr/bin/env python3
"""How long a burst of 32 requests takes to drain, one at a time and batched, and how long its people wait."""
from experiment import Server, all_of, arguments, figure, ms, print_table, run


def main():
    given = arguments(__doc__)
    rows = []
    for seats in (1, 4, 32):
        with Server("--max-sequences", str(seats)) as server:
            report = run(given.out, f"seats-{seats}", server.url, "--arrivals", "burst", "--requests", "32", "--prompt", "64", "--output", "48")
        whole = all_of(report)
        rows.append((seats, f"{report['verdict']['window_seconds']:.1f} s", ms(figure(whole["ttft_seconds"], "p50")), ms(whole["ttft_seconds"]["most"]),
                     ms(figure(whole["itl_seconds"], "p50")), f"{report['verdict']['output_tokens_per_second']:.0f}",
                     f"{whole['answer_tokens_per_second']['mean']:.1f}"))
    print_table("32 requests at once", ("seats", "time to drain", "TTFT p50", "most", "ITL p50", "tokens/s in total", "tokens/s of one"), rows)


main()
