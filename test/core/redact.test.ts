import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { redactEvents, redactor } from '../../src/core/redact.ts';
import type { UnaddressedEvent } from '../../src/core/run-event.ts';

const delta = (text: string, index = 0): UnaddressedEvent => ({
  type: 'text.delta',
  text,
  index,
  turn: 1,
  attempt: 1,
  model: 'm',
});

function textsOf(secrets: readonly string[], events: readonly UnaddressedEvent[]): string {
  const seen: string[] = [];
  const emit = redactEvents(redactor(secrets), (event) => {
    if ('text' in event) seen.push(event.text);
  });
  for (const event of events) emit(event);
  emit({ type: 'model.stopped', turn: 1, attempt: 1, model: 'm' });
  return seen.join('');
}

describe('redactor', () => {
  it.each([
    ['a plain text', ['key'], 'my key is', 'my [redacted] is'],
    ['several times', ['k1'], 'k1k1', '[redacted][redacted]'],
    ['the longer of two that overlap', ['ab', 'abc'], 'xabcx', 'x[redacted]x'],
    ['a secret as it looks inside JSON', ['a"b'], '{"p":"a\\"b"}', '{"p":"[redacted]"}'],
    ['nothing without secrets', [], 'text', 'text'],
  ])('redacts %s', (_name, secrets, text, expected) => {
    expect(redactor(secrets).text(text)).toBe(expected);
  });

  it('looks into objects, arrays and keys', () => {
    const { value } = redactor(['s3cret']);
    expect(value({ a: ['x s3cret'], s3cret: { b: 1 } })).toEqual({
      a: ['x [redacted]'],
      '[redacted]': { b: 1 },
    });
  });
});

describe('a redacted value', () => {
  const { value } = redactor(['s3cret']);
  const circular: Record<string, unknown> = { name: 's3cret' };
  circular.self = circular;
  const throwing = Object.defineProperty({ b: 's3cret' }, 'a', {
    enumerable: true,
    get: () => raise(new Error('s3cret')),
  });
  const revoked = Proxy.revocable({}, {});
  revoked.revoke();

  it.each<[string, unknown, unknown]>([
    ['that holds itself', circular, { name: '[redacted]', self: '[Circular]' }],
    ['whose getter throws', throwing, { a: '[Threw]', b: '[redacted]' }],
    ['that can not be looked into', { a: revoked.proxy }, { a: '[Threw]' }],
    ['with an error', [new Error('the s3cret')], ['{"name":"Error","message":"the [redacted]"}']],
    ['with a map', new Map([['a', 's3cret']]), '[["a","[redacted]"]]'],
    ['with a date', { at: new Date(0) }, { at: '1970-01-01T00:00:00.000Z' }],
    ['with bare values', [1n, undefined, Number.NaN, null], [1n, undefined, Number.NaN, null]],
    ['with a key of the prototype', JSON.parse('{"__proto__":{"a":1}}'), undefined],
  ])('%s is still a value', (_name, given, expected) => {
    const copy = value(given);
    expect(copy).toEqual(expected ?? given);
    expect(Object.getPrototypeOf(Object(copy))).not.toHaveProperty('a');
  });

  it('has a bounded depth and size', () => {
    let deep: unknown = 's3cret';
    for (let level = 0; level < 20_000; level += 1) deep = [deep];
    expect(JSON.stringify(value(deep))).toContain('[Too deep]');
    expect(value(Array.from({ length: 300_000 }, () => 1)).at(-1)).toBe('[Truncated]');
    const wide = Object.fromEntries(Array.from({ length: 300_000 }, (_, key) => [`k${key}`, 1]));
    expect(Object.keys(value(wide)).length).toBeLessThan(200_002);
  });

  it('is a copy, also when there are no secrets', () => {
    const given = { list: [{ a: 'text' }] };
    const copy = redactor([]).value(given);
    expect(copy).toEqual(given);
    expect(copy.list).not.toBe(given.list);
    expect(copy.list[0]).not.toBe(given.list[0]);
  });
});

function raise(error: Error): never {
  throw error;
}

describe('redactEvents', () => {
  it('never lets a secret out, wherever the pieces are cut, and loses nothing else', () => {
    let split = 0;
    const pieces = fc.array(fc.string({ unit: fc.constantFrom('a', 'b', 'c'), maxLength: 4 }), {
      maxLength: 12,
    });
    const secrets = fc.array(
      fc.string({ unit: fc.constantFrom('a', 'b', 'c'), minLength: 2, maxLength: 5 }),
      { minLength: 1, maxLength: 3 },
    );
    fc.assert(
      fc.property(pieces, secrets, (texts, hidden) => {
        const whole = texts.join('');
        const seen = textsOf(
          hidden,
          texts.map((text) => delta(text)),
        );
        for (const secret of hidden)
          expect(seen.replaceAll('[redacted]', '#')).not.toContain(secret);
        if (!hidden.some((secret) => whole.includes(secret))) expect(seen).toBe(whole);
        else if (!texts.some((text) => hidden.some((secret) => text.includes(secret)))) split += 1;
      }),
      { numRuns: 2_000 },
    );
    expect(split).toBeGreaterThan(50);
  });

  it('keeps the text of each block apart', () => {
    expect(textsOf(['ab'], [delta('xa', 0), delta('b', 1)])).toBe('xab');
  });

  it('passes an empty delta on as it is', () => {
    const seen: UnaddressedEvent[] = [];
    redactEvents(redactor([]), (event) => seen.push(event))(delta(''));
    expect(seen).toEqual([delta('')]);
  });
});
