import { PawlError } from '../core/errors.ts';
import type { SaveStep } from './store.ts';

/** Where the stored transcript of a run ends. */
export interface TranscriptEnd {
  readonly generation: number;
  readonly length: number;
}

/**
 * What is wrong with a step that its run's version allows: messages that would leave a gap, or a first save without a
 * beginning. A mistake of whoever made the step, so the whole save fails. `end` is null for the first save of a run.
 */
export function brokenStep(end: TranscriptEnd | null, step: SaveStep): PawlError | null {
  if (end === null && step.begin === null) return broken(step, 'begins a run, but has no `begin`');
  const before = end ?? { generation: step.generation, length: step.begin?.base?.length ?? 0 };
  if (step.generation < before.generation) {
    return broken(step, `has generation ${step.generation}, after ${before.generation}`);
  }
  const expected = step.generation === before.generation ? before.length : 0;
  if (step.position !== expected) {
    return broken(step, `has messages from position ${step.position} on, not from ${expected}`);
  }
  return brokenTurn(step);
}

function brokenTurn({ turnStart, ...step }: SaveStep): PawlError | null {
  if (turnStart === null || turnStart.generation !== step.generation) return null;
  const length = step.position + step.messages.length;
  if (turnStart.length <= length) return null;
  return broken(step, `begins a turn at message ${turnStart.length}, of ${length}`);
}

const broken = ({ runId, follows }: Pick<SaveStep, 'runId' | 'follows'>, what: string): PawlError =>
  new PawlError(
    'store_failed',
    `The step of run ${JSON.stringify(runId)} that follows save ${follows} ${what}. Nothing was saved.`,
  );
