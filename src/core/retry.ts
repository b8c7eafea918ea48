/** How failed model calls are tried again. There is no other retry: the SDK's own are switched off. */
export interface RetryPolicy {
  /** Further attempts after the first, per model. Default 4. */
  readonly maxRetries: number;
  /** Longest wait before the first retry; doubles with each. Default 500. */
  readonly baseMs: number;
  /** Longest wait that Pawl chooses. Default 30,000. */
  readonly maxMs: number;
  /** Longest wait that a server's Retry-After may ask for. A longer one is cut to this. Default 120,000. */
  readonly maxRetryAfterMs: number;
}

export const defaultRetry: RetryPolicy = {
  maxRetries: 4,
  baseMs: 500,
  maxMs: 30_000,
  maxRetryAfterMs: 120_000,
};

/**
 * How long to wait before the attempt after `attempt` (1 = the first), in milliseconds.
 *
 * Backoff doubles up to `maxMs` and keeps at least half of it; `random` in [0, 1) spreads the rest, so that many
 * clients do not come back at once. A server's own wish counts instead, with the jitter on top.
 */
export function delayBeforeRetryMs(
  { baseMs, maxMs, maxRetryAfterMs }: RetryPolicy,
  attempt: number,
  random: number,
  retryAfterMs: number | null = null,
): number {
  const ceiling = Math.min(maxMs, baseMs * 2 ** Math.min(attempt - 1, 30));
  if (retryAfterMs === null) return Math.round(ceiling / 2 + (ceiling / 2) * random);
  const asked = Math.min(Math.max(0, retryAfterMs), maxRetryAfterMs);
  return Math.round(asked + Math.min(ceiling, asked * 0.1) * random);
}

/** No wait before a retry is longer, in milliseconds, whatever a server asks for. */
export const longestDelayMs = (policy: RetryPolicy): number =>
  Math.max(
    delayBeforeRetryMs(policy, Number.MAX_SAFE_INTEGER, 1),
    delayBeforeRetryMs(policy, Number.MAX_SAFE_INTEGER, 1, Number.POSITIVE_INFINITY),
  );
