import { createAgent, defineTool, type Run, toolOutput } from 'pawl';
import { type Script, scriptedModel } from 'pawl/testing';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { eventsNamed, finish, scripted, untilEvent, uses } from './run-kit.ts';

const hanging = { stream: [{ $hang: true }] };

it.each(['model.started', 'text.delta', 'model.replied'] as const)(
  'gives a model call one end when it is cancelled from a listener at %s',
  async (moment) => {
    let run: Run | undefined;
    const { agent } = scripted(['A text of some length.'], {
      onEvent: ({ type }) => {
        if (type === moment) run?.cancel();
      },
    });
    run = agent.start('Go.');
    const { result } = await finish(run);
    expect(result.status).toBe('cancelled');
  },
);

it('begins no tool once it is cancelled, also when others of the batch have begun', async () => {
  const begun: number[] = [];
  const mark = defineTool({
    name: 'mark',
    description: 'Leaves a mark.',
    input: z.object({ n: z.int() }),
    effect: 'once',
    run: ({ n }) => begun.push(n),
  });
  let run: Run | undefined;
  const batch = uses(
    { id: 'a', name: 'mark', input: { n: 1 } },
    { id: 'b', name: 'mark', input: { n: 2 } },
  );
  const { agent } = scripted([batch], {
    tools: [mark],
    onEvent: ({ type }) => {
      if (type === 'tool.started') run?.cancel();
    },
  });
  run = agent.start('Go.');
  await finish(run);
  expect(begun).toEqual([]);
});

it('counts what repair adds to an earlier history into the bound on its tokens', async () => {
  const { agent } = scripted([hanging, hanging]);
  const open = {
    role: 'assistant',
    content: [{ type: 'tool_use', id: 'a', name: 'x', input: {} }],
  };
  const boundOf = async (history: readonly unknown[]) => {
    const run = agent.start('Go.', { history: history as never });
    await untilEvent(run, 'model.started');
    run.cancel();
    return (await run.result).budget.uncertain.inputTokens;
  };
  const answered = [{ role: 'user', content: [{ type: 'text', text: 'Hm.' }] }, open];
  const asked = { type: 'tool_result', tool_use_id: 'a', content: '' };
  const bare = await boundOf([...answered, { role: 'user', content: [asked] }]);
  expect(await boundOf(answered)).toBeGreaterThan(bare);
});

it('still names the limit when it is raised during the last answer', async () => {
  let run: Run | undefined;
  const script: Script = ({ number }) => {
    if (number === 2) run?.raiseBudget({ maxTurns: 9 });
    return number === 1 ? uses({ id: 'a', name: 'nothing' }) : 'My last word.';
  };
  const agent = createAgent({
    model: scriptedModel(script),
    budget: { maxTurns: 2 },
    onLimit: 'wrapUp',
  });
  run = agent.start('Go.');
  const { result } = await finish(run);
  expect(result).toMatchObject({ status: 'exhausted', limit: { name: 'maxTurns' } });
  expect(result.error?.code).toBe('budget_exceeded');
});

it.each([
  [0, 0.002, 0],
  [1, 0, 0.005],
])(
  'after %i failed attempts of a tool that spends, %f is certain and %f uncertain',
  async (failures, certain, uncertain) => {
    let attempts = 0;
    const spend = defineTool({
      name: 'spend',
      description: 'Spends money.',
      input: z.object({}),
      effect: 'idempotent',
      maxRetries: 1,
      maxCostUsd: 0.005,
      run() {
        attempts += 1;
        if (attempts <= failures) throw new Error('Not this time');
        return toolOutput({ content: 'Spent.', costUsd: 0.002 });
      },
    });
    const model = scriptedModel([uses({ id: 'a', name: 'spend' }), 'Done.'], {
      price: { input: 0, output: 0 },
    });
    const agent = createAgent({
      model,
      tools: [spend],
      permissions: { otherwise: 'allow' },
      retry: { baseMs: 0, maxMs: 0 },
    });
    const { result, events } = await finish(agent.start('Go.'));
    expect(eventsNamed(events, 'tool.settled')).toMatchObject([{ ending: 'done' }]);
    expect(result.budget.uncertain.costUsd).toBe(uncertain);
    expect(result.budget.spend.costUsd).toBeCloseTo(certain + uncertain, 9);
  },
);
