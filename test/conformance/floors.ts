import type { Verdict } from './play.ts';

/** The project's own corpus is larger than this. A check that plays less has lost something on the way. */
const floors = { casePlays: 145, recordings: 12, kills: 19 } as const;

/** Nobody should take a folder for met of which nothing was played. */
export const folderProblems = (folder: string, verdicts: readonly Verdict[]): readonly string[] => {
  if (verdicts.length === 0) return [`${folder}: there is nothing to play`];
  return verdicts.every(({ kind }) => kind === 'skipped')
    ? [`${folder}: nothing was played, all of it was skipped`]
    : [];
};

export function floorProblems(verdicts: readonly Verdict[]): readonly string[] {
  const passed = verdicts.filter(({ kind }) => kind === 'passed');
  const kills = passed.reduce((sum, { killCount }) => sum + killCount, 0);
  const recordings = passed.filter(({ id }) => id.startsWith('wire/')).length;
  return [
    ...tooFew('plays of cases', passed.length - recordings, floors.casePlays),
    ...tooFew('recordings', recordings, floors.recordings),
    ...tooFew('kills of processes', kills, floors.kills),
  ];
}

const tooFew = (what: string, count: number, least: number): readonly string[] =>
  count < least ? [`only ${count} ${what} passed, at least ${least} must`] : [];
