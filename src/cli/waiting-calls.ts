/** Calls that wait for a person, shown exactly, and chosen by their id. */
import { invalidInput, PawlError } from '../core/errors.ts';
import type { ToolPolicy } from '../core/tool-call.ts';
import { showArguments } from '../core/visible.ts';
import type { PendingCall } from '../runtime/run.ts';
import { effectNotes } from './ask.ts';
import type { KnownRun, Told } from './known-run.ts';
import type { Paint } from './paint.ts';
import { showLine } from './show-text.ts';

/** The call with every argument, and the whole hash that an approval of it is bound to. */
export function waitingLines(
  { callId, name, input, waits }: PendingCall,
  policy: ToolPolicy | undefined,
  told: Told | undefined,
  paint: Paint,
): readonly string[] {
  const note = policy
    ? ` ${paint('dim', `· ${policy.effect}: ${effectNotes[policy.effect]}`)}`
    : '';
  const wish =
    waits.for === 'approval' ? 'wants to run' : 'was interrupted; nobody knows whether it acted';
  const facts = [
    `call ${showLine(callId)}`,
    ...(waits.for === 'approval' ? [`hash ${waits.argumentsHash}`] : []),
  ];
  return [
    `  ${paint('warn', '?')} ${paint('bold', showLine(name))} ${wish}${note}`,
    ...argumentLines(input),
    `      ${paint('dim', facts.join(' · '))}`,
    ...(told
      ? [`      ${paint('good', `It was ${told} already; the run hears it when it goes on.`)}`]
      : []),
  ];
}

export const argumentLines = (input: unknown): readonly string[] =>
  showArguments(input)
    .split('\n')
    .map((line) => `      ${line}`);

export const policyOf = (
  { saved }: Pick<KnownRun, 'saved'>,
  tool: string,
): ToolPolicy | undefined => saved.settings.tools.find(({ name }) => name === tool);

/**
 * The call that is meant: the one with this id, or the beginning of it; without an id, the only one that waits for this
 * and was not decided about.
 * @throws PawlError `not_awaiting`, `unknown_tool_use`, `invalid_input`
 */
export function chooseCall(
  { pending, told }: Pick<KnownRun, 'pending' | 'told'>,
  kind: PendingCall['waits']['for'],
  text: string | undefined,
): PendingCall {
  const waiting = pending.filter(({ waits }) => waits.for === kind);
  const undecided = waiting.filter(({ callId }) => !told.has(callId));
  const call =
    text === undefined
      ? onlyOf(undecided.length > 0 ? undecided : waiting, kind)
      : namedIn(pending, text);
  if (call.waits.for !== kind) throw notAwaiting(call.callId, kind);
  const word = told.get(call.callId);
  if (word === undefined) return call;
  throw new PawlError(
    'not_awaiting',
    `Call "${call.callId}" was ${word} already; the run hears it when it goes on.`,
  );
}

function onlyOf(calls: readonly PendingCall[], kind: PendingCall['waits']['for']): PendingCall {
  const [only, ...others] = calls;
  if (only === undefined) {
    throw new PawlError('not_awaiting', `No call of this run waits for ${wanted[kind]}.`);
  }
  if (others.length === 0) return only;
  const ids = calls.map(({ callId }) => callId).join(', ');
  throw new PawlError(
    'invalid_input',
    `${calls.length} calls wait for ${wanted[kind]}; name one: ${ids}.`,
  );
}

function namedIn(calls: readonly PendingCall[], text: string): PendingCall {
  const exact = calls.find(({ callId }) => callId === text);
  const beginning = calls.filter(({ callId }) => text !== '' && callId.startsWith(text));
  const [only, ...others] = exact ? [exact] : beginning;
  if (only !== undefined && others.length === 0) return only;
  if (only !== undefined) throw invalidInput('CALL', 'the beginning of one id', text);
  throw new PawlError('unknown_tool_use', `No call "${text}" of this run waits for anything.`);
}

const wanted = { approval: 'an approval', settlement: 'a settlement' } as const;

const notAwaiting = (callId: string, kind: PendingCall['waits']['for']): PawlError =>
  new PawlError('not_awaiting', `Call "${callId}" does not wait for ${wanted[kind]}.`);
