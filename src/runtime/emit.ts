import type { AnyActorRef } from 'xstate';
import { redactEvents } from '../core/redact.ts';
import type { RunEvent, UnaddressedEvent } from '../core/run-event.ts';
import { describeThrown } from '../core/stringify.ts';
import type { AgentParts } from './agent-parts.ts';
import { contextOf, runOf, servicesOf, useServices } from './services.ts';

export type Emit = (event: UnaddressedEvent) => void;

/** Puts the run's id on its events, takes secrets out, and tells `listen` and whoever watches the whole agent. */
export function emitterFor(
  { redactor, onEvent }: AgentParts,
  runId: string,
  listen: (event: RunEvent) => void = () => {},
): Emit {
  return redactEvents(redactor, (event) => {
    const addressed = { ...event, runId } as RunEvent;
    listen(addressed);
    if (onEvent) tellListener(onEvent, addressed);
  });
}

/** Whoever watches must not be able to break what it watches. */
function tellListener(onEvent: (event: RunEvent) => void, event: RunEvent): void {
  try {
    onEvent(event);
  } catch (error) {
    process.emitWarning(`onEvent threw at ${event.type}: ${describeThrown(error)}`, 'PawlWarning');
  }
}

/** How an effect tells what it does: to the run that `actor` belongs to, also to one that plain XState started. */
export function emitFrom(parts: AgentParts, actor: AnyActorRef): Emit {
  const services = servicesOf(actor);
  if (services.emit) return services.emit;
  const emit = emitterFor(parts, contextOf(actor).settings.runId);
  useServices(runOf(actor), { ...services, emit });
  return emit;
}
