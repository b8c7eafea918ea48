/** Makes a thousand runs in this process, and prints what is left of them as JSON. Needs `node --expose-gc`. */
import { getEventListeners } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Agent, anthropic, createAgent, type Message, type Model } from 'pawl';
import { scriptedModel, startScriptedServer } from 'pawl/testing';
import { accompany, isDeafTo, type Kind, kinds, replyTo, tools } from './kinds.ts';

/** What `leaks.test.ts` reads. */
export interface Leftovers {
  /** Kinds of runs and how they ended, and how many did. */
  readonly ends: Readonly<Record<string, number>>;
  readonly overLoopback: number;
  readonly warnings: readonly string[];
  readonly unhandled: readonly string[];
  /** What keeps the process alive in the end and did not before, by its kind; each as often as it is new. */
  readonly newResources: readonly string[];
  /** At most at once, so that none in the end means something. */
  readonly mostListeners: number;
  readonly listenersAfter: number;
  readonly runsAfter: number;
  readonly heapAfterWarmUp: number;
  readonly heapAfter: number;
}

const warmUpRuns = 200;
const allRuns = 1_000;
const atOnce = 25;
/** One in so many goes over the loopback server, through the SDK. */
const loopbackEvery = 16;
const mostTurnsToSettle = 20_000;

const warnings: string[] = [];
const unhandled: string[] = [];
process.on('warning', (warning) => warnings.push(String(warning)));
process.on('unhandledRejection', (reason) => unhandled.push(String(reason)));
process.on('uncaughtException', (error) => unhandled.push(String(error)));

const user = new AbortController();
const ends = new Map<string, number>();
const made: WeakRef<object>[] = [];
let overLoopback = 0;
let mostListeners = 0;

const agentOf = (model: Model): Agent =>
  createAgent({
    model,
    tools,
    retry: { maxRetries: 1, baseMs: 1 },
    // Arms the meter's timer in every run.
    budget: { maxActiveMs: 600_000, maxTurns: 5 },
  });

/** Keeps no requests, other than one scripted model for all runs would. */
const shared: Model = {
  ...scriptedModel([]),
  call: (request, options) =>
    isDeafTo(request.messages)
      ? new Promise(() => {})
      : scriptedModel(() => replyTo(request.messages)).call(request, options),
};
const inProcess = agentOf(shared);

const listenersNow = (): number => getEventListeners(user.signal, 'abort').length;

async function play(agent: Agent, kind: Kind): Promise<void> {
  const run = agent.start(kind, { signal: user.signal });
  made.push(new WeakRef(run));
  mostListeners = Math.max(mostListeners, listenersNow());
  await accompany(run, kind);
  const result = await run.result;
  made.push(new WeakRef(result));
  const end = `${kind}: ${result.status}`;
  ends.set(end, (ends.get(end) ?? 0) + 1);
}

/** Runs number `from` up to `to`, some at once. */
async function playMany(from: number, to: number): Promise<void> {
  const server = await startScriptedServer(({ body }) =>
    replyTo(body.messages as unknown as readonly Message[]),
  );
  const loopback = agentOf(
    anthropic('claude-haiku-4-5', { apiKey: 'unused', baseURL: server.url }),
  );
  for (let start = from; start < to; start += atOnce) {
    const numbers = Array.from(
      { length: Math.min(atOnce, to - start) },
      (_, index) => start + index,
    );
    await Promise.all(
      numbers.map((number) => {
        const isLoopback = number % loopbackEvery === 0;
        if (isLoopback) overLoopback += 1;
        return play(isLoopback ? loopback : inProcess, kinds[number % kinds.length] ?? kinds[0]);
      }),
    );
  }
  await server.close();
}

const resourcesNow = (): readonly string[] => process.getActiveResourcesInfo();

/** What a loader may still be busy with when a program begins. As a baseline it would hide what a run leaves behind. */
const passing = new Set(['FSReqPromise', 'FSReqCallback', 'ConnectWrap', 'Immediate', 'Timeout']);

/** Gives what ends by itself, as sockets do, some turns of the event loop to be gone. */
async function settle(leftNow: () => readonly string[]): Promise<readonly string[]> {
  for (let turn = 0; turn < mostTurnsToSettle && leftNow().length > 0; turn += 1) await nextTurn();
  return leftNow();
}

/** The kinds that are there now more often than before. */
function newSince(before: readonly string[]): readonly string[] {
  const known = [...before];
  return resourcesNow().filter((kind) => {
    const index = known.indexOf(kind);
    if (index >= 0) known.splice(index, 1);
    return index < 0;
  });
}

async function heapNow(): Promise<number> {
  for (let round = 0; round < 5; round += 1) {
    await nextTurn();
    globalThis.gc?.();
  }
  return process.memoryUsage().heapUsed;
}

async function main(): Promise<void> {
  const resourcesBefore = resourcesNow().filter((kind) => !passing.has(kind));
  const settled = (): Promise<readonly string[]> => settle(() => newSince(resourcesBefore));
  await playMany(0, warmUpRuns);
  await settled();
  const heapAfterWarmUp = await heapNow();
  await playMany(warmUpRuns, allRuns);
  const newResources = await settled();
  const heapAfter = await heapNow();
  const leftovers: Leftovers = {
    ends: Object.fromEntries(ends),
    overLoopback,
    warnings,
    unhandled,
    newResources,
    mostListeners,
    listenersAfter: listenersNow(),
    runsAfter: made.filter((reference) => reference.deref() !== undefined).length,
    heapAfterWarmUp,
    heapAfter,
  };
  console.log(JSON.stringify(leftovers));
}

await main();
