import { expect, it } from 'vitest';
import { goneTools, goneToolTokens } from '../../src/core/gone-tools.ts';
import { type Message, userMessage } from '../../src/core/message.ts';
import { toolUse } from './sample-run.ts';

const asked = (...names: readonly string[]): Message => ({
  role: 'assistant',
  content: names.map((name, index) => toolUse(`call_${index}`, name)),
});

it('defines each tool that a transcript names once, in the order of the names', () => {
  const messages = [asked('write', 'read'), userMessage('and'), asked('read', '__proto__')];
  expect(goneTools(messages).map(({ name }) => name)).toEqual(['__proto__', 'read', 'write']);
});

it('gives names in the form that an API takes', () => {
  expect(goneTools([asked('no dots.', '')]).map(({ name }) => name)).toEqual([
    'no_dots_',
    'unnamed',
  ]);
});

it('counts no token without tool uses, and more than the bytes of the definitions with some', () => {
  expect(goneToolTokens([userMessage('hi')])).toBe(0);
  const messages = [asked('read')];
  expect(goneToolTokens(messages)).toBeGreaterThan(JSON.stringify(goneTools(messages)).length);
});
