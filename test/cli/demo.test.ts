import { describe, expect, it } from 'vitest';
import { demoQuestion, demoScript, demoTools } from '../../src/cli/demo.ts';
import { createAgent } from '../../src/runtime/agent.ts';
import type { ScriptedRequest } from '../../src/testing/script.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { defineTool } from '../../src/tools/define-tool.ts';
import type { Tool } from '../../src/tools/tool.ts';

const sunday = new Date('2026-11-29T12:00:00');

const agentWith = (tools: readonly Tool[], maxTurns = 9) =>
  createAgent({
    model: scriptedModel(demoScript),
    tools,
    budget: { maxTurns },
  });

describe('the demo', () => {
  it('asks for two tools at once, then for one that needs the first result, then answers', async () => {
    const { status, text, messages } = await agentWith(demoTools(() => sunday)).start(demoQuestion)
      .result;
    expect(status).toBe('completed');
    expect(text).toBe(
      `1234 × 567 = 699678. Divided by 13, that is ${699678 / 13}. Today is Sunday.`,
    );
    const toolUses = messages.map(({ content }) =>
      content.flatMap((block) => (block.type === 'tool_use' ? [block.name] : [])),
    );
    expect(toolUses.filter((names) => names.length > 0)).toEqual([
      ['multiply', 'weekday'],
      ['divide'],
    ]);
  });

  it('works with what the tools really answer', async () => {
    const [, divide, weekday] = demoTools(() => sunday);
    const multiply = defineTool({
      name: 'multiply',
      description: 'Is wrong on purpose.',
      input: { type: 'object' },
      effect: 'read',
      run: () => 26,
    });
    const tools = [multiply, ...(divide ? [divide] : []), ...(weekday ? [weekday] : [])];
    const { text } = await agentWith(tools).start(demoQuestion).result;
    expect(text).toContain('1234 × 567 = 26. Divided by 13, that is 2.');
  });

  it('plays again for a follow-up', async () => {
    const agent = agentWith(demoTools(() => sunday));
    const first = await agent.start(demoQuestion).result;
    const second = await agent.start(demoQuestion, { history: first.messages }).result;
    expect(second.text).toBe(first.text);
    expect(second.budget.spend.toolCalls).toBe(3);
  });

  it('says what it does not know when it may use no tools any more', async () => {
    const { messages } = await agentWith(
      demoTools(() => sunday),
      1,
    ).start(demoQuestion).result;
    const body = {
      model: 'scripted',
      max_tokens: 100,
      messages: messages.slice(0, 3),
      tool_choice: { type: 'none' },
    } as unknown as ScriptedRequest['body'];
    expect(demoScript({ number: 2, body, headers: {} })).toEqual({
      text: '1234 × 567 = 699678. The quotient was not asked for. Today is Sunday.',
    });
  });

  it('says that a tool failed', async () => {
    const [multiply] = demoTools();
    const broken = defineTool({
      name: 'weekday',
      description: 'Fails.',
      input: { type: 'object' },
      effect: 'read',
      run: () => {
        throw new Error('The calendar is lost.');
      },
    });
    const { text } = await agentWith(multiply ? [multiply, broken] : []).start(demoQuestion).result;
    expect(text).toContain('The quotient is not known');
    expect(text).toContain('The weekday is not known (The calendar is lost.)');
  });

  it.each([
    [{ date: '2026-12-24' }, 'Thursday'],
    [{}, 'Sunday'],
  ])('knows the weekday of %j', async (input, weekday) => {
    const tool = demoTools(() => sunday).find(({ name }) => name === 'weekday');
    const context = {
      signal: new AbortController().signal,
      idempotencyKey: 'k',
      runId: 'r',
      callId: 'c',
      attempt: 1,
      progress: () => {},
    };
    expect(tool?.run(input, context)).toBe(weekday);
  });
});
