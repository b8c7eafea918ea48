/** Two processes race to resume and approve the same runs: for each run one wins, and the other does nothing. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { sqliteStore } from '../../src/stores/sqlite.ts';
import type { RunHead } from '../../src/stores/store.ts';
import { newFolder } from './play.ts';
import type { RaceOrder } from './processes/racer.ts';
import { programs } from './programs.ts';
import { raceAgent } from './race-agent.ts';
import { type RaceNote, readRaceNotes } from './race-notes.ts';
import { storeIn } from './world-file.ts';

const racers = ['one', 'two'] as const;
/** What a loser may be told. A run that its winner has ended already takes no more words. */
const refusals = ['run_locked', 'stale_snapshot', 'run_finished', 'not_awaiting'];

export interface Race {
  readonly problems: readonly string[];
  /** How many calls each racer carried out, and how often each was refused. */
  readonly won: readonly number[];
  readonly lost: readonly number[];
}

async function raceFor(runs: number): Promise<Race> {
  const folder = newFolder();
  const runIds = Array.from({ length: runs }, (_, index) => `run-${index}`);
  await leaveWaiting(storeIn(folder), runIds);
  // The second one takes each two runs the other way round: whoever is ahead, both come first to some.
  const swapped = runIds.map((runId, index) => runIds[index ^ 1] ?? runId);
  const orders = racers.map((racer, index): RaceOrder => {
    return { folder, path: storeIn(folder), racer, runIds: index === 0 ? runIds : swapped };
  });
  const exits = await race(orders);
  const notes = readRaceNotes(folder);
  const heads = await headsIn(storeIn(folder), runIds);
  const problems = [...exits, ...raceProblems(runIds, notes, heads)];
  if (problems.length === 0) rmSync(folder, { recursive: true, force: true });
  const countOf = (what: RaceNote['what']) =>
    racers.map(
      (racer) => notes.filter((note) => note.racer === racer && note.what === what).length,
    );
  return { problems, won: countOf('sent'), lost: countOf('refused') };
}

/** A race that one of them wins alone, as the other one was late, proves little: there is another one then. */
export async function contestedRace(runs: number): Promise<Race> {
  const each = await raceFor(runs);
  const isContested = Math.min(...each.won, ...each.lost) > 0;
  return isContested || each.problems.length > 0 ? each : raceFor(runs);
}

/** Runs that wait for a person, and that nobody holds. */
async function leaveWaiting(path: string, runIds: readonly string[]): Promise<void> {
  const store = sqliteStore(path);
  const agent = raceAgent(store, () => {
    throw new Error('Nobody has approved anything.');
  });
  await Promise.all(
    runIds.map(async (runId) => {
      const run = agent.start('Send it.', { runId });
      await run.idle();
      await run.suspend();
    }),
  );
  await store.close();
}

async function race(orders: readonly RaceOrder[]): Promise<readonly string[]> {
  const script = await programs.scriptOf('racer');
  const children = orders.map((order) =>
    spawn(process.execPath, [script, JSON.stringify(order)], {
      stdio: ['pipe', 'pipe', 'inherit'],
    }),
  );
  const ends = children.map((child) => endOf(child));
  await Promise.all(children.map((child) => once(child.stdout, 'data')));
  for (const child of children) child.stdin.end('go\n');
  return (await Promise.all(ends)).flat();
}

const raceTimeoutMs = 180_000;

function endOf(child: ChildProcess): Promise<readonly string[]> {
  const late = setTimeout(() => child.kill('SIGKILL'), raceTimeoutMs);
  return new Promise((resolve) => {
    child.on('close', (code, signal) => {
      clearTimeout(late);
      resolve(code === 0 ? [] : [`a racer ended with ${code ?? signal}`]);
    });
  });
}

async function headsIn(
  path: string,
  runIds: readonly string[],
): Promise<readonly (RunHead | undefined)[]> {
  const store = sqliteStore(path);
  const saved = await Promise.all(runIds.map((runId) => store.load(runId)));
  await store.close();
  return saved.map((run) => run?.head);
}

function raceProblems(
  runIds: readonly string[],
  notes: readonly RaceNote[],
  heads: readonly (RunHead | undefined)[],
): readonly string[] {
  const odd = notes.flatMap((note) =>
    note.what === 'refused' && !refusals.includes(note.code)
      ? [`${note.runId}: ${note.racer} was told ${note.code}`]
      : [],
  );
  const each = runIds.flatMap((runId, index) => {
    const sent = notes.filter(
      (note) => note.what === 'sent' && note.callKey.startsWith(`${runId}/`),
    ).length;
    const status = heads[index]?.status;
    return [
      ...(sent === 1 ? [] : [`${runId}: its mail was sent ${sent} times`]),
      ...(status === 'completed' ? [] : [`${runId}: it is ${status}`]),
    ];
  });
  return [...odd, ...each];
}
