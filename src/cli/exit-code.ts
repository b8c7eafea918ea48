import { PawlError } from '../core/errors.ts';
import type { ErrorCode } from '../core/failure.ts';
import type { RunResult } from '../runtime/run-result.ts';

/** What `pawl` exits with. Part of its interface: a code never changes its meaning. */
export const exitCodes = {
  completed: 0,
  failed: 1,
  wrongUsage: 2,
  exhausted: 3,
  waitsForPerson: 4,
  interrupted: 5,
  refused: 6,
  heldElsewhere: 7,
  blockedByDenial: 8,
  cancelled: 130,
} as const;

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

/**
 * What a run was left waiting for; a settlement is wanted for a call whose outcome nobody knows, `resume` for a run that
 * somebody paused.
 */
export type LeftWaiting = 'approval' | 'budget' | 'settlement' | 'resume';

export interface Outcome {
  readonly status: RunResult['status'];
  /** Code of the result's error. */
  readonly errorCode: ErrorCode | null;
  /** Null for a run that was suspended: the process had to end while it was at work. */
  readonly waits: LeftWaiting | null;
  /** Some call of the run ended as `denied`. */
  readonly hasDenial: boolean;
}

const heldCodes: readonly ErrorCode[] = ['run_locked', 'stale_snapshot', 'run_exists'];

export function exitCodeOf({ status, errorCode, waits, hasDenial }: Outcome): ExitCode {
  switch (status) {
    case 'completed':
      return hasDenial ? exitCodes.blockedByDenial : exitCodes.completed;
    case 'exhausted':
      return exitCodes.exhausted;
    case 'refused':
      return exitCodes.refused;
    case 'cancelled':
      return exitCodes.cancelled;
    case 'suspended':
      return codeOfWait(waits);
    case 'failed':
      return errorCode === null ? exitCodes.failed : codeOfFailure(errorCode);
  }
}

function codeOfWait(waits: LeftWaiting | null): ExitCode {
  if (waits === null) return exitCodes.cancelled;
  return waits === 'settlement' ? exitCodes.interrupted : exitCodes.waitsForPerson;
}

/** A run, a call or a file that is named and not there is wrong usage. */
const wrongUsageCodes: readonly ErrorCode[] = ['invalid_input', 'unknown_run', 'unknown_tool_use'];

/** For what was thrown before there was a run, or instead of one. */
export function exitCodeOfError(error: unknown): ExitCode {
  if (!PawlError.is(error)) return exitCodes.failed;
  return wrongUsageCodes.includes(error.code) ? exitCodes.wrongUsage : codeOfFailure(error.code);
}

const codeOfFailure = (code: ErrorCode): ExitCode =>
  heldCodes.includes(code) ? exitCodes.heldElsewhere : exitCodes.failed;
