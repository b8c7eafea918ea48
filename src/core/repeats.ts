import { canonicalJson } from './json.ts';
import { type Message, toolUsesIn } from './message.ts';

/**
 * How many times in a row the transcript's last calls are the same: the same turn again and again, or two turns in
 * alternation (then: rounds). 0 when the last turn asked for no counted tool. Stops counting at `most`.
 *
 * A turn is the set of its calls, so a batch may well hold one call twice.
 */
export function countRepeats(
  messages: readonly Message[],
  isCounted: (tool: string) => boolean,
  most: number,
): number {
  const turns = lastTurns(messages, isCounted, most * 2);
  return Math.min(most, Math.max(roundsOf(turns, 1), roundsOf(turns, 2)));
}

/** Signatures of the last turns, newest first, up to the first turn without counted calls. */
function lastTurns(
  messages: readonly Message[],
  isCounted: (tool: string) => boolean,
  most: number,
): readonly string[] {
  const turns: string[] = [];
  for (let index = messages.length - 1; index >= 0 && turns.length < most; index -= 1) {
    const message = messages[index];
    if (message?.role !== 'assistant') continue;
    const calls = toolUsesIn(message).filter(({ name }) => isCounted(name));
    if (calls.length === 0) break;
    turns.push(signatureOf(calls));
  }
  return turns;
}

const signatureOf = (calls: ReturnType<typeof toolUsesIn>): string =>
  JSON.stringify(calls.map(({ name, input }) => `${name} ${canonicalJson(input)}`).sort());

function roundsOf(turns: readonly string[], period: number): number {
  let matching = period;
  while (matching < turns.length && turns[matching] === turns[matching % period]) matching += 1;
  return turns.length < period ? 0 : Math.floor(matching / period);
}
