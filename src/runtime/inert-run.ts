/** The agent loop without a runtime: it decides, and nobody carries anything out. */
import {
  type AnyActorScope,
  type AnyEventObject,
  createActor,
  fromCallback,
  type SnapshotFrom,
} from 'xstate';
import { agentLoop } from '../../machines/agent-loop.ts';
import type { RunContext, RunInput } from '../core/run-context.ts';

export type Snapshot = SnapshotFrom<typeof agentLoop>;

export interface InertRun {
  readonly first: Snapshot;
  after(snapshot: Snapshot, event: AnyEventObject): Snapshot;
  /** A state that waits for events, without its children. */
  at(value: { readonly active: 'awaitBudget' | 'callModel' }, context: RunContext): Snapshot;
  /** Sees each state that an event leads through, the last one too. */
  watch(look: (passed: Snapshot) => void): void;
}

export function inertRun(input: RunInput): InertRun {
  // XState would take a root actor for one that shall start; a child of an actor that never starts stays as it is.
  const parent = createActor(fromCallback(() => {}));
  const self = createActor(agentLoop, { parent, input });
  const doNothing = (): void => {};
  const scope = {
    self,
    id: self.id,
    sessionId: self.sessionId,
    system: self.system,
    logger: doNothing,
    defer: doNothing,
    emit: doNothing,
    stopChild: doNothing,
    actionExecutor: doNothing,
  } as unknown as AnyActorScope;
  return {
    first: agentLoop.getInitialSnapshot(scope as never, input),
    after: (snapshot, event) => agentLoop.transition(snapshot, event as never, scope as never),
    at: (value, context) => agentLoop.resolveState({ value, context }) as Snapshot,
    watch(look) {
      parent.system.inspect((event) => {
        if (event.type !== '@xstate.microstep' || event.actorRef !== self) return;
        look(event.snapshot as Snapshot);
      });
    },
  };
}
