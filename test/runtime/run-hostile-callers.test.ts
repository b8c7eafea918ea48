import { createAgent, defineTool, memoryStore, type RunEvent } from 'pawl';
import { scriptedModel } from 'pawl/testing';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { finish, resultsIn, scripted, untilEvent, uses } from './run-kit.ts';

type Changeable = Record<string, unknown>;

/** A tool that changes whatever it is given, as deep as it goes. */
const vandal = defineTool({
  name: 'vandal',
  description: 'Changes its input.',
  input: z.object({ d: z.any() }),
  effect: 'read',
  run: ({ d }) => {
    d.x = 1;
    d.list.push('more');
    return 'Done.';
  },
});

const input = () => ({ d: { list: ['one'] } });
const mayAsk = { otherwise: 'ask' } as const;

describe('the transcript of a run', () => {
  it('is not changed by a tool that changes its input', async () => {
    const { agent } = scripted([uses({ id: 'a', name: 'vandal', input: input() }), 'Ok.'], {
      tools: [vandal],
    });
    const { result } = await finish(agent.start('Go.'));
    expect(resultsIn(result.messages[2])).toEqual(['a: Done.']);
    expect(result.messages[1]?.content).toMatchObject([{ input: input() }]);
  });

  it('is not changed by a check or a rule that changes its input', async () => {
    const schema = z.object({ d: z.any() }).refine(({ d }) => d.list.push('checked') > 0);
    const tool = defineTool({ ...vandalLike, input: schema });
    const when = (given: unknown): boolean => (given as Changeable).d !== 'never' && !!spoil(given);
    const { agent } = scripted([uses({ id: 'a', name: 'vandal', input: input() }), 'Ok.'], {
      tools: [tool],
      permissions: { allow: [{ tool: 'vandal', when }], otherwise: 'deny' },
    });
    const { result } = await finish(agent.start('Go.'));
    expect(resultsIn(result.messages[2])).toEqual(['a: Done.']);
    expect(result.messages[1]?.content).toMatchObject([{ input: input() }]);
  });

  it('is not changed through pending, events, snapshots, or what was handed in', async () => {
    const heard: RunEvent[] = [];
    const { agent, model } = scripted([uses({ id: 'a', name: 'vandal', input: input() }), 'Ok.'], {
      tools: [vandal],
      permissions: mayAsk,
      onEvent: (event) => void heard.push(event),
    });
    const prompt = [{ type: 'text' as const, text: 'Go.' }];
    const steered = [{ type: 'text' as const, text: 'Be quick.' }];
    const run = agent.start(prompt);
    await run.idle();
    run.steer(steered);
    const snapshot = run.snapshot();
    for (const value of [prompt, steered, run.pending, heard, snapshot]) spoil(value);
    await run.approve('a');
    const result = await run.result;
    expect(model.requests[1]?.messages).toEqual([
      { role: 'user', content: [{ type: 'text', text: 'Go.' }] },
      {
        role: 'assistant',
        content: [{ type: 'tool_use', id: 'a', name: 'vandal', input: input() }],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'a', content: 'Done.' },
          { type: 'text', text: 'Be quick.' },
        ],
      },
    ]);
    expect(JSON.stringify(result.messages)).not.toContain('spoilt');
  });

  it('is not changed in the store by what a suspended run gave', async () => {
    const store = memoryStore();
    const { agent } = scripted(
      ({ body }) =>
        body.messages.length === 1 ? uses({ id: 'a', name: 'vandal', input: input() }) : 'Ok.',
      { tools: [vandal], permissions: mayAsk, store },
    );
    const run = agent.start('Go.');
    await run.idle();
    spoil(await run.suspend());
    spoil((await run.result).messages);
    const again = await agent.resume(run.id);
    expect(again.pending[0]?.input).toEqual(input());
    await again.approve('a');
    const { messages } = await again.result;
    expect(JSON.stringify(messages)).not.toContain('spoilt');
  });

  it('gives a tool a key named __proto__ as a key, and pollutes nothing', async () => {
    const seen: string[] = [];
    const tool = defineTool({
      name: 'see',
      description: 'Notes its input.',
      input: { type: 'object', properties: {} },
      effect: 'read',
      run: (given) => void seen.push(JSON.stringify(given)),
    });
    const toolUse = { id: 'a', name: 'see', input: JSON.parse('{"k":{"__proto__":{"bad":1}}}') };
    const model = scriptedModel([uses(toolUse), 'Ok.']);
    const agent = createAgent({ model, tools: [tool], permissions: { otherwise: 'allow' } });
    const run = agent.start('Go.');
    const started = await untilEvent(run, 'tool.started');
    await finish(run);
    expect(seen).toEqual(['{"k":{"__proto__":{"bad":1}}}']);
    expect(JSON.stringify(started.input)).toBe(seen[0]);
    expect({}).not.toHaveProperty('bad');
  });
});

const vandalLike = {
  name: 'vandal',
  description: 'Changes its input.',
  effect: 'read',
  run: ({ d }: { readonly d?: Changeable }) => {
    if (d) d.x = 1;
    return 'Done.';
  },
} as const;

/** Changes every list and object in a value. Gives the value back. */
function spoil(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  for (const part of Object.values(value)) spoil(part);
  if (Array.isArray(value)) value.push('spoilt');
  else Object.assign(value, { spoilt: true, text: 'spoilt', input: { spoilt: true } });
  return value;
}
