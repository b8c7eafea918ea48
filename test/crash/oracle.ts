/** What has to hold of a run whose process died, at its death and at its end: the store against what the world saw. */
import { isDeepStrictEqual } from 'node:util';
import { historyProblems, repairHistory } from '../../src/core/history.ts';
import { isJsonObject } from '../../src/core/json.ts';
import type { Message } from '../../src/core/message.ts';
import type { RunContext } from '../../src/core/run-context.ts';
import { type BudgetName, budgets, maxTurns } from './scenario.ts';
import type { Stored } from './stored.ts';
import { type Note, notesOf } from './world.ts';

/** Problems of a store that a process just left by dying: nothing acted that the store does not know. */
export function problemsAtDeath(notes: readonly Note[], stored: Stored | null): readonly string[] {
  if (!stored) {
    const rest = notes.filter(({ what }) => what !== 'life');
    return rest.map(({ what }) => `there is no store, but the world saw: ${what}`);
  }
  return [
    ...fileProblems(notes, stored),
    ...modelProblems(notes, stored),
    ...callProblems(notes, stored),
  ];
}

function fileProblems(notes: readonly Note[], stored: Stored): string[] {
  const { integrity, saved, steps } = stored;
  const kept = saved?.saveVersion ?? 0;
  const acknowledged = Math.max(0, ...notesOf(notes, 'saved').map(({ version }) => version));
  const versions = steps.map(({ saveVersion }) => saveVersion);
  return [
    ...(integrity === 'ok' ? [] : [`integrity_check: ${integrity}`]),
    ...(acknowledged <= kept ? [] : [`save ${acknowledged} was acknowledged, ${kept} is there`]),
    ...(isDeepStrictEqual(
      versions,
      Array.from({ length: kept }, (_, index) => index + 1),
    )
      ? []
      : [`the steps of ${kept} saves are ${versions.join(', ')}`]),
    ...rowProblems(stored),
  ];
}

/** Results are those of the open batch, and each turn has what a fork begins with. */
function rowProblems(stored: Stored): string[] {
  const { saved, turns } = stored;
  const context = contextIn(stored);
  const open = new Set(context?.calls.map(({ id }) => id));
  const left = (saved?.results ?? []).filter(({ tool_use_id }) => !open.has(tool_use_id));
  const messages = context?.messages ?? [];
  const bad = turns.flatMap((turn, index) =>
    turn && isDeepStrictEqual(turn.messages, messages.slice(0, turn.length)) ? [] : [index + 1],
  );
  return [
    ...left.map(({ tool_use_id }) => `the result of ${tool_use_id} is left, which a message holds`),
    ...bad.map((turn) => `turn ${turn} can't be forked`),
  ];
}

const contextIn = ({ snapshot }: Stored): RunContext | null =>
  (snapshot?.context as RunContext | undefined) ?? null;

const repliesIn = (stored: Stored | null): number =>
  (stored && contextIn(stored)?.messages.filter(({ role }) => role === 'assistant').length) ?? 0;

/** Each model call that began is in the store as under way, or as over. */
function modelProblems(notes: readonly Note[], stored: Stored): string[] {
  const last = notes.findLast(({ what }) => what.startsWith('model '));
  if (last?.what !== 'model begun' || repliesIn(stored) > last.reply) return [];
  // One that was lost is not asked for again when its reservation was the last of the budget.
  if (contextIn(stored)?.status === 'exhausted') return [];
  const child = childrenOf(stored.snapshot).find(({ src }) => src === 'modelCall');
  if (child?.snapshot.value === 'attempt') return [];
  return [`the model was asked for reply ${last.reply}, and the store does not know it`];
}

/** Each call that began is in the store as running in that attempt, or as past it. */
function callProblems(notes: readonly Note[], stored: Stored): string[] {
  const context = contextIn(stored);
  const answered = new Set([...(context ? resultIdsIn(context.messages) : [])]);
  for (const { id, result } of context?.calls ?? []) if (result) answered.add(id);
  const children = childrenOf(stored.snapshot);
  return notesOf(notes, 'tool begun').flatMap(({ callId, attempt }) => {
    if (answered.has(callId)) return [];
    const child = children.find(({ id }) => id === `tool.${callId}`);
    const stage = isJsonObject(child?.snapshot.context) ? child.snapshot.context.attempt : 0;
    if (typeof stage === 'number' && stage > attempt) return [];
    const isKnown = ['run', 'probe', 'interrupted', 'settled'].includes(
      String(child?.snapshot.value),
    );
    if (isKnown && stage === attempt) return [];
    return [`${callId} began attempt ${attempt}, and the store does not know it`];
  });
}

function childrenOf(snapshot: Stored['snapshot']) {
  const children = snapshot?.children;
  if (!isJsonObject(children)) return [];
  return Object.entries(children).flatMap(([id, child]) => {
    if (!isJsonObject(child) || !isJsonObject(child.snapshot)) return [];
    return [{ id, src: child.src, snapshot: child.snapshot }];
  });
}

const resultIdsIn = (messages: readonly Message[]): string[] =>
  messages.flatMap(({ content }) =>
    content.flatMap((block) => (block.type === 'tool_result' ? [block.tool_use_id] : [])),
  );

/** Problems of a run that has ended. `expected`: the history of the one that nothing disturbed. */
export function problemsAtEnd(
  notes: readonly Note[],
  stored: Stored | null,
  budget: BudgetName,
  expected: readonly unknown[],
): readonly string[] {
  const end = notesOf(notes, 'ended').at(-1);
  if (!end || !stored) return ['the run did not end'];
  const mayExhaust = budgets[budget].mayExhaust && end.status === 'exhausted';
  const asked = notesOf(notes, 'asked again').map(({ callId }) => `${callId} was asked for again`);
  return [
    ...(end.status === 'completed' || mayExhaust
      ? []
      : [`it ended as ${end.status}: ${end.error}`]),
    ...(mayExhaust ||
    isDeepStrictEqual(settledAlike(notes, end.messages), settledAlike(notes, expected))
      ? []
      : [`another history: ${JSON.stringify(end.messages)}`]),
    ...fileProblems(notes, stored),
    ...callProblems(notes, stored),
    ...asked,
    ...effectProblems(notes),
    ...budgetProblems(notes, end, budget),
    ...storedEndProblems(stored, end.messages),
  ];
}

/** The words of a settled result are a person's own. */
function settledAlike(notes: readonly Note[], messages: readonly unknown[]): unknown {
  const settled = new Set(notesOf(notes, 'settled').map(({ callId }) => callId));
  return (messages as readonly Message[]).map(({ role, content }) => ({
    role,
    content: content.map((block) =>
      block.type === 'tool_result' && settled.has(block.tool_use_id)
        ? { ...block, content: 'settled', is_error: false }
        : block,
    ),
  }));
}

const onceTools = /^(push|mail|send)_/;

/** `once` bodies act once, and begin again only when a person said so; each call has one key for good. */
function effectProblems(notes: readonly Note[]): string[] {
  const begun = notesOf(notes, 'tool begun');
  return [...new Set(begun.map(({ callId }) => callId))].flatMap((callId) => {
    const times = begun.filter((note) => note.callId === callId);
    const acted = notesOf(notes, 'tool acted').filter((note) => note.callId === callId).length;
    const retried = notesOf(notes, 'retried').filter((note) => note.callId === callId).length;
    const keys = new Set(times.map(({ key }) => key));
    const attempts = times.map(({ attempt }) => attempt);
    const isOnce = onceTools.test(callId);
    return [
      ...(isOnce && acted > 1 ? [`${callId} acted ${acted} times`] : []),
      ...(isOnce && times.length > retried + 1 ? [`${callId} began ${times.length} times`] : []),
      ...(keys.size === 1 ? [] : [`${callId} has the keys ${[...keys].join(', ')}`]),
      ...(new Set(attempts).size === attempts.length
        ? []
        : [`${callId} has the attempts ${attempts.join(', ')}`]),
    ];
  });
}

function budgetProblems(
  notes: readonly Note[],
  end: Extract<Note, { readonly what: 'ended' }>,
  budget: BudgetName,
): string[] {
  const micros = [...notesOf(notes, 'model billed'), ...notesOf(notes, 'tool acted')];
  const billed = micros.reduce((sum, note) => sum + note.micros, 0);
  const most = Math.round(budgets[budget].maxCostUsd * 1e6);
  return [
    ...(end.costMicros >= billed
      ? []
      : [`${billed} was billed, ${end.costMicros} is accounted for`]),
    ...(end.costMicros <= most ? [] : [`${end.costMicros} is over the budget of ${most}`]),
    ...(end.turns <= maxTurns ? [] : [`${end.turns} turns`]),
  ];
}

function storedEndProblems(stored: Stored, messages: readonly unknown[]): string[] {
  const context = contextIn(stored);
  const reserved = context?.ledger.reserved ?? [];
  return [
    ...(context?.status ? [] : ['the store does not know the end']),
    ...reserved.map(({ id }) => `${id} is still reserved`),
    ...historyProblems(messages as readonly Message[]).map(({ problem }) => problem),
    ...(isDeepStrictEqual(repairHistory(context?.messages ?? []), messages)
      ? []
      : ['the store has another history']),
  ];
}

/** The model was asked, in a life, for a reply that the store had when it began. */
export const askedAgain = (life: readonly Note[], stored: Stored | null): readonly string[] =>
  notesOf(life, 'model begun')
    .filter(({ reply }) => reply < repliesIn(stored))
    .map(({ reply }) => `the model was asked again for reply ${reply}, which was stored`);
