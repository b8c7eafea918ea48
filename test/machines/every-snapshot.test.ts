/** A run can die at any moment, also in the middle of a transition, and be taken up from what was saved last. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { createActor, toPromise } from 'xstate';
import { historyProblems, repairHistory } from '../../src/core/history.ts';
import { committed } from '../../src/core/ledger.ts';
import type { RunContext } from '../../src/core/run-context.ts';
import { createLivingAgent, disturb, liveOn, newWorld, playPerson, type World } from './lives.ts';

interface Moment {
  readonly saved: string;
  /** The world when the process died: just before anything else could be saved. */
  readonly world: World;
}

/** Lives once to the end, and tells every snapshot that it could have been saved as. */
async function liveOnce(): Promise<{ readonly text: string; readonly moments: readonly Moment[] }> {
  const world = newWorld();
  const agent = createLivingAgent(world);
  const moments = new Map<string, Moment>();
  let last: string | null = null;
  const look = (): void => {
    const saved = JSON.stringify(run?.getPersistedSnapshot());
    if (last !== null) moments.set(last, { saved: last, world: copyOf(world) });
    last = saved ?? null;
  };
  let run: ReturnType<typeof createActor<typeof agent.machine>> | undefined;
  run = createActor(agent.machine, {
    input: agent.input('Go.', { runId: 'run_1' }),
    inspect: look,
  });
  run.subscribe(look);
  disturb(run);
  playPerson(run);
  run.start();
  const { text } = await toPromise(run);
  look();
  look();
  return { text, moments: [...moments.values()] };
}

const copyOf = ({ begun, wasBusy }: World): World => ({ begun: [...begun], wasBusy });

/** Names of the states that a saved run and its children are in. */
function statesIn(saved: unknown): readonly string[] {
  const { value, children = {} } = saved as {
    readonly value?: unknown;
    readonly children?: Record<string, { readonly src: string; readonly snapshot: unknown }>;
  };
  const own = typeof value === 'string' ? [value] : leavesOf(value);
  return [...own, ...Object.values(children).flatMap(({ snapshot }) => statesIn(snapshot))];
}

function leavesOf(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value];
  return Object.values((value ?? {}) as object).flatMap(leavesOf);
}

/** What is wrong with the end of a run that died once. */
function problemsOf(context: RunContext, { begun }: World): readonly string[] {
  const { limits, reserved } = context.ledger;
  const { turns, costMicros } = committed(context.ledger);
  const twice = begun.filter((id, index) => /^(push|mail)/.test(id) && begun.indexOf(id) !== index);
  return [
    ...historyProblems(repairHistory(context.messages)).map(({ problem }) => problem),
    ...(context.status === 'completed' ? [] : [`it ended as ${context.status}`]),
    ...(turns <= (limits.maxTurns ?? 0) ? [] : ['too many turns']),
    ...(costMicros <= (limits.maxCostMicros ?? 0) ? [] : ['too much money']),
    ...reserved.map(({ id }) => `${id} is still reserved`),
    ...twice.map((id) => `${id} began twice`),
    ...(begun.some((id) => id.startsWith('wipe')) ? ['what was denied began'] : []),
  ];
}

describe('a run that died', () => {
  it('ends the same from every snapshot there is', async () => {
    const { text, moments } = await liveOnce();
    expect(text).toBe('All is done.');
    expect(moments.length).toBeGreaterThanOrEqual(40);
    const seen = new Set(moments.flatMap(({ saved }) => statesIn(JSON.parse(saved))));
    expect([...seen]).toEqual(expect.arrayContaining([...mainStates]));

    const failures = await Promise.all(moments.map(failureOf));
    expect(failures.flat()).toEqual([]);
    console.log(`every-snapshot: ${moments.length} snapshots, in ${[...seen].sort().join(', ')}`);
  }, 120_000);
});

const mainStates = [
  ...['callModel', 'compactContext', 'working', 'waiting', 'awaitBudget', 'paused', 'completed'],
  ...['validate', 'checkPermission', 'awaitApproval', 'awaitSlot', 'run', 'settled'],
  ...['attempt', 'backOff'],
];

async function failureOf({ saved, world }: Moment): Promise<readonly string[]> {
  const where = statesIn(JSON.parse(saved)).join(', ');
  try {
    const { context, output } = (await liveOn(world, JSON.parse(saved))).getSnapshot();
    const problems = problemsOf(context, world);
    const all = output?.text === 'All is done.' ? problems : [...problems, 'another answer'];
    return all.map((problem) => `${where}: ${problem}`);
  } catch (error) {
    return [`${where}: ${String(error)}`];
  }
}

describe('two processes', () => {
  const script = (name: string): string =>
    fileURLToPath(new URL(`./processes/${name}.ts`, import.meta.url));

  async function runProcess(name: string, input: string): Promise<unknown> {
    const running = promisify(execFile)(process.execPath, ['--import', 'tsx', script(name)]);
    running.child.stdin?.end(input);
    return JSON.parse((await running).stdout);
  }

  it('carry one run: the second takes up what the first left waiting for a person', async () => {
    const first = await runProcess('first-life', '');
    expect(first).toMatchObject({
      snapshot: { status: 'active', value: { active: { executeTools: 'waiting' } } },
      world: { begun: expect.arrayContaining(['push_1']) },
    });
    const second = await runProcess('second-life', JSON.stringify(first));
    const { context, text, world } = second as {
      readonly context: RunContext;
      readonly text: string;
      readonly world: World;
    };
    expect(text).toBe('All is done.');
    expect(problemsOf(context, world)).toEqual([]);
    expect(world.begun.toSorted()).toEqual(['keep_1', 'look_1', 'mail_1', 'push_1']);
  }, 60_000);
});
