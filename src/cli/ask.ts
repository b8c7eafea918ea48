/** Questions to the person at the terminal: may this call run, and may the budget grow? */
import { type Budget, type LimitReached, optionOfLimit } from '../core/budget.ts';
import { PawlError } from '../core/errors.ts';
import type { ErrorCode } from '../core/failure.ts';
import { canonicalJson, parseJson } from '../core/json.ts';
import type { ToolEffect } from '../core/tool-call.ts';
import { showArguments } from '../core/visible.ts';
import type { PendingCall, Run } from '../runtime/run.ts';
import type { Tool } from '../tools/tool.ts';
import { safeJson } from './json-line.ts';
import type { LineOptions, Typed } from './read-line.ts';
import { formatCount, formatUsd, showLine, showProse } from './show-text.ts';
import type { Terminal } from './terminal.ts';

/** Where the answers come from. */
export interface Person {
  readonly terminal: Pick<Terminal, 'say' | 'paint'>;
  readonly readLine: (prompt: string, options?: LineOptions) => Promise<Typed>;
  /** Ctrl-C at a question. */
  readonly onInterrupt: () => void;
  readonly signal: AbortSignal;
}

/** `left`: no decision was made, and none will be. */
export type Asked = 'decided' | 'left';

export type Answer =
  | { readonly kind: 'approve' | 'edit' | 'showAll' | 'unclear' }
  | { readonly kind: 'deny'; readonly reason: string };

/** `y`, `n` with or without a reason, `e`, `a`. Anything else decides nothing. */
export function readAnswer(line: string): Answer {
  const [, word = '', rest = ''] = /^\s*([a-z]+)[,:]?(?:\s+(\S.*))?$/i.exec(line.trimEnd()) ?? [];
  const letter = word.toLowerCase();
  if (letter === 'n' || letter === 'no') return { kind: 'deny', reason: rest.trim() };
  if (rest !== '') return { kind: 'unclear' };
  if (letter === 'y' || letter === 'yes') return { kind: 'approve' };
  if (letter === 'e' || letter === 'edit') return { kind: 'edit' };
  if (letter === 'a' || letter === 'all') return { kind: 'showAll' };
  return { kind: 'unclear' };
}

export const effectNotes: { readonly [Effect in ToolEffect]: string } = {
  read: 'only reads',
  idempotent: 'acts, and may be repeated',
  once: 'acts, once and for good',
};

const maxShownChars = 6_000;
const longChars = 400;

/** Shows one call exactly as it would run, and asks until there is a decision. */
export async function askApproval(
  run: Run,
  call: PendingCall,
  tool: Pick<Tool, 'effect'> | undefined,
  person: Person,
): Promise<Asked> {
  const { say } = person.terminal;
  const shown = showArguments(call.input);
  const isCut = shown.length > maxShownChars;
  say();
  for (const line of approvalLines(call, tool, person)) say(line);
  for (;;) {
    const choices = `[y] run it  [n reason] deny  [e] edit${isCut ? '  [a] show all' : ''}`;
    const typed = await person.readLine(`  ${choices} › `, { signal: person.signal });
    if (typed.kind === 'interrupted') person.onInterrupt();
    if (typed.kind !== 'line') return 'left';
    const answer = readAnswer(typed.line);
    if (answer.kind === 'showAll') say(block(shown));
    const isDecided = await carryOut(answer, run, call, person);
    if (isDecided) return 'decided';
  }
}

/** What the person decides about: the tool, what a run of it means, and the arguments with nothing hidden. */
export function approvalLines(
  { name, input, waits, callId }: PendingCall,
  tool: Pick<Tool, 'effect'> | undefined,
  { terminal: { paint } }: Pick<Person, 'terminal'>,
): readonly string[] {
  const shown = showArguments(input);
  const note = tool ? ` ${paint('dim', `· ${tool.effect}: ${effectNotes[tool.effect]}`)}` : '';
  const hash = waits.for === 'approval' ? `hash ${waits.argumentsHash.slice(0, 12)}` : '';
  const length =
    shown.length > longChars ? `${formatCount(lengthOf(input))} characters of JSON` : '';
  const facts = [`call ${showLine(callId)}`, hash, length].filter((fact) => fact !== '');
  return [
    `  ${paint('warn', '?')} ${paint('bold', showLine(name))} wants to run${note}`,
    block(cutShown(shown)),
    `      ${paint('dim', facts.join(' · '))}`,
  ];
}

const block = (text: string): string =>
  text
    .split('\n')
    .map((line) => `      ${line}`)
    .join('\n');

const cutShown = (shown: string): string =>
  shown.length <= maxShownChars
    ? shown
    : `${shown.slice(0, maxShownChars)}\n‹${formatCount(shown.length - maxShownChars)} more characters are not shown here›`;

function lengthOf(input: PendingCall['input']): number {
  try {
    return canonicalJson(input).length;
  } catch {
    return showArguments(input).length;
  }
}

async function carryOut(
  answer: Answer,
  run: Run,
  call: PendingCall,
  person: Person,
): Promise<boolean> {
  switch (answer.kind) {
    case 'approve':
      return attempt(person, () => run.approve(call.callId, hashOf(call)));
    case 'deny':
      return attempt(person, () => run.deny(call.callId, answer.reason || undefined));
    case 'edit':
      return edit(run, call, person);
    case 'showAll':
      return false;
    case 'unclear':
      person.terminal.say('      Please answer y, n (with a reason, if you like) or e.');
      return false;
  }
}

/** Binds the decision to what was shown. */
const hashOf = ({ waits }: PendingCall): { readonly argumentsHash?: string } =>
  waits.for === 'approval' ? { argumentsHash: waits.argumentsHash } : {};

async function edit(run: Run, call: PendingCall, person: Person): Promise<boolean> {
  const prefill = safeJson(call.input);
  const typed = await person.readLine('      arguments › ', { prefill, signal: person.signal });
  if (typed.kind === 'interrupted') person.onInterrupt();
  if (typed.kind !== 'line' || typed.line.trim() === '') return false;
  const parsed = parseJson(typed.line);
  if (!parsed.ok) {
    person.terminal.say(`      That is no JSON: ${showLine(parsed.reason)}`);
    return false;
  }
  return attempt(person, () => run.approve(call.callId, { ...hashOf(call), input: parsed.value }));
}

const mayTryAgain: readonly ErrorCode[] = ['invalid_tool_input', 'invalid_input'];

/** A run that is over needs no decision any more; whatever else is wrong can be tried again. */
async function attempt({ terminal }: Person, decide: () => Promise<void>): Promise<boolean> {
  try {
    await decide();
    return true;
  } catch (error) {
    if (!PawlError.is(error)) throw error;
    terminal.say(block(showProse(error.message)));
    return !mayTryAgain.includes(error.code);
  }
}

/** Asks for a higher limit. An empty answer raises nothing. */
export async function askBudget(run: Run, limit: LimitReached, person: Person): Promise<Asked> {
  const { say, paint } = person.terminal;
  say();
  say(`  ${paint('warn', '?')} ${limitLine(limit)} A higher one lets the run go on.`);
  for (;;) {
    const typed = await person.readLine('      new limit (empty: leave it) › ', {
      signal: person.signal,
    });
    if (typed.kind === 'interrupted') person.onInterrupt();
    if (typed.kind !== 'line' || typed.line.trim() === '') return 'left';
    const budget = raisedBudget(limit, typed.line);
    if (budget === null) say(`      Please give a number above ${amountOf(limit, limit.max)}.`);
    else if (await attempt(person, async () => run.raiseBudget(budget))) return 'decided';
  }
}

const limitLine = (limit: LimitReached): string =>
  `${optionOfLimit(limit.name)} is reached: ${amountOf(limit, limit.used)} of ${amountOf(limit, limit.max)}.`;

const amountOf = ({ name }: LimitReached, amount: number): string =>
  name === 'maxCostMicros' ? formatUsd(amount / 1_000_000) : formatCount(amount);

/** The budget that a typed amount stands for, or null when it raises nothing. */
export function raisedBudget(limit: LimitReached, typed: string): Budget | null {
  const amount = Number(typed.trim().replace(/^\$/, ''));
  const max = limit.name === 'maxCostMicros' ? limit.max / 1_000_000 : limit.max;
  if (typed.trim() === '' || !Number.isFinite(amount) || amount <= max) return null;
  return { [optionOfLimit(limit.name)]: amount };
}
