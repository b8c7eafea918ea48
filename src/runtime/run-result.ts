import { codeOfLimit, describeLimit, type LimitReached, type Limits } from '../core/budget.ts';
import { copyJson } from '../core/copy-json.ts';
import type { Failure } from '../core/failure.ts';
import { repairHistory } from '../core/history.ts';
import { add, totalToolCalls } from '../core/ledger.ts';
import type { Message } from '../core/message.ts';
import { usdOfMicros } from '../core/price.ts';
import type { Usage } from '../core/reply.ts';
import type { EndStatus, Refusal, RunContext } from '../core/run-context.ts';

/** What of the budget was used. */
export interface Spend {
  readonly turns: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly costUsd: number;
  readonly activeMs: number;
  readonly toolCalls: number;
}

/** How a run ended, or where it was left. */
export interface RunResult {
  readonly runId: string;
  /** `suspended`: stopped by `run.suspend()`, to be resumed. */
  readonly status: EndStatus | 'suspended';
  /** One sentence for people. */
  readonly reason: string;
  /** Null when the run completed or was suspended. */
  readonly error: Failure | null;
  /** The answer; what there was of it when the run did not complete. */
  readonly text: string;
  /** The whole history, as a copy: a valid start for a follow-up (`agent.start(prompt, { history: result.messages })`). */
  readonly messages: readonly Message[];
  /** Tokens as the providers reported them. */
  readonly usage: Usage;
  /**
   * What the run is known to have cost, in US dollars: the cost of `usage`, and what tools spent themselves. What calls
   * of unknown outcome may have cost is in `budget.uncertain`. Null: a model has no known price.
   */
  readonly costUsd: number | null;
  /** The limit that ended the run. */
  readonly limit: LimitReached | null;
  readonly refusal: Refusal | null;
  readonly budget: {
    readonly limits: Limits;
    /** Everything that counts against the limits, `uncertain` included. */
    readonly spend: Spend;
    /** The part that calls may have taken whose outcome is not known: cut, lost or cancelled ones. */
    readonly uncertain: Pick<Spend, 'inputTokens' | 'outputTokens' | 'costUsd'>;
  };
}

export function resultOf(
  context: RunContext,
  status: RunResult['status'],
  failure: Failure | null = null,
): RunResult {
  const error = failure ?? errorOf(context, status);
  return {
    runId: context.settings.runId,
    status,
    reason: error?.message ?? plainReason(status),
    error,
    text: context.answer,
    messages: copyJson(repairHistory(context.messages)),
    usage: context.usage,
    costUsd: costUsd(context),
    limit: context.limit,
    refusal: context.refusal,
    budget: budgetOf(context),
  };
}

const costUsd = ({ settings, ledger }: RunContext): number | null =>
  settings.models.every(({ price }) => price !== null)
    ? usdOfMicros(ledger.spent.costMicros)
    : null;

function budgetOf({ ledger }: RunContext): RunResult['budget'] {
  const { limits, spent, uncertain, activeMs } = ledger;
  const all = add(spent, uncertain);
  return {
    limits,
    spend: {
      turns: all.turns,
      inputTokens: all.inputTokens,
      outputTokens: all.outputTokens,
      costUsd: usdOfMicros(all.costMicros),
      activeMs,
      toolCalls: totalToolCalls(ledger),
    },
    uncertain: {
      inputTokens: uncertain.inputTokens,
      outputTokens: uncertain.outputTokens,
      costUsd: usdOfMicros(uncertain.costMicros),
    },
  };
}

function errorOf(context: RunContext, status: RunResult['status']): Failure | null {
  switch (status) {
    case 'completed':
    case 'suspended':
      return null;
    case 'exhausted':
      return context.limit && limitFailure(context.limit);
    case 'refused':
      return { code: 'refused', message: refusalReason(context.refusal) };
    case 'cancelled':
      return { code: 'cancelled', message: cancelReason(context) };
    case 'failed':
      return context.failure ?? { code: 'internal', message: 'The run failed.' };
  }
}

const limitFailure = (limit: LimitReached): Failure => ({
  code: codeOfLimit(limit.name),
  message: describeLimit(limit),
});

const refusalReason = (refusal: Refusal | null): string =>
  `The model refused${refusal?.category ? ` (${refusal.category})` : ''}${refusal?.explanation ? `: ${refusal.explanation}` : ''}.`;

const cancelReason = ({ cancelReason: reason }: RunContext): string =>
  reason ? `The run was cancelled: ${reason}` : 'The run was cancelled.';

const plainReason = (status: RunResult['status']): string =>
  status === 'suspended'
    ? 'The run was suspended and can be resumed.'
    : 'The model gave its answer.';
