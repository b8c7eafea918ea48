/** Plays the corpus of agent-loop failures: `npm run conformance -- [DIR…] [--case ID] [--report FILE]`. */
import { existsSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { floorProblems, folderProblems } from './floors.ts';
import { type Folder, loadFolder } from './load-case.ts';
import type { Verdict } from './play.ts';
import { playFolder } from './play-all.ts';
import { programs } from './programs.ts';

const ownFolder = fileURLToPath(new URL('../corpus', import.meta.url));

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { case: { type: 'string' }, report: { type: 'string' } },
});

const verdicts: Verdict[] = [];
const problems: string[] = [];
for (const folder of positionals.length > 0 ? positionals : [ownFolder]) {
  if (!existsSync(folder)) {
    problems.push(`${folder}: there is no such folder`);
    continue;
  }
  const wanted = onlyCase(loadFolder(folder), values.case);
  const played = await playFolder(wanted, { onVerdict: print });
  problems.push(...folderProblems(folder, played));
  verdicts.push(...played);
}
await programs.remove();
if (positionals.length === 0 && values.case === undefined)
  problems.push(...floorProblems(verdicts));
if (values.report !== undefined) {
  writeFileSync(values.report, `${JSON.stringify({ verdicts, problems }, null, 2)}\n`);
}
for (const problem of problems) console.log(`FAIL  ${problem}`);
const count = (kind: Verdict['kind']): number =>
  verdicts.filter((verdict) => verdict.kind === kind).length;
const failed = count('failed') + problems.length;
console.log(`${count('passed')} passed, ${failed} failed, ${count('skipped')} skipped`);
// What a case left hanging, as a tool that never returns, must not keep the process.
process.exit(failed > 0 ? 1 : 0);

function onlyCase(folder: Folder, id: string | undefined): Folder {
  if (id === undefined) return folder;
  return {
    cases: folder.cases.filter((kase) => kase.id === id || kase.id.startsWith(`${id}-`)),
    recordings: folder.recordings.filter((recording) => `wire/${recording.id}` === id),
    unreadable: [],
  };
}

function print({ id, mode, kind, reasons, durationMs }: Verdict): void {
  const label = kind === 'passed' ? 'ok  ' : kind === 'failed' ? 'FAIL' : 'skip';
  const why = kind === 'skipped' ? `: ${reasons.join(', ')}` : ` (${durationMs} ms)`;
  console.log(`${label}  ${id} ${mode}${why}`);
  if (kind === 'failed') for (const reason of reasons) console.log(`        ${reason}`);
}
