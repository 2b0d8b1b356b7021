// What the drivers share: requests as JSON lines on stdin, one answer line each
// on stdout, in order. The time of a piece of work is taken here, around the
// peer's own API, so that these lines are in no figure.
import readline from 'node:readline';

// The lines belong to the orchestrator: what a library prints goes elsewhere.
console.log = console.info = console.debug = console.error;

export const clock = async (work) => {
  const start = performance.now();
  const value = await work();
  return { ms: performance.now() - start, value };
};

// serve announces readiness, answers each {id, do, ...} with {answer: id, ...}
// by the handler of that name, and at the end of stdin closes and exits.
export async function serve(handlers) {
  const say = (line) => process.stdout.write(JSON.stringify(line) + '\n');
  say({ answer: 0 });
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const request = JSON.parse(line);
    try {
      say({ answer: request.id, ...(await handlers[request.do](request)) });
    } catch (error) {
      console.error(error);
      say({ answer: request.id, error: String(error?.message ?? error) });
    }
  }
  await handlers.close();
  process.exit(0);
}
