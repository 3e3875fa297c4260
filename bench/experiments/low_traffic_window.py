#!/usr/bin/env python3
"""What a batch window costs at low traffic: none, adaptive, and one that holds whoever comes."""
from experiment import Server, all_of, arguments, figure, ms, print_table, run

WINDOW = ["--set", "scheduler.window_min_batch=4", "--set", "scheduler.window_max_wait_ms=500"]


def main():
    given = arguments(__doc__)
    rows = []
    for way, options in (("none", []), ("adaptive", [*WINDOW, "--set", "scheduler.window_adaptive=true"]),
                         ("rigid", [*WINDOW, "--set", "scheduler.window_adaptive=false"])):
        with Server(*options) as server:
            report = run(given.out, way, server.url, "--rate", "1", "--prompt", "64", "--output", "24", "--duration", "50", "--warm-up", "2")
        whole = all_of(report)
        rows.append((way, ms(figure(whole["ttft_seconds"], "p50")), ms(whole["ttft_seconds"]["most"]), ms(figure(whole["queue_seconds"], "p50")),
                     f"{report['verdict']['output_tokens_per_second']:.0f}", f"{whole['answer_tokens_per_second']['mean']:.1f}"))
    print_table("One request a second; the window waits for 4 requests or 500 ms",
                ("window", "TTFT p50", "most", "queue p50", "tokens/s in total", "tokens/s of one"), rows)


main()
