/** Where replies lead: what is cut never runs and is no answer, loops and junk end, refusals leave no trace. */
import { resultOf } from './check-spending.ts';
import { type Attempt, isResumed, type World } from './world.ts';

const mostContinuations = 5;

export function routingProblems(world: World): readonly string[] {
  const replied = world.attempts.filter(({ outcome }) => outcome === 'replied');
  return [
    ...cutCallProblems(world, replied),
    ...refusalProblems(world, replied),
    ...malformedProblems(world, replied),
    // A reply that a crash took away leads nowhere, and nobody outside can know which one it was.
    ...(isResumed(world) ? [] : answerProblems(world, replied)),
  ];
}

const isCut = ({ stopReason }: Attempt): boolean =>
  stopReason === 'max_tokens' || stopReason === 'pause_turn' || stopReason === 'compaction';

function answerProblems(world: World, replied: readonly Attempt[]): readonly string[] {
  const last = replied.at(-1);
  const isAnswer = last && !isCut(last) && last.stopReason !== 'refusal';
  const isEnd = (attempt: Attempt): boolean =>
    world.scenario.onTruncated === 'stop' &&
    attempt.stopReason === 'max_tokens' &&
    attempt.uses === 0;
  let inRow = 0;
  const rows = replied.map((attempt) => {
    inRow = isCut(attempt) && !attempt.isWrapUp ? inRow + 1 : 0;
    return inRow;
  });
  return [
    ...(resultOf(world).status === 'completed' && !isAnswer
      ? [`routing: a reply that stopped with ${last?.stopReason} was taken for an answer`]
      : []),
    ...(replied.some(isEnd) && last && !isEnd(last)
      ? ['routing: the run went on after a cut text']
      : []),
    ...(Math.max(0, ...rows) > mostContinuations + 1
      ? [`routing: ${Math.max(...rows)} replies in a row were continued`]
      : []),
  ];
}

function cutCallProblems(world: World, replied: readonly Attempt[]): readonly string[] {
  const ran = new Set(world.bodies.map(({ callId }) => callId));
  return replied
    .filter(({ stopReason }) => stopReason !== 'tool_use')
    .flatMap(({ ownIds, stopReason }) =>
      ownIds
        .filter((id) => ran.has(id))
        .map((id) => `routing: ${id} ran, of a reply that stopped with ${stopReason}`),
    );
}

function refusalProblems(world: World, replied: readonly Attempt[]): readonly string[] {
  const history = JSON.stringify(world.finalMessages);
  return replied
    .filter(({ stopReason }) => stopReason === 'refusal')
    .flatMap(({ ownIds, mark }) =>
      [mark, ...ownIds]
        .filter((trace) => history.includes(trace))
        .map((trace) => `routing: ${trace} of a refused reply is in the history`),
    );
}

/** Replies in a row that ask for nothing usable. A raised limit forgives them, and so does a text between them. */
function malformedProblems(world: World, replied: readonly Attempt[]): readonly string[] {
  const { maxMalformedReplies = 3 } = world.limits;
  const isBroken = replied.slice(0, -1).some(({ uses }) => uses === 0);
  if (isBroken || world.seen.has('budget raised on request')) return [];
  if (world.scenario.compaction !== 'never') return [];
  const endings = new Map(
    world.events
      .flat()
      .flatMap((event) =>
        event.type === 'tool.settled' ? [[event.callId, event.ending] as const] : [],
      ),
  );
  let inRow = 0;
  return world.finalMessages.flatMap(({ role, content }) => {
    const uses = content.filter((block) => block.type === 'tool_use');
    if (role !== 'assistant' || uses.length === 0) return [];
    inRow = uses.every(({ id }) => endings.get(id) === 'malformed') ? inRow + 1 : 0;
    return inRow > Math.max(1, maxMalformedReplies)
      ? [`ceiling: ${inRow} malformed replies in a row of ${maxMalformedReplies}`]
      : [];
  });
}
