import type { RunSummary } from '../stores/store.ts';
import { exitCodes } from './exit-code.ts';
import { jsonLine } from './json-line.ts';
import type { Paint } from './paint.ts';
import { shortId } from './run-id.ts';
import { exitLine } from './screen.ts';
import { countOf, styleOfEnd } from './show-run.ts';
import { cutForDisplay, formatAge, showLine } from './show-text.ts';
import { type StorePlace, withStore } from './store-file.ts';
import { type Cell, type Column, tableLines } from './table.ts';
import type { Terminal } from './terminal.ts';

export interface RunsOptions {
  readonly store: string;
  readonly status?: readonly RunSummary['status'][];
  readonly tag?: string;
  readonly limit: number;
  readonly json?: true;
}

/** `pawl runs`: what the store keeps, newest first. @throws PawlError `invalid_input`, `store_failed` */
export async function runsCommand(
  { status, tag, limit, json }: RunsOptions,
  terminal: Terminal,
  place: StorePlace,
): Promise<number> {
  const query = { limit, ...(status && { status }), ...(tag !== undefined && { tag }) };
  const page = await withStore(place, (store) => store.list(query));
  const reason = `${countOf(page.runs.length, 'run')} in ${place.file}.`;
  if (json) {
    for (const run of page.runs) terminal.write(jsonLine({ type: 'run', ...run }));
    for (const runId of page.damaged) terminal.write(jsonLine({ type: 'run.damaged', runId }));
    terminal.write(exitLine({ code: exitCodes.completed, reason, result: null, pending: [] }));
    return exitCodes.completed;
  }
  if (page.runs.length === 0) terminal.say(`  No such run in ${showLine(place.file)}.`);
  else
    for (const line of runLines(page.runs, Date.now(), terminal.dataPaint))
      writeLine(terminal, line);
  const { say, paint } = terminal;
  if (page.next !== null)
    say(`  ${paint('dim', `There are more: pawl runs --limit ${limit * 2}`)}`);
  for (const runId of page.damaged)
    say(`  ${paint('bad', '✗')} ${showLine(runId)} is damaged and can't be read.`);
  return exitCodes.completed;
}

const writeLine = (terminal: Terminal, line: string): void => terminal.write(`${line}\n`);

const columns: readonly Column[] = [
  { head: 'RUN' },
  { head: 'STATUS' },
  { head: 'STATE' },
  { head: 'TURN', isRight: true },
  { head: 'AGENT' },
  { head: 'AGE', isRight: true },
  { head: 'WAITS FOR' },
];

/** The table of runs. Age is the time since the last save. */
export const runLines = (
  runs: readonly RunSummary[],
  nowMs: number,
  paint: Paint,
): readonly string[] =>
  tableLines(
    columns,
    runs.map((run) => rowOf(run, nowMs)),
    paint,
  );

const rowOf = (run: RunSummary, nowMs: number): readonly Cell[] => [
  ['bold', shortId(run.runId)],
  [styleOfEnd(run.status), run.status],
  showLine(run.state),
  String(run.turn),
  short(run.agent ?? ''),
  formatAge(nowMs - run.updatedAtMs),
  waitsLine(run),
];

const short = (text: string): string =>
  showLine(cutForDisplay(text, { maxChars: 30, maxLines: 1 }));

/** `approval of send_mail, approval of delete_file`, or what else a run waits for. */
export function waitsLine({ waits }: Pick<RunSummary, 'waits'>): string {
  const shown = waits
    .slice(0, 3)
    .map((wait) =>
      wait.tool === null ? plainWaits[wait.for] : `${wait.for} of ${short(wait.tool)}`,
    );
  const more = waits.length - shown.length;
  return [...shown, ...(more > 0 ? [`${more} more`] : [])].join(', ');
}

const plainWaits = {
  approval: 'an approval',
  settlement: 'a settlement',
  budget: 'a higher limit',
  resume: 'being resumed',
} as const;
