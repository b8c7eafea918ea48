/** Refuses what a caller tells a run and can't mean, before the run hears of it. */
import { type Budget, type Limits, namedLimits } from '../core/budget.ts';
import * as check from '../core/check.ts';
import { invalidInput } from '../core/errors.ts';
import { type Json, jsonProblem } from '../core/json.ts';
import type { ModelSettings } from '../core/run-context.ts';

/** Deeper values overflow the stack where they are written as JSON. */
const maxInputDepth = 500;

/** @throws PawlError `invalid_input` */
export function checkApproval(
  callId: unknown,
  options: { readonly input?: Json; readonly argumentsHash?: string },
): void {
  checkCallId(callId);
  check.checkFields('options', options, ['input', 'argumentsHash']);
  check.checkText('argumentsHash', options.argumentsHash);
  const problem = options.input === undefined ? null : jsonProblem(options.input, maxInputDepth);
  if (problem) throw invalidInput('input', problem, options.input);
}

/** @throws PawlError `invalid_input` */
export function checkDenial(callId: unknown, reason: unknown): void {
  checkCallId(callId);
  check.checkText('reason', reason);
}

/** @throws PawlError `invalid_input` */
export function checkSettlement(
  callId: unknown,
  outcome: { readonly content: string; readonly isError?: boolean },
): void {
  checkCallId(callId);
  check.checkFields('outcome', outcome, ['content', 'isError']);
  check.checkText('outcome.content', outcome.content ?? null);
  check.checkBoolean('outcome.isError', outcome.isError);
}

/** @throws PawlError `invalid_input` */
export const checkCallId = (callId: unknown): void => check.checkText('callId', callId ?? null);

/** @throws PawlError `invalid_input` */
export function raisedLimits(budget: Budget, models: readonly ModelSettings[]): Partial<Limits> {
  const limits = namedLimits(budget);
  checkPriced(limits, models, budget.maxCostUsd);
  return limits;
}

/** A limit on costs that nobody can count would be none. @throws PawlError `invalid_input` */
export function checkPriced(
  { maxCostMicros = null }: Partial<Limits>,
  models: readonly ModelSettings[],
  maxCostUsd: number | undefined,
): void {
  const unpriced = models.find(({ price }) => price === null);
  if (maxCostMicros === null || !unpriced) return;
  throw invalidInput(
    'budget.maxCostUsd',
    `a model with a known price (give "price" to the model ${JSON.stringify(unpriced.id)})`,
    maxCostUsd,
  );
}
