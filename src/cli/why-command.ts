import { PawlError } from '../core/errors.ts';
import { checkTurn } from '../runtime/stored-run.ts';
import type { Store } from '../stores/store.ts';
import { exitCodes } from './exit-code.ts';
import { jsonLine } from './json-line.ts';
import { type KnownRun, readRun } from './known-run.ts';
import type { Paint } from './paint.ts';
import { findRunId, shortId } from './run-id.ts';
import { exitLine } from './screen.ts';
import { showLine, showProse } from './show-text.ts';
import { type StorePlace, withStore } from './store-file.ts';
import { type Column, tableLines } from './table.ts';
import type { Terminal } from './terminal.ts';
import { causeOf } from './timeline.ts';
import { type Awaited, type Decision, type Explanation, explain } from './why.ts';
import { explainStep, type HeardDecisions } from './why-step.ts';

export interface WhyOptions {
  readonly store: string;
  /** A step: what was asked in it. */
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
  const { runId, data, lines } = await withStore(place, (store) =>
    at === undefined ? whyNow(store, text) : whyThen(store, text, at),
  );
  if (json) {
    terminal.write(jsonLine({ type: 'why', runId, ...data }));
    const reason = `Run ${runId}.`;
    terminal.write(exitLine({ code: exitCodes.completed, reason, result: null, pending: [] }));
  } else {
    terminal.write(`${lines(terminal.dataPaint).join('\n')}\n`);
  }
  return exitCodes.completed;
}

interface Page {
  readonly runId: string;
  readonly data: object;
  readonly lines: (paint: Paint) => readonly string[];
}

async function whyNow(store: Store, text: string): Promise<Page> {
  const run = await readRun(store, text);
  if (run.context === null) throw new PawlError('snapshot_incompatible', run.problem ?? '');
  const { state, turn } = run.saved.head;
  const steps = await store.steps(run.runId);
  const cause = steps.at(-1)?.cause ?? '';
  const kept = await store.loadTurn(run.runId, Math.max(1, turn));
  const explanation = explain(state, run.context, kept && checkTurn(kept));
  return {
    runId: run.runId,
    data: { state, turn, ...explanation },
    lines: (paint) => nowLines({ run, explanation, cause }, paint),
  };
}

async function whyThen(store: Store, text: string, step: number): Promise<Page> {
  const runId = await findRunId(store, text);
  const { record, start, heard } = await explainStep(store, runId, step);
  const { state, turn } = record;
  return {
    runId,
    data: { step, state, turn, start, heard },
    lines: (paint) => [
      `  ${paint('bold', showLine(shortId(runId)))} ${paint('dim', '·')} step ${step} · turn ${turn} · ${showLine(state)}`,
      ...(start ? decisionLines(start, paint) : []),
      ...heardLines(heard, paint),
    ],
  };
}

/** Events that nothing was asked about, and that led nowhere, are lines without gaps between them. */
function heardLines(heard: readonly HeardDecisions[], paint: Paint): readonly string[] {
  const blocks = heard.map(({ event, callId, decisions }) => {
    const told = decisions.filter(({ asked, target }) => asked.length > 0 || target !== null);
    const about = callId === null ? '' : ` ${showLine(callId)}`;
    return [
      `  ${paint('accent', '●')} ${causeOf(event)}${about}`,
      ...told.flatMap((decision) => decisionLines(decision, paint).slice(1)),
    ];
  });
  return blocks.flatMap((block, index) => {
    const isInRow = block.length === 1 && blocks[index - 1]?.length === 1;
    return isInRow ? block : ['', ...block];
  });
}

/** The whole page. */
function nowLines({ run, explanation, cause }: Told, paint: Paint): readonly string[] {
  const { before, now, awaited } = explanation;
  const { state, turn } = run.saved.head;
  return [
    `  ${paint('bold', showLine(shortId(run.runId)))} ${paint('dim', '·')} turn ${turn} · ${showLine(state)}`,
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
