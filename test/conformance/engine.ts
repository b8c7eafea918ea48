/** What the process in which the runs of a play are knows: its own memory, which is gone when it is killed. */
import { getEventListeners } from 'node:events';
import { join } from 'node:path';
import { memoryStore, type Run, type RunResult, type Store, sqliteStore } from 'pawl';
import { type Counters, countersIn, countersInMemory } from './counters.ts';
import type { CaseTool, Config, Mode } from './load-case.ts';
import { type ModelIds, modelIds } from './model-ids.ts';
import type { Tell } from './told.ts';

/** All that a process has to be given. Plain JSON. */
export interface Birth {
  /** Unique in the play. */
  readonly name: string;
  readonly mode: Mode;
  readonly url: string;
  readonly responses: readonly unknown[];
  readonly config: Config;
  readonly tools: readonly CaseTool[];
  /** Where runs and counts are kept; null: in memory. */
  readonly folder: string | null;
  /** The run that processes before this one had. */
  readonly runId: string | null;
}

/** A run of this process. */
export interface Tracked {
  readonly run: Run;
  readonly isChild: boolean;
  ended: RunResult | null;
}

export interface Engine {
  readonly name: string;
  readonly mode: Mode;
  readonly url: string;
  readonly store: Store;
  /** What has changed can be on the disk only if there is one. */
  readonly isDurable: boolean;
  readonly counters: Counters;
  readonly ids: ModelIds;
  /** Handed to each run, as an app would that stops its runs when it shuts down. */
  readonly signal: AbortSignal;
  readonly runs: Tracked[];
  readonly tell: Tell;
  readonly tools: readonly CaseTool[];
  config: Config;
  runId: string | null;
  /** The run of the last user message; null before it. */
  current: Tracked | null;
}

export function createEngine(birth: Birth, tell: Tell): Engine {
  const { name, mode, url, responses, config, tools, folder, runId } = birth;
  return {
    ...{ name, mode, url, tell, tools, config, runId },
    store: folder === null ? memoryStore() : sqliteStore(join(folder, 'runs.db')),
    isDurable: folder !== null,
    counters: folder === null ? countersInMemory() : countersIn(join(folder, 'counts')),
    ids: modelIds(responses),
    signal: new AbortController().signal,
    runs: [],
    current: null,
  };
}

/** Listens to a run from its start to its end. */
export function track(engine: Engine, run: Run, { isChild }: { readonly isChild: boolean }) {
  const { runs, tell, name } = engine;
  const tracked: Tracked = { run, isChild, ended: null };
  const key = `${name}.${runs.push(tracked)}`;
  tell({ told: 'opened', key, runId: run.id, isChild });
  void run.result.then((result) => {
    tracked.ended = result;
    const { reason, error, refusal, usage, costUsd } = result;
    tell({ told: 'ended', key, result: { reason, error, refusal, usage, costUsd } });
  });
  void listen(run, key, tell);
  return tracked;
}

async function listen({ events }: Run, key: string, tell: Tell): Promise<void> {
  for await (const event of events) tell({ told: 'event', key, event });
}

export const liveRuns = ({ runs, current }: Engine): readonly Tracked[] =>
  runs.filter((tracked) => (tracked === current || tracked.isChild) && tracked.ended === null);

export const listenersLeft = ({ signal }: Engine): number =>
  getEventListeners(signal, 'abort').length;
