import { redactEvents } from '../core/redact.ts';
import type { RunEvent } from '../core/run-event.ts';
import { describeThrown } from '../core/stringify.ts';
import type { AgentParts } from './agent-parts.ts';
import type { Emit } from './services.ts';

/**
 * Puts the run's id on copies of its events, takes secrets out, and tells `listen` and whoever watches the whole agent.
 * What they do with an event changes nothing in the run.
 */
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

/** Whoever watches must not be able to break what it watches, at once or later. */
function tellListener(onEvent: (event: RunEvent) => unknown, event: RunEvent): void {
  const warn = (error: unknown): void => {
    process.emitWarning(`onEvent threw at ${event.type}: ${describeThrown(error)}`, 'PawlWarning');
  };
  try {
    const told = onEvent(event);
    if (typeof told === 'object' && told !== null) void Promise.resolve(told).catch(warn);
  } catch (error) {
    warn(error);
  }
}
