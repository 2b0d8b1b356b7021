#!/usr/bin/env node
// mock-llm.mjs: a scripted stand-in for the LLM HTTP APIs that agents speak. No dependencies.
//
//   node mock-llm.mjs [--port N] [--log requests.jsonl]
//
// It listens on 127.0.0.1 only, on a free port unless one is given, and prints one line once it does:
//   mock-llm http://127.0.0.1:PORT
// It ends on SIGTERM, SIGINT, or when its standard input closes (so it does not outlive a test that is killed).
//
// Spoken, streaming (SSE) or not, as the request asks; every path also works without its /v1 prefix:
//   Anthropic Messages       POST /v1/messages (+ /count_tokens)
//   OpenAI Chat Completions  POST /v1/chat/completions
//   OpenAI Responses         POST /v1/responses
//   Gemini                   POST /v1beta/models/M:generateContent | :streamGenerateContent | :countTokens
//   model lists              GET  /v1/models, /v1beta/models
// A body over MAX_BODY bytes, before or after decompression, is answered 413.
//
// The reply is decided by directives in the newest user text, from the line of its last #tag on:
//   (none)               one short text reply
//   [[chunks N]]         N text deltas, no delay
//   [[slow N MS]]        N text deltas, MS milliseconds apart (to cancel or kill in the middle)
//   [[big BYTES]]        one text delta of that many bytes
//   [[think]]            a reasoning block before the text, where the API has one
//   [[sh COMMAND]]       call whichever shell tool the request offers
//   [[write PATH TEXT]]  call whichever file-write tool the request offers
//   [[read PATH]]        call whichever file-read tool the request offers
//   [[tool NAME {JSON}]] call exactly that tool with exactly those arguments
//   [[error STATUS]]     answer with that HTTP status
//   [[drop]]             send one delta, then cut the connection
// Several tool directives run one after another: each tool result that comes back moves on to the next, and a text
// reply ends the turn.
//
// Every text reply names the #tags of the user texts in the request ("memory: #one #two"): that proves which earlier
// prompts the agent really had in its context.

import http from 'node:http';
import fs from 'node:fs';
import zlib from 'node:zlib';

const MAX_BODY = 16 * 1024 * 1024;
const MAX_CHUNKS = 100_000;
const MODELS = ['mock', 'mock-small'];

const argv = process.argv.slice(2);
const option = (name, fallback) => {
  const i = argv.indexOf('--' + name);
  return i >= 0 ? argv[i + 1] : fallback;
};
const PORT = Number(option('port', 0));
const LOG = option('log', '');
let serial = 0, requests = 0;
const newId = (prefix) => `${prefix}_mock${String(++serial).padStart(6, '0')}`;
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

// ---------------------------------------------------------------- reading a request
// Each API's request is reduced to { system, tools: [{name, schema}], items: [{role, text}] },
// where role is user, assistant, or tool (a tool's result).

const textOf = (content) => {
  if (content == null) return '';
  if (typeof content === 'string') return content;
  if (Array.isArray(content)) return content.map(textOf).join('\n');
  return content.text ?? textOf(content.content ?? content.parts ?? content.output ?? '');
};

function readAnthropic(body) {
  const items = [];
  for (const m of body.messages || []) {
    const blocks = Array.isArray(m.content) ? m.content : [{ type: 'text', text: m.content }];
    const text = blocks.filter((b) => b.type === 'text').map((b) => b.text).join('\n');
    for (const b of blocks) if (b.type === 'tool_result') items.push({ role: 'tool', text: textOf(b.content) });
    if (text) items.push({ role: m.role, text });
  }
  const tools = (body.tools || []).map((t) => ({ name: t.name, schema: t.input_schema || {} }));
  return { system: textOf(body.system), tools, items };
}

function readChat(body) {
  let system = '';
  const items = [];
  for (const m of body.messages || []) {
    const text = textOf(m.content);
    if (m.role === 'system' || m.role === 'developer') system += text;
    else items.push({ role: m.role === 'tool' ? 'tool' : m.role, text });
  }
  const tools = (body.tools || []).filter((t) => t.function)
    .map((t) => ({ name: t.function.name, schema: t.function.parameters || {} }));
  return { system, tools, items };
}

function readResponses(body) {
  let system = body.instructions || '';
  const items = [];
  const input = typeof body.input === 'string' ? [{ role: 'user', content: body.input }] : body.input || [];
  for (const i of input) {
    if (i.type === 'function_call_output' || i.type === 'custom_tool_call_output') items.push({ role: 'tool', text: textOf(i.output) });
    else if (i.role === 'system' || i.role === 'developer') system += textOf(i.content);
    else if (i.role) items.push({ role: i.role, text: textOf(i.content) });
  }
  const tools = (body.tools || []).filter((t) => t.type === 'function')
    .map((t) => ({ name: t.name, schema: t.parameters || {} }));
  return { system, tools, items };
}

function readGemini(body) {
  const items = [];
  for (const c of body.contents || []) {
    const parts = c.parts || [];
    for (const p of parts) if (p.functionResponse) items.push({ role: 'tool', text: JSON.stringify(p.functionResponse.response) });
    const text = parts.filter((p) => p.text && !p.thought).map((p) => p.text).join('\n');
    if (text) items.push({ role: c.role === 'model' ? 'assistant' : 'user', text });
  }
  const tools = (body.tools || []).flatMap((t) => t.functionDeclarations || [])
    .map((t) => ({ name: t.name, schema: t.parametersJsonSchema || t.parameters || {} }));
  return { system: textOf(body.systemInstruction), tools, items };
}

// ---------------------------------------------------------------- deciding the reply

const SHELL = ['Bash', 'bash', 'shell', 'exec_command', 'shell_command', 'run_shell_command', 'local_shell', 'execute', 'exec', 'execute_bash', 'developer__shell'];
const WRITE = ['Write', 'write', 'write_file', 'create_file', 'create', 'fs_write'];
const READ = ['Read', 'read', 'read_file', 'fs_read'];

const pick = (tools, names) => {
  for (const n of names) {
    const tool = tools.find((t) => t.name === n);
    if (tool) return tool;
  }
  return null;
};

// Fills a tool's parameters by their usual names, so that one directive suits every agent.
function fill(tool, { command, path, text }) {
  const props = tool.schema.properties || {};
  const required = tool.schema.required || [];
  const args = {};
  for (const [name, schema] of Object.entries(props)) {
    if (/^(command|cmd|script)$/.test(name) && command !== undefined) {
      args[name] = String(schema.type).toLowerCase() === 'array' ? ['bash', '-lc', command] : command;
    } else if (/^(file_?path|path|absolute_path|filename)$/i.test(name) && path !== undefined) args[name] = path;
    else if (/^(content|contents|text|file_text)$/i.test(name) && text !== undefined) args[name] = text;
    else if (required.includes(name)) {
      const type = String(schema.type).toLowerCase();
      args[name] = schema.enum ? schema.enum[0] : type === 'boolean' ? false
        : type === 'number' || type === 'integer' ? 1 : type === 'array' ? [] : type === 'object' ? {} : 'mock';
    }
  }
  return args;
}

const tagsOf = (text) => [...text.matchAll(/(?<![\w&#/])#[a-z][a-z0-9]*\b/g)];

function decide(req) {
  const { tools, items, system } = req;
  // The newest user text that carries a tag or a directive; agents add user texts of their own around it.
  let at = items.findLastIndex((i) => i.role === 'user' && (tagsOf(i.text).length || i.text.includes('[[')));
  if (at < 0) at = items.findLastIndex((i) => i.role === 'user');
  const text = at >= 0 ? items[at].text : '';
  // A runtime may put earlier prompts in front of the newest one, each on lines of its own: their directives are spent.
  const last = tagsOf(text).at(-1);
  const newest = last ? text.slice(text.lastIndexOf('\n', last.index) + 1) : text;
  const tags = [...new Set(items.filter((i) => i.role === 'user').flatMap((i) => tagsOf(i.text)).map((m) => m[0]))];
  const results = items.slice(at + 1).filter((i) => i.role === 'tool');
  const reply = { thinking: '', chunks: [], delay: 0, call: null };

  // A side request (a title for the session, a summary) has no tools: directives don't apply to it.
  if (!tools.length && /title|summar|topic/i.test(system + text.slice(0, 2000))) {
    reply.chunks = ['Mock title'];
    return reply;
  }

  const directives = [...newest.matchAll(/\[\[(\w+)\s*([\s\S]*?)\]\]/g)].map((m) => ({ name: m[1], arg: m[2].trim() }));
  const get = (name) => directives.find((d) => d.name === name)?.arg;
  if (get('error') !== undefined) return { error: Number(get('error')) || 500 };
  if (get('drop') !== undefined) reply.drop = true;
  if (get('think') !== undefined) reply.thinking = 'Mock reasoning: nothing to think about.';

  const calls = directives.filter((d) => ['sh', 'write', 'read', 'tool'].includes(d.name));
  const next = calls[results.length];
  if (next) {
    let tool = null, args = {};
    if (next.name === 'tool') {
      const [, name, json] = next.arg.match(/^(\S+)\s*([\s\S]*)$/) || [];
      tool = { name }; args = JSON.parse(json || '{}');
    } else if (next.name === 'sh') {
      tool = pick(tools, SHELL); args = tool && fill(tool, { command: next.arg });
    } else {
      const [, path, rest] = next.arg.match(/^(\S+)\s*([\s\S]*)$/) || [];
      tool = pick(tools, next.name === 'write' ? WRITE : READ); args = tool && fill(tool, { path, text: rest });
    }
    if (tool) {
      reply.call = { id: newId('call'), name: tool.name, args };
      return reply;
    }
  }

  const memory = `memory: ${tags.join(' ') || 'none'}`;
  const after = results.length ? ` tool results: ${results.length}, last ${JSON.stringify(results.at(-1).text.slice(0, 80))};` : '';
  const chunks = get('chunks'), slow = get('slow'), big = get('big');
  if (slow !== undefined) {
    const [n, ms] = slow.split(/\s+/).map(Number);
    reply.delay = ms || 200;
    reply.chunks = Array.from({ length: Math.min(n || 20, MAX_CHUNKS) }, (_, i) => `tick ${i + 1} `);
  } else if (chunks !== undefined) {
    reply.chunks = Array.from({ length: Math.min(Number(chunks) || 10, MAX_CHUNKS) }, (_, i) => `word${i + 1} `);
  } else if (big !== undefined) {
    // Numbered words: one letter repeated trips the loop detectors of some agents.
    const size = Math.min(Number(big) || 1000, MAX_BODY);
    let long = '';
    for (let i = 1; long.length < size; i++) long += `item${i} `;
    reply.chunks = [long.slice(0, size)];
  } else {
    reply.chunks = ['Hello from ', 'the mock model;', after + ' '];
  }
  reply.chunks.push(memory);
  return reply;
}

// ---------------------------------------------------------------- writing a reply

const usage = (reply) => ({ input: 100, output: 5 + (reply.chunks?.length || 0) });

function sse(res) {
  res.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache', connection: 'keep-alive' });
  return (data, event) => {
    if (res.destroyed) return false;
    res.write((event ? `event: ${event}\n` : '') + `data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`);
    return true;
  };
}

async function eachChunk(reply, res, send) {
  for (const [i, chunk] of reply.chunks.entries()) {
    if (res.destroyed) return false;
    if (i && reply.delay) await sleep(reply.delay);
    send(chunk);
    if (reply.drop) { res.destroy(); return false; }
  }
  return !res.destroyed;
}

async function writeAnthropic(res, body, reply, streaming) {
  const u = usage(reply), id = newId('msg'), model = body.model || 'mock';
  const stop = reply.call ? 'tool_use' : 'end_turn';
  if (!streaming) {
    const content = [];
    if (reply.thinking) content.push({ type: 'thinking', thinking: reply.thinking, signature: 'mock' });
    if (reply.chunks.length) content.push({ type: 'text', text: reply.chunks.join('') });
    if (reply.call) content.push({ type: 'tool_use', id: reply.call.id, name: reply.call.name, input: reply.call.args });
    return json(res, 200, { id, type: 'message', role: 'assistant', model, content, stop_reason: stop, stop_sequence: null, usage: { input_tokens: u.input, output_tokens: u.output } });
  }
  const out = sse(res), send = (data) => out(data, data.type);
  send({ type: 'message_start', message: { id, type: 'message', role: 'assistant', model, content: [], stop_reason: null, stop_sequence: null, usage: { input_tokens: u.input, output_tokens: 1 } } });
  let index = 0;
  if (reply.thinking) {
    send({ type: 'content_block_start', index, content_block: { type: 'thinking', thinking: '', signature: '' } });
    send({ type: 'content_block_delta', index, delta: { type: 'thinking_delta', thinking: reply.thinking } });
    send({ type: 'content_block_delta', index, delta: { type: 'signature_delta', signature: 'mock' } });
    send({ type: 'content_block_stop', index: index++ });
  }
  if (reply.chunks.length) {
    send({ type: 'content_block_start', index, content_block: { type: 'text', text: '' } });
    if (!(await eachChunk(reply, res, (text) => send({ type: 'content_block_delta', index, delta: { type: 'text_delta', text } })))) return;
    send({ type: 'content_block_stop', index: index++ });
  }
  if (reply.call) {
    send({ type: 'content_block_start', index, content_block: { type: 'tool_use', id: reply.call.id, name: reply.call.name, input: {} } });
    send({ type: 'content_block_delta', index, delta: { type: 'input_json_delta', partial_json: JSON.stringify(reply.call.args) } });
    send({ type: 'content_block_stop', index: index++ });
  }
  send({ type: 'message_delta', delta: { stop_reason: stop, stop_sequence: null }, usage: { output_tokens: u.output } });
  send({ type: 'message_stop' });
  res.end();
}

async function writeChat(res, body, reply, streaming) {
  const u = usage(reply), id = newId('chatcmpl'), model = body.model || 'mock', created = Math.floor(Date.now() / 1000);
  const use = { prompt_tokens: u.input, completion_tokens: u.output, total_tokens: u.input + u.output };
  const calls = reply.call && [{ index: 0, id: reply.call.id, type: 'function', function: { name: reply.call.name, arguments: JSON.stringify(reply.call.args) } }];
  const stop = calls ? 'tool_calls' : 'stop';
  if (!streaming) {
    const message = { role: 'assistant', content: reply.chunks.join('') || null };
    if (calls) message.tool_calls = calls.map(({ index, ...c }) => c);
    return json(res, 200, { id, object: 'chat.completion', created, model, choices: [{ index: 0, message, finish_reason: stop }], usage: use });
  }
  const send = sse(res);
  const delta = (d, finish = null) => send({ id, object: 'chat.completion.chunk', created, model, choices: [{ index: 0, delta: d, finish_reason: finish }] });
  delta({ role: 'assistant', content: '' });
  if (reply.thinking) delta({ reasoning_content: reply.thinking });
  if (!(await eachChunk(reply, res, (content) => delta({ content })))) return;
  if (calls) delta({ tool_calls: calls });
  delta({}, stop);
  send({ id, object: 'chat.completion.chunk', created, model, choices: [], usage: use });
  send('[DONE]');
  res.end();
}

async function writeResponses(res, body, reply, streaming) {
  const u = usage(reply), id = newId('resp'), created_at = Math.floor(Date.now() / 1000);
  const use = { input_tokens: u.input, input_tokens_details: { cached_tokens: 0 }, output_tokens: u.output, output_tokens_details: { reasoning_tokens: 0 }, total_tokens: u.input + u.output };
  const output = [];
  const shell = (status) => ({ id, object: 'response', created_at, status, model: body.model || 'mock', output, usage: status === 'completed' ? use : null, error: null });
  const thought = reply.thinking && { type: 'reasoning', id: newId('rs'), summary: [{ type: 'summary_text', text: reply.thinking }] };
  const message = reply.chunks.length && { type: 'message', id: newId('msg'), role: 'assistant', status: 'completed', content: [{ type: 'output_text', text: reply.chunks.join(''), annotations: [] }] };
  const call = reply.call && { type: 'function_call', id: newId('fc'), call_id: reply.call.id, name: reply.call.name, arguments: JSON.stringify(reply.call.args), status: 'completed' };
  if (!streaming) {
    output.push(...[thought, message, call].filter(Boolean));
    return json(res, 200, shell('completed'));
  }
  const out = sse(res);
  let sequence_number = 0;
  const send = (type, data) => out({ type, sequence_number: sequence_number++, ...data }, type);
  send('response.created', { response: shell('in_progress') });
  if (thought) {
    const at = { output_index: output.length, item_id: thought.id };
    send('response.output_item.added', { output_index: at.output_index, item: { ...thought, summary: [] } });
    send('response.reasoning_summary_part.added', { ...at, summary_index: 0, part: { type: 'summary_text', text: '' } });
    send('response.reasoning_summary_text.delta', { ...at, summary_index: 0, delta: reply.thinking });
    send('response.reasoning_summary_text.done', { ...at, summary_index: 0, text: reply.thinking });
    send('response.output_item.done', { output_index: at.output_index, item: thought });
    output.push(thought);
  }
  if (message) {
    const at = { output_index: output.length, item_id: message.id, content_index: 0 };
    send('response.output_item.added', { output_index: at.output_index, item: { ...message, status: 'in_progress', content: [] } });
    send('response.content_part.added', { ...at, part: { type: 'output_text', text: '', annotations: [] } });
    if (!(await eachChunk(reply, res, (delta) => send('response.output_text.delta', { ...at, delta })))) return;
    send('response.output_text.done', { ...at, text: message.content[0].text });
    send('response.content_part.done', { ...at, part: message.content[0] });
    send('response.output_item.done', { output_index: at.output_index, item: message });
    output.push(message);
  }
  if (call) {
    const at = { output_index: output.length, item_id: call.id };
    send('response.output_item.added', { output_index: at.output_index, item: { ...call, arguments: '', status: 'in_progress' } });
    send('response.function_call_arguments.delta', { ...at, delta: call.arguments });
    send('response.function_call_arguments.done', { ...at, arguments: call.arguments });
    send('response.output_item.done', { output_index: at.output_index, item: call });
    output.push(call);
  }
  send('response.completed', { response: shell('completed') });
  res.end();
}

async function writeGemini(res, body, reply, streaming, isSse) {
  const u = usage(reply);
  const usageMetadata = { promptTokenCount: u.input, candidatesTokenCount: u.output, totalTokenCount: u.input + u.output };
  const responseId = newId('gem');
  const make = (parts, last) => ({
    responseId, modelVersion: 'mock',
    candidates: [{ index: 0, content: { role: 'model', parts }, ...(last ? { finishReason: 'STOP' } : {}) }],
    ...(last ? { usageMetadata } : {}),
  });
  const thought = reply.thinking ? [{ text: reply.thinking, thought: true }] : [];
  const call = reply.call ? [{ functionCall: { id: reply.call.id, name: reply.call.name, args: reply.call.args } }] : [];
  if (!streaming) return json(res, 200, make([...thought, ...(reply.chunks.length ? [{ text: reply.chunks.join('') }] : []), ...call], true));
  if (!isSse) return json(res, 200, [make([...thought, ...(reply.chunks.length ? [{ text: reply.chunks.join('') }] : []), ...call], true)]);
  const send = sse(res);
  if (thought.length) send(make(thought));
  if (!(await eachChunk(reply, res, (text) => send(make([{ text }]))))) return;
  send(make(call.length ? call : [{ text: '' }], true));
  res.end();
}

// ---------------------------------------------------------------- the server

function json(res, status, data) {
  const text = JSON.stringify(data);
  res.writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) });
  res.end(text);
}

class TooLarge extends Error {}

async function readBody(req) {
  const parts = [];
  let size = 0;
  for await (const part of req) {
    size += part.length;
    if (size > MAX_BODY) throw new TooLarge(`body over ${MAX_BODY} bytes`);
    parts.push(part);
  }
  const buffer = Buffer.concat(parts);
  const limit = { maxOutputLength: MAX_BODY };
  try {
    switch (req.headers['content-encoding']) {
      case 'gzip': return zlib.gunzipSync(buffer, limit).toString('utf8');
      case 'zstd': return zlib.zstdDecompressSync(buffer, limit).toString('utf8'); // Node 22.15 and later
      default: return buffer.toString('utf8');
    }
  } catch (error) {
    throw error.code === 'ERR_BUFFER_TOO_LARGE' ? new TooLarge(`body over ${MAX_BODY} bytes when decompressed`) : error;
  }
}

const APIS = {
  anthropic: { read: readAnthropic, write: writeAnthropic },
  chat: { read: readChat, write: writeChat },
  responses: { read: readResponses, write: writeResponses },
  gemini: { read: readGemini, write: writeGemini },
};

/** Which API a path belongs to, and for Gemini the model and method it names. */
function route(path) {
  const gemini = path.match(/^\/models\/([^:]+):(\w+)$/);
  if (gemini) return { kind: /^(stream)?[gG]enerateContent$/.test(gemini[2]) ? 'gemini' : '', model: gemini[1], method: gemini[2] };
  return { kind: { '/messages': 'anthropic', '/chat/completions': 'chat', '/responses': 'responses' }[path] || '' };
}

async function complete({ kind, model, method }, url, raw, res, entry) {
  const body = raw ? JSON.parse(raw) : {};
  const streaming = kind === 'gemini' ? method === 'streamGenerateContent' : !!body.stream;
  const request = APIS[kind].read(body);
  const reply = decide(request);
  Object.assign(entry, {
    kind, model: body.model || model, stream: streaming, bytes: raw.length,
    tools: request.tools.map((t) => t.name), items: request.items.map((i) => `${i.role}:${i.text.slice(-160)}`),
    reply: reply.error ? { error: reply.error } : { text: reply.chunks.join('').slice(0, 120), call: reply.call },
  });
  if (reply.error) return json(res, reply.error, { type: 'error', error: { type: 'mock_error', message: `mock error ${reply.error}`, code: reply.error, status: 'MOCK' } });
  return APIS[kind].write(res, body, reply, streaming, url.searchParams.get('alt') === 'sse');
}

async function serve(req, res, entry) {
  const url = new URL(req.url, 'http://127.0.0.1');
  const path = url.pathname.replace(/^\/v1(beta)?(?=\/)/, '').replace(/\/+/g, '/');
  entry.path = url.pathname;
  const raw = req.method === 'POST' ? await readBody(req) : '';
  const to = route(path);
  if (req.method === 'POST' && to.kind) return complete(to, url, raw, res, entry);
  if (path === '/messages/count_tokens') return json(res, 200, { input_tokens: 100 });
  if (to.method === 'countTokens') return json(res, 200, { totalTokens: 100 });
  if (req.method === 'GET' && path === '/models') {
    return json(res, 200, {
      object: 'list', has_more: false,
      data: MODELS.map((id) => ({ id, object: 'model', type: 'model', display_name: id, created: 0, owned_by: 'mock' })),
      models: MODELS.map((id) => ({ name: `models/${id}`, slug: id, displayName: id })),
    });
  }
  if (path === '/' || req.method === 'HEAD') { res.writeHead(200); return res.end(); }
  entry.notFound = true;
  return json(res, 404, { error: { type: 'not_found', message: `mock has no ${url.pathname}` } });
}

const log = (entry) => { if (LOG) fs.appendFileSync(LOG, JSON.stringify(entry) + '\n'); };

const server = http.createServer(async (req, res) => {
  const entry = { n: ++requests, method: req.method };
  // Logged before the first byte of the answer, so whoever has an answer finds its request in the log.
  const writeHead = res.writeHead.bind(res);
  res.writeHead = (...args) => { log(entry); return writeHead(...args); };
  res.on('close', () => { if (!res.writableFinished) log({ n: entry.n, cut: true }); });
  try {
    await serve(req, res, entry);
  } catch (error) {
    if (res.headersSent) { res.destroy(); return; }
    entry.failed = String(error);
    res.setHeader('connection', 'close'); // the rest of the body is not read
    json(res, error instanceof TooLarge ? 413 : error instanceof SyntaxError ? 400 : 500, { error: { message: String(error) } });
  }
});

server.listen(PORT, '127.0.0.1', () => console.log(`mock-llm http://127.0.0.1:${server.address().port}`));
server.on('error', (error) => { console.error(`mock-llm: ${error.message}`); process.exit(1); });
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(0));
process.stdin.on('end', () => process.exit(0)).on('error', () => process.exit(0)).resume();
