// The OpenAI SDK for JavaScript.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import OpenAI from 'openai';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
const binary = process.env.TAKT_BINARY ?? path.join(root, 'build/release/takt');
const messages = [{ role: 'user', content: 'Say hello.' }];
const endless = 'fake:length=100000,step_ms=5,context=200000,blocks=20000';

// Starts a server on a free port; it is gone after the test.
async function serve(t, model = 'fake:length=16,step_ms=1', ...more) {
  const child = spawn(binary, ['serve', '--port', '0', '--model', model, ...more], { stdio: ['ignore', 'pipe', 'inherit'] });
  t.after(() => child.kill('SIGKILL'));
  for await (const line of createInterface({ input: child.stdout })) {
    if (!line.startsWith('ready: ')) continue;
    child.stdout.resume();
    const url = line.slice('ready: '.length);
    return { url, child, client: new OpenAI({ baseURL: `${url}/v1`, apiKey: 'unused', maxRetries: 0 }) };
  }
  throw new Error('the server ended before it was ready');
}

async function metric(url, name) {
  const text = await (await fetch(`${url}/metrics`)).text();
  return text.split('\n').filter((line) => line.startsWith(name)).reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
}

async function until(condition) {
  const deadline = Date.now() + 60_000;
  while (!(await condition())) {
    assert.ok(Date.now() < deadline, 'waited in vain');
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

test('whole answers, streams and usage agree', async (t) => {
  const { client } = await serve(t);
  const whole = await client.chat.completions.create({ model: 'fake', messages, temperature: 0 });
  assert.equal(whole.choices[0].finish_reason, 'stop');
  assert.equal(whole.usage.total_tokens, whole.usage.prompt_tokens + whole.usage.completion_tokens);
  const stream = await client.chat.completions.create({
    model: 'fake', messages, temperature: 0, stream: true, stream_options: { include_usage: true },
  });
  let text = '';
  let usage;
  for await (const chunk of stream) {
    text += chunk.choices[0]?.delta?.content ?? '';
    usage = chunk.usage ?? usage;
  }
  assert.equal(text, whole.choices[0].message.content);
  assert.equal(usage.completion_tokens, whole.usage.completion_tokens);
});

test('n, seed, logprobs and stop', async (t) => {
  const { client } = await serve(t, 'fake:text=Hello there. And good bye.');
  const several = await client.chat.completions.create({ model: 'fake', messages, n: 3, seed: 7, logprobs: true, top_logprobs: 2 });
  assert.deepEqual(several.choices.map((choice) => choice.index), [0, 1, 2]);
  assert.equal(several.choices[0].logprobs.content[0].top_logprobs.length, 2);
  const stopped = await client.chat.completions.create({ model: 'fake', messages, stop: ['there. And'] });
  assert.equal(stopped.choices[0].message.content, 'Hello ');
});

test('completions and the model list', async (t) => {
  const { client } = await serve(t);
  const answer = await client.completions.create({ model: 'fake', prompt: 'Hello', max_tokens: 3 });
  assert.equal(answer.choices[0].finish_reason, 'length');
  const names = [];
  for await (const model of client.models.list()) names.push(model.id);
  assert.deepEqual(names, ['fake']);
});

test('errors have their type, code and field', async (t) => {
  const { client } = await serve(t);
  await assert.rejects(client.chat.completions.create({ model: 'nothing', messages }), (error) => {
    assert.ok(error instanceof OpenAI.NotFoundError);
    assert.equal(error.code, 'model_not_found');
    return true;
  });
  await assert.rejects(client.chat.completions.create({ model: 'fake', messages, temperature: 99 }), (error) => {
    assert.ok(error instanceof OpenAI.BadRequestError);
    assert.equal(error.param, 'temperature');
    return true;
  });
});

test('an aborted stream is cancelled on the server', async (t) => {
  const { client, url } = await serve(t, endless);
  const stream = await client.chat.completions.create({ model: 'fake', messages, stream: true });
  for await (const chunk of stream) {
    if (chunk.choices[0].delta.content) break;
  }
  stream.controller.abort();
  await until(async () => (await metric(url, 'takt_requests_cancelled_total')) === 1);
  assert.equal(await metric(url, 'takt_requests_running'), 0);
});

test('a client that times out is cancelled on the server', async (t) => {
  const { client, url } = await serve(t, endless);
  await assert.rejects(client.chat.completions.create({ model: 'fake', messages }, { timeout: 500 }), OpenAI.APIConnectionTimeoutError);
  await until(async () => (await metric(url, 'takt_requests_cancelled_total')) === 1);
});

test('many at once', async (t) => {
  const { client } = await serve(t);
  const ask = (i) => client.completions.create({ model: 'fake', prompt: `Number ${i}`, temperature: 0 });
  const alone = [];
  for (let i = 0; i < 8; i += 1) alone.push((await ask(i)).choices[0].text);
  const together = await Promise.all(Array.from({ length: 8 }, (_, i) => ask(i)));
  assert.deepEqual(together.map((answer) => answer.choices[0].text), alone);
});

test('SIGTERM lets a running stream finish', async (t) => {
  const { client, child } = await serve(t, 'fake:length=60,step_ms=10');
  const stream = await client.chat.completions.create({ model: 'fake', messages, stream: true });
  const ended = once(child, 'exit');
  let reason;
  let first = true;
  for await (const chunk of stream) {
    if (first) child.kill('SIGTERM');
    first = false;
    reason = chunk.choices[0]?.finish_reason ?? reason;
  }
  assert.equal(reason, 'stop');
  assert.deepEqual(await ended, [0, null]);
});
