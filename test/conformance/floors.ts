import type { Verdict } from './play.ts';

/** The project's own corpus is larger than this. A check that plays less has lost something on the way. */
const floors = { casePlays: 120, recordings: 12 } as const;

export function floorProblems(verdicts: readonly Verdict[]): readonly string[] {
  const passed = verdicts.filter(({ kind }) => kind === 'passed');
  const recordings = passed.filter(({ id }) => id.startsWith('wire/')).length;
  return [
    ...tooFew('plays of cases', passed.length - recordings, floors.casePlays),
    ...tooFew('recordings', recordings, floors.recordings),
  ];
}

const tooFew = (what: string, count: number, least: number): readonly string[] =>
  count < least ? [`only ${count} ${what} passed, at least ${least} must`] : [];
