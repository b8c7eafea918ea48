/** What it costs that a run survives everything: bytes on the disk, time of a turn, time to load. Printed as ratios. */
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  createAgent,
  defineTool,
  type Message,
  type Model,
  memoryStore,
  type Run,
  type RunResult,
  type Store,
  sqliteStore,
} from 'pawl';
import { noUsage } from '../src/core/reply.ts';
import { connect } from '../src/stores/sqlite-connection.ts';
import { loadDriver } from '../src/stores/sqlite-driver.ts';

const folder = mkdtempSync(join(tmpdir(), 'pawl-durable-'));
let files = 0;
function newPath(): string {
  files += 1;
  return join(folder, `${files}.db`);
}

/** A text of so many bytes that does not compress to nothing by being the same each time. */
const textOf = (sizeBytes: number, number: number): string =>
  `${number} `.padEnd(sizeBytes, 'result of the look up. ');

/** Answers at once, and looks at nothing but the length of the history: what it takes must not count. */
const modelFor = (turns: number, tools: number): Model => ({
  id: 'quick',
  provider: 'bench',
  price: null,
  maxOutputTokens: 1_024,
  minOutputTokens: 16,
  contextWindow: null,
  async call({ messages }) {
    const turn = (messages.length + 1) / 2;
    const text = { type: 'text', text: turn < turns ? `Turn ${turn}.` : 'Done.' } as const;
    const uses = Array.from({ length: turn < turns ? tools : 0 }, (_, index) => ({
      type: 'tool_use' as const,
      id: `call_${turn}_${index}`,
      name: 'look',
      input: { page: turn },
    }));
    return {
      content: [text, ...uses],
      stopReason: uses.length > 0 ? 'tool_use' : 'end_turn',
      rawStopReason: null,
      usage: { ...noUsage, inputTokens: 10, outputTokens: 10 },
      model: 'quick',
    };
  },
});

/** A run of so many turns: tools in each but the last. */
function agentFor(store: Store, turns: number, tools: number, resultBytes: number) {
  const look = defineTool({
    name: 'look',
    description: 'Looks it up.',
    input: { type: 'object', properties: { page: { type: 'number' } } },
    effect: 'read',
    repeatable: true,
    run: (_input, { callId }) => textOf(resultBytes, callId.length),
  });
  const model = modelFor(turns, tools);
  return createAgent({
    model,
    tools: [look],
    budget: { maxTurns: turns + 1 },
    store,
    streams: false,
  });
}

async function completed({ result }: Run): Promise<RunResult> {
  const done = await result;
  if (done.status === 'completed') return done;
  throw new Error(`The run ended as ${done.status}: ${done.reason}`);
}

const sizeBytesOf = (path: string): number =>
  readdirSync(folder)
    .filter((name) => join(folder, name).startsWith(path))
    .reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);

async function play(path: string, turns: number, tools: number, resultBytes: number) {
  const store = sqliteStore(path);
  const agent = agentFor(store, turns, tools, resultBytes);
  const { messages } = await completed(agent.start('Look it up.', { runId: 'run' }));
  await store.close();
  return { messages, chatBytes: Buffer.byteLength(JSON.stringify(messages)) };
}

async function measureGrowth(): Promise<void> {
  for (const tools of [1, 4]) {
    const ratios: string[] = [];
    for (const turns of [80, 250, 1_000]) {
      const path = newPath();
      const { chatBytes } = await play(path, turns, tools, 1_024);
      const size = sizeBytesOf(path);
      ratios.push(
        `${turns} turns ${(size / chatBytes).toFixed(2)} × (${Math.round(size / 1_024)} KB)`,
      );
    }
    console.log(`stored, ${tools} tools a turn, as a multiple of the chat: ${ratios.join(', ')}`);
  }
}

const cpuMs = (): number => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
};

/** What a turn takes at least: the same writes into the same kind of file by hand, a row for each message and state. */
async function journal(path: string, messages: readonly Message[]): Promise<number> {
  const connection = connect(await loadDriver(), path);
  connection.get('PRAGMA journal_mode = WAL');
  connection.exec('PRAGMA synchronous = FULL');
  connection.exec('CREATE TABLE journal (id INTEGER PRIMARY KEY, kind TEXT, value TEXT)');
  const start = cpuMs();
  for (const message of messages) {
    const text = JSON.stringify(message);
    const write = (kind: string, value: string): void =>
      void connection.transaction(() =>
        connection.run('INSERT INTO journal (kind, value) VALUES (?, ?)', kind, value),
      );
    // Before a model call or tools, what is about to be done; with their outcome, the message.
    write('intent', JSON.stringify({ role: message.role, at: messages.length }));
    write('message', text);
  }
  const spent = cpuMs() - start;
  connection.close();
  return spent;
}

async function measureTurns(): Promise<void> {
  const turns = 200;
  const ratios: number[] = [];
  for (let round = 0; round < 8; round += 1) {
    const store = sqliteStore(newPath());
    const agent = agentFor(store, turns, 2, 200);
    const start = cpuMs();
    const { messages } = await completed(agent.start('Look it up.'));
    const spent = cpuMs() - start;
    await store.close();
    const before = cpuMs();
    await completed(agentFor(memoryStore(), turns, 2, 200).start('Look it up.'));
    const inMemory = cpuMs() - before;
    const byHand = await journal(newPath(), messages);
    // The first rounds warm up: they take as long to compile the loop as to run it.
    if (round > 2) ratios.push(spent / byHand);
    if (round > 2) {
      console.log(
        `one run, 2 tools a turn: ${(spent / turns).toFixed(2)} ms CPU a turn, in memory ${(inMemory / turns).toFixed(2)}, journal by hand ${(byHand / turns).toFixed(2)}: ${(spent / byHand).toFixed(1)} ×`,
      );
    }
  }
  console.log(`best ratio: ${Math.min(...ratios).toFixed(1)} ×`);
}

async function measureManyRuns(): Promise<void> {
  const [runs, turns] = [200, 10];
  for (let round = 0; round < 3; round += 1) {
    const store = sqliteStore(newPath());
    const agent = agentFor(store, turns, 2, 200);
    const startMs = performance.now();
    const start = cpuMs();
    await Promise.all(Array.from({ length: runs }, () => completed(agent.start('Look it up.'))));
    const seconds = (performance.now() - startMs) / 1_000;
    const cpu = (cpuMs() - start) / 1_000;
    await store.close();
    console.log(
      `${runs} runs at once: ${Math.round((runs * turns) / seconds)} turns/s, ${Math.round((runs * turns) / cpu)} turns per CPU second`,
    );
  }
}

async function measureLoading(): Promise<void> {
  const timeOf = async (turns: number): Promise<number> => {
    const path = newPath();
    await play(path, turns, 2, 1_024);
    const times: number[] = [];
    for (let round = 0; round < 5; round += 1) {
      const store = sqliteStore(path);
      await store.list();
      const agent = agentFor(store, turns, 2, 1_024);
      const start = performance.now();
      await completed(await agent.resume('run'));
      times.push(performance.now() - start);
      await store.close();
    }
    return Math.min(...times);
  };
  const [short, long] = [await timeOf(10), await timeOf(1_000)];
  console.log(
    `load and resume: 10 turns ${short.toFixed(1)} ms, 1,000 turns ${long.toFixed(1)} ms: ${(long - short).toFixed(1)} ms more`,
  );
}

async function measureSteps(): Promise<void> {
  const turns = 1_000;
  const store = sqliteStore(newPath());
  const marks: number[] = [];
  const timed: Store = {
    ...store,
    async save(steps) {
      const start = cpuMs();
      const refused = await store.save(steps);
      marks.push(cpuMs() - start);
      return refused;
    },
  };
  await completed(agentFor(timed, turns, 2, 1_024).start('Look it up.'));
  await store.close();
  const tenth = Math.floor(marks.length / 10);
  const mean = (times: readonly number[]): number =>
    times.reduce((sum, time) => sum + time, 0) / times.length;
  const [first, last] = [mean(marks.slice(tenth, 2 * tenth)), mean(marks.slice(-tenth))];
  console.log(
    `a save in the last tenth of ${turns} turns takes ${(last / first).toFixed(2)} × one in the second tenth (${(marks.length / turns).toFixed(1)} saves a turn)`,
  );
}

try {
  await measureTurns();
  await measureManyRuns();
  await measureSteps();
  await measureLoading();
  await measureGrowth();
} finally {
  rmSync(folder, { recursive: true, force: true });
}
