/** Events: complete, in order, and the same story as the models' and the result's. */
import type { RunEvent } from 'pawl';
import { resultOf } from './check-spending.ts';
import { type Attempt, groupBy, isResumed, see, type World } from './world.ts';

type Named<Type extends RunEvent['type']> = Extract<RunEvent, { type: Type }>;

export function eventProblems(world: World): readonly string[] {
  return [
    ...world.events.flatMap((events, life) => lifeProblems(world, events, life)),
    ...settledProblems(world),
    ...deltaProblems(world),
    ...textProblems(world),
  ];
}

const named = <Type extends RunEvent['type']>(
  events: readonly RunEvent[],
  type: Type,
): readonly Named<Type>[] => events.filter((event): event is Named<Type> => event.type === type);

function lifeProblems(world: World, events: readonly RunEvent[], life: number): readonly string[] {
  const ends = named(events, 'run.ended').length;
  const isEnd = world.ends[life] === 'ended';
  const warned = named(events, 'limit.near').map(({ limit }) => limit.name);
  return [
    ...(events[0]?.type === 'run.started'
      ? []
      : [`events: life ${life} begins with ${events[0]?.type}`]),
    // A crash may come right after the end was told.
    ...(ends === (isEnd ? 1 : 0) || (ends === 1 && world.ends[life] === 'crashed')
      ? []
      : [`events: life ${life} has ${ends} ends`]),
    ...(isEnd && events.at(-1)?.type !== 'run.ended' ? ['events: run.ended is not the last'] : []),
    ...(new Set(warned).size === warned.length ? [] : ['events: a limit was warned of twice']),
    ...attemptProblems(events, world.ends[life] !== 'crashed'),
  ];
}

/** Each model call that began has one end, before the next one begins. */
function attemptProblems(events: readonly RunEvent[], isComplete: boolean): readonly string[] {
  let open: string | null = null;
  const problems: string[] = [];
  for (const event of events) {
    const { type } = event;
    if (type === 'model.started') {
      if (open !== null) problems.push(`events: ${open} has no end`);
      open = refOf(event);
    } else if (type === 'model.replied' || type === 'model.failed' || type === 'model.stopped') {
      if (refOf(event) !== open)
        problems.push(`events: ${type} of ${refOf(event)}, which is not open`);
      open = null;
    } else if (type === 'text.delta' && refOf(event) !== open) {
      problems.push(`events: a delta of ${refOf(event)}, which is not open`);
    }
  }
  if (open !== null && isComplete) problems.push(`events: ${open} has no end`);
  return problems;
}

const refOf = ({
  turn,
  attempt,
  model,
}: Pick<Named<'model.started'>, 'turn' | 'attempt' | 'model'>) => `${turn}/${attempt}/${model}`;

/** One `tool.settled` for each tool use of the run; after a crash, at least one. */
function settledProblems(world: World): readonly string[] {
  const settled = named(world.events.flat(), 'tool.settled');
  const times = groupBy(settled, ({ callId }) => callId);
  const isCrashed = world.ends.includes('crashed');
  const earlier = world.scenario.history.length;
  const uses = world.finalMessages
    .slice(earlier)
    .flatMap(({ content }) => content.filter((block) => block.type === 'tool_use'));
  return [
    ...uses.filter(({ id }) => !times.has(id)).map(({ id }) => `events: ${id} has no tool.settled`),
    ...[...times]
      .filter(([, events]) => events.length > 1 && !isCrashed)
      .map(([id, events]) => `events: ${id} has ${events.length} tool.settled`),
    ...named(world.events.flat(), 'tool.started')
      .filter(({ callId }) => !times.has(callId))
      .map(({ callId }) => `events: ${callId} began and has no tool.settled`),
  ];
}

/** The deltas of an attempt that replied are its text. */
function deltaProblems(world: World): readonly string[] {
  return world.events.flatMap((events, life) => {
    const replied = world.attempts.filter(
      (attempt) => attempt.life === life && attempt.outcome === 'replied',
    );
    return textsOf(events).flatMap((said, index) => {
      const attempt = replied[index];
      if (!attempt) return [`events: a reply of life ${life} that no model gave`];
      const isTold = said === attempt.text || (said === '' && !attempt.streams);
      return isTold ? [] : [`events: deltas say ${show(said)}, the model ${show(attempt.text)}`];
    });
  });
}

/** What the deltas of each attempt that replied say, in order. */
function textsOf(events: readonly RunEvent[]): readonly string[] {
  let said = '';
  return events.flatMap((event) => {
    if (event.type === 'model.started') said = '';
    if (event.type === 'text.delta') said += event.text;
    return event.type === 'model.replied' ? [said] : [];
  });
}

const cuts: ReadonlySet<string> = new Set([
  'max_tokens',
  'pause_turn',
  'compaction',
  'model_context_window_exceeded',
]);

/** The result's text is the last reply's, after those that it went on from. */
function textProblems(world: World): readonly string[] {
  const { status, text } = resultOf(world);
  if (isResumed(world) || status === 'cancelled') return [];
  const replied = world.attempts.filter(({ outcome }) => outcome === 'replied');
  const expected = chainOf(replied)
    .map((attempt) => attempt.text)
    .join('');
  if (expected.length > (replied.at(-1)?.text.length ?? 0)) see(world, 'answer continued');
  return text === expected ? [] : [`text: ${show(text)} is not ${show(expected)}`];
}

/** The last reply, and those right before it that were cut. */
const chainOf = (replied: readonly Attempt[]): readonly Attempt[] =>
  replied.slice(replied.slice(0, -1).findLastIndex(({ stopReason }) => !cuts.has(stopReason)) + 1);

const show = (value: string): string => JSON.stringify(value.slice(0, 60));
