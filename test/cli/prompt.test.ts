import { describe, expect, it } from 'vitest';
import { choosePrompt, type PromptSource } from '../../src/cli/prompt.ts';

const source = (over: Partial<PromptSource>): PromptSource => ({
  argument: undefined,
  fallback: 'the demo',
  hasPipedInput: false,
  readInput: async () => 'from stdin',
  ...over,
});
const unread = async (): Promise<string> => {
  throw new Error('read');
};

describe('the prompt', () => {
  it.each([
    ['the argument', source({ argument: 'hi', hasPipedInput: true, readInput: unread }), 'hi'],
    ['standard input for "-"', source({ argument: '-' }), 'from stdin'],
    ['standard input that is piped', source({ hasPipedInput: true }), 'from stdin'],
    ['the fallback otherwise', source({ readInput: unread }), 'the demo'],
  ])('is %s', async (_name, from, prompt) => {
    expect(await choosePrompt(from)).toBe(prompt);
  });

  it.each([
    ['it is blank', source({ argument: ' \n' })],
    ['standard input is blank', source({ argument: '-', readInput: async () => '\n' })],
    ['piped input is blank', source({ hasPipedInput: true, readInput: async () => '' })],
    ['there is none', source({ fallback: null })],
  ])('is wrong usage when %s', async (_name, from) => {
    await expect(choosePrompt(from)).rejects.toMatchObject({ code: 'invalid_input' });
  });
});
