/** Goes on with a run that the store has, or branches it, and follows it as `pawl run` does. */
import { PawlError } from '../core/errors.ts';
import type { JournalEntry } from '../core/journal.ts';
import { isJsonObject } from '../core/json.ts';
import type { RunSettings } from '../core/run-context.ts';
import type { Run } from '../runtime/run.ts';
import { unknownRun } from '../runtime/stored-run.ts';
import type { SavedRun, Store } from '../stores/store.ts';
import { sayWhichRun, sayWhoAnswers } from './notices.ts';
import { type Surroundings, watch } from './play.ts';
import { findRunId, shortId } from './run-id.ts';
import { exitLine } from './screen.ts';
import { budgetOf, openSessionFor, type RunOptions, type Session } from './session.ts';

export interface ResumeOptions extends Omit<RunOptions, 'model'> {
  /** Default: the one that the run was begun with. */
  readonly model?: string;
  readonly retry?: true;
}

export interface ForkOptions extends ResumeOptions {
  /** A turn. */
  readonly at: number;
}

const placeNow = () => ({ env: process.env, folder: process.cwd() });

/** `pawl resume`. @throws PawlError `unknown_run`, `run_locked`, `snapshot_incompatible`, `invalid_input` */
export async function resumeCommand(
  text: string,
  given: ResumeOptions,
  surroundings: Surroundings,
): Promise<number> {
  return withRun(text, given, surroundings, async ({ session, options, saved, hadDenial }) => {
    const { runId } = saved;
    const budget = budgetOf(options);
    const hasBudget = Object.keys(budget).length > 0;
    const goOn = async (signal: AbortSignal): Promise<Run> => {
      const own = { signal, ...(hasBudget && { budget }), ...(given.retry && { retry: true }) };
      const run = await session.agent.resume(runId, own);
      sayWhichRun(surroundings.terminal, `${runId} ${howItGoesOn(saved, run)}`);
      // Whoever resumes a paused run wants it to go on.
      if (run.state === 'paused') run.resume();
      return run;
    };
    return watch(session, options, surroundings, goOn, hadDenial);
  });
}

/** What was told meanwhile may have moved it on already. */
function howItGoesOn({ head: { status, state, turn } }: SavedRun, { state: now }: Run): string {
  const hasEnded = status === now;
  return hasEnded ? `has ended: ${status}` : `goes on: turn ${turn}, ${state}`;
}

/** `pawl fork`. @throws PawlError `unknown_run`, `invalid_input` */
export async function forkCommand(
  text: string,
  given: ForkOptions,
  surroundings: Surroundings,
): Promise<number> {
  return withRun(text, given, surroundings, async ({ session, options, saved }) =>
    watch(session, options, surroundings, async (signal) => {
      const run = await session.agent.fork(saved.runId, {
        signal,
        atTurn: given.at,
        budget: budgetOf(options),
        tags: options.tag ?? [],
        ...(options.onLimit !== undefined && { onLimit: options.onLimit }),
      });
      const from = `${shortId(saved.runId)} as it was when turn ${given.at} began`;
      sayWhichRun(surroundings.terminal, `${run.id} goes on from ${from}`);
      return run;
    }),
  );
}

const isDenial = ({ event }: JournalEntry): boolean =>
  isJsonObject(event.output) && event.output.ending === 'denied';

interface Opened {
  readonly session: Session;
  readonly options: RunOptions;
  readonly saved: SavedRun;
  readonly hadDenial: boolean;
}

async function withRun(
  text: string,
  given: ResumeOptions,
  { terminal }: Surroundings,
  body: (opened: Opened) => ReturnType<typeof watch>,
): Promise<number> {
  let saved: SavedRun | null = null;
  let hadDenial = false;
  const find = async (store: Store): Promise<RunSettings> => {
    const runId = await findRunId(store, text);
    saved = await store.load(runId);
    if (saved === null) throw unknownRun(runId);
    hadDenial = (await store.steps(runId)).some(({ events }) => events.some(isDenial));
    return saved.settings;
  };
  const { session, options } = await openSessionFor(given, placeNow(), find);
  try {
    if (saved === null) throw new PawlError('internal', 'No run was looked up.');
    sayWhoAnswers(terminal, session, options);
    terminal.say();
    const end = await body({ session, options, saved, hadDenial });
    if (options.json) terminal.write(exitLine(end));
    return end.code;
  } finally {
    await session.close();
  }
}
