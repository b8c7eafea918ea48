/** An agent whose run meets everything that a crash could spoil: the script, the tools, and the world they act on. */
import type { ToolEffect } from '../../src/core/tool-call.ts';
import type { Model } from '../../src/providers/provider.ts';
import { type Agent, createAgent } from '../../src/runtime/agent.ts';
import type { Store } from '../../src/stores/store.ts';
import type { ScriptedMessage, ScriptedReply } from '../../src/testing/script.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { defineTool } from '../../src/tools/define-tool.ts';
import { type Tool, type ToolContext, toolOutput } from '../../src/tools/tool.ts';
import { notesOf, type World } from './world.ts';

export const runId = 'crashed-run';
export const steering = 'And be quick.';
const finalText = 'All is done.';
/** What the model and the tools charge in a run that nothing disturbs is a small part of the first. */
export const budgets = {
  wide: { maxCostUsd: 0.2, mayExhaust: false },
  /** Lost calls, which count as spent, use it up. */
  tight: { maxCostUsd: 0.013, mayExhaust: true },
} as const;
export type BudgetName = keyof typeof budgets;
export const maxTurns = 40;

const ask = (...calls: readonly string[]): ScriptedMessage => ({
  text: `I need ${calls.join(', ')}.`,
  toolUses: calls.map((id) => ({ id, name: id.slice(0, id.indexOf('_')), input: { of: id } })),
});

/** By the number of replies that the request holds, so that any process can go on with any request. */
const replies: readonly ScriptedMessage[] = [
  ask('look_1', 'keep_1', 'push_1'),
  ask('mail_1', 'look_2'),
  ask('push_2', 'flaky_1', 'keep_2'),
  ask('send_1', 'look_3', 'push_3'),
  ask('nap_1', 'keep_3', 'push_4'),
  { text: finalText },
];

/** The reply before which the model is overloaded once. */
const busyAt = 2;

const busy: ScriptedReply = {
  error: {
    status: 529,
    type: 'overloaded_error',
    message: 'Busy.',
    headers: { 'retry-after': '0' },
  },
};

const isReply = ({ role }: { readonly role: string }): boolean => role === 'assistant';

const microsOf = (reply: number): number => 100 + 20 * reply + 5 * 30;

/** Prices: one micro-dollar for each token of input, five for each of output. */
const priced = (reply: number): ScriptedMessage => ({
  ...(replies[reply] ?? { text: finalText }),
  usage: { inputTokens: 100 + 20 * reply, outputTokens: 30 },
});

function watchedModel(world: World): Model {
  const model = scriptedModel(({ body }) => {
    const reply = body.messages.filter(isReply).length;
    if (reply !== busyAt || notesOf(world.notes(), 'model busy').length > 0) return priced(reply);
    world.note({ what: 'model busy', reply });
    world.meet('model busy');
    return busy;
  });
  return {
    ...model,
    async call(request, options) {
      const reply = request.messages.filter(isReply).length;
      world.meet('model before');
      world.note({ what: 'model begun', reply });
      world.meet('model begun');
      const answer = await model.call(request, options);
      world.note({ what: 'model billed', reply, micros: microsOf(reply) });
      world.meet('model billed');
      return answer;
    },
  };
}

export const outputOf = (callId: string): string => `${callId} is done, which takes some words.`;

function watchedTool(
  world: World,
  name: string,
  effect: ToolEffect,
  act: (context: ToolContext) => unknown,
  options: { readonly timeoutMs?: number; readonly maxRetries?: number } = {},
): Tool {
  return defineTool({
    name,
    description: `Does ${name}.`,
    input: { type: 'object', properties: { of: { type: 'string' } } },
    effect,
    maxCostUsd: 0.0001,
    ...options,
    async run(_input, context) {
      const { callId, idempotencyKey, attempt } = context;
      world.meet('tool before');
      world.note({ what: 'tool begun', callId, key: idempotencyKey, attempt });
      world.meet('tool begun');
      const output = await act(context);
      world.meet('tool end');
      return output;
    },
  });
}

/** Costs something each time that it acts. */
const actIn =
  (world: World, micros: number) =>
  ({ callId }: ToolContext): unknown => {
    world.note({ what: 'tool acted', callId, micros });
    world.meet('tool acted');
    return toolOutput({ content: outputOf(callId), costUsd: micros / 1e6 });
  };

/** Fails the first time that it comes to its end. */
const failOnce =
  (world: World) =>
  (context: ToolContext): unknown => {
    if (notesOf(world.notes(), 'tool failed').length > 0) return actIn(world, 10)(context);
    world.note({ what: 'tool failed', callId: context.callId });
    world.meet('tool failed');
    throw new Error('Not now.');
  };

const neverSettle = (): Promise<never> => new Promise(() => {});

export function crashAgent(store: Store, world: World, budget: BudgetName): Agent {
  const act = actIn(world, 25);
  return createAgent({
    model: watchedModel(world),
    tools: [
      watchedTool(world, 'look', 'read', act),
      watchedTool(world, 'keep', 'idempotent', act),
      watchedTool(world, 'push', 'once', act),
      watchedTool(world, 'mail', 'once', act),
      watchedTool(world, 'send', 'once', act),
      watchedTool(world, 'flaky', 'idempotent', failOnce(world), { maxRetries: 9 }),
      watchedTool(world, 'nap', 'read', neverSettle, { timeoutMs: 60 }),
    ],
    permissions: { allow: ['keep', 'push', 'flaky'], ask: ['mail', 'send'] },
    budget: { maxTurns, maxCostUsd: budgets[budget].maxCostUsd },
    retry: { baseMs: 1, maxMs: 1 },
    store,
  });
}

export const prompt: string = 'Do all of it.';
