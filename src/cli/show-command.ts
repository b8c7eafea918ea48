import { invalidInput } from '../core/errors.ts';
import type { Message } from '../core/message.ts';
import type { StepRecord, Store } from '../stores/store.ts';
import { exitCodes } from './exit-code.ts';
import { jsonLine } from './json-line.ts';
import { type KnownRun, readRun } from './known-run.ts';
import { tellLine } from './next-steps.ts';
import type { Paint } from './paint.ts';
import { shortId } from './run-id.ts';
import { exitLine } from './screen.ts';
import { styleOfEnd } from './show-run.ts';
import { showLine, showProse } from './show-text.ts';
import { type StorePlace, withStore } from './store-file.ts';
import type { Terminal } from './terminal.ts';
import { spanOf, timelineLines } from './timeline.ts';
import { transcriptLines } from './transcript.ts';
import { policyOf, waitingLines } from './waiting-calls.ts';

export interface ShowOptions {
  readonly store: string;
  /** A step of the timeline: the run is shown as it was then. */
  readonly at?: number;
  readonly json?: true;
}

/** What is shown of a run, now or at a step. */
export interface RunView {
  readonly run: KnownRun;
  readonly steps: readonly StepRecord[];
  /** Null: the turn's beginning is not kept any more. */
  readonly messages: readonly Message[] | null;
  readonly at: StepRecord | null;
}

/** `pawl show`: a run's story, what was said, and what waits. @throws PawlError `unknown_run`, `invalid_input` */
export async function showCommand(
  text: string,
  options: ShowOptions,
  terminal: Terminal,
  place: StorePlace,
): Promise<number> {
  const view = await withStore(place, (store) => viewOf(store, text, options.at));
  if (options.json) {
    terminal.write(jsonLine(jsonOf(view)));
    const reason = `Run ${view.run.runId}.`;
    terminal.write(exitLine({ code: exitCodes.completed, reason, result: null, pending: [] }));
  } else {
    terminal.write(`${viewLines(view, options, terminal.dataPaint).join('\n')}\n`);
  }
  return exitCodes.completed;
}

async function viewOf(store: Store, text: string, at: number | undefined): Promise<RunView> {
  const run = await readRun(store, text);
  const steps = await store.steps(run.runId);
  if (at === undefined) {
    const messages = run.context?.messages ?? run.saved.messages;
    return { run, steps, messages, at: null };
  }
  const step = steps.find(({ saveVersion }) => saveVersion === at);
  if (!step) throw invalidInput('--at', `a step from 1 to ${steps.length}`, at);
  const turn = await store.loadTurn(run.runId, Math.max(1, step.turn));
  const until = steps.filter(({ saveVersion }) => saveVersion <= at);
  return { run, steps: until, messages: turn?.messages ?? null, at: step };
}

function jsonOf({ run, steps, messages, at }: RunView): object {
  const { runId, saved, pending, told, problem } = run;
  const { head, saveVersion, forkOf } = saved;
  const known = { runId, saveVersion, ...head, forkOf, problem };
  if (at !== null) return { type: 'run', ...known, ...at, steps, messages };
  return { type: 'run', ...known, steps, messages, pending, told: Object.fromEntries(told) };
}

/** The whole page. */
function viewLines(
  view: RunView,
  options: Pick<ShowOptions, 'store'>,
  paint: Paint,
): readonly string[] {
  const { run, steps, at } = view;
  return [
    ...headLines(view, paint),
    '',
    ...timelineLines(steps, paint),
    '',
    ...saidLines(view, paint),
    ...(at === null ? waitsLines(run, options, paint) : []),
  ];
}

function headLines({ run, steps, at }: RunView, paint: Paint): readonly string[] {
  const { runId, saved, problem } = run;
  const { status, state, agent, tags } = saved.head;
  const model = saved.settings.models[0].id;
  const facts = [
    ...(agent === null ? [] : [`agent ${showLine(agent)}`]),
    showLine(model),
    `turn ${(at ?? saved.head).turn}`,
    ...(tags.length === 0 ? [] : [`tagged ${tags.map(showLine).join(', ')}`]),
    ...(saved.forkOf
      ? [`forked from ${shortId(saved.forkOf.runId)} at turn ${saved.forkOf.turn}`]
      : []),
  ];
  return [
    `  ${paint('bold', showLine(runId))}`,
    at === null
      ? nowLine(status, state, paint)
      : `  ○ ${showLine(at.state)} ${paint('dim', `at step ${at.saveVersion}`)}`,
    `    ${paint('dim', facts.join(' · '))}`,
    `    ${paint('dim', spanOf(steps))}`,
    ...(problem === null ? [] : [`    ${paint('bad', showProse(problem))}`]),
  ];
}

/** A run that has ended is in the state of that name. */
const nowLine = (status: string, state: string, paint: Paint): string =>
  `  ${paint(styleOfEnd(status), `● ${status}`)}${status === state ? '' : ` ${paint('dim', 'in')} ${showLine(state)}`}`;

function saidLines({ messages, at }: RunView, paint: Paint): readonly string[] {
  if (messages === null) {
    return [`  ${paint('dim', 'What was said until then is not kept any more (pawl prune).')}`];
  }
  const lines = transcriptLines(messages, paint);
  if (at === null) return lines;
  return [`  ${paint('dim', `Said when turn ${at.turn} began:`)}`, ...lines];
}

function waitsLines(
  run: KnownRun,
  { store }: Pick<ShowOptions, 'store'>,
  paint: Paint,
): readonly string[] {
  return run.pending.flatMap((call) => {
    const { callId, name, waits } = call;
    const told = run.told.get(callId);
    const verb = waits.for === 'approval' ? 'approve' : 'settle';
    const next = tellLine(verb, run.runId, callId, { store });
    return [
      '',
      ...waitingLines(call, policyOf(run, name), told, paint),
      ...(told ? [] : [`      ${next}`]),
    ];
  });
}
