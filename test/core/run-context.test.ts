import { describe, expect, it } from 'vitest';
import { goneToolTokens } from '../../src/core/gone-tools.ts';
import { type Message, tokensAtMost, userMessage } from '../../src/core/message.ts';
import {
  bytesBound,
  modelOf,
  outputOf,
  type RunSettings,
  startContext,
  toolNamed,
} from '../../src/core/run-context.ts';
import { sampleModel, sampleRun, sampleSettings, tool, toolUse, unlimited } from './sample-run.ts';

const other = { ...sampleModel, id: 'other' };

describe('a new run', () => {
  it('is plain JSON', () => {
    const context = sampleRun();
    expect(JSON.parse(JSON.stringify(context))).toEqual(context);
  });

  it('knows a bound on the tokens of its first request', () => {
    const messages = [userMessage('one'), userMessage('zwölf')];
    const context = startContext({ settings: sampleSettings, limits: unlimited, messages });
    const expected = 100 + messages.reduce((sum, { content }) => sum + tokensAtMost(content), 0);
    expect(context.contextTokens).toBe(expected);
    expect(bytesBound(sampleSettings, messages)).toBe(expected);
    expect(context.messages).toBe(messages);
  });

  it('counts stand-ins for the tools of the history when it has none of its own', () => {
    const messages: Message[] = [{ role: 'assistant', content: [toolUse('1', 'gone')] }];
    const bound = (tools: RunSettings['tools']) =>
      bytesBound({ ...sampleSettings, tools }, messages);
    expect(bound([]) - bound(sampleSettings.tools)).toBe(goneToolTokens(messages));
  });
});

describe('modelOf', () => {
  it.each([
    [0, 'model'],
    [1, 'other'],
    [2, 'model'],
  ])('at index %i, the first where there is none', (model, expected) => {
    const context = sampleRun({ models: [sampleModel, other] });
    expect(modelOf({ ...context, plan: { ...context.plan, model } }).id).toBe(expected);
  });
});

describe('toolNamed', () => {
  it.each(['__proto__', 'constructor', 'toString', 'Search', ''])('knows no tool %j', (name) => {
    expect(toolNamed(sampleRun(), name)).toBeUndefined();
  });

  it('knows a tool of any name that was given', () => {
    const tools = [tool('search'), tool('__proto__')];
    expect(toolNamed(sampleRun({ tools }), '__proto__')).toBe(tools[1]);
  });
});

it('ends with what the run came to, and never without a status', () => {
  const context = sampleRun();
  expect(outputOf(context)).toMatchObject({ status: 'failed', text: '', turns: 0, limit: null });
  const limit = { name: 'maxTurns', used: 3, max: 3 } as const;
  expect(outputOf({ ...context, status: 'exhausted', answer: 'so far', turn: 3, limit })).toEqual({
    status: 'exhausted',
    text: 'so far',
    turns: 3,
    limit,
    failure: null,
    refusal: null,
    usage: context.usage,
  });
});
