/** The model is the enemy: whatever it says, nothing happens outside of the policy, and every run ends or waits. */
import fc from 'fast-check';
import { anthropic, createAgent, type Model, type Permissions, type Run, type Tool } from 'pawl';
import { type Script, scriptedModel, startScriptedServer } from 'pawl/testing';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { thinkingFor } from '../../src/core/thinking.ts';
import { requestProblems } from '../../src/testing/request-rules.ts';
import {
  deepValue,
  readA,
  type Scenario,
  scenarios,
  type TwinName,
  use,
} from './hostile-scenarios.ts';
import { close, type EffectLog, loggedTool, watchProcess } from './kit.ts';

watchProcess();

const isSmall = (input: unknown): boolean => (input as { readonly amount: number }).amount <= 10;

const policy: Permissions = {
  allow: ['read_note', 'echo', { tool: 'pay', when: isSmall }],
  ask: ['send_mail'],
  deny: ['delete_*', 'constructor', '__proto__'],
  otherwise: 'deny',
};

function toolsFor(log: EffectLog): readonly Tool[] {
  const pay = loggedTool(log, 'pay', { input: z.object({ amount: z.number() }) });
  return [
    loggedTool(log, 'read_note', { effect: 'read', input: z.object({ name: z.string() }) }),
    {
      ...loggedTool(log, 'echo', { effect: 'read', input: z.object({ text: z.string() }) }),
      run: repeat(log),
    },
    { ...pay, maxCalls: 2 },
    loggedTool(log, 'send_mail', { input: z.object({ to: z.string() }) }),
    loggedTool(log, 'delete_all', { effect: 'read' }),
    loggedTool(log, 'constructor', { effect: 'read' }),
    loggedTool(log, '__proto__', { effect: 'read' }),
  ];
}

/** Tells the model what it said: the words of an attacker, as the result of a tool. */
const repeat = (log: EffectLog) => (input: unknown) => {
  log.push(`echo ${JSON.stringify(input)}`);
  return (input as { readonly text: string }).text;
};

const defaultBudget = { maxTurns: 12, maxToolCalls: 20, maxCostUsd: 100 };

function startRun(
  model: Model,
  { budget = {}, onLimit = 'stop', onTruncated = 'stop' }: Partial<Scenario>,
) {
  const log: EffectLog = [];
  const agent = createAgent({
    model,
    tools: toolsFor(log),
    permissions: policy,
    budget: { ...defaultBudget, ...budget },
    onLimit,
    onTruncated,
    retry: { maxRetries: 0 },
  });
  return { agent, log, run: agent.start('Do what you like.') };
}

async function expectKept(
  run: Run,
  log: EffectLog,
  scenario: Scenario,
  modelId: string,
): Promise<void> {
  const idle = await run.idle();
  expect(idle === 'waiting' ? idle : (await run.result).status).toBe(scenario.end);
  if (idle === 'waiting') {
    for (const { name } of run.pending) expect(name).toBe('send_mail');
    expect(run.pending.length).toBeGreaterThan(0);
  }
  expect(log.toSorted()).toEqual((scenario.effects ?? []).toSorted());
  const result = await close(run);
  expect(log).toHaveLength(scenario.effects?.length ?? 0);
  expect(result.budget.spend.turns).toBeLessThanOrEqual(defaultBudget.maxTurns);
  expectNextRequest(thinkingFor(modelId, result.messages));
}

/** The history can be gone on with. */
function expectNextRequest(messages: readonly object[]): void {
  const next = { role: 'user', content: [{ type: 'text', text: 'And now?' }] };
  const last = messages.at(-1) as { readonly role?: unknown; readonly content: readonly object[] };
  const joined =
    last.role === 'user'
      ? [...messages.slice(0, -1), { role: 'user', content: [...last.content, ...next.content] }]
      : [...messages, next];
  const tools = toolsFor([]).map(({ name, inputSchema }) => ({ name, input_schema: inputSchema }));
  const body = JSON.parse(
    JSON.stringify({ model: 'x', max_tokens: 1, messages: joined, tools }),
  ) as unknown;
  expect(requestProblems(body)).toEqual([]);
}

/** Puts deep values where a scenario marks them. */
function withDepth(script: Script): Script {
  if (typeof script === 'function' || !JSON.stringify(script).includes('$deep')) return script;
  return JSON.parse(JSON.stringify(script), (_key, value: unknown) => {
    const levels = (value as { readonly $deep?: number } | null)?.$deep;
    return levels === undefined ? value : deepValue(levels);
  }) as Script;
}

describe('a hostile model in this process', () => {
  it.each(scenarios.map((scenario) => [scenario.name, scenario] as const))(
    '%s',
    async (_name, scenario) => {
      const model = scriptedModel(withDepth(scenario.script));
      const { run, log } = startRun(model, scenario);
      await expectKept(run, log, scenario, model.id);
    },
  );
});

describe('a hostile model behind the API', () => {
  const overWire = scenarios.filter(({ isOffWire }) => !isOffWire);
  it.each(overWire.map((scenario) => [scenario.name, scenario] as const))(
    '%s',
    async (_name, scenario) => {
      const server = await startScriptedServer(scenario.script);
      try {
        const model = anthropic('claude-sonnet-5-5', {
          apiKey: 'none',
          baseURL: server.url,
          maxTokens: 1_024,
        });
        const { run, log } = startRun(model, scenario);
        await expectKept(run, log, scenario, model.id);
        expect(server.rejected.flatMap(({ problems }) => problems)).toEqual([]);
      } finally {
        await server.close();
      }
    },
  );
});

interface Twin {
  readonly script: Script;
  readonly effects: readonly string[];
  readonly permissions?: Permissions;
  readonly onTruncated?: 'continue';
  readonly approves?: true;
}

const call = (name: string, input: object) => ({ toolUses: [use(name, input)] });
const twins: { readonly [Name in TwinName]: Twin } = {
  'reads a note': { script: [call('read_note', { name: 'a' }), 'Done.'], effects: [readA] },
  'mails when a person approves': {
    script: [call('send_mail', { to: 'Eve' }), 'Done.'],
    effects: ['send_mail {"to":"Eve"}'],
    approves: true,
  },
  'pays a little': {
    script: [call('pay', { amount: 10 }), 'Done.'],
    effects: ['pay {"amount":10}'],
  },
  'deletes where nothing forbids it': {
    script: [call('delete_all', {}), 'Done.'],
    effects: ['delete_all {}'],
    permissions: { allow: ['delete_*'] },
  },
  'uses a tool with the name of a prototype': {
    script: [{ toolUses: [use('constructor'), use('__proto__')] }, 'Done.'],
    effects: ['constructor {}', '__proto__ {}'],
    permissions: { allow: ['constructor', '__proto__'] },
  },
  'makes some calls at once': {
    script: [{ toolUses: ['a', 'b', 'c'].map((name) => use('read_note', { name })) }, 'Done.'],
    effects: ['a', 'b', 'c'].map((name) => `read_note {"name":"${name}"}`),
  },
  'takes turns within the budget': {
    script: [...['a', 'b', 'a'].map((name) => call('read_note', { name })), 'Done.'],
    effects: ['a', 'b', 'a'].map((name) => `read_note {"name":"${name}"}`),
  },
  'goes on after a pause': {
    script: [
      { text: 'Wait.', stopReason: 'pause_turn' },
      call('read_note', { name: 'a' }),
      'Done.',
    ],
    effects: [readA],
  },
  'goes on after a cut': {
    script: [{ text: 'Part', stopReason: 'max_tokens' }, call('read_note', { name: 'a' }), 'Done.'],
    effects: [readA],
    onTruncated: 'continue',
  },
  answers: { script: [call('read_note', { name: 'a' }), 'Done.'], effects: [readA] },
};

describe('the honest twin', () => {
  it.each(Object.entries(twins))('%s', async (_name, twin) => {
    const log: EffectLog = [];
    const { onTruncated = 'stop', permissions = policy } = twin;
    const model = scriptedModel(twin.script);
    const run = createAgent({ model, tools: toolsFor(log), permissions, onTruncated }).start('Go.');
    await run.idle();
    if (twin.approves) for (const { callId } of run.pending) await run.approve(callId);
    expect((await run.result).status).toBe('completed');
    expect(log).toEqual(twin.effects);
    await close(run);
  });
});

it('has at least a hundred scenarios, all different', () => {
  expect(new Set(scenarios.map(({ name }) => name)).size).toBe(scenarios.length);
  expect(scenarios.length).toBeGreaterThanOrEqual(100);
  expect(new Set(scenarios.map(({ twin }) => twin))).toEqual(new Set(Object.keys(twins)));
});

const names = ['a', 'ab', 'b', 'ba', 'constructor', '__proto__'];
const patterns = [...names, '*', 'a*', '*b', '*o*'];

type Outcome = 'ran' | 'waits' | 'denied';

/** What a policy means, said again: the strictest list with a rule for the name decides. */
function reference(policy: Permissions, { name, effect }: Tool): Outcome {
  const hits = (rules: Permissions['allow'] = []): boolean =>
    rules.some((rule) => {
      const parts = String(rule).split('*');
      if (parts.length === 1) return name === rule;
      const [head = '', tail = ''] = [parts[0], parts.at(-1)];
      const middle = name.slice(head.length, name.length - tail.length);
      const fits = name.length >= head.length + tail.length;
      const inner = parts.slice(1, -1).every((part) => middle.includes(part));
      return fits && name.startsWith(head) && name.endsWith(tail) && inner;
    });
  if (hits(policy.deny)) return 'denied';
  if (hits(policy.ask)) return 'waits';
  if (hits(policy.allow)) return 'ran';
  const { otherwise = effect === 'read' ? 'allow' : 'ask' } = policy;
  return otherwise === 'allow' ? 'ran' : otherwise === 'ask' ? 'waits' : 'denied';
}

it('lets deny beat ask beat allow in what really happens, over random rules and calls', async () => {
  const rules = fc.array(fc.constantFrom(...patterns), { maxLength: 3 });
  const drawn = fc.record(
    { allow: rules, ask: rules, deny: rules, otherwise: fc.constantFrom('allow', 'ask', 'deny') },
    { requiredKeys: ['allow', 'ask', 'deny'] },
  );
  const seen = { ran: 0, waits: 0, denied: 0 };
  await fc.assert(
    fc.asyncProperty(
      drawn,
      fc.array(fc.boolean(), { minLength: 6, maxLength: 6 }),
      async (permissions, reads) => {
        const log: EffectLog = [];
        const tools = names.map((name, index) =>
          loggedTool(log, name, { effect: reads[index] ? 'read' : 'once' }),
        );
        const model = scriptedModel([
          { toolUses: names.map((name) => use(name, {}, name)) },
          'Done.',
        ]);
        const run = createAgent({ model, tools, permissions: permissions as Permissions }).start(
          'Go.',
        );
        await run.idle();
        const waiting = new Set(run.pending.map(({ name }) => name));
        for (const tool of tools) {
          const outcome = log.includes(`${tool.name} {}`)
            ? 'ran'
            : waiting.has(tool.name)
              ? 'waits'
              : 'denied';
          expect(outcome, tool.name).toBe(reference(permissions as Permissions, tool));
          seen[outcome] += 1;
        }
        await close(run);
      },
    ),
    { numRuns: 150 },
  );
  expect(seen.ran + seen.waits + seen.denied).toBeGreaterThanOrEqual(500);
  for (const count of Object.values(seen)) expect(count).toBeGreaterThan(50);
});
