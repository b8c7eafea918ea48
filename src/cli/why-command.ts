import { invalidInput, PawlError } from '../core/errors.ts';
import { checkTurn } from '../runtime/stored-run.ts';
import type { Store } from '../stores/store.ts';
import { exitCodes } from './exit-code.ts';
import { jsonLine } from './json-line.ts';
import { type KnownRun, readRun } from './known-run.ts';
import type { Paint } from './paint.ts';
import { shortId } from './run-id.ts';
import { exitLine } from './screen.ts';
import { showLine, showProse } from './show-text.ts';
import { type StorePlace, withStore } from './store-file.ts';
import { type Column, tableLines } from './table.ts';
import type { Terminal } from './terminal.ts';
import { causeOf } from './timeline.ts';
import { type Awaited, type Decision, type Explanation, explain, explainTurn } from './why.ts';

export interface WhyOptions {
  readonly store: string;
  /** A turn: what was asked when it began. */
  readonly at?: number;
  readonly json?: true;
}

interface Told {
  readonly run: KnownRun;
  readonly explanation: Explanation;
  /** The event that the newest step followed. */
  readonly cause: string;
}

/** `pawl why`. @throws PawlError `unknown_run`, `invalid_input`, `snapshot_incompatible` */
export async function whyCommand(
  text: string,
  { at, json }: WhyOptions,
  terminal: Terminal,
  place: StorePlace,
): Promise<number> {
  const told = await withStore(place, (store) => explanationOf(store, text, at));
  const { run, explanation } = told;
  if (json) {
    const { state, turn } = run.saved.head;
    const asked = at === undefined ? { state, turn } : { turn: at };
    terminal.write(jsonLine({ type: 'why', runId: run.runId, ...asked, ...explanation }));
    const reason = `Run ${run.runId}.`;
    terminal.write(exitLine({ code: exitCodes.completed, reason, result: null, pending: [] }));
  } else {
    terminal.write(`${whyLines(told, at ?? null, terminal.dataPaint).join('\n')}\n`);
  }
  return exitCodes.completed;
}

async function explanationOf(store: Store, text: string, at: number | undefined): Promise<Told> {
  const run = await readRun(store, text);
  if (run.context === null) throw new PawlError('snapshot_incompatible', run.problem ?? '');
  const { state, turn } = run.saved.head;
  const steps = await store.steps(run.runId);
  const cause = steps.at(-1)?.cause ?? '';
  const kept = await store.loadTurn(run.runId, Math.max(1, at ?? turn));
  const begun = kept && checkTurn(kept);
  if (at === undefined) return { run, cause, explanation: explain(state, run.context, begun) };
  if (!begun) throw invalidInput('--at', `a turn that is kept (the run is at turn ${turn})`, at);
  return { run, cause, explanation: { before: explainTurn(begun), now: [], awaited: [] } };
}

/** The whole page. */
function whyLines(
  { run, explanation, cause }: Told,
  at: number | null,
  paint: Paint,
): readonly string[] {
  const { before, now, awaited } = explanation;
  const { state, turn } = run.saved.head;
  const where = at === null ? `turn ${turn} · ${showLine(state)}` : `when turn ${at} began`;
  return [
    `  ${paint('bold', showLine(shortId(run.runId)))} ${paint('dim', '·')} ${where}`,
    ...(before ? decisionLines(before, paint) : eventLines(run, cause, paint)),
    ...now.flatMap((decision) => decisionLines(decision, paint)),
    ...awaitedLines(awaited, paint),
  ];
}

/** No question led here, but an event. */
function eventLines({ context }: KnownRun, cause: string, paint: Paint): readonly string[] {
  const failure = context?.failure;
  return [
    '',
    `  ${paint('dim', '○')} came here when ${causeOf(cause)}`,
    ...(failure ? [`      ${showProse(failure.message)} (${failure.code})`] : []),
  ];
}

const plainColumns: readonly Column[] = [{ head: '' }, { head: '' }, { head: '' }];

function decisionLines(
  { state, description, asked, target }: Decision,
  paint: Paint,
): readonly string[] {
  const rows = asked.map(({ guard, answer, facts }) => [
    guard,
    answer ? (['good', 'yes'] as const) : (['dim', 'no'] as const),
    ['dim', facts] as const,
  ]);
  return [
    '',
    `  ${paint('dim', '○')} ${showLine(state)}${description ? paint('dim', `  ${description}`) : ''}`,
    ...tableLines(plainColumns, rows, paint).map((line) => `    ${line}`),
    target === null ? `      ${paint('dim', 'stays')}` : `      → ${paint('accent', target)}`,
  ];
}

function awaitedLines(awaited: readonly Awaited[], paint: Paint): readonly string[] {
  if (awaited.length === 0) return [];
  const rows = awaited.map(({ event, branches }) => [
    causeOf(event),
    ['dim', branches.map(branchText).join(' · ')] as const,
  ]);
  const columns: readonly Column[] = [{ head: '' }, { head: '' }];
  return [
    '',
    `  ${paint('dim', '○')} hears`,
    ...tableLines(columns, rows, paint).map((line) => `    ${line}`),
  ];
}

function branchText({ guard, target }: Awaited['branches'][number]): string {
  const question = guard === null ? '' : `${guard}?`;
  return [question, ...(target === null ? [] : [`→ ${target}`])]
    .filter((word) => word !== '')
    .join(' ');
}
