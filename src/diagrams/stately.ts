/** The machine's config as pure JSON, the form that Stately's editor imports. */
import type { AnyStateMachine } from 'xstate';
import { functionName } from './inline-parts.ts';

/**
 * Writes a machine's config with everything that is data in it: descriptions, tags, `always` edges, guards. A function,
 * or an actor given as an object, becomes `{ "type": name }`. Ends with a line break.
 */
export function toStatelyJson(machine: AnyStateMachine): string {
  return `${JSON.stringify(machine.config, toData, 2)}\n`;
}

function toData(key: string, value: unknown): unknown {
  if (typeof value === 'function') return { type: functionName(value) };
  if (key === 'src' && typeof value === 'object' && value !== null) return { type: 'inline actor' };
  return value;
}
