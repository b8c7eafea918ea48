/** The checks and rules of a tool's author get no more time than the tool itself: one that hangs must not hang the run. */
import { copyJson } from '../core/copy-json.ts';
import type { Json } from '../core/json.ts';
import type { Parsed, Tool } from '../tools/tool.ts';
import { raceTimeout, timedOut } from './race.ts';

/** What `work` gives, or `timedOut`. Rejects like it, and with the signal's reason once that fires. */
export async function inTime<Value>(
  work: Promise<Value>,
  { timeoutMs }: Tool,
  signal: AbortSignal,
): Promise<Value | typeof timedOut> {
  try {
    return await raceTimeout(work, timeoutMs, signal);
  } catch (error) {
    if (error === timedOut) return timedOut;
    throw error;
  }
}

/** Parsed from a copy, so that neither the check nor the tool can rewrite the transcript. */
export const parseCopy = async (tool: Tool, input: Json): Promise<Parsed> =>
  tool.parse(copyJson(input));

export type ParsedInTime = Parsed & { readonly isLate?: boolean };

/** `isLate`: nobody knows whether the input is fine. */
export async function parseInTime(
  tool: Tool,
  input: Json,
  signal: AbortSignal,
): Promise<ParsedInTime> {
  const parsed = await inTime(parseCopy(tool, input), tool, signal);
  if (parsed !== timedOut) return parsed;
  const problem = `The input could not be checked within ${tool.timeoutMs} ms.`;
  return { ok: false, problem, isLate: true };
}
