import type { ErrorCode } from '../core/failure.ts';
import { toWellFormed } from '../core/well-formed.ts';
import { ProviderError } from './provider.ts';

interface Verdict {
  readonly code: ErrorCode;
  readonly isRetryable: boolean;
}

/** The API's own words for what went wrong, as far as they could be read. */
interface Problem {
  readonly type: string;
  readonly message: string;
  /** `details.error_code`: names the cause more closely than the type. */
  readonly errorCode: string;
}

const auth: Verdict = { code: 'provider_auth', isRetryable: false };
const invalid: Verdict = { code: 'provider_invalid_request', isRetryable: false };
const tooLong: Verdict = { code: 'context_exceeded', isRetryable: false };
const rateLimited: Verdict = { code: 'provider_rate_limited', isRetryable: true };
const overloaded: Verdict = { code: 'provider_overloaded', isRetryable: true };
const failed: Verdict = { code: 'provider_error', isRetryable: true };
const unexplained: Verdict = { code: 'stream_error', isRetryable: true };

const byType = new Map<string, Verdict>([
  ['authentication_error', auth],
  ['permission_error', auth],
  ['billing_error', auth],
  ['invalid_request_error', invalid],
  ['not_found_error', invalid],
  ['request_too_large', tooLong],
  ['rate_limit_error', rateLimited],
  ['overloaded_error', overloaded],
  ['api_error', failed],
  ['timeout_error', failed],
]);

const byStatus = new Map<number, Verdict>([
  [401, auth],
  [402, auth],
  [403, auth],
  [408, failed],
  [409, failed],
  [413, tooLong],
  [429, rateLimited],
  [529, overloaded],
]);

/** Limits that somebody has to raise: no waiting helps. */
const spendLimits = new Set(['enforced_spend_limit_reached', 'contract_spend_limit_reached']);

const tooLongPhrases = [
  'prompt is too long',
  'input is too long',
  'exceed context limit',
  'maximum context length',
  'context window',
];

/** Faults of a connection that never came to be, so that nothing was sent. */
const notConnected = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
  'CERT_HAS_EXPIRED',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'ERR_TLS_CERT_ALTNAME_INVALID',
]);

const maxMessageChars = 2_000;

/** What the SDK threw instead of a response. `secrets` never get into the message. */
export function requestFailure(
  error: unknown,
  { nowMs, secrets }: { readonly nowMs: number; readonly secrets: readonly string[] },
): ProviderError {
  const status = field(error, 'status');
  if (typeof status === 'number') return statusFailure(error, status, nowMs, secrets);
  const name = textField(error, 'name');
  if (!name.startsWith('API')) return localFault(error, secrets);
  const cause = connectionFault(error);
  const why = hideSecrets(cause.message || textField(error, 'message'), secrets);
  return new ProviderError('provider_error', `No answer from the Anthropic API: ${why}`, {
    isRetryable: true,
    mayHaveBilled: !notConnected.has(cause.code),
  });
}

/** The error that an event of a stream, or a body sent with status 200, reports. */
export function reportedFailure(event: unknown): ProviderError {
  const problem = readProblem(event);
  const { code, isRetryable } = verdictOn(byType.get(problem.type) ?? unexplained, problem);
  const why = hideSecrets(problem.message || problem.type || 'no reason given', []);
  return new ProviderError(code, `The Anthropic API reported an error: ${why}`, {
    isRetryable,
    mayHaveBilled: true,
  });
}

/** The answer is not what the API promises. */
export const invalidResponse = (what: string, isStreamTrouble = false): ProviderError =>
  new ProviderError('invalid_response', `Not an answer of the Anthropic API: ${what}`, {
    isRetryable: true,
    mayHaveBilled: true,
    isStreamTrouble,
  });

/** The answer broke off. Without any event yet, asking without streaming may fare better. */
export const interrupted = (why: string, hasEvents: boolean): ProviderError =>
  new ProviderError('stream_interrupted', `The answer of the Anthropic API broke off: ${why}`, {
    isRetryable: true,
    mayHaveBilled: true,
    isStreamTrouble: !hasEvents,
  });

/** Why a body could not be read to its end, in words. */
export const readFault = (error: unknown): string => {
  const { code, message } = connectionFault(error);
  return hideSecrets(message || code || textField(error, 'message') || 'unknown', []);
};

function statusFailure(
  error: unknown,
  status: number,
  nowMs: number,
  secrets: readonly string[],
): ProviderError {
  const problem = readProblem(field(error, 'error'));
  const base = byStatus.get(status) ?? statusVerdict(status);
  const verdict = verdictOn(problem.type === 'overloaded_error' ? overloaded : base, problem);
  const header = (name: string): string | null => headerOf(error, name);
  const why = hideSecrets(problem.message || textField(error, 'message') || 'no reason', secrets);
  return new ProviderError(verdict.code, `The Anthropic API answered ${status}: ${why}`, {
    isRetryable: spendLimits.has(problem.errorCode)
      ? false
      : (shouldRetry(header) ?? verdict.isRetryable),
    mayHaveBilled: false,
    retryAfterMs: retryAfterMs(header, nowMs),
  });
}

function statusVerdict(status: number): Verdict {
  if (status >= 500) return failed;
  return status >= 400 ? invalid : { ...failed, isRetryable: false };
}

function verdictOn(verdict: Verdict, { message, errorCode }: Problem): Verdict {
  if (spendLimits.has(errorCode)) return { ...verdict, isRetryable: false };
  const text = message.toLowerCase();
  const isTooLong = tooLongPhrases.some((phrase) => text.includes(phrase));
  return verdict === invalid && isTooLong ? tooLong : verdict;
}

type ReadHeader = (name: string) => string | null;

function shouldRetry(header: ReadHeader): boolean | null {
  const wish = header('x-should-retry');
  return wish === 'true' || wish === 'false' ? wish === 'true' : null;
}

/** How long the server asks to wait, in ms. A date counts from the server's own, whose clock may differ from ours. */
export function retryAfterMs(header: ReadHeader, nowMs: number): number | null {
  const inMs = toNumber(header('retry-after-ms'));
  if (inMs !== null) return Math.ceil(inMs);
  const after = header('retry-after');
  const seconds = toNumber(after);
  if (seconds !== null) return Math.ceil(seconds * 1_000);
  const until = toTime(after);
  return until === null ? null : Math.max(0, until - (toTime(header('date')) ?? nowMs));
}

function toNumber(text: string | null): number | null {
  if (text === null || !/^\d{1,12}(\.\d{1,12})?$/.test(text.trim())) return null;
  return Number(text);
}

/** HTTP dates begin with a weekday. `Date.parse` alone also takes a plain number for a year. */
function toTime(text: string | null): number | null {
  if (text === null || !/^[a-z]{3}/i.test(text)) return null;
  const time = Date.parse(text);
  return Number.isFinite(time) ? time : null;
}

/** Thrown before anything was sent: no key, an unusable address, a header that can't be written. */
function localFault(error: unknown, secrets: readonly string[]): ProviderError {
  const why = hideSecrets(textField(error, 'message') || 'unknown', secrets);
  const { code, isRetryable } = /authenticat|credential|api.?key/i.test(why) ? auth : invalid;
  return new ProviderError(code, `The request to the Anthropic API could not be made: ${why}`, {
    isRetryable,
    mayHaveBilled: false,
  });
}

function connectionFault(error: unknown): { readonly code: string; readonly message: string } {
  let fault = { code: '', message: '' };
  let cause = field(error, 'cause');
  for (let depth = 0; depth < 8 && cause !== undefined; depth += 1) {
    const [code, message] = [textField(cause, 'code'), textField(cause, 'message')];
    fault = { code: code || fault.code, message: message || code || fault.message };
    cause = field(cause, 'cause');
  }
  return fault;
}

function readProblem(body: unknown): Problem {
  const problem = field(body, 'error');
  const message = typeof problem === 'string' ? problem : textField(problem, 'message');
  return {
    type: textField(problem, 'type'),
    message: message || textField(body, 'message'),
    errorCode: textField(field(problem, 'details'), 'error_code'),
  };
}

function headerOf(error: unknown, name: string): string | null {
  const headers = field(error, 'headers');
  return headers instanceof Headers ? headers.get(name) : null;
}

/** Reads a field of a foreign value, which may be anything and may throw. */
function field(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null) return undefined;
  try {
    return Reflect.get(value, name);
  } catch {
    return undefined;
  }
}

function textField(value: unknown, name: string): string {
  const text = field(value, name);
  return typeof text === 'string' ? text : '';
}

function hideSecrets(text: string, secrets: readonly string[]): string {
  const hidden = secrets
    // Anything shorter is no secret, and part of ordinary words.
    .filter((secret) => secret.length >= 8)
    .reduce((rest, secret) => rest.replaceAll(secret, '[hidden]'), text);
  return toWellFormed(hidden.replace(/sk-ant-[\w-]{1,500}/g, '[hidden]').slice(0, maxMessageChars));
}
