/** Steps of imagined runs, for checks of stores. */
import { type Message, userMessage } from '../core/message.ts';
import { defaultRetry } from '../core/retry.ts';
import type { RunSettings } from '../core/run-context.ts';
import type { SaveStep } from '../stores/store.ts';

export const settingsOf = (runId: string): RunSettings => ({
  runId,
  agent: null,
  models: [
    {
      id: 'model',
      provider: 'test',
      price: null,
      maxOutputTokens: 8_000,
      minOutputTokens: 1_000,
      contextWindow: null,
    },
  ],
  tools: [],
  prefixTokens: 0,
  onLimit: 'stop',
  onTruncated: 'stop',
  retry: defaultRetry,
  compactAtTokens: null,
});

const plain: Omit<SaveStep, 'runId' | 'follows' | 'begin' | 'checkpoint' | 'position'> = {
  generation: 0,
  messages: [],
  results: [],
  closesBatch: false,
  turnStart: null,
  record: {
    atMs: 1_000,
    state: 'callModel',
    cause: 'start',
    turn: 0,
    spend: { inputTokens: 0, outputTokens: 0, costMicros: 0, activeMs: 0 },
    events: [],
  },
  head: { status: 'running', state: 'callModel', agent: null, tags: [], turn: 0, waits: [] },
  heard: [],
};

/** Makes the steps of one run, each following the one before. */
export interface StepMaker {
  readonly next: (change?: Partial<SaveStep>) => SaveStep;
  /** A turn begins, with these messages before it. */
  readonly turn: (turn: number, messages: readonly Message[]) => SaveStep;
}

export function stepsOf(runId: string, begin: Partial<SaveStep['begin']> = {}): StepMaker {
  const start = { settings: settingsOf(runId), base: null, forkOf: null, lease: null, ...begin };
  let follows = 0;
  let generation = start.base?.generation ?? 0;
  let length = start.base?.length ?? 0;
  function next(change: Partial<SaveStep> = {}): SaveStep {
    if ((change.generation ?? generation) !== generation) length = 0;
    generation = change.generation ?? generation;
    const step: SaveStep = {
      ...plain,
      runId,
      follows,
      begin: follows === 0 ? start : null,
      checkpoint: { mark: `${runId}/${follows + 1}` },
      position: length,
      ...change,
      generation,
    };
    follows = step.follows + 1;
    length = step.position + step.messages.length;
    return step;
  }
  const turn = (number: number, messages: readonly Message[]): SaveStep =>
    next({
      messages,
      turnStart: {
        turn: number,
        generation,
        length: length + messages.length,
        context: { turn: number, ledger: { spent: number * 10, limit: 5 }, fixed: 'fixed' },
      },
    });
  return { next, turn };
}

export const says = (...texts: readonly string[]): readonly Message[] => texts.map(userMessage);
