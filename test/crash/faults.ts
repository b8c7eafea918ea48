/** Lives whose disk fails them: nothing acknowledged is lost, nothing acts after a save that was refused, all can go on. */
import { rmSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { liveOnce } from './child.ts';
import { eachOf } from './each-of.ts';
import { endAll, judge, newFolder, newTrial, orderFor, type Trial } from './play.ts';
import { type Fault, nameOfFault, type Syscall, straced, tracedIn, whyNoStrace } from './strace.ts';
import { notesOf } from './world.ts';
import { readNotes } from './world-file.ts';

export interface FaultReport {
  readonly trials: readonly Trial[];
  /** Points at which a call failed on purpose, by the call. */
  readonly hits: Counts;
  /** How the lives ended whose disk failed. */
  readonly outcomes: readonly Outcome[];
}

/** `unharmed`: SQLite did without what failed, such as writing its log back early. */
type Outcome = 'run failed' | 'told otherwise' | 'unharmed' | 'not hit';

interface Hit {
  readonly fault: Fault;
  readonly trial: Trial;
  readonly outcome: Outcome;
}

export async function failDisk(
  count: number,
  expected: readonly unknown[],
  atOnce: number,
): Promise<FaultReport> {
  const faults = faultsFor(await countCalls('store'), count);
  const hits = await eachOf(faults, atOnce, (fault) => playFault(fault, expected));
  const judged = hits.map(({ trial }) => trial);
  const trials = await endAll(judged, expected);
  return { trials, hits: countHits(hits), outcomes: hits.map(({ outcome }) => outcome) };
}

/** Kills lives in the middle of calls of the disk, where no boundary of ours is, and lets all runs live on. */
export async function killInCalls(
  count: number,
  expected: readonly unknown[],
  atOnce: number,
): Promise<readonly Trial[]> {
  const kills = timesOf(await countCalls('anywhere'), count).map(
    ([syscall, time]): Fault => ({ syscall, time, brings: 'signal=SIGKILL', stays: false }),
  );
  const dead = await eachOf(kills, atOnce, async (fault) => {
    const trial = newTrial(nameOfFault(fault), 'wide');
    const under = straced(trial.folder, fault, 'anywhere');
    const { wasKilled, problem } = await liveOnce(orderFor([trial.folder], 'wide'), { under });
    return judge({ ...trial, kills: Number(wasKilled) }, problem);
  });
  return endAll(dead, expected);
}

/** Why no disk can be disturbed here; null when it can. */
export function whyNoFaults(): string | null {
  const folder = newFolder();
  const reason = whyNoStrace(folder);
  rmSync(folder, { recursive: true, force: true });
  return reason;
}

type Counts = ReadonlyMap<Syscall, number>;

/** How often a life makes each call that nothing disturbs. */
async function countCalls(where: 'store' | 'anywhere'): Promise<Counts> {
  const folder = newFolder();
  await liveOnce(orderFor([folder], 'wide'), { under: straced(folder, null, where) });
  const { counts } = tracedIn(folder);
  rmSync(folder, { recursive: true, force: true });
  return counts;
}

function countHits(hits: readonly Hit[]): Counts {
  const counts = new Map<Syscall, number>();
  for (const { fault, outcome } of hits) {
    if (outcome !== 'not hit') counts.set(fault.syscall, (counts.get(fault.syscall) ?? 0) + 1);
  }
  return counts;
}

/** Spread over a life: of each call that it makes, each error, once and for good. */
const faultsFor = (counts: Counts, count: number): readonly Fault[] =>
  timesOf(counts, count).map(([syscall, time], index) => ({
    syscall,
    time,
    brings: index % 2 ? 'error=ENOSPC' : 'error=EIO',
    stays: index % 4 > 1,
  }));

/** Calls by their times, spread evenly; one that is made seldom is taken twice each time, and the others more often. */
function timesOf(counts: Counts, count: number): readonly (readonly [Syscall, number])[] {
  const seldomFirst = [...counts].filter(([, made]) => made > 0).sort(([, a], [, b]) => a - b);
  let left = count;
  return seldomFirst.flatMap(([syscall, made], index) => {
    const wanted = Math.min(2 * made, Math.ceil(left / (seldomFirst.length - index)));
    left -= wanted;
    return Array.from(
      { length: wanted },
      (_, each) => [syscall, 1 + Math.floor((each * made) / wanted)] as const,
    );
  });
}

async function playFault(fault: Fault, expected: readonly unknown[]): Promise<Hit> {
  const trial = newTrial(nameOfFault(fault), 'wide');
  const under = straced(trial.folder, fault, 'store');
  const { problem } = await liveOnce(orderFor([trial.folder], 'wide'), { under });
  const judged = await judge(trial, problem);
  const { injected } = tracedIn(trial.folder);
  const { outcome, problems } = judgeFault(trial.folder, expected);
  return {
    fault,
    outcome: injected === 0 ? 'not hit' : outcome,
    trial: { ...judged, problems: [...judged.problems, ...problems] },
  };
}

const beginnings = ['model begun', 'tool begun'];

function judgeFault(
  folder: string,
  expected: readonly unknown[],
): { readonly outcome: Outcome; readonly problems: readonly string[] } {
  const notes = readNotes(folder);
  const refusedAt = notes.findIndex(({ what }) => what === 'refused');
  const end = notesOf(notes, 'ended').at(-1);
  if (refusedAt >= 0) {
    const begun = notes.slice(refusedAt).filter(({ what }) => beginnings.includes(what));
    const isTold = end?.status === 'failed' && end.error === 'store_failed';
    const odd = isTold ? [] : [`refused, it ended as ${end?.status}: ${end?.error}`];
    const late = begun.map((note) => `after the refusal: ${JSON.stringify(note)}`);
    return { outcome: 'run failed', problems: [...odd, ...late] };
  }
  if (notesOf(notes, 'trouble').length > 0) return { outcome: 'told otherwise', problems: [] };
  const isSame = end?.status === 'completed' && isDeepStrictEqual(end.messages, expected);
  return { outcome: 'unharmed', problems: isSame ? [] : [`it ended as ${end?.status}, silently`] };
}
