import { describe, expect, it } from 'vitest';
import { heardEvent, journalEntry, kindOf } from '../../src/core/journal.ts';
import type { ContentBlock, Message, ToolResult } from '../../src/core/message.ts';
import type { RunContext } from '../../src/core/run-context.ts';
import type { ToolCall } from '../../src/core/tool-call.ts';
import { sampleRun } from './sample-run.ts';

const thought = { type: 'thinking', thinking: 'Hm.', signature: 'sig' } as const;
const hidden = { type: 'redacted_thinking', data: 'xyz' } as const;
const said = { type: 'text', text: 'So.' } as const;
const use = { type: 'tool_use', id: 'a', name: 'look', input: {} } as const;

const call: ToolCall = {
  id: 'a',
  name: 'look',
  effect: 'read',
  maxRetries: 0,
  waits: null,
  isRunning: false,
  editedInput: null,
  result: null,
  ending: 'done',
};

const replied = (content: readonly ContentBlock[]) => ({
  type: 'xstate.done.actor.modelCall',
  actorId: 'modelCall',
  output: { kind: 'reply', activeMs: 3, reply: { content, stopReason: 'tool_use', usage: {} } },
});

const result = (content: ToolResult['content'], isError = false): ToolResult => ({
  type: 'tool_result',
  tool_use_id: 'a',
  content,
  ...(isError && { is_error: true as const }),
});

const settled = (own: ToolResult) => ({
  type: 'xstate.done.actor.tool.a',
  actorId: 'tool.a',
  output: { callId: 'a', result: own, ending: 'done', costMicros: 0, activeMs: 4 },
});

const asText = (value: unknown) => JSON.parse(JSON.stringify(value));

/** The event after it was kept, beside a transcript that was kept too. */
function again(event: Parameters<typeof journalEntry>[1], context: RunContext) {
  const entry = asText(journalEntry(2, event, context));
  const results = asText(context.calls.flatMap((call) => call.result ?? []));
  return { entry, heard: heardEvent(entry, { messages: asText(context.messages), results }) };
}

const withMessages = (...messages: readonly Message[]): RunContext => ({
  ...sampleRun(),
  messages,
});

describe('what a run heard', () => {
  it.each<[string, readonly ContentBlock[], readonly ContentBlock[]]>([
    ['as it was said', [said, use], [said, use]],
    ['with the name of who thought it', [{ ...thought, model: 'm' }, said], [thought, said]],
    ['with hidden thoughts', [{ ...hidden, model: 'm' }, use], [hidden, use]],
  ])('names a reply that the transcript has %s', (_, kept, content) => {
    const message = { role: 'assistant', content: kept } as const;
    const { entry, heard } = again(replied(content), withMessages(message));
    expect(entry.event.output.reply.content).toBe(0);
    expect(heard).toEqual(replied(content));
  });

  it.each<[string, readonly ContentBlock[], readonly ContentBlock[]]>([
    ['blank text', [use], [{ type: 'text', text: ' ' }, use]],
    ['an id that was changed', [{ ...use, id: 'a_2' }], [use]],
    ['another thought', [{ ...thought, model: 'm' }], [{ ...thought, thinking: 'Oh.' }]],
    ['nothing', [said], []],
    ['the same words from elsewhere', [{ ...said }], [said]],
  ])('keeps a reply with %s as it was', (_, kept, content) => {
    const message = { role: 'assistant', content: kept } as const;
    const { entry, heard } = again(replied(content), withMessages(message));
    expect(entry.event.output.reply.content).toEqual(content);
    expect(heard).toEqual(replied(content));
  });

  it.each<[string, (own: ToolResult) => Partial<RunContext>]>([
    ['the open batch', (own) => ({ calls: [{ ...call, result: own }] })],
    [
      'the transcript',
      (own) => ({
        messages: [
          { role: 'assistant', content: [use] },
          { role: 'user', content: [own, said] },
        ],
      }),
    ],
  ])('names a result that is in %s', (_, place) => {
    for (const own of [result('found'), result([said]), result('no', true)]) {
      const { entry, heard } = again(settled(own), { ...sampleRun(), ...place({ ...own }) });
      expect(entry.event).toMatchObject({
        type: 'xstate.done.actor.tool',
        output: { result: null },
      });
      expect(heard).toEqual(settled(own));
    }
  });

  it('keeps a result that gets a notice, or will', () => {
    const own = result('found');
    const noted = { ...sampleRun(), repeats: 2, calls: [{ ...call, result: own }] };
    expect(again(settled(own), noted).heard).toEqual(settled(own));
    const joined = withMessages(
      { role: 'assistant', content: [use] },
      { role: 'user', content: [result('found\n\n[Again.]')] },
    );
    expect(again(settled(own), joined).heard).toEqual(settled(own));
  });

  it.each([
    { type: 'message.steered', content: [said] },
    { type: 'approval.granted', callId: 'a', argumentsHash: 'h', input: { __proto__: null, x: 1 } },
    { type: 'call.waits', callId: 'a', wait: { for: 'settlement' } },
    { type: 'time.ranOut', activeMs: 3 },
  ])('keeps $type as it is', (event) => {
    expect(again(event, sampleRun()).heard).toEqual(asText(event));
  });

  it('keeps what was thrown in words', () => {
    const error = new TypeError('Not now.');
    const event = { type: 'xstate.error.actor.tool.a', actorId: 'tool.a', error };
    expect(again(event, sampleRun()).heard).toEqual({ ...event, error: 'TypeError: Not now.' });
  });

  it('is named without ids', () => {
    expect(kindOf('xstate.done.actor.tool.toolu_1.2')).toBe('xstate.done.actor.tool');
    expect(kindOf('xstate.error.actor.tool.a')).toBe('xstate.error.actor.tool');
    expect(kindOf('xstate.done.actor.modelCall')).toBe('xstate.done.actor.modelCall');
  });
});
