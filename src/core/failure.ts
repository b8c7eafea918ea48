/**
 * Stable names for what can go wrong. Match on these, never on a message.
 *
 * The first two groups appear in `result.error`, the third is thrown by the API before anything happened.
 */
export type ErrorCode =
  // the model's side
  | 'provider_invalid_request'
  | 'provider_auth'
  | 'provider_rate_limited'
  | 'provider_overloaded'
  | 'provider_error'
  | 'stream_error'
  | 'stream_interrupted'
  | 'stream_timeout'
  | 'invalid_response'
  | 'context_exceeded'
  // the run's end
  | 'output_truncated'
  | 'pauses_exceeded'
  | 'refused'
  | 'budget_exceeded'
  | 'loop_detected'
  | 'run_timeout'
  | 'cancelled'
  | 'compaction_failed'
  | 'store_failed'
  | 'internal'
  // the caller's side
  | 'unknown_tool'
  | 'invalid_tool_input'
  | 'tool_outcome_unknown'
  | 'snapshot_incompatible'
  | 'run_locked'
  | 'stale_snapshot'
  | 'not_awaiting'
  | 'unknown_tool_use'
  | 'unknown_run'
  | 'run_finished'
  | 'run_exists'
  | 'invalid_input';

/** A failure as plain data, as it is kept in snapshots and results. */
export interface Failure {
  readonly code: ErrorCode;
  readonly message: string;
}
