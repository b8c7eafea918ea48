import { z } from 'zod';
import { invalidInput } from '../core/errors.ts';
import type { Json } from '../core/json.ts';
import { isBlank } from '../core/message.ts';
import { nearNames } from '../core/near-names.ts';
import { limitOutput } from '../core/output-limit.ts';
import { describeThrown } from '../core/stringify.ts';
import type { OnInterrupted, ToolEffect } from '../core/tool-call.ts';
import { toWellFormed } from '../core/well-formed.ts';
import { describeIssues } from './input-problem.ts';
import { type InputOf, type InputSchema, readSchema } from './input-schema.ts';
import type { Parsed, ProbeAnswer, ProbeContext, Tool, ToolContext } from './tool.ts';

export interface ToolDefinition<Schema extends InputSchema> {
  /** 1 to 128 letters, digits, `_` and `-`. */
  readonly name: string;
  /** What the tool does and when to use it, for the model. */
  readonly description: string;
  /**
   * A zod 4 schema of an object, or a JSON Schema of any dialect with `type: 'object'`. Of the latter, keywords that zod
   * does not know are shown to the model but not checked.
   */
  readonly input: Schema;
  /**
   * What a repeat means when a crash leaves the outcome unknown: `read` changes nothing, `idempotent` may run again
   * with the same key, `once` runs again only when its `probe` or a person says so. No default: only the author knows.
   */
  readonly effect: ToolEffect;
  /** Returns text, anything JSON-like, or a `toolOutput`. A throw becomes an error result that the model sees. */
  readonly run: (input: InputOf<Schema>, context: ToolContext) => unknown;
  /**
   * For `once`: finds out, without acting, whether a call happened that a crash interrupted, by the key that `run` was given
   * for it. A call that happened is answered with its result; one that did not runs again, with the same key. A throw, or
   * an answer that takes longer than `timeoutMs`, counts as `unknown`. A call that happened costs what a `toolOutput` as
   * its result says, else all of `maxCostUsd`.
   */
  readonly probe?: (
    idempotencyKey: string,
    context: ProbeContext<InputOf<Schema>>,
  ) => ProbeAnswer | Promise<ProbeAnswer>;
  /**
   * For `once`: what becomes of an interrupted call when no probe knows whether it acted. `ask` waits for a person;
   * `report` tells the model that the outcome is unknown and the run goes on. Default: `ask`.
   */
  readonly onInterrupted?: OnInterrupted;
  /** Longest time of one attempt, in ms, at most 2,147,483,647. Default: 60,000. */
  readonly timeoutMs?: number;
  /** Most calls in one run, at least 1. Default: no limit. */
  readonly maxCalls?: number;
  /** Further attempts after one that threw or timed out. Default: 0, and nothing else for `once`. */
  readonly maxRetries?: number;
  /** Most calls at once in one run, at least 1. Default: Infinity. */
  readonly concurrency?: number;
  /** Most that one call spends itself, with all its attempts, in US dollars. Default: 0. */
  readonly maxCostUsd?: number;
  /** Calling it again with the same input is not a loop: polling, waiting. Default: false. */
  readonly repeatable?: boolean;
  /** Most characters of a result, at least 1. Default: the agent's limit. */
  readonly maxOutputChars?: number;
}

const effects: readonly ToolEffect[] = ['read', 'idempotent', 'once'];
const fields = [
  ...['name', 'description', 'input', 'effect', 'run', 'timeoutMs', 'maxCalls', 'maxRetries'],
  ...['concurrency', 'maxCostUsd', 'repeatable', 'maxOutputChars', 'probe', 'onInterrupted'],
];
/** A timer that is set for longer fires at once. */
const maxTimeoutMs = 2_147_483_647;
const maxMaxCostUsd = 1_000_000;
const maxProblemChars = 1_000;

/**
 * Makes a tool. Whatever is wrong with the definition is said here, not in the middle of a run.
 * @throws PawlError `invalid_input`, naming the tool and the field.
 */
export function defineTool<const Schema extends InputSchema>(
  definition: ToolDefinition<Schema>,
): Tool {
  const at = checkIdentity(definition);
  checkBehaviour(at, definition);
  checkRecovery(at, definition);
  checkNumbers(at, definition);
  const { validator, jsonSchema } = readSchema(`${at}input`, definition.input);
  return {
    name: definition.name,
    description: definition.description,
    inputSchema: jsonSchema,
    effect: definition.effect,
    onInterrupted: definition.onInterrupted ?? 'ask',
    timeoutMs: definition.timeoutMs ?? 60_000,
    maxCalls: definition.maxCalls ?? null,
    maxRetries: definition.maxRetries ?? 0,
    concurrency: definition.concurrency ?? Infinity,
    maxCostUsd: definition.maxCostUsd ?? 0,
    isRepeatable: definition.repeatable ?? false,
    maxOutputChars: definition.maxOutputChars ?? null,
    parse: (input) => parseInput(validator, input),
    // The run gets nothing but what `parse` let through, which is of this type.
    run: (input, context) => definition.run(input as InputOf<Schema>, context),
    probe: probeOf(definition),
  };
}

function probeOf<Schema extends InputSchema>(definition: ToolDefinition<Schema>): Tool['probe'] {
  const { probe } = definition;
  if (probe === undefined) return null;
  return (key, context) => probe(key, { ...context, input: context.input as InputOf<Schema> });
}

/** @returns the beginning of the field names in error messages. */
function checkIdentity(definition: ToolDefinition<InputSchema>): string {
  if (typeof definition !== 'object' || definition === null) {
    throw invalidInput('tool', 'a definition', definition);
  }
  const { name, description } = definition;
  if (typeof name !== 'string' || !/^[a-zA-Z0-9_-]{1,128}$/.test(name)) {
    throw invalidInput('tool name', '1 to 128 letters, digits, "_" and "-"', name);
  }
  const at = `tool "${name}": `;
  if (typeof description !== 'string' || isBlank(description)) {
    throw invalidInput(`${at}description`, 'a text for the model', description);
  }
  if (description !== toWellFormed(description)) {
    throw invalidInput(`${at}description`, 'text without lone surrogates', description);
  }
  return at;
}

function checkBehaviour(at: string, definition: ToolDefinition<InputSchema>): void {
  const { effect, run, repeatable = false } = definition;
  if (!effects.includes(effect)) {
    throw invalidInput(`${at}effect`, '"read", "idempotent" or "once"', effect);
  }
  if (typeof run !== 'function') throw invalidInput(`${at}run`, 'a function', run);
  if (typeof repeatable !== 'boolean')
    throw invalidInput(`${at}repeatable`, 'a boolean', repeatable);
  for (const field of Object.keys(definition).filter((key) => !fields.includes(key))) {
    const [meant] = nearNames(field, fields, 1);
    const hint = meant === undefined ? '' : ` (did you mean "${meant}"?)`;
    throw invalidInput(`${at}field`, `one of ${fields.join(', ')}${hint}`, field);
  }
}

/** What is only ever asked of calls that may not run again by themselves. */
function checkRecovery(at: string, definition: ToolDefinition<InputSchema>): void {
  const { effect, probe, onInterrupted } = definition;
  if (probe !== undefined && typeof probe !== 'function') {
    throw invalidInput(`${at}probe`, 'a function', probe);
  }
  if (onInterrupted !== undefined && !['ask', 'report'].includes(onInterrupted)) {
    throw invalidInput(`${at}onInterrupted`, '"ask" or "report"', onInterrupted);
  }
  for (const [field, value] of Object.entries({ probe, onInterrupted })) {
    if (effect === 'once' || value === undefined) continue;
    const expected = `none, because its effect is "${effect}": an interrupted call runs again`;
    throw invalidInput(`${at}${field}`, expected, value);
  }
}

function checkNumbers(at: string, definition: ToolDefinition<InputSchema>): void {
  const { maxRetries = 0, concurrency = Infinity, maxCostUsd = 0 } = definition;
  checkInteger(`${at}timeoutMs`, definition.timeoutMs, 1, maxTimeoutMs);
  checkInteger(`${at}maxCalls`, definition.maxCalls, 1);
  checkInteger(`${at}maxRetries`, maxRetries, 0);
  checkInteger(`${at}maxOutputChars`, definition.maxOutputChars, 1);
  if (concurrency !== Infinity) checkInteger(`${at}concurrency`, concurrency, 1);
  if (definition.effect === 'once' && maxRetries > 0) {
    throw invalidInput(`${at}maxRetries`, '0, because its effect is "once"', maxRetries);
  }
  if (typeof maxCostUsd !== 'number' || !(maxCostUsd >= 0 && maxCostUsd <= maxMaxCostUsd)) {
    throw invalidInput(`${at}maxCostUsd`, `a number from 0 to ${maxMaxCostUsd}`, maxCostUsd);
  }
}

function checkInteger(
  field: string,
  value: number | undefined,
  least: number,
  most = Number.MAX_SAFE_INTEGER,
): void {
  if (value === undefined) return;
  if (Number.isSafeInteger(value) && value >= least && value <= most) return;
  const range = most === Number.MAX_SAFE_INTEGER ? `of at least ${least}` : `${least} to ${most}`;
  throw invalidInput(field, `a whole number ${range}`, value);
}

/** What a check of the author throws is a problem of this input too: the run must not die of it. */
async function parseInput(validator: z.core.$ZodType, input: Json): Promise<Parsed> {
  try {
    const parsed = await z.safeParseAsync(validator, input);
    if (parsed.success) return { ok: true, value: parsed.data };
    return { ok: false, problem: describeIssues(parsed.error.issues, input) };
  } catch (thrown) {
    const problem = `The input could not be checked: ${describeThrown(thrown)}`;
    return { ok: false, problem: limitOutput(problem, maxProblemChars) };
  }
}
