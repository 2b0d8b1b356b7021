// Drives AgentOS: node agentos.mjs FOLDER [AGENT]. FOLDER is where npm installed
// it, AGENT the agent's package; databases go to $HOME. Without AGENT it only
// looks whether AgentOS is there and its sidecar starts.
import { createRequire } from 'node:module';
import { statSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { clock, serve } from './serve.mjs';

const [folder, agent] = process.argv.slice(2);
const require = createRequire(path.join(folder, 'package.json'));
const { AgentOs } = await import(pathToFileURL(require.resolve('@rivet-dev/agentos-core')));

const home = process.env.HOME, sessionId = 'main';
const sidecar = await AgentOs.createSidecar();
// Without the default software, which is four times as quick to create.
const create = (file) => AgentOs.create({
  sidecar: { kind: 'explicit', handle: sidecar },
  database: { type: 'sqlite_file', path: path.join(home, file) },
  software: agent ? [{ packagePath: agent }] : [],
  defaultSoftware: false,
});
const open = (vm) => vm.sessions.open({ sessionId, agent: 'trivial' });
const prompt = (vm, text) => vm.sessions.prompt({ sessionId, content: [{ type: 'text', text }] });

const vm = await create('vm.db');
if (!agent) {
  await vm.dispose();
  await sidecar.dispose();
  process.exit(0);
}
await open(vm);
let others = 0;

async function tally() {
  const sum = { text: 0, calls: 0, events: 0 };
  for (let after = 0, more = true; more; ) {
    const page = await vm.sessions.readHistory({ sessionId, after, limit: 1000 });
    for (const event of page.events) {
      if (event.type === 'agent_message_chunk') sum.text += event.content.text.length;
      if (event.type === 'tool_call') sum.calls++;
      after = event.sequence;
    }
    sum.events += page.events.length;
    more = page.hasMoreAfter && page.events.length > 0;
  }
  return sum;
}

await serve({
  async prompt({ text }) {
    const { ms, value } = await clock(() => prompt(vm, text));
    if (value.stopReason !== 'end_turn') throw new Error(`the turn ended with ${value.stopReason}`);
    return { ms };
  },
  async fresh({ text }) {
    const created = await clock(() => create(`other-${++others}.db`));
    try {
      const first = await clock(async () => { await open(created.value); await prompt(created.value, text); });
      return { createMs: created.ms, ms: created.ms + first.ms };
    } finally {
      await created.value.dispose();
    }
  },
  async page({ after, limit }) {
    const { ms, value } = await clock(() => vm.sessions.readHistory({ sessionId, after, limit }));
    return { ms, events: value.events.length };
  },
  // What a write-ahead log or a journal holds is part of the database.
  async bytes() {
    const size = (suffix) => statSync(path.join(home, 'vm.db' + suffix), { throwIfNoEntry: false })?.size ?? 0;
    return { bytes: size('') + size('-wal') + size('-journal') };
  },
  tally,
  async close() {
    await vm.dispose();
    await sidecar.dispose();
  },
});
