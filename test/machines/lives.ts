/** One agent, the world that its tools act on, and the person who answers it: for runs that die and live on. */
import { type ActorRefFrom, createActor, type Snapshot, waitFor } from 'xstate';
import type { ContentBlock, Message } from '../../src/core/message.ts';
import type { ToolEffect } from '../../src/core/tool-call.ts';
import { type Agent, createAgent } from '../../src/runtime/agent.ts';
import type { AgentMachine } from '../../src/runtime/agent-machine.ts';
import type { ScriptedReply } from '../../src/testing/script.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { defineTool } from '../../src/tools/define-tool.ts';
import type { ProbeContext } from '../../src/tools/tool.ts';

/** What outlives a process: which tool bodies began, and that the model was busy once. */
export interface World {
  readonly begun: string[];
  wasBusy: boolean;
}

type Run = ActorRefFrom<AgentMachine>;

const finalText = 'All is done.';

/** By the number of replies that the request holds, so that any process can go on with any request. */
const replies: readonly ScriptedReply[] = [
  {
    text: 'I look, keep and push.',
    toolUses: [
      { id: 'look_1', name: 'look', input: { at: 'this' } },
      { id: 'keep_1', name: 'keep', input: { at: 'that' } },
      { id: 'push_1', name: 'push', input: { at: 'there' } },
    ],
  },
  {
    thinking: 'Both need a person.',
    toolUses: [
      { id: 'mail_1', name: 'mail', input: { at: 'you' } },
      { id: 'wipe_1', name: 'wipe', input: { at: 'everything' } },
    ],
  },
  finalText,
];

const busy: ScriptedReply = {
  error: {
    status: 429,
    type: 'rate_limit_error',
    message: 'Slow down.',
    headers: { 'retry-after': '0' },
  },
};

export function createLivingAgent(world: World): Agent {
  const hasBegun = (callId: string): boolean => world.begun.includes(callId);
  const tool = (name: string, effect: ToolEffect, canLook = false) =>
    defineTool({
      name,
      description: `Does ${name}.`,
      input: { type: 'object', properties: { at: { type: 'string' } } },
      effect,
      run: (_input, { callId }) => {
        world.begun.push(callId);
        return `${name} is done, which takes some words to say.`;
      },
      ...(canLook && {
        probe: (_key: string, { callId }: ProbeContext) =>
          hasBegun(callId)
            ? { happened: true, result: `${name} was done.` }
            : { happened: false as const },
      }),
    });
  return createAgent({
    model: scriptedModel(({ body }) => {
      const turn = body.messages.filter(({ role }) => role === 'assistant').length;
      const isBusy = turn === 1 && !world.wasBusy;
      world.wasBusy ||= isBusy;
      return isBusy ? busy : (replies[turn] ?? finalText);
    }),
    tools: [
      tool('look', 'read'),
      tool('keep', 'idempotent'),
      tool('push', 'once', true),
      tool('mail', 'once'),
      tool('wipe', 'once'),
    ],
    permissions: { allow: ['keep', 'push'], ask: ['mail', 'wipe'] },
    budget: { maxTurns: 2, maxCostUsd: 1, deadlineAt: Date.now() + 86_400_000 },
    onLimit: 'ask',
    retry: { baseMs: 1, maxMs: 1 },
    compaction: {
      atTokens: 1,
      compact: async ({ messages }) => messages.map(shortened),
    },
  });
}

/** The same messages with shorter results. */
const shortened = ({ role, content }: Message): Message => ({
  role,
  content: content.map(
    (block): ContentBlock =>
      block.type === 'tool_result' && typeof block.content === 'string' && !block.is_error
        ? { ...block, content: block.content.slice(0, 12) }
        : block,
  ),
});

/** Answers whatever the run waits for: `mail` is approved, `wipe` is denied, and budgets are raised. */
export function playPerson(run: Run): void {
  const answer = (): void => {
    const snapshot = run.getSnapshot();
    if (snapshot.status !== 'active') return;
    if (snapshot.value === 'paused') run.send({ type: 'run.resumed' });
    if (snapshot.matches({ active: 'awaitBudget' })) {
      run.send({ type: 'budget.raised', limits: { maxTurns: 20 } });
    }
    for (const { id, name, waits } of snapshot.context.calls) {
      if (waits?.for === 'settlement') {
        run.send({ type: 'call.settled', callId: id, content: 'It was done, I looked.' });
      } else if (waits?.for === 'approval') {
        const { argumentsHash } = waits;
        run.send(
          name === 'mail'
            ? { type: 'approval.granted', callId: id, argumentsHash }
            : { type: 'approval.denied', callId: id, reason: 'not that' },
        );
      }
    }
  };
  // Later, as people do: a call may not have told yet that it has its answer.
  let isThinking = false;
  const think = (): void => {
    if (isThinking) return;
    isThinking = true;
    setImmediate(() => {
      isThinking = false;
      answer();
    });
  };
  run.subscribe({ next: think, error: () => {} });
  think();
}

/** Steers and pauses a run once, while its first tools run. */
export function disturb(run: Run): void {
  const subscription = run.subscribe((snapshot) => {
    if (!snapshot.matches({ active: 'executeTools' })) return;
    subscription.unsubscribe();
    run.send({ type: 'message.steered', content: [{ type: 'text', text: 'Be quick.' }] });
    run.send({ type: 'run.paused' });
  });
}

/** Goes on from a snapshot to the end, with a person at hand. */
export async function liveOn(world: World, snapshot: unknown): Promise<Run> {
  const { machine } = createLivingAgent(world);
  const run = createActor(machine, {
    input: undefined as never,
    snapshot: snapshot as Snapshot<unknown>,
  });
  run.start();
  playPerson(run);
  if (run.getSnapshot().status === 'active') {
    await waitFor(run, ({ status }) => status === 'done', { timeout: 10_000 });
  }
  return run;
}

export const newWorld = (): World => ({ begun: [], wasBusy: false });
