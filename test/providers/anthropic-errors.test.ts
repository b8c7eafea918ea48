import { APIConnectionError, APIConnectionTimeoutError, APIError } from '@anthropic-ai/sdk';
import { describe, expect, it } from 'vitest';
import {
  readFault,
  reportedFailure,
  requestFailure,
  retryAfterMs,
} from '../../src/providers/anthropic-errors.ts';

const situation = { nowMs: Date.parse('2026-11-29T20:00:00Z'), secrets: ['sk-very-secret'] };

function httpError(
  status: number,
  type: string,
  message: string,
  headers: Record<string, string> = {},
  details: unknown = null,
) {
  const body = { type: 'error', error: { type, message, details } };
  return APIError.generate(status, body, undefined, new Headers(headers));
}

const failureOf = (error: unknown) => requestFailure(error, situation);

describe('an HTTP error', () => {
  it.each([
    [400, 'invalid_request_error', 'max_tokens: too large', 'provider_invalid_request', false],
    [400, 'invalid_request_error', 'prompt is too long: 9 > 8', 'context_exceeded', false],
    [
      400,
      'invalid_request_error',
      'input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000',
      'context_exceeded',
      false,
    ],
    [401, 'authentication_error', 'invalid x-api-key', 'provider_auth', false],
    [402, 'billing_error', 'no credit', 'provider_auth', false],
    [403, 'permission_error', 'not yours', 'provider_auth', false],
    [404, 'not_found_error', 'model: nope', 'provider_invalid_request', false],
    [408, 'timeout_error', 'slow', 'provider_error', true],
    [409, 'conflict', 'locked', 'provider_error', true],
    [413, 'request_too_large', 'too large', 'context_exceeded', false],
    [422, 'odd', 'odd', 'provider_invalid_request', false],
    [429, 'rate_limit_error', 'slow down', 'provider_rate_limited', true],
    [500, 'api_error', 'broken', 'provider_error', true],
    [503, 'overloaded_error', 'busy', 'provider_overloaded', true],
    [504, 'timeout_error', 'slow', 'provider_error', true],
    [529, 'overloaded_error', 'Overloaded', 'provider_overloaded', true],
    [529, '', '', 'provider_overloaded', true],
    [304, '', '', 'provider_error', false],
  ])('%i %s (%s) is %s', (status, type, message, code, isRetryable) => {
    const failure = failureOf(httpError(status, type, message));
    expect(failure).toMatchObject({ code, isRetryable, mayHaveBilled: false });
    expect(failure.message).toContain(message);
    expect(failure.message).toContain(String(status));
  });

  it.each(['enforced_spend_limit_reached', 'contract_spend_limit_reached'])(
    '%s is not retried, whatever the header says',
    (error_code) => {
      const headers = { 'x-should-retry': 'true', 'retry-after': '1' };
      const error = httpError(429, 'rate_limit_error', 'limit', headers, { error_code });
      expect(failureOf(error)).toMatchObject({ code: 'provider_rate_limited', isRetryable: false });
    },
  );

  it('ramp_limit_exceeded may be retried', () => {
    const details = { error_code: 'ramp_limit_exceeded' };
    const error = httpError(429, 'rate_limit_error', 'limit', {}, details);
    expect(failureOf(error).isRetryable).toBe(true);
  });

  it.each([
    [500, 'false', false],
    [400, 'true', true],
    [500, 'maybe', true],
  ])('%i with x-should-retry: %s', (status, wish, isRetryable) => {
    const error = httpError(status, 'api_error', 'x', { 'x-should-retry': wish });
    expect(failureOf(error).isRetryable).toBe(isRetryable);
  });

  it('that is no JSON is told by its text', () => {
    const html = '<html>Bad gateway</html>';
    const error = APIError.generate(502, undefined, html, new Headers());
    const failure = failureOf(error);
    expect(failure).toMatchObject({ code: 'provider_error', isRetryable: true });
    expect(failure.message).toContain('Bad gateway');
  });

  it('carries the wait that the server asks for', () => {
    const error = httpError(429, 'rate_limit_error', 'x', { 'retry-after': '7' });
    expect(failureOf(error).retryAfterMs).toBe(7_000);
  });
});

describe('retryAfterMs', () => {
  it.each<[Record<string, string>, number | null]>([
    [{}, null],
    [{ 'retry-after': '7' }, 7_000],
    [{ 'retry-after': '0' }, 0],
    [{ 'retry-after': '0.5' }, 500],
    [{ 'retry-after-ms': '20.2', 'retry-after': '7' }, 21],
    [{ 'retry-after-ms': 'soon', 'retry-after': '7' }, 7_000],
    [{ 'retry-after': '-1' }, null],
    [{ 'retry-after': '' }, null],
    [{ 'retry-after': 'Infinity' }, null],
    [{ 'retry-after': '1e9' }, null],
    [{ 'retry-after': '9'.repeat(400) }, null],
    [{ 'retry-after': 'soon' }, null],
    [{ 'retry-after': 'Sun, 29 Nov 2026 20:00:30 GMT' }, 30_000],
    [{ 'retry-after': 'Sun, 29 Nov 2026 19:00:00 GMT' }, 0],
    [
      {
        'retry-after': 'Sun, 29 Nov 2026 20:00:30 GMT',
        date: 'Sun, 29 Nov 2026 20:00:20 GMT',
      },
      10_000,
    ],
  ])('of %j is %j', (headers, expected) => {
    const header = (name: string) => new Map(Object.entries(headers)).get(name) ?? null;
    expect(retryAfterMs(header, situation.nowMs)).toBe(expected);
  });
});

describe('a request without an answer', () => {
  const fault = (code: string) => {
    const cause = Object.assign(new Error(`connect ${code} 127.0.0.1:9`), { code });
    return new APIConnectionError({ cause: new TypeError('fetch failed', { cause }) });
  };

  it.each([
    ['ECONNREFUSED', false],
    ['ENOTFOUND', false],
    ['UND_ERR_CONNECT_TIMEOUT', false],
    ['ECONNRESET', true],
    ['UND_ERR_SOCKET', true],
    ['UND_ERR_HEADERS_TIMEOUT', true],
  ])('%s: may have been billed: %s', (code, mayHaveBilled) => {
    const failure = failureOf(fault(code));
    expect(failure).toMatchObject({ code: 'provider_error', isRetryable: true, mayHaveBilled });
    expect(failure.message).toContain(code);
  });

  it('that took too long may have been billed', () => {
    const expected = { code: 'provider_error', isRetryable: true, mayHaveBilled: true };
    expect(failureOf(new APIConnectionTimeoutError())).toMatchObject(expected);
  });

  it.each([
    [new Error('Could not resolve authentication method.'), 'provider_auth'],
    [new TypeError('Invalid URL'), 'provider_invalid_request'],
  ])('%s: it was never sent', (error, code) => {
    const expected = { code, isRetryable: false, mayHaveBilled: false };
    expect(failureOf(error)).toMatchObject(expected);
  });

  it.each([
    'Headers.append: "Bearer sk-very-secret" is an invalid header value.',
    'wrong key sk-ant-api03-AbC_d-9',
  ])('a secret does not get into the message: %s', (message) => {
    expect(failureOf(new TypeError(message)).message).not.toMatch(/secret|AbC_d/);
  });

  const hostile = {
    get status() {
      throw new Error('no');
    },
    get message() {
      throw new Error('no');
    },
  };

  it.each([
    ['undefined', undefined],
    ['null', null],
    ['text', 'boom'],
    ['a symbol', Symbol('boom')],
    ['an object without anything', Object.create(null)],
    ['throwing getters', hostile],
    ['a revoked proxy', revokedProxy()],
    ['a message that is no text', { message: { toString: 1 }, name: 7, cause: 1n }],
    ['a lone surrogate', new Error('half \ud83d of it')],
    ['a huge message', new Error('x'.repeat(1_000_000))],
  ])('%s that was thrown is told in words', (_name, thrown) => {
    const { message } = failureOf(thrown);
    expect(message).toMatch(/^The request to the Anthropic API could not be made: /);
    expect(message.length).toBeLessThan(2_100);
    expect(message).not.toMatch(/\p{Surrogate}/u);
  });

  it('a cause that is its own cause is told once', () => {
    const error = new Error('loop');
    error.cause = error;
    expect(readFault(error)).toBe('loop');
  });
});

function revokedProxy(): unknown {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

describe('an error inside a stream', () => {
  it.each([
    ['overloaded_error', 'Overloaded', 'provider_overloaded', true],
    ['rate_limit_error', 'slow down', 'provider_rate_limited', true],
    ['api_error', 'broken', 'provider_error', true],
    ['timeout_error', 'slow', 'provider_error', true],
    ['invalid_request_error', 'Output blocked by filter', 'provider_invalid_request', false],
    ['invalid_request_error', 'prompt is too long', 'context_exceeded', false],
    ['request_too_large', 'too large', 'context_exceeded', false],
    ['authentication_error', 'key', 'provider_auth', false],
    ['permission_error', 'not yours', 'provider_auth', false],
    ['novel_error', 'novel', 'stream_error', true],
    ['__proto__', 'odd', 'stream_error', true],
  ])('%s (%s) is %s', (type, message, code, isRetryable) => {
    const failure = reportedFailure({ type: 'error', error: { details: null, type, message } });
    expect(failure).toMatchObject({ code, isRetryable, mayHaveBilled: true });
    expect(failure.isStreamTrouble).toBe(false);
    expect(failure.message).toContain(message);
  });

  it.each([[null], [{}], [{ error: 'plain text' }], [{ error: { message: 5 } }]])(
    'of an unknown shape (%j) is a stream error',
    (event) => {
      expect(reportedFailure(event).code).toBe('stream_error');
    },
  );
});
