"""The OpenAI SDK for Python, synchronous and asynchronous."""
import asyncio

import openai
import pytest
from scrape import scrape
from takt_process import wait_until

HELLO = [{"role": "user", "content": "Say hello."}]


def text_of(stream):
    return "".join(chunk.choices[0].delta.content or "" for chunk in stream if chunk.choices)


def test_a_chat_answer_has_text_a_reason_and_usage(client):
    answer = client.chat.completions.create(model="fake", messages=HELLO, temperature=0)
    choice = answer.choices[0]
    assert choice.message.role == "assistant"
    assert choice.message.content
    assert choice.finish_reason == "stop"
    usage = answer.usage
    assert usage.prompt_tokens > 0 and usage.completion_tokens > 0
    assert usage.total_tokens == usage.prompt_tokens + usage.completion_tokens


def test_a_stream_brings_the_same_text_as_a_whole_answer(client):
    whole = client.chat.completions.create(model="fake", messages=HELLO, temperature=0)
    chunks = list(client.chat.completions.create(model="fake", messages=HELLO, temperature=0, stream=True,
                                                 stream_options={"include_usage": True}))
    assert chunks[0].choices[0].delta.role == "assistant"
    assert text_of(chunks) == whole.choices[0].message.content
    reasons = [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices and chunk.choices[0].finish_reason]
    assert reasons == ["stop"]
    assert chunks[-1].usage.completion_tokens == whole.usage.completion_tokens


def test_model_absent_or_default_means_the_first_one(client, server):
    assert client.chat.completions.create(model="default", messages=HELLO).choices
    status, answer = server.post("/v1/chat/completions", {"messages": HELLO})
    assert status == 200 and answer["model"] == "fake"


def test_equal_seeds_give_equal_answers_and_n_gives_n(client):
    ask = dict(model="fake", messages=HELLO, seed=7, n=3, temperature=1)
    first, second = (client.chat.completions.create(**ask) for _ in range(2))
    texts = [[choice.message.content for choice in answer.choices] for answer in (first, second)]
    assert texts[0] == texts[1]
    assert len(texts[0]) == 3
    assert [choice.index for choice in first.choices] == [0, 1, 2]


def test_n_in_a_stream_brings_every_choice(client):
    texts = {}
    for chunk in client.chat.completions.create(model="fake", messages=HELLO, seed=7, n=3, stream=True):
        for choice in chunk.choices:
            texts[choice.index] = texts.get(choice.index, "") + (choice.delta.content or "")
    whole = client.chat.completions.create(model="fake", messages=HELLO, seed=7, n=3)
    assert texts == {choice.index: choice.message.content for choice in whole.choices}


def test_logprobs_of_chat_and_completions(client):
    chat = client.chat.completions.create(model="fake", messages=HELLO, logprobs=True, top_logprobs=3)
    tokens = chat.choices[0].logprobs.content
    assert len(tokens) == chat.usage.completion_tokens
    for token in tokens:
        assert token.logprob <= 0
        assert len(token.top_logprobs) == 3
        ranked = [top.logprob for top in token.top_logprobs]
        assert ranked == sorted(ranked, reverse=True)
    plain = client.completions.create(model="fake", prompt="Hello", logprobs=2, max_tokens=4)
    assert len(plain.choices[0].logprobs.token_logprobs) == plain.usage.completion_tokens


def test_max_tokens_ends_as_length(client):
    answer = client.chat.completions.create(model="fake", messages=HELLO, max_tokens=3)
    assert answer.choices[0].finish_reason == "length"
    assert answer.usage.completion_tokens == 3
    same = client.chat.completions.create(model="fake", messages=HELLO, max_completion_tokens=3)
    assert same.usage.completion_tokens == 3


@pytest.mark.parametrize("stream", [False, True])
def test_nothing_of_a_stop_string_leaks(start, connect, stream):
    client = connect(start(model="fake:text=Hello there. And good bye."))
    ask = dict(model="fake", messages=HELLO, stop=["there. And"])
    if stream:
        text = text_of(client.chat.completions.create(stream=True, **ask))
    else:
        answer = client.chat.completions.create(**ask)
        assert answer.choices[0].finish_reason == "stop"
        text = answer.choices[0].message.content
    assert text == "Hello "


def test_completions_take_text_lists_and_tokens(client):
    assert client.completions.create(model="fake", prompt="Hello").choices[0].text
    several = client.completions.create(model="fake", prompt=["Hello", "Good bye"], max_tokens=4)
    assert [choice.index for choice in several.choices] == [0, 1]
    tokens = client.completions.create(model="fake", prompt=[72, 105], max_tokens=4)
    assert tokens.usage.prompt_tokens == 2
    echo = client.completions.create(model="fake", prompt="Hello", echo=True, max_tokens=2)
    assert echo.choices[0].text.startswith("Hello")


def test_the_model_list_holds_what_is_served(client):
    assert [model.id for model in client.models.list()] == ["fake"]
    assert client.models.retrieve("fake").id == "fake"


def test_an_unknown_model_is_404_with_the_names_there_are(client):
    with pytest.raises(openai.NotFoundError) as caught:
        client.chat.completions.create(model="gpt-9", messages=HELLO)
    assert caught.value.code == "model_not_found"
    assert "fake" in str(caught.value)


def test_a_bad_value_is_400_with_the_field(client):
    with pytest.raises(openai.BadRequestError) as caught:
        client.chat.completions.create(model="fake", messages=HELLO, temperature=-1)
    assert caught.value.param == "temperature"


def test_a_prompt_that_is_too_long_is_400_with_both_numbers(client):
    with pytest.raises(openai.BadRequestError) as caught:
        client.completions.create(model="fake", prompt="x" * 5000)
    assert caught.value.code == "context_length_exceeded"
    assert "5000" in str(caught.value) and "4096" in str(caught.value)


def test_a_key_is_asked_for_on_every_path_but_the_probes(start, connect):
    server = start("--api-key", "sk-right-one")
    with pytest.raises(openai.AuthenticationError):
        connect(server, api_key="sk-wrong-one").models.list()
    assert [model.id for model in connect(server, api_key="sk-right-one").models.list()] == ["fake"]
    for path in ("/v1/models", "/metrics", "/v1/nothing", "/"):
        assert server.get(path)[0] == 401, path
    for path in ("/health", "/ready"):
        assert server.get(path)[0] == 200, path


def after_the_cancel(server):
    """What /metrics says once the one request is cancelled and, a moment later, its memory is counted anew."""
    def cancelled():
        metrics = scrape(server)
        over = metrics.total("takt_requests_cancelled_total") == 1 and metrics.total("takt_requests_running") == 0
        return metrics if over and metrics.total("takt_kv_blocks", state="owned") == 0 else None

    return wait_until(cancelled, "the request to be cancelled and its blocks to be free")


# B18, E2E: what a client gives up is cancelled, counted by phase, and its blocks are free.
def test_a_client_that_times_out_is_cancelled(start, connect):
    server = start("--set", "kv.prefix_cache=false", model="fake:length=100000,step_ms=5,context=200000,blocks=20000")
    with pytest.raises(openai.APITimeoutError):
        connect(server, timeout=0.5).chat.completions.create(model="fake", messages=HELLO)
    after_the_cancel(server).check_identities()


def test_a_stream_that_is_closed_is_cancelled(start, connect):
    server = start("--set", "kv.prefix_cache=false", model="fake:length=100000,step_ms=5,context=200000,blocks=20000")
    stream = connect(server).chat.completions.create(model="fake", messages=HELLO, stream=True)
    for chunk in stream:
        if chunk.choices[0].delta.content:
            break
    stream.close()
    assert after_the_cancel(server).total("takt_requests_cancelled_total", phase="decode") == 1


def test_many_at_once_get_the_answers_they_get_alone(server, client):
    prompts = [f"Number {i}" for i in range(16)]
    alone = [client.completions.create(model="fake", prompt=prompt, temperature=0).choices[0].text for prompt in prompts]

    async def together():
        async with openai.AsyncOpenAI(base_url=server.url + "/v1", api_key="unused") as asynchronous:
            answers = await asyncio.gather(
                *(asynchronous.completions.create(model="fake", prompt=prompt, temperature=0) for prompt in prompts))
            return [answer.choices[0].text for answer in answers]

    assert asyncio.run(together()) == alone


def test_asynchronous_streams_run_side_by_side(server):
    async def stream_text(asynchronous, i):
        stream = await asynchronous.chat.completions.create(
            model="fake", messages=[{"role": "user", "content": f"Number {i}"}], temperature=0, stream=True)
        return "".join([chunk.choices[0].delta.content or "" async for chunk in stream if chunk.choices])

    async def all_streams():
        async with openai.AsyncOpenAI(base_url=server.url + "/v1", api_key="unused") as asynchronous:
            return await asyncio.gather(*(stream_text(asynchronous, i) for i in range(8)))

    assert all(asyncio.run(all_streams()))


def test_an_asynchronous_task_that_is_cancelled_cancels_the_request(start):
    server = start("--set", "kv.prefix_cache=false", model="fake:length=100000,step_ms=5,context=200000,blocks=20000")

    async def abort():
        async with openai.AsyncOpenAI(base_url=server.url + "/v1", api_key="unused", max_retries=0) as asynchronous:
            task = asyncio.create_task(asynchronous.chat.completions.create(model="fake", messages=HELLO))
            while scrape(server).total("takt_generated_tokens_total") == 0:
                await asyncio.sleep(0.01)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(abort())
    assert after_the_cancel(server).total("takt_requests_cancelled_total", phase="decode") == 1


def test_a_real_model_of_the_tests_answers_alike_whole_and_streamed(start, connect, tiny_model):
    client = connect(start(model=tiny_model))
    ask = dict(model="default", prompt="Hello", temperature=0, max_tokens=16)
    whole = client.completions.create(**ask).choices[0].text
    streamed = "".join(chunk.choices[0].text for chunk in client.completions.create(stream=True, **ask) if chunk.choices)
    assert streamed == whole
