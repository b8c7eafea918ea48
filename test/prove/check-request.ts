/** What must hold whenever a model is asked: a sound request, and room for its worst under every limit. */
import type { ModelRequest } from 'pawl';
import type { ModelPlan } from './scenario.ts';
import { billOf, dearestBill, inputOf } from './tokens.ts';
import { type Attempt, see, type World } from './world.ts';

export function checkShape(world: World, plan: ModelPlan, request: ModelRequest): void {
  const { maxTokens } = request;
  if (!(maxTokens >= plan.minOutputTokens && maxTokens <= plan.maxOutputTokens)) {
    const range = `${plan.minOutputTokens} to ${plan.maxOutputTokens}`;
    world.problems.push(`request: max_tokens ${maxTokens} is not within ${range}`);
  }
  if (maxTokens < plan.maxOutputTokens) see(world, 'max_tokens shrunk');
  if (request.toolChoice === 'none') see(world, 'wrap-up asked');
}

interface Bill {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly costMicros: number;
}

/** What an attempt took, or may have taken at worst. */
export function billOfAttempt(world: World, attempt: Attempt): Bill {
  const { outcome, usage, model, inputTokens, maxTokens } = attempt;
  const plan = world.scenario.models[model] ?? world.scenario.models[0];
  if (outcome === 'free') return { inputTokens: 0, outputTokens: 0, costMicros: 0 };
  if (outcome === 'replied' && usage) {
    const { outputTokens } = usage;
    return { inputTokens: inputOf(usage), outputTokens, costMicros: billOf(plan, usage) };
  }
  const costMicros = dearestBill(plan, inputTokens, maxTokens);
  return { inputTokens, outputTokens: maxTokens, costMicros };
}

/** Everything that models and tools have taken, or may have. */
export function billOfWorld(world: World): Bill {
  const bills = world.attempts.map((attempt) => billOfAttempt(world, attempt));
  return {
    inputTokens: bills.reduce((sum, bill) => sum + bill.inputTokens, 0),
    outputTokens: bills.reduce((sum, bill) => sum + bill.outputTokens, 0),
    costMicros:
      bills.reduce((sum, bill) => sum + bill.costMicros, 0) +
      world.bodies.reduce((sum, { costMicros }) => sum + costMicros, 0),
  };
}

/** The limits on amounts, with what was taken. */
export function amountsAgainst({ limits }: World, bill: Bill) {
  const maxCostMicros =
    limits.maxCostUsd === undefined ? undefined : Math.round(limits.maxCostUsd * 1_000_000);
  return [
    ['maxInputTokens', bill.inputTokens, limits.maxInputTokens],
    ['maxOutputTokens', bill.outputTokens, limits.maxOutputTokens],
    ['maxTotalTokens', bill.inputTokens + bill.outputTokens, limits.maxTotalTokens],
    ['maxCostMicros', bill.costMicros, maxCostMicros],
  ] as const;
}

/** The request's own worst has to fit beside everything that came before it. */
export function checkRoom(world: World, attempt: Attempt): void {
  const before = billOfWorld(world);
  const worst = billOfAttempt(world, attempt);
  const bill: Bill = {
    inputTokens: before.inputTokens + worst.inputTokens,
    outputTokens: before.outputTokens + worst.outputTokens,
    costMicros: before.costMicros + worst.costMicros,
  };
  for (const [name, used, max] of amountsAgainst(world, bill)) {
    if (max !== undefined && used > max) {
      world.problems.push(`ceiling: a request was made that may pass ${name}: ${used} of ${max}`);
    }
  }
}
