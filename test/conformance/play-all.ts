import type { Case, Folder, Mode } from './load-case.ts';
import { playCase, type Verdict } from './play.ts';
import { programs } from './programs.ts';
import { needsProcesses } from './stage.ts';
import { loadClient, playRecording } from './wire.ts';

const defaultConcurrency = 4;
const processConcurrency = 2;

/**
 * Plays everything in a folder, several plays at a time. Some are played by
 * themselves; so are, once more, those in whose time something happened in it.
 */
export async function playFolder(
  folder: Folder,
  { concurrency = defaultConcurrency, onVerdict = (_verdict: Verdict): void => {} } = {},
): Promise<readonly Verdict[]> {
  await loadClient();
  const plays = playsOf(folder);
  if (plays.some(({ kase }) => needsProcesses(kase))) await programs.scriptOf('host');
  const played = (group: Group, atOnce: number): Promise<readonly Played[]> =>
    playMany(
      plays.filter(({ kase }) => groupOf(kase) === group),
      atOnce,
    );
  // Processes that begin take the time that streams of others are measured by.
  const inCompany = await played('inCompany', concurrency);
  const inProcesses = await played('inProcesses', processConcurrency);
  const alone = await played('alone', 1);
  const others = [...inProcesses, ...alone].map(({ verdict }) => verdict);
  const verdicts = [...(await withoutSuspicion(inCompany)), ...others];
  for (const recording of folder.recordings) verdicts.push(await playRecording(recording));
  verdicts.push(...folder.unreadable.map(unreadable));
  verdicts.sort((a, b) => (a.id < b.id ? -1 : a.id > b.id ? 1 : 0));
  for (const verdict of verdicts) onVerdict(verdict);
  return verdicts;
}

export interface Play {
  readonly kase: Case;
  readonly mode: Mode;
}

/** Each case in each of its modes. One that names no mode is tried in one, so that it fails on its own. */
export const playsOf = ({ cases }: Folder): readonly Play[] =>
  cases.flatMap((kase) => {
    const { modes } = kase.script as { readonly modes?: unknown };
    const named: readonly Mode[] = Array.isArray(modes) && modes.length > 0 ? modes : ['json'];
    return named.map((mode) => ({ kase, mode }));
  });

interface Played extends Play {
  readonly verdict: Verdict;
}

async function playMany(plays: readonly Play[], concurrency: number): Promise<readonly Played[]> {
  const waiting = [...plays];
  const played: Played[] = [];
  const work = async (): Promise<void> => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      played.push({ ...next, verdict: await playCase(next.kase, next.mode) });
    }
  };
  await Promise.all(Array.from({ length: concurrency }, work));
  return played;
}

/** Looks at the process as a whole, measures time, or takes a great many turns of the event loop. */
const solitary = [
  ...['objectPrototypePolluted', 'durationMs', 'gapMs', 'runTimeoutMs', 'splitBytes'],
];

type Group = 'inCompany' | 'inProcesses' | 'alone';

function groupOf(kase: Case): Group {
  const words = JSON.stringify([kase.script, kase.expect]);
  if (solitary.some((word) => words.includes(`"${word}"`))) return 'alone';
  return needsProcesses(kase) ? 'inProcesses' : 'inCompany';
}

/** Trouble in company may be anybody's. The one that makes it also when alone is guilty, if there is one. */
async function withoutSuspicion(played: readonly Played[]): Promise<readonly Verdict[]> {
  const suspects = played.filter(({ verdict }) => verdict.isTroubled);
  const again = await playMany(suspects, 1);
  if (!again.some(({ verdict }) => verdict.isTroubled)) return played.map(({ verdict }) => verdict);
  const others = played.filter(({ verdict }) => !verdict.isTroubled);
  return [...others, ...again].map(({ verdict }) => verdict);
}

const unreadable = ({ id, problem }: Folder['unreadable'][number]): Verdict => ({
  id,
  mode: 'file',
  kind: 'failed',
  reasons: [problem],
  durationMs: 0,
  isTroubled: false,
  killCount: 0,
});
