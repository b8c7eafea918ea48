/** A run that plain XState started, with `createActor` or `invoke`: no store, no handle, but the agent's rules. */
import type { AnyActorRef, AnyMachineSnapshot, InspectionEvent } from 'xstate';
import type { RunContext } from '../core/run-context.ts';
import type { AgentParts } from './agent-parts.ts';
import { emitterFor } from './emit.ts';
import { isRestored } from './plain-context.ts';
import { resultOf } from './run-result.ts';
import { watchSteps, watchWaits } from './run-watch.ts';
import { contextOf, type Emit, hasServices, meterFor, useServices } from './services.ts';
import { createSlots } from './slots.ts';

/** Gives a run that starts what its effects need. Does nothing for one that has it: `agent.start` gives its own. */
export function openPlainRun(parts: AgentParts, run: AnyActorRef): void {
  if (hasServices(run)) return;
  const emit = emitterFor(parts, contextOf(run).settings.runId);
  // Looking on costs a little in each step of the run.
  const steps = parts.onEvent ? watchPlainRun(emit, run) : null;
  useServices(run, {
    meter: meterFor(run),
    slots: createSlots(parts.toolConcurrency),
    saved: () => Promise.resolve(),
    isHeld: () => true,
    regain: () => Promise.resolve(),
    noteChange: () => {},
    noteTurn: () => {},
    noteSteps: (taken) => steps?.look(taken),
    emit,
  });
}

function watchPlainRun(emit: Emit, run: AnyActorRef): ReturnType<typeof watchSteps> {
  const isResumed = isRestored(run);
  emit({ type: 'run.started', isResumed });
  if (!isResumed) emit({ type: 'state.entered', state: 'checkBudget' });
  const steps = watchSteps(emit, run);
  watchWaits(emit, run);
  const look = (event: InspectionEvent): void => {
    if (event.type !== '@xstate.snapshot' || event.actorRef !== run) return;
    const { status, context } = event.snapshot as AnyMachineSnapshot;
    if (status === 'active') return;
    subscription.unsubscribe();
    if (status === 'done') tellEnd(emit, context);
  };
  const subscription = run.system.inspect(look);
  return steps;
}

function tellEnd(emit: Emit, context: RunContext): void {
  const status = context.status ?? 'failed';
  emit({ type: 'run.ended', status, reason: resultOf(context, status).reason });
}
