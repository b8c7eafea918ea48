import { expect, it } from 'vitest';
import { copyJson } from '../../src/core/copy-json.ts';

it('gives a copy that shares no list and no object', () => {
  const given = { a: [{ b: 'text' }, null, 1, true], c: {} };
  const copy = copyJson(given);
  expect(copy).toEqual(given);
  expect(copy).not.toBe(given);
  expect(copy.a).not.toBe(given.a);
  expect(copy.a[0]).not.toBe(given.a[0]);
  expect(copy.c).not.toBe(given.c);
});

it('keeps a key named __proto__ a key', () => {
  const copy = copyJson(JSON.parse('{"__proto__":{"polluted":1},"constructor":{"a":1}}'));
  expect(JSON.stringify(copy)).toBe('{"__proto__":{"polluted":1},"constructor":{"a":1}}');
  expect(copy.polluted).toBeUndefined();
  expect(Object.getPrototypeOf(copy)).toBe(Object.prototype);
});

it('comes to an end with data of any depth, and with data that holds itself', () => {
  let deep: unknown[] = [];
  for (let level = 0; level < 100_000; level += 1) deep = [deep];
  expect(copyJson(deep) === deep).toBe(false);
  const circular: { self?: object } = {};
  circular.self = circular;
  const copy = copyJson(circular);
  expect(copy.self).toBe(copy);
  expect(copy).not.toBe(circular);
});

it('passes on what is neither a list nor a plain object', () => {
  const date = new Date(0);
  expect(copyJson({ date, none: undefined }).date).toBe(date);
  expect(copyJson('text')).toBe('text');
});
