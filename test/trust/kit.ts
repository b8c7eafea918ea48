/** What the trust tests share: tools that note what they did, and what must be true after any run. */
import {
  type Budget,
  createAgent,
  defineTool,
  type Permissions,
  type Run,
  type RunResult,
  type Tool,
} from 'pawl';
import { type Script, scriptedModel } from 'pawl/testing';
import { afterAll, beforeAll, expect } from 'vitest';
import { z } from 'zod';
import { historyProblems } from '../../src/core/history.ts';
import { canonicalJson, type Json } from '../../src/core/json.ts';

/** What really happened: one line for each time that a tool's body ran. */
export type EffectLog = string[];

export function loggedTool(
  log: EffectLog,
  name: string,
  options: {
    readonly effect?: 'read' | 'idempotent' | 'once';
    readonly input?: z.core.$ZodType<unknown, object> | { readonly type: 'object' };
    readonly answer?: string;
    readonly description?: string;
  } = {},
): Tool {
  const { effect = 'once', input = { type: 'object' }, answer = 'Done.' } = options;
  return defineTool({
    name,
    description: options.description ?? `Does ${name}.`,
    input,
    effect,
    run(given) {
      log.push(`${name} ${canonicalJson(given as Json)}`);
      return answer;
    },
  });
}

/** A run that asks whether it may write to Ada, under call id `a`. */
export function askingRun(
  options: {
    readonly runId?: string;
    readonly script?: Script;
    readonly tools?: readonly Tool[];
    readonly prompt?: string;
    readonly permissions?: Permissions;
    readonly budget?: Budget;
  } = {},
) {
  const log: EffectLog = [];
  const {
    script = [mailTo('Ada'), 'Ok.', 'Ok.', 'Ok.'],
    runId,
    prompt = 'Write to Ada.',
  } = options;
  const model = scriptedModel(script);
  const tools = options.tools ?? [mailTool(log)];
  const { permissions = {}, budget = {} } = options;
  const agent = createAgent({ model, tools, permissions, budget });
  const run = agent.start(prompt, runId === undefined ? {} : { runId });
  return { agent, run, log, model };
}

export const mailTool = (log: EffectLog, description = 'Sends a mail.'): Tool =>
  loggedTool(log, 'send_mail', { input: z.object({ to: z.string().min(1) }), description });

export const mailTo = (to: string, id = 'a') => ({
  toolUses: [{ id, name: 'send_mail', input: { to } }],
});

export const mailed = (to: string): string => `send_mail ${canonicalJson({ to })}`;

/** Ends the run, whatever it does or waits for, and checks what is true of each that has ended. */
export async function close(run: Run): Promise<RunResult> {
  await run.idle();
  run.cancel('The test is over.');
  const result = await run.result;
  expect(historyProblems(result.messages)).toEqual([]);
  expectWithinBudget(result);
  return result;
}

const limitOf = {
  turns: 'maxTurns',
  inputTokens: 'maxInputTokens',
  outputTokens: 'maxOutputTokens',
  toolCalls: 'maxToolCalls',
} as const;

function expectWithinBudget({ budget: { limits, spend } }: RunResult): void {
  for (const [name, limit] of Object.entries(limitOf)) {
    const most = limits[limit] ?? Number.POSITIVE_INFINITY;
    expect(spend[name as keyof typeof limitOf], name).toBeLessThanOrEqual(most);
  }
  const { maxCostMicros, maxTotalTokens } = limits;
  expect(spend.costUsd * 1e6).toBeLessThanOrEqual(maxCostMicros ?? Number.POSITIVE_INFINITY);
  expect(spend.inputTokens + spend.outputTokens).toBeLessThanOrEqual(
    maxTotalTokens ?? Number.POSITIVE_INFINITY,
  );
}

/** Nothing in this file may change a built-in prototype or leave a rejection unhandled. */
export function watchProcess(): void {
  const prototypes = [Object.prototype, Array.prototype, Function.prototype, String.prototype];
  const keysOf = () => prototypes.map((prototype) => Reflect.ownKeys(prototype).map(String));
  const before = keysOf();
  const unhandled: unknown[] = [];
  const note = (reason: unknown): void => void unhandled.push(reason);
  beforeAll(() => void process.on('unhandledRejection', note));
  afterAll(async () => {
    await new Promise((resolve) => setImmediate(resolve));
    process.off('unhandledRejection', note);
    expect(unhandled).toEqual([]);
    expect(keysOf()).toEqual(before);
  });
}
