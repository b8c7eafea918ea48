/**
 * The runs that snapshots are recorded from. They are played on years later, so what a request asks for is told by what
 * the request holds, and what happened before by the world that was recorded with it.
 */
import {
  type Agent,
  type AgentOptions,
  type ContentBlock,
  createAgent,
  defineTool,
  type Message,
  type Run,
  type StartOptions,
  type Store,
  type Tool,
  type ToolEffect,
} from 'pawl';
import { type ScriptedReply, type ScriptedRequest, scriptedModel } from 'pawl/testing';

/** What outlives a process: the calls whose bodies began, the replies that were asked for, and troubles that were had. */
export interface World {
  /** `send send_1/1`: tool, call and attempt. */
  readonly begun: string[];
  readonly had: string[];
  modelCalls: number;
}

export const newWorld = (): World => ({ begun: [], had: [], modelCalls: 0 });
export const copyOfWorld = (world: World): World => structuredClone(world);

interface Scenario {
  readonly replies: (turn: number, request: ScriptedRequest, world: World) => ScriptedReply;
  readonly agent?: Partial<AgentOptions>;
  readonly start?: StartOptions;
  /** What somebody does as soon as the run is in this state. */
  readonly meddle?: { readonly in: string; readonly act: (run: Run) => void };
}

const finalText = 'All is done.';

const use = (name: string, id = `${name}_1`) => ({ id, name, input: { what: 'it' } });

const after =
  (first: ScriptedReply): Scenario['replies'] =>
  (turn) =>
    turn === 0 ? first : finalText;

const serverError = (status: number, headers: Record<string, string> = {}): ScriptedReply => ({
  error: { status, type: 'api_error', message: 'Not now.', headers },
});

/** Fails once, and once only, whatever process asks. */
const once = (world: World, what: string): boolean => {
  if (world.had.includes(what)) return false;
  world.had.push(what);
  return true;
};

export const scenarios = {
  answer: { replies: () => finalText },
  approval: { replies: after({ text: 'I ask.', toolUses: [use('send')] }) },
  probed: { replies: after({ toolUses: [use('pay')] }) },
  reported: { replies: after({ toolUses: [use('call')] }) },
  batch: {
    replies: after({
      thinking: 'All at once.',
      toolUses: [use('look'), use('keep'), use('push'), use('send'), use('nothing')],
    }),
  },
  flaky: { replies: after({ toolUses: [use('flaky')] }) },
  busy: {
    replies: (_turn, _request, world) =>
      once(world, 'busy') ? serverError(429, { 'retry-after': '0' }) : finalText,
  },
  fallback: {
    replies: (_turn, { body }) => (body.model === 'first' ? serverError(529) : finalText),
    agent: { retry: { maxRetries: 0, baseMs: 1, maxMs: 1 } },
  },
  compacted: {
    replies: after({ toolUses: [use('look')] }),
    agent: {
      compaction: { atTokens: 1, compact: async ({ messages }) => messages.map(shortened) },
    },
  },
  wrapUp: {
    replies: (_turn, { body }) =>
      body.tool_choice === 'none' || saysLimit(body.messages)
        ? 'That is all I know.'
        : { toolUses: [use('look', `look_${body.messages.length}`)] },
    start: { onLimit: 'wrapUp', budget: { maxTurns: 2 } },
  },
  budget: {
    replies: after({ toolUses: [use('look')] }),
    start: { onLimit: 'ask', budget: { maxTurns: 1 } },
  },
  deadline: {
    replies: after({ text: 'I ask.', toolUses: [use('send')] }),
    start: { budget: { deadlineAt: Date.UTC(2099, 0) } },
  },
  exhausted: {
    replies: after({ toolUses: [use('look')] }),
    start: { budget: { maxTurns: 1 } },
  },
  paused: {
    replies: after({ toolUses: [use('look')] }),
    meddle: {
      in: 'executeTools',
      act(run) {
        run.steer('Be quick.');
        run.pause();
      },
    },
  },
  refused: { replies: () => ({ text: 'I will not.', stopReason: 'refusal' }) },
  failed: { replies: () => serverError(400) },
  cancelled: {
    replies: after({ text: 'I ask.', toolUses: [use('send')] }),
    meddle: { in: 'executeTools.waiting', act: (run) => run.cancel('Never mind.') },
  },
} as const satisfies { readonly [name: string]: Scenario };

export type ScenarioName = keyof typeof scenarios;

export const scenarioNames = Object.keys(scenarios) as readonly ScenarioName[];

const scenarioOf = (name: ScenarioName): Scenario => scenarios[name];

/** The request's own words, since the kind of a call is not sent. */
const saysLimit = (messages: ScriptedRequest['body']['messages']): boolean =>
  JSON.stringify(messages.at(-1)).includes('reached its limit');

/** The same messages with shorter results. */
const shortened = ({ role, content }: Message): Message => ({
  role,
  content: content.map(
    (block): ContentBlock =>
      block.type === 'tool_result' && typeof block.content === 'string'
        ? { ...block, content: block.content.slice(0, 8) }
        : block,
  ),
});

export interface Play {
  readonly agent: Agent;
  start(options?: StartOptions): Run;
}

/** The agent of a scenario, in a world, with a store. `hold`: bodies of tools come to no end before it is over. */
export function playOf(
  name: ScenarioName,
  world: World,
  { store, hold }: { readonly store?: Store; readonly hold?: Promise<unknown> } = {},
): Play {
  const scenario = scenarioOf(name);
  const script = (request: ScriptedRequest): ScriptedReply => {
    world.modelCalls += 1;
    const turn = request.body.messages.filter(({ role }) => role === 'assistant').length;
    return scenario.replies(turn, request, world);
  };
  const agent = createAgent({
    model: scriptedModel(script, { id: 'first' }),
    fallbackModels: [scriptedModel(script, { id: 'second' })],
    tools: toolsIn(world, hold),
    permissions: { allow: ['push', 'pay', 'call', 'keep', 'flaky', 'look'] },
    retry: { baseMs: 1, maxMs: 1 },
    ...scenario.agent,
    ...(store && { store }),
  });
  return {
    agent,
    start: (options) => agent.start('Go.', { runId: name, ...scenario.start, ...options }),
  };
}

const effects: readonly (readonly [name: string, effect: ToolEffect])[] = [
  ['look', 'read'],
  ['keep', 'idempotent'],
  ['flaky', 'idempotent'],
  ['push', 'once'],
  ['send', 'once'],
  ['pay', 'once'],
  ['call', 'once'],
];

const toolsIn = (world: World, hold: Promise<unknown> | undefined): readonly Tool[] =>
  effects.map(([name, effect]) =>
    defineTool({
      name,
      description: `Does ${name}.`,
      input: { type: 'object', properties: { what: { type: 'string' } } },
      effect,
      ...(name === 'flaky' && { maxRetries: 2 }),
      ...(name === 'pay' && { probe: () => ({ happened: true as const, result: 'It was paid.' }) }),
      ...(name === 'call' && { onInterrupted: 'report' as const }),
      async run(_input, { callId, attempt }) {
        world.begun.push(`${name} ${callId}/${attempt}`);
        await hold;
        if (name === 'flaky' && once(world, 'flaky')) throw new Error('Try again.');
        return `${name} is done, which takes some words to say.`;
      },
    }),
  );

/** Meddles as the scenario says, once. */
export function meddleIn(name: ScenarioName, run: Run): (state: string) => void {
  const { meddle } = scenarioOf(name);
  let isDone = false;
  return (state) => {
    if (!meddle || isDone || !`${state}.`.startsWith(`${meddle.in}.`)) return;
    isDone = true;
    meddle.act(run);
  };
}

/** A person who approves, settles, raises budgets and resumes, until the run has ended. */
export async function playPerson(run: Run): Promise<void> {
  while ((await run.idle()) === 'waiting') {
    if (run.state === 'paused') run.resume();
    if (run.state === 'awaitBudget') run.raiseBudget({ maxTurns: 20 });
    for (const { callId, waits } of run.pending) {
      if (waits.for === 'approval') await run.approve(callId);
      else await run.settle(callId, { content: 'It was done, I looked.' });
    }
    // The run hears of it in a turn of its own.
    await new Promise((resolve) => setImmediate(resolve));
  }
}
