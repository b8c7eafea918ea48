import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Json } from '../../src/core/json.ts';
import { type Approvable, argumentsHash } from '../../src/tools/arguments-hash.ts';

const approvable = {
  runId: 'run-1',
  callId: 'call-1',
  tool: {
    name: 'shell',
    description: 'Runs a command.',
    inputSchema: { type: 'object', properties: { command: { type: 'string' } } },
    effect: 'once',
  },
  input: { command: 'ls', in: '/tmp' },
} as const satisfies Approvable;

const withTool = (tool: Partial<Approvable['tool']>): Approvable => ({
  ...approvable,
  tool: { ...approvable.tool, ...tool },
});
const withInput = (input: Json): Approvable => ({ ...approvable, input });

it('is the same in every version of this package', () => {
  expect(argumentsHash(approvable)).toBe(
    '08cca25a48c0f8e02f5dade9a35949c00b29d65968b4c24b4b54ae7588158454',
  );
});

it('does not depend on the order of keys, nor on other fields of the tool', () => {
  const { tool, input, callId, runId } = approvable;
  const { effect, inputSchema, description, name } = tool;
  const run = () => 'a body is not part of it';
  const turned = { effect, inputSchema, description, name, run, timeoutMs: 5 };
  const turnedInput = { in: input.in, command: input.command };
  expect(argumentsHash({ input: turnedInput, tool: turned, callId, runId })).toBe(
    argumentsHash(approvable),
  );
});

it.each<[string, Approvable]>([
  ['another run', { ...approvable, runId: 'run-2' }],
  ['another call', { ...approvable, callId: 'call-2' }],
  ['run and call changed places', { ...approvable, runId: 'call-1', callId: 'run-1' }],
  ['another tool', withTool({ name: 'shell2' })],
  ['another description', withTool({ description: 'Runs a command!' })],
  ['another schema', withTool({ inputSchema: { type: 'object' } })],
  ['another effect', withTool({ effect: 'read' })],
  ['another argument', withInput({ command: 'rm', in: '/tmp' })],
  ['one argument more', withInput({ command: 'ls', in: '/tmp', x: null })],
  ['an own __proto__ key', withInput(JSON.parse('{"command":"ls","in":"/tmp","__proto__":{}}'))],
  ['a number as text', withInput({ command: 'ls', in: ['/tmp'] })],
  ['a homoglyph in a key', withInput({ сommand: 'ls', in: '/tmp' })],
  ['a hidden character', withInput({ command: 'ls\u200b', in: '/tmp' })],
])('differs for %s', (_name, other) => {
  expect(argumentsHash(other)).not.toBe(argumentsHash(approvable));
});

it('keeps lone surrogates apart, in values and in keys', () => {
  const texts = ['rm \ud800', 'rm \ud801', 'rm \ufffd', 'rm \\ud800'];
  const inputs = texts.flatMap((text): Json[] => [{ command: text }, { [text]: 'command' }]);
  const hashes = inputs.map((input) => argumentsHash(withInput(input)));
  expect(new Set(hashes).size).toBe(inputs.length);
});

it('is equal exactly when the JSON is', () => {
  const json = fc.jsonValue({ maxDepth: 2, stringUnit: 'binary' }).map(copy);
  const equals = json.map((value): [Json, Json] => [value, copy(value)]);
  fc.assert(
    fc.property(fc.oneof(equals, fc.tuple(json, json)), ([left, right]) => {
      const isSame = argumentsHash(withInput(left)) === argumentsHash(withInput(right));
      expect(isSame).toBe(isEqual(left, right));
    }),
  );
});

function copy(value: unknown): Json {
  return JSON.parse(JSON.stringify(value));
}

function isEqual(left: unknown, right: unknown): boolean {
  try {
    expect(left).toStrictEqual(right);
    return true;
  } catch {
    return false;
  }
}

it('refuses input that is not JSON', () => {
  expect(() => argumentsHash(withInput(Number.NaN))).toThrow(TypeError);
});
