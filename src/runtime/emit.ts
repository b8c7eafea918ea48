import type { AnyActorRef } from 'xstate';
import type { RunEvent, UnaddressedEvent } from '../core/run-event.ts';
import type { AgentParts } from './agent-parts.ts';
import { contextOf, servicesOf } from './services.ts';

/** Tells whoever watches the run of this actor, and whoever watches the whole agent. */
export function emitFrom(parts: AgentParts, actor: AnyActorRef): (event: UnaddressedEvent) => void {
  const { emit } = servicesOf(actor);
  const { runId } = contextOf(actor).settings;
  return (event) => {
    emit(event);
    parts.onEvent?.({ ...event, runId } as RunEvent);
  };
}
