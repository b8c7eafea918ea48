/** How transitions are put into words, the same in every picture. */
import type { ChartEdge, ChartState } from './chart.ts';

/** What makes an edge happen: event, guard in brackets, its place among the branches (`2.`). */
export function describeEdge(edge: ChartEdge, state: ChartState): string {
  const hasChoice = edge.branches > 1;
  const order = hasChoice ? `${edge.branch}.` : '';
  const condition = edge.guard ?? (hasChoice ? 'else' : null);
  return joinWords([order, describeCause(edge, state), condition === null ? '' : `[${condition}]`]);
}

/** The same with the edge's actions, for an edge that leads nowhere: `call.waits [isOpen] / note, ask`. */
export function describeReaction(edge: ChartEdge, state: ChartState): string {
  const actions = edge.actions.length === 0 ? 'ignored' : edge.actions.join(', ');
  return `${describeEdge(edge, state)} / ${actions}`;
}

/** What people call a state: the last key of its path. */
export function lastKey(path: string): string {
  if (path === '') return 'the whole machine';
  // Dots inside a key are escaped, so they do not part it.
  return (path.split(/(?<!\\)\./).at(-1) ?? path).replaceAll('\\.', '.');
}

function describeCause({ kind, event, subject }: ChartEdge, state: ChartState): string {
  switch (kind) {
    case 'always':
      return '';
    case 'done':
    case 'error':
      return joinWords([actorToName(subject, state), kind]);
    case 'snapshot':
      return joinWords([actorToName(subject, state), 'changed']);
    case 'after':
      return /^\d+$/.test(subject ?? '') ? `after ${subject} ms` : `after ${subject}`;
    case 'event':
      return event === '*' ? 'any other event' : event;
  }
}

/** A state that runs one actor needs no name to say which one ended. */
function actorToName(subject: string | null, { id, invokes }: ChartState): string {
  const invoke = invokes.find((candidate) => candidate.id === subject);
  if (invoke === undefined) return subject ?? '';
  if (invokes.length === 1) return '';
  // XState's own ids, such as `0.agent.busy`, would tell a reader nothing.
  return invoke.id.endsWith(`.${id}`) ? invoke.src : invoke.id;
}

function joinWords(words: readonly string[]): string {
  return words.filter((word) => word !== '').join(' ');
}
