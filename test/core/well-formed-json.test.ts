import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { wellFormedJson } from '../../src/core/well-formed-json.ts';

describe('wellFormedJson', () => {
  it('mends texts and keys at any level', () => {
    const broken = { a: [{ '\ud800': 'x\udc00' }], b: 1, c: null };
    expect(wellFormedJson(broken)).toEqual({ a: [{ '\ufffd': 'x\ufffd' }], b: 1, c: null });
  });

  it('gives back the very same object when there is nothing to mend', () => {
    const whole = { a: ['😀', { b: Number.NaN, c: undefined }] };
    expect(wellFormedJson(whole)).toBe(whole);
  });

  it('shares the parts that need no mending', () => {
    const part = { a: 'b' };
    expect(wellFormedJson([part, '\ud800'])[0]).toBe(part);
  });

  it('keeps a __proto__ key as plain data', () => {
    const mended = wellFormedJson(JSON.parse('{"__proto__":{"a":"\\ud800"}}'));
    expect(JSON.stringify(mended)).toBe('{"__proto__":{"a":"\ufffd"}}');
    expect(Object.getPrototypeOf(mended)).toBe(Object.prototype);
  });

  it('leaves no lone surrogate in any JSON value, and changes no other', () => {
    fc.assert(
      fc.property(fc.jsonValue({ stringUnit: 'binary' }), (value) => {
        const mended = wellFormedJson(value);
        const isBroken = /\\ud[89a-f]/.test(JSON.stringify(value));
        expect(JSON.stringify(mended)).not.toMatch(/\\ud[89a-f]/);
        expect(mended === value || Number.isNaN(value)).toBe(!isBroken);
      }),
    );
  });
});
