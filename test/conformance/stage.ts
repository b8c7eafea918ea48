/** All that one play of a case knows while it runs. */
import { getEventListeners } from 'node:events';
import { memoryStore, type Run, type RunEvent, type RunResult, type Store } from 'pawl';
import { createHappenings, type Happenings } from './happenings.ts';
import type { Behaviour, Case, CaseTool, Config, Mode } from './load-case.ts';
import { type ModelIds, modelIds } from './model-ids.ts';
import type { ScriptedServer } from './server.mjs';

/** A run that the play started, and what was heard of it. */
export interface Tracked {
  readonly run: Run;
  /** Started by a tool. */
  readonly isChild: boolean;
  readonly events: RunEvent[];
  ended: RunResult | null;
}

export interface Stage {
  readonly kase: Case;
  readonly mode: Mode;
  readonly server: ScriptedServer;
  readonly store: Store;
  readonly happenings: Happenings;
  readonly ids: ModelIds;
  /** Handed to each run, as an app would that stops its runs when it shuts down. */
  readonly signal: AbortSignal;
  readonly runs: Tracked[];
  readonly executions: Map<string, unknown[]>;
  readonly steps: Map<Behaviour, number>;
  readonly predicateCalls: Map<string, number>;
  readonly snapshots: Map<string, string>;
  readonly notices: string[];
  readonly checkpoints: Record<string, unknown>;
  readonly actionErrors: { readonly do: string; readonly code: string }[];
  /** What else was said: events as the agent's listener got them, texts of errors. */
  readonly said: string[];
  readonly failures: string[];
  readonly startedAt: number;
  config: Config;
  tools: readonly CaseTool[];
  /** The run of the last user message; null before it, and once its process was killed. */
  current: Tracked | null;
  /** Why the last start or resume was refused. */
  refusal: { readonly code: string; readonly message: string } | null;
  isSteerRejected: boolean;
  isTimedOut: boolean;
}

export function createStage(kase: Case, mode: Mode, server: ScriptedServer): Stage {
  const happenings = createHappenings();
  server.on(({ type, n, k }) => {
    happenings.note([type, n, k].filter((part) => part !== undefined).join(':'));
  });
  return {
    kase,
    mode,
    server,
    store: memoryStore(),
    happenings,
    ids: modelIds(kase.script.server.responses),
    signal: new AbortController().signal,
    runs: [],
    executions: new Map(),
    steps: new Map(),
    predicateCalls: new Map(),
    snapshots: new Map(),
    notices: [],
    checkpoints: {},
    actionErrors: [],
    said: [],
    failures: [],
    startedAt: performance.now(),
    config: kase.script.config,
    tools: kase.script.tools ?? [],
    current: null,
    refusal: null,
    isSteerRejected: false,
    isTimedOut: false,
  };
}

/** Listens to a run from its start to its end. */
export function track(stage: Stage, run: Run, { isChild }: { readonly isChild: boolean }): Tracked {
  const tracked: Tracked = { run, isChild, events: [], ended: null };
  stage.runs.push(tracked);
  void run.result.then((result) => {
    tracked.ended = result;
  });
  void listen(tracked);
  return tracked;
}

async function listen({ run, events }: Tracked): Promise<void> {
  for await (const event of run.events) events.push(event);
}

/** The calls that wait for a person, in all runs that go on, by the model's ids. */
export const pendingOf = (stage: Stage) =>
  liveRuns(stage).flatMap(({ run }) =>
    run.pending.map(({ callId, waits }) => ({ run, callId, waits, id: stage.ids.of(callId) })),
  );

export const liveRuns = ({ runs, current }: Stage): readonly Tracked[] =>
  runs.filter((tracked) => (tracked === current || tracked.isChild) && tracked.ended === null);

export const listenersLeft = ({ signal }: Stage): number =>
  getEventListeners(signal, 'abort').length;
