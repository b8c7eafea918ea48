/** What a person tells a run through its store, whoever holds it: approve, deny, settle, cancel, steer. */
import { invalidInput, PawlError } from '../core/errors.ts';
import { type Json, parseJson } from '../core/json.ts';
import { type RemoteRun, remoteRun } from '../runtime/remote-run.ts';
import type { PendingCall } from '../runtime/run.ts';
import type { Store } from '../stores/store.ts';
import { exitCodes } from './exit-code.ts';
import { holderOf } from './holder.ts';
import { type KnownRun, readRun } from './known-run.ts';
import { resumeLine } from './next-steps.ts';
import { shortId } from './run-id.ts';
import { exitLine } from './screen.ts';
import { showProse } from './show-text.ts';
import { type StorePlace, withStore } from './store-file.ts';
import type { Terminal } from './terminal.ts';
import { argumentLines, chooseCall, policyOf, waitingLines } from './waiting-calls.ts';

export interface TellOptions {
  readonly store: string;
  readonly json?: true;
}

export interface ReasonOptions extends TellOptions {
  readonly reason?: string;
}

/** Everything that one of these commands has at hand. */
interface Telling {
  readonly run: KnownRun;
  readonly remote: RemoteRun;
  readonly terminal: Terminal;
}

/** Tells one thing. Resolves to what was told, in a sentence. */
type Tell = (telling: Telling) => Promise<string>;

async function tell(
  text: string,
  options: TellOptions,
  terminal: Terminal,
  place: StorePlace,
  say: Tell,
): Promise<number> {
  return withStore(place, async (store) => {
    const run = await readRun(store, text);
    const told = await say({ run, remote: remoteRun(store, run.runId), terminal });
    await sayHeard(store, run, told, options, terminal);
    return exitCodes.completed;
  });
}

async function sayHeard(
  store: Store,
  { runId }: KnownRun,
  told: string,
  options: TellOptions,
  { say, paint, write }: Terminal,
): Promise<void> {
  const holder = await holderOf(store, runId);
  const next = resumeLine(runId, { store: options.store });
  say(`  ${paint('good', '✓')} ${told}`);
  if (holder === null) say(`    Nobody runs it now. Go on with: ${next}`);
  else say(`    ${paint('dim', 'The process that runs it hears it within a second.')}`);
  const reason = holder === null ? `${told} Go on with: ${next}` : told;
  if (options.json)
    write(exitLine({ code: exitCodes.completed, reason, result: null, pending: [] }));
}

const showCall = ({ run, terminal }: Telling, call: PendingCall): void => {
  for (const line of waitingLines(call, policyOf(run, call.name), undefined, terminal.paint)) {
    terminal.say(line);
  }
};

export interface ApproveOptions extends TellOptions {
  /** Other arguments, as JSON. */
  readonly input?: string;
}

/** `pawl approve`. @throws PawlError `not_awaiting`, `unknown_tool_use`, `unknown_run`, `invalid_input` */
export async function approveCommand(
  text: string,
  callText: string | undefined,
  options: ApproveOptions,
  terminal: Terminal,
  place: StorePlace,
): Promise<number> {
  const input = options.input === undefined ? undefined : inputIn(options.input);
  return tell(text, options, terminal, place, async (telling) => {
    const call = chooseCall(telling.run, 'approval', callText);
    showCall(telling, call);
    if (input !== undefined) {
      terminal.say(`      ${terminal.paint('warn', 'It will run with these arguments instead:')}`);
      for (const line of argumentLines(input)) terminal.say(line);
    }
    const argumentsHash = call.waits.for === 'approval' ? call.waits.argumentsHash : '';
    const edit = input === undefined ? {} : { input };
    await telling.remote.approve(call.callId, { argumentsHash, ...edit });
    return `Approved: exactly this call may run, once.`;
  });
}

function inputIn(text: string): Json {
  const parsed = parseJson(text);
  if (parsed.ok) return parsed.value;
  throw invalidInput('--input', `JSON (${parsed.reason})`, text);
}

/** `pawl deny`. @throws like `approveCommand` */
export const denyCommand = (
  text: string,
  callText: string | undefined,
  options: ReasonOptions,
  terminal: Terminal,
  place: StorePlace,
): Promise<number> =>
  tell(text, options, terminal, place, async (telling) => {
    const call = chooseCall(telling.run, 'approval', callText);
    showCall(telling, call);
    await telling.remote.deny(call.callId, options.reason);
    return 'Denied: the call will not run, and the model is told so.';
  });

export interface SettleOptions extends TellOptions {
  readonly result?: string;
  readonly error?: true;
  readonly retry?: true;
}

/** `pawl settle`: says what an interrupted call came to, or lets it run again. @throws like `approveCommand` */
export async function settleCommand(
  text: string,
  callText: string | undefined,
  { result, error, retry, ...options }: SettleOptions,
  terminal: Terminal,
  place: StorePlace,
): Promise<number> {
  const isError = error === true;
  if ((result === undefined) !== (retry === true) || (retry && isError)) {
    const expected = '--result TEXT (with --error, if the call failed), or --retry';
    throw new PawlError('invalid_input', `pawl settle: expected ${expected}.`);
  }
  return tell(text, options, terminal, place, async (telling) => {
    const call = chooseCall(telling.run, 'settlement', callText);
    showCall(telling, call);
    if (result === undefined) {
      await telling.remote.retry(call.callId);
      return 'The call may run again.';
    }
    for (const line of showProse(result).split('\n'))
      terminal.say(`      ${terminal.paint(isError ? 'bad' : 'good', '←')} ${line}`);
    await telling.remote.settle(call.callId, { content: result, isError });
    return `Settled: the model gets this ${isError ? 'error' : 'result'}, and the call does not run again.`;
  });
}

/** `pawl cancel`. @throws PawlError `unknown_run`, `run_finished` */
export const cancelCommand = (
  text: string,
  options: ReasonOptions,
  terminal: Terminal,
  place: StorePlace,
): Promise<number> =>
  tell(text, options, terminal, place, async ({ run, remote }) => {
    await remote.cancel(options.reason);
    return `Run ${shortId(run.runId)} is to be cancelled.`;
  });

/** `pawl steer`. @throws PawlError `unknown_run`, `run_finished`, `invalid_input` */
export const steerCommand = (
  text: string,
  message: string,
  options: TellOptions,
  terminal: Terminal,
  place: StorePlace,
): Promise<number> =>
  tell(text, options, terminal, place, async ({ run, remote }) => {
    await remote.steer(message);
    return `The next request of run ${shortId(run.runId)} holds your message.`;
  });
