#!/usr/bin/env python3
"""Chats beside a house full of documents: with tiers, and with everything in one tier."""
from experiment import Server, all_of, arguments, classes_of, figure, ms, print_table, run

DOCUMENTS = "users=16 prompt=600 output=100 name=documents"
CHATS = "name=chat service_class=chat rate=0.5 prompt=uniform:40-120 output=40"


def main():
    given = arguments(__doc__)
    rows = []
    for way, service_class in (("tiers on", "background"), ("tiers off", "chat")):
        with Server("--max-sequences", "8") as server:
            report = run(given.out, way.replace(" ", "-"), server.url, "--class", f"{DOCUMENTS} service_class={service_class}", "--class", CHATS,
                         "--duration", "60", "--warm-up", "10", "--drain", "30")
        documents, chat = classes_of(report, "documents", "chat")
        rows.append((way, ms(figure(chat["ttft_seconds"], "p50")), ms(chat["ttft_seconds"]["most"]), ms(figure(chat["itl_seconds"], "p50")),
                     ms(figure(chat["itl_seconds"], "p99")), f"{(chat['attainment'] or 0) * 100:.0f} %",
                     f"{documents['output_tokens']['samples']}", f"{report['verdict']['output_tokens_per_second']:.0f}",
                     f"{all_of(report)['answer_tokens_per_second']['mean']:.1f}"))
    print_table("Chats beside 16 documents that never end, 8 seats",
                ("", "chat TTFT p50", "most", "chat ITL p50", "p99", "chats that met 1 s / 100 ms", "documents answered", "tokens/s in total",
                 "tokens/s of one"), rows)


main()
