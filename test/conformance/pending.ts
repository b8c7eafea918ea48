/** The calls that wait for a person, by the model's ids, and whom to tell the decision. */
import { type Run, remoteRun, type SavedRun } from 'pawl';
import { type Engine, liveRuns } from './engine.ts';

export interface PendingCall {
  /** The model's id. */
  readonly id: string;
  readonly callId: string;
  readonly isInterrupted: boolean;
  readonly run: Pick<Run, 'approve' | 'deny' | 'settle' | 'retry'>;
}

/** In all runs of this process that go on. */
export const pendingHere = (engine: Engine): readonly PendingCall[] =>
  liveRuns(engine).flatMap(({ run }) =>
    run.pending.map(({ callId, waits }) => ({
      ...{ run, callId, id: engine.ids.of(callId), isInterrupted: waits.for === 'settlement' },
    })),
  );

/** Also those of a run that no process goes on with now: they can be read, and answered, in its store. */
export async function pendingCalls(engine: Engine): Promise<readonly PendingCall[]> {
  const stored = await storedRun(engine);
  if (!stored) return pendingHere(engine);
  const run = remoteRun(engine.store, stored.runId);
  return stored.head.waits.flatMap(({ callId, for: what }) =>
    callId === null
      ? []
      : [{ run, callId, id: engine.ids.of(callId), isInterrupted: what === 'settlement' }],
  );
}

/** The run of an earlier process that was not resumed in this one. */
export const storedRun = async ({ current, runId, store }: Engine): Promise<SavedRun | null> =>
  current || runId === null ? null : ((await store.load(runId)) ?? null);
