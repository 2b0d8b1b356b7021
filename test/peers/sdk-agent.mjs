#!/usr/bin/env node
// sdk-agent.mjs: a small ACP v1 agent on the official TypeScript SDK. It needs no model: it is its own.
//
//   node sdk-agent.mjs --sessions DIR      speaks ACP on stdin and stdout; a session is a file in DIR
//
// The directives are those of mock-llm.mjs, read in the newest prompt from the line of its last #tag on:
//   [[chunks N]]  [[slow N MS]]  [[big BYTES]]  [[sh COMMAND]] (asks for permission first)  [[error CODE]]
// Every reply ends with the #tags of all prompts of the session: "memory: #one #two".
//
// It can load and resume sessions, list, close and delete them. A prompt is in the session's file before anything is
// said about it, a reply only at its end: what was streamed of a turn that is killed is lost, as with most agents.

import * as acp from '@agentclientprotocol/sdk';
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { Readable, Writable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';

const at = process.argv.indexOf('--sessions');
if (at < 0 || !process.argv[at + 1]) {
  console.error('usage: sdk-agent.mjs --sessions DIR');
  process.exit(process.argv.includes('--help') ? 0 : 2);
}
const dir = process.argv[at + 1];
fs.mkdirSync(dir, { recursive: true, mode: 0o700 });

const { methods } = acp;
const NOT_FOUND = -32002;
const open = new Map(); // id: session {id, cwd, updatedAt, said: [{role, id, text}]}
const turns = new Map(); // id: AbortController of the running turn

// ---------------------------------------------------------------- sessions

const file = (id) => path.join(dir, `${id}.json`);

/** In place at once or not at all: a kill leaves no half file. */
function save(session) {
  session.updatedAt = new Date().toISOString();
  fs.writeFileSync(`${file(session.id)}.new`, JSON.stringify(session), { mode: 0o600 });
  fs.renameSync(`${file(session.id)}.new`, file(session.id));
}

function restore(id) {
  if (!/^[\w-]+$/.test(id) || !fs.existsSync(file(id))) throw new acp.RequestError(NOT_FOUND, 'no such session', { sessionId: id });
  const session = JSON.parse(fs.readFileSync(file(id), 'utf8'));
  open.set(id, session);
  return session;
}

const stored = () => fs.readdirSync(dir).filter((name) => name.endsWith('.json'))
  .map((name) => JSON.parse(fs.readFileSync(path.join(dir, name), 'utf8')));

// ---------------------------------------------------------------- a turn

const tagsOf = (text) => [...text.matchAll(/(?<![\w&#/])#[a-z][a-z0-9]*\b/g)];

/** The part of a prompt that is to be carried out: a client may put earlier prompts in front. */
function newest(text) {
  const last = tagsOf(text).at(-1);
  return last ? text.slice(text.lastIndexOf('\n', last.index) + 1) : text;
}

const directives = (text) => Object.fromEntries([...text.matchAll(/\[\[(\w+)\s*([\s\S]*?)\]\]/g)].map((m) => [m[1], m[2].trim()]));

/** Runs a command in a group of its own, so that a cancel ends all of it. */
function shell(command, cwd, signal) {
  return new Promise((resolve, reject) => {
    const child = spawn('sh', ['-c', command], { cwd, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => { output += text; });
    const kill = () => { try { process.kill(-child.pid, 'SIGKILL'); } catch { /* it has ended */ } };
    signal.addEventListener('abort', kill, { once: true });
    child.on('error', reject);
    child.on('close', (code) => { signal.removeEventListener('abort', kill); resolve({ code, output }); });
  });
}

class Turn {
  constructor(session, client, signal) {
    Object.assign(this, { session, client, signal, id: randomUUID(), text: '' });
  }

  update(update) { return this.client.notify(methods.client.session.update, { sessionId: this.session.id, update }); }

  say(text) {
    this.text += text;
    return this.update({ sessionUpdate: 'agent_message_chunk', messageId: this.id, content: { type: 'text', text } });
  }

  async count(word, n, ms) {
    for (let i = 1; i <= n && !this.signal.aborted; i++) {
      await this.say(`${word}${i} `);
      if (ms) await pause(ms);
    }
  }

  async run(command) {
    const toolCallId = randomUUID();
    const call = (update) => this.update({ sessionUpdate: 'tool_call_update', toolCallId, ...update });
    await this.update({ sessionUpdate: 'tool_call', toolCallId, title: command, kind: 'execute', status: 'pending', rawInput: { command } });
    const { outcome } = await this.client.request(methods.client.session.requestPermission, {
      sessionId: this.session.id,
      toolCall: { toolCallId, title: command },
      options: [
        { optionId: 'yes', name: 'Allow', kind: 'allow_once' },
        { optionId: 'no', name: 'Reject', kind: 'reject_once' },
      ],
    });
    if (outcome.outcome !== 'selected' || outcome.optionId !== 'yes') {
      return call({ status: 'failed', content: [{ type: 'content', content: { type: 'text', text: 'not allowed' } }] });
    }
    await call({ status: 'in_progress' });
    const { code, output } = await shell(command, this.session.cwd, this.signal);
    await call({ status: code === 0 ? 'completed' : 'failed', content: [{ type: 'content', content: { type: 'text', text: output } }] });
    if (!this.signal.aborted) await this.say(`tool results: 1, last ${JSON.stringify(output.trim().slice(0, 80))}; `);
  }

  async play(text) {
    const d = directives(newest(text));
    if (d.error !== undefined) throw new acp.RequestError(Number(d.error) || -32603, 'the prompt asked for an error');
    if (d.sh !== undefined) await this.run(d.sh);
    if (d.chunks !== undefined) await this.count('word', Number(d.chunks));
    if (d.slow !== undefined) await this.count('tick ', ...d.slow.split(/\s+/).map(Number));
    if (d.big !== undefined) await this.say('x'.repeat(Number(d.big)));
    if (this.signal.aborted) return;
    const tags = new Set(this.session.said.filter((s) => s.role === 'user').flatMap((s) => tagsOf(s.text)).map((m) => m[0]));
    await this.say(`memory: ${[...tags].join(' ') || 'none'}`);
  }
}

async function prompt({ params, client }) {
  const session = open.get(params.sessionId);
  if (!session) throw new acp.RequestError(NOT_FOUND, 'no such session', { sessionId: params.sessionId });
  if (turns.has(session.id)) throw new acp.RequestError(-32600, 'a turn is running in this session');
  const abort = new AbortController();
  turns.set(session.id, abort);
  try {
    const text = params.prompt.map((block) => block.text ?? '').join('\n');
    session.said.push({ role: 'user', id: randomUUID(), text });
    save(session);
    const turn = new Turn(session, client, abort.signal);
    await turn.play(text);
    session.said.push({ role: 'agent', id: turn.id, text: turn.text });
    save(session);
    return { stopReason: abort.signal.aborted ? 'cancelled' : 'end_turn' };
  } finally {
    turns.delete(session.id);
  }
}

// ---------------------------------------------------------------- the agent

const kinds = { user: 'user_message_chunk', agent: 'agent_message_chunk' };

acp.agent({ name: 'sdk-agent' })
  .onRequest(methods.agent.initialize, () => ({
    protocolVersion: acp.PROTOCOL_VERSION,
    agentInfo: { name: 'sdk-agent', version: '1.0.0' },
    agentCapabilities: { loadSession: true, sessionCapabilities: { list: {}, resume: {}, close: {}, delete: {} } },
    authMethods: [],
  }))
  .onRequest(methods.agent.session.new, ({ params }) => {
    const session = { id: randomUUID(), cwd: params.cwd, said: [] };
    open.set(session.id, session);
    save(session);
    return { sessionId: session.id };
  })
  .onRequest(methods.agent.session.load, async ({ params, client }) => {
    const session = restore(params.sessionId);
    for (const { role, id, text } of session.said) {
      await client.notify(methods.client.session.update, {
        sessionId: session.id, update: { sessionUpdate: kinds[role], messageId: id, content: { type: 'text', text } },
      });
    }
    return {};
  })
  .onRequest(methods.agent.session.resume, ({ params }) => { restore(params.sessionId); return {}; })
  .onRequest(methods.agent.session.list, () => ({
    sessions: stored().map(({ id, cwd, updatedAt, said }) => ({ sessionId: id, cwd, updatedAt, title: said[0]?.text.slice(0, 40) ?? null })),
  }))
  .onRequest(methods.agent.session.close, ({ params }) => { open.delete(params.sessionId); return {}; })
  .onRequest(methods.agent.session.delete, ({ params }) => {
    restore(params.sessionId); // checks the id, which becomes the name of a file
    open.delete(params.sessionId);
    fs.rmSync(file(params.sessionId));
    return {};
  })
  .onRequest(methods.agent.session.prompt, prompt)
  .onNotification(methods.agent.session.cancel, ({ params }) => { turns.get(params.sessionId)?.abort(); })
  .connect(acp.ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin)));

// Its end of the pipe is closed: a turn may be pausing or waiting for a command: the client has gone all the same.
process.stdin.on('close', () => {
  for (const abort of turns.values()) abort.abort();
  process.exit(0);
});
