#!/usr/bin/env python3
"""One tenant floods, another asks now and then: first come first served against the fair order.

The original (VTC, A10G, Llama-2-7B; overload of 1.5 and 3 requests/s): mean first-token latency 485 / 485 s first come first served, 125 / 353 s
fair, at 876 and 893 tokens/s.
"""
from experiment import Server, all_of, arguments, classes_of, figure, ms, print_table, run

FLOOD = "name=flood tenant=flood arrivals=even rate=6 prompt=64 output=64"
QUIET = "name=quiet tenant=quiet arrivals=even rate=0.5 prompt=64 output=64"


def main():
    given = arguments(__doc__)
    rows = []
    for order in ("fcfs", "fair"):
        with Server("--max-sequences", "4", "--set", f"scheduler.order={order}") as server:
            report = run(given.out, order, server.url, "--class", FLOOD, "--class", QUIET, "--duration", "45", "--warm-up", "5", "--drain", "20",
                         "--ttft", "2")
        flood, quiet = classes_of(report, "flood", "quiet")
        rows.append((order, ms(figure(quiet["ttft_seconds"], "p50")), ms(quiet["ttft_seconds"].get("most")), ms(figure(flood["ttft_seconds"], "p50")),
                     f"{(quiet['attainment'] or 0) * 100:.0f} %", f"{report['verdict']['output_tokens_per_second']:.0f}",
                     f"{all_of(report)['answer_tokens_per_second']['mean']:.1f}"))
    print_table("A tenant with 6 requests/s beside one with 0.5, 4 seats",
                ("order", "quiet tenant's TTFT p50", "most", "flood's TTFT p50", "quiet ones within 2 s", "tokens/s in total", "tokens/s of one"), rows)


main()
