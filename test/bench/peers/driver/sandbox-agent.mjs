// Drives sandbox-agent, its server through its own client: node
// sandbox-agent.mjs FOLDER [AGENT], as agentos.mjs. Without AGENT it only looks
// whether both are there and the server answers.
import { spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { clock, serve } from './serve.mjs';

const [folder, agent] = process.argv.slice(2);
const modules = path.join(folder, 'node_modules'), home = process.env.HOME;
const { SandboxAgent } = await import(pathToFileURL(path.join(modules, 'sandbox-agent/dist/index.js')));
const binary = path.join(modules, `@sandbox-agent/cli-${process.platform}-${process.arch}/bin/sandbox-agent`);

// Its own mock agent is an echo that speaks no ACP. The launcher that the server
// finds in its data folder is used instead of it.
if (agent) {
  const launchers = path.join(home, '.local/share/sandbox-agent/bin/agent_processes');
  mkdirSync(launchers, { recursive: true, mode: 0o700 });
  writeFileSync(path.join(launchers, 'mock-acp'), `#!/bin/sh\nexec '${process.execPath}' '${agent}/bin/trivial'\n`, { mode: 0o700 });
}

const freePort = () => new Promise((resolve, reject) => {
  const server = net.createServer().on('error', reject);
  server.listen(0, '127.0.0.1', () => { const { port } = server.address(); server.close(() => resolve(port)); });
});

const port = await freePort();
const server = spawn(binary, ['server', '--no-token', '--no-telemetry', '--port', String(port)], {
  stdio: ['ignore', 'ignore', 'inherit'], env: { ...process.env, SANDBOX_AGENT_BIN: binary },
});
let closing = false;
const ended = new Promise((resolve) => server.once('exit', resolve));
const lost = (why) => { if (!closing) { console.error('the server ended:', why); process.exit(1); } };
server.once('error', lost).once('exit', (code, signal) => lost(signal ?? code));
process.once('exit', () => server.kill('SIGKILL'));

const client = await SandboxAgent.connect({ baseUrl: `http://127.0.0.1:${port}` });
async function close() {
  closing = true;
  await client.dispose();
  server.kill('SIGTERM');
  await ended;
}
if (!agent) {
  await close();
  process.exit(0);
}

const session = await client.createSession({ agent: 'mock', cwd: home });
const sum = { text: 0, calls: 0, events: 0 };
session.onEvent(({ payload }) => {
  if (payload.method !== 'session/update') return;
  const { update } = payload.params;
  sum.events++;
  if (update.sessionUpdate === 'agent_message_chunk') sum.text += update.content.text.length;
  if (update.sessionUpdate === 'tool_call') sum.calls++;
});

await serve({
  async prompt({ text }) {
    const { ms, value } = await clock(() => session.prompt([{ type: 'text', text }]));
    if (value.stopReason !== 'end_turn') throw new Error(`the turn ended with ${value.stopReason}`);
    return { ms };
  },
  tally: async () => sum,
  close,
});
