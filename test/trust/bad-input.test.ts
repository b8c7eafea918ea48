/** Whatever a caller hands in that can't be meant is refused before anything happens, by name. */
import {
  anthropic,
  createAgent,
  defineTool,
  memoryStore,
  PawlError,
  type Run,
  type RunSnapshot,
  type Store,
  toolOutput,
} from 'pawl';
import { scriptedModel, startScriptedServer } from 'pawl/testing';
import { afterAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { resultOf } from '../../src/tools/tool-result.ts';
import { askingRun, close, type EffectLog, mailed, mailTo, mailTool, watchProcess } from './kit.ts';

watchProcess();

let rows = 0;
afterAll(() => expect(rows).toBeGreaterThanOrEqual(120));

type Row = readonly [name: string, field: string, value: unknown];

const untyped = <Value>(value: unknown): Value => value as Value;

const cycle: Record<string, unknown> = {};
cycle.self = cycle;

const named = (table: readonly Row[]) =>
  table.map(([name, field, value]) => [`${field}: ${name}`, field, value] as const);

async function thrownBy(act: () => unknown): Promise<unknown> {
  try {
    await act();
  } catch (thrown) {
    return thrown;
  }
  return 'nothing was thrown';
}

/** A PawlError that names the field, what was expected and what was got. */
async function expectRefused(field: string, act: () => unknown): Promise<void> {
  rows += 1;
  const error = await thrownBy(act);
  expect(error).toBeInstanceOf(PawlError);
  const { code, message } = error as PawlError;
  expect(code).toBe('invalid_input');
  expect(message).toMatch(/^[^:]*.*: expected .+, got .+\.$/su);
  expect(message).toContain(field);
  expect(message.length).toBeLessThan(1_000);
}

const good = () => ({ model: scriptedModel(['Ok.']) });

describe('createAgent refuses', () => {
  const [tool] = [mailTool([])];
  const { model } = good();
  const tier = { input: 1, output: 1, aboveInputTokens: 200_000 };
  it.each(
    named([
      ...([undefined, null, 'x', 1, [], () => {}] as const).map(
        (value): Row => [typeof value, 'options', { $all: value }],
      ),
      ['a name with a typo', 'budgets', {}],
      ['a name of Object.prototype', 'constructor', {}],
      ['undefined', 'model', undefined],
      ['null', 'model', null],
      ['a name', 'model', 'claude-sonnet-5-5'],
      ['an object that can call nothing', 'model', { id: 'x' }],
      ['one without an id', 'model.id', { ...model, id: undefined }],
      ['one without a provider', 'model.provider', { ...model, provider: 1 }],
      ['one without a limit', 'model.maxOutputTokens', { ...model, maxOutputTokens: undefined }],
      [
        'a limit that is no number',
        'model.minOutputTokens',
        { ...model, minOutputTokens: Number.NaN },
      ],
      ['half a token', 'model.maxOutputTokens', { ...model, maxOutputTokens: 1.5 }],
      ['a window of nothing', 'model.contextWindow', { ...model, contextWindow: 0 }],
      ['a price that is a number', 'model.price', { ...model, price: 3 }],
      ['a price without an output', 'model.price.output', { ...model, price: { input: 1 } }],
      [
        'a price that sums of costs could not be exact with',
        'model.price.output',
        { ...model, price: { input: 1, output: 1e9 } },
      ],
      ['a negative price', 'model.price.input', { ...model, price: { input: -1, output: 1 } }],
      [
        'a price that is no number',
        'model.price.cacheRead',
        { ...model, price: { input: 1, output: 1, cacheRead: Number.NaN } },
      ],
      [
        'a tier without a bound',
        'model.price.tiers[0].aboveInputTokens',
        { ...model, price: { input: 1, output: 1, tiers: [{ input: 1, output: 1 }] } },
      ],
      [
        'two tiers from one bound, of which nobody knows which is meant',
        'model.price.tiers[1].aboveInputTokens',
        { ...model, price: { input: 1, output: 1, tiers: [tier, { ...tier, output: 9 }] } },
      ],
      ['one model', 'fallbackModels', model],
      ['a text', 'fallbackModels', 'abc'],
      ['a hole', 'fallbackModels[0]', [undefined]],
      ['a number', 'name', 1],
      ['blocks', 'system', [{ type: 'text', text: 'x' }]],
      ['one tool', 'tools', tool],
      ['a text', 'tools', 'abc'],
      ['null in it', 'tools[0]', [null]],
      ['a function', 'tools[0]', [() => {}]],
      ['a definition', 'tools[0]', [{ name: 'a', run: () => {} }]],
      ['a tool without an effect', 'tools[0]', [{ ...tool, effect: undefined }]],
      ['a tool that takes NaN ms', 'tools[0]', [{ ...tool, timeoutMs: Number.NaN }]],
      ['the same name twice', 'tools[1].name', [tool, tool]],
      ['null', 'permissions', null],
      ['a rule of no tool', 'permissions.deny[0]', { deny: ['nobody'] }],
      ['an unknown default', 'permissions.otherwise', { otherwise: 'maybe' }],
      ['null', 'budget', null],
      ['a number', 'budget', 5],
      ['a list', 'budget', []],
      ['an unknown limit', 'budget.maxTurn', { maxTurn: 1 }],
      ['NaN', 'budget.maxTurns', { maxTurns: Number.NaN }],
      ['less than nothing', 'budget.maxCostUsd', { maxCostUsd: -1 }],
      ['a text', 'budget.maxTurns', { maxTurns: '5' }],
      ['half a call', 'budget.maxToolCalls', { maxToolCalls: 0.5 }],
      ['an unknown word', 'onLimit', 'continue'],
      ['an inherited word', 'onLimit', 'toString'],
      ['true', 'onTruncated', true],
      ['null', 'retry', null],
      ['an unknown field', 'retry.retries', { retries: 3 }],
      ['no end of it', 'retry.maxRetries', { maxRetries: Number.POSITIVE_INFINITY }],
      ['NaN', 'retry.baseMs', { baseMs: Number.NaN }],
      ['a negative wait', 'retry.maxMs', { maxMs: -1 }],
      ['zero', 'toolConcurrency', 0],
      ['NaN', 'toolConcurrency', Number.NaN],
      ['half a call', 'toolConcurrency', 1.5],
      ['a text', 'maxOutputChars', '100'],
      ['null', 'toolChoice', null],
      ['an unknown word', 'toolChoice', 'maybe'],
      ['a tool that is not there', 'toolChoice.tool', { tool: 'nobody' }],
      ['a text', 'streams', 'no'],
      ['a number', 'compaction', 1_000],
      ['one without a strategy', 'compaction.compact', { atTokens: 1_000 }],
      ['one without a size', 'compaction.atTokens', { compact: () => [] }],
      ['a class', 'store', Map],
      ['an object that can only load', 'store', { load: () => null }],
      ['one text', 'secrets', 'key'],
      ['an empty text', 'secrets[0]', ['']],
      ['a number', 'secrets[0]', [1]],
      ['a text', 'onEvent', 'log'],
    ]),
  )('%s', async (_name, field, value) => {
    const isAll = typeof value === 'object' && value !== null && '$all' in value;
    const [top = ''] = field.split(/[.[]/);
    const options = isAll ? value.$all : { ...good(), [top]: value };
    await expectRefused(field, () => createAgent(untyped(options)));
  });

  it('and never shows a secret', async () => {
    const error = await thrownBy(() => createAgent(untyped({ ...good(), secrets: 'sk-1234' })));
    expect(String(error)).not.toContain('sk-1234');
  });
});

describe('anthropic refuses', () => {
  it.each(
    named([
      ['null', 'options', { $all: null }],
      ['a key', 'options', { $all: 'sk-1' }],
      ['an unknown option', 'maxToken', 5],
      ['a number', 'apiKey', 5],
      ['a URL object', 'baseURL', new URL('http://127.0.0.1')],
      ['zero', 'maxTokens', 0],
      ['NaN', 'minTokens', Number.NaN],
      ['a text', 'contextWindow', '200k'],
      ['a text', 'price', 'cheap'],
      ['half a price', 'price.output', { input: 1 }],
      ['a word', 'thinking', 'enabled'],
      ['an unknown kind', 'thinking.type', { type: 'deep' }],
      ['too small a budget', 'thinking.budgetTokens', { type: 'enabled', budgetTokens: 1 }],
      ['a text', 'temperature', '0'],
      ['NaN', 'temperature', Number.NaN],
      ['more than all', 'topP', 2],
      ['less than one', 'topK', 0],
      ['one text', 'stopSequences', 'END'],
      ['a number in it', 'stopSequences[0]', [1]],
      ['an object', 'serverTools', {}],
      ['a name in it', 'serverTools[0]', ['web_search']],
      ['a function in it', 'serverTools[0]', [{ type: 'x', run: () => {} }]],
      ['one text', 'betas', 'x'],
      ['a list', 'headers', ['x']],
      ['a number in it', 'headers.x', { x: 1 }],
      ['a cycle', 'extraBody', cycle],
      ['a text', 'extraBody', 'x'],
      ['zero', 'streamIdleMs', 0],
      ['too long', 'timeoutMs', 2 ** 31],
      ['a word', 'caching', 'on'],
      ['a text', 'disableParallelToolUse', 'yes'],
    ]),
  )('%s', async (_name, field, value) => {
    const isAll = typeof value === 'object' && value !== null && '$all' in value;
    const [top = ''] = field.split(/[.[]/);
    const options = isAll ? value.$all : { [top]: value };
    await expectRefused(field, () => anthropic('claude-sonnet-5-5', untyped(options)));
  });

  it.each([undefined, null, '', ' ', 5, {}])('the model id %s', async (id) => {
    await expectRefused('modelId', () => anthropic(untyped(id)));
  });

  it('and never shows a key', async () => {
    const error = await thrownBy(() => anthropic('x', untyped({ apiKey: ['sk-1234'] })));
    expect(String(error)).not.toContain('sk-1234');
  });
});

describe('defineTool refuses', () => {
  const tool = { name: 'a', description: 'A.', input: z.object({}), effect: 'read', run: () => '' };
  it.each(
    named([
      ['nothing', 'tool', { $all: undefined }],
      ['a function', 'tool', { $all: () => {} }],
      ['a blank', 'name', 'a b'],
      ['too long', 'name', 'a'.repeat(129)],
      ['blank', 'description', ' '],
      ['half a character', 'description', '\ud800'],
      ['a schema of a text', 'input', z.string()],
      ['nothing', 'input', undefined],
      ['an unknown one', 'effect', 'write'],
      ['nothing', 'effect', undefined],
      ['a text', 'run', 'x'],
      ['zero', 'timeoutMs', 0],
      ['too long', 'timeoutMs', 2 ** 31],
      ['NaN', 'maxCalls', Number.NaN],
      ['less than none', 'maxRetries', -1],
      ['zero', 'concurrency', 0],
      ['NaN', 'maxCostUsd', Number.NaN],
      ['a text', 'repeatable', 'yes'],
      ['zero', 'maxOutputChars', 0],
      ['an unknown field', 'timeout', 5],
    ]),
  )('%s', async (_name, field, value) => {
    const isAll = typeof value === 'object' && value !== null && '$all' in value;
    const definition = isAll ? value.$all : { ...tool, [field]: value };
    await expectRefused(field, () =>
      defineTool(untyped<Parameters<typeof defineTool>[0]>(definition)),
    );
  });
});

/** An agent whose store and tools note what they did. */
function watchedAgent(options: object = {}) {
  const log: EffectLog = [];
  const inner = memoryStore();
  const saves: string[] = [];
  const store: Store = {
    ...inner,
    save(steps) {
      saves.push(...steps.map(({ runId }) => runId));
      return inner.save(steps);
    },
  };
  const model = scriptedModel([mailTo('Ada'), 'Ok.']);
  const events: string[] = [];
  const agent = createAgent({
    ...{ model, tools: [mailTool(log)], store, ...options },
    onEvent: ({ type }) => void events.push(type),
  });
  const expectUntouched = async (): Promise<void> => {
    await new Promise((resolve) => setImmediate(resolve));
    expect({ log, saves, events, asked: model.requests.length }).toEqual({
      log: [],
      saves: [],
      events: [],
      asked: 0,
    });
  };
  return { agent, log, model, expectUntouched };
}

describe('agent.start refuses', () => {
  const user = (...content: unknown[]) => ({ role: 'user', content });
  it.each(
    named([
      ...[undefined, null, '', ' \n', 5, {}, [], [{ type: 'text', text: '' }]].map(
        (value): Row => [`${JSON.stringify(value)}`, 'prompt', value],
      ),
      ['a hole', 'prompt[0]', [null]],
      ['a text block without a text', 'prompt[0]', [{ type: 'text' }]],
      [
        'a tool result',
        'prompt[0].type',
        [{ type: 'tool_result', tool_use_id: 'a', content: 'x' }],
      ],
      ['a tool use', 'prompt[0].type', [{ type: 'tool_use', id: 'a', name: 'b', input: {} }]],
      ['a cycle', 'prompt[0]', [{ type: 'image', source: cycle }]],
      ['a function in a block', 'prompt[0]', [{ type: 'image', source: () => {} }]],
    ]),
  )('%s', async (_name, field, prompt) => {
    const { agent, expectUntouched } = watchedAgent();
    await expectRefused(field, () => agent.start(untyped(prompt)));
    await expectRefused(field, () => agent.input(untyped(prompt)));
    await expectUntouched();
  });

  it.each(
    named([
      ['null', 'options', { $all: null }],
      ['a text', 'options', { $all: 'run_1' }],
      ['a name with a typo', 'runID', 'x'],
      ['null', 'history', null],
      ['one message', 'history', user({ type: 'text', text: 'x' })],
      ['a text', 'history', 'Hello'],
      ['null in it', 'history[0]', [null]],
      ['an unknown role', 'history[0]', [{ role: 'system', content: [] }]],
      ['a text for content', 'history[0]', [{ role: 'user', content: 'Hello' }]],
      ['a block that is none', 'history[0].content[0]', [user('Hello')]],
      ['a text block without a text', 'history[0].content[0]', [user({ type: 'text' })]],
      [
        'a tool use without an input',
        'history[0].content[0]',
        [{ role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'b' }] }],
      ],
      [
        'a result without a call',
        'history[0].content[0]',
        [user({ type: 'tool_result', content: 'x' })],
      ],
      ['a cycle', 'history[0].content[0]', [user({ type: 'image', source: cycle })]],
      [
        'an answer before any question',
        'history',
        [{ role: 'assistant', content: [{ type: 'text', text: 'x' }] }],
      ],
      ['a number', 'runId', 5],
      ['an empty text', 'runId', ''],
      ['a path', 'runId', '../x'],
      ['too long', 'runId', 'x'.repeat(129)],
      ['a line end', 'runId', 'x\n'],
      ['null', 'budget', null],
      ['a number', 'budget', 5],
      ['NaN', 'budget.maxTurns', { maxTurns: Number.NaN }],
      ['an unknown limit', 'budget.turns', { turns: 5 }],
      ['an unknown word', 'onLimit', 'never'],
      ['null', 'onLimit', null],
      ['an object', 'signal', {}],
      ['a controller', 'signal', new AbortController()],
      ['null', 'signal', null],
      ['a text', 'inspect', 'all'],
      ['null', 'inspect', null],
    ]),
  )('%s', async (_name, field, value) => {
    const { agent, expectUntouched } = watchedAgent();
    const isAll = typeof value === 'object' && value !== null && '$all' in value;
    const [top = ''] = field.split(/[.[]/);
    const options = isAll ? value.$all : { [top]: value };
    await expectRefused(field, () => agent.start('Go.', untyped(options)));
    await expectUntouched();
  });

  it('a cost limit for a model of unknown price', async () => {
    const model = scriptedModel(['Ok.'], { price: null });
    const { agent, expectUntouched } = watchedAgent({ model });
    const budget = { maxCostUsd: 1 };
    await expectRefused('budget.maxCostUsd', () => agent.start('Go.', { budget }));
    await expectUntouched();
    expect(model.requests).toEqual([]);
  });

  it('a second start of a run, which goes on', async () => {
    const { run, agent, log } = askingRun({ runId: 'one' });
    rows += 1;
    expect(await thrownBy(() => agent.start('Again.', { runId: 'one' }))).toMatchObject({
      code: 'run_exists',
    });
    await expectGoesOn(run, log);
  });
});

/** Nothing was lost: the call still waits, runs once it is approved, and the run completes. */
async function expectGoesOn(run: Run, log: EffectLog): Promise<void> {
  await run.idle();
  expect(log).toEqual([]);
  expect(run.pending.map(({ callId }) => callId)).toEqual(['a']);
  await run.approve('a');
  await run.idle();
  expect(log).toEqual([mailed('Ada')]);
  expect((await close(run)).status).toBe('completed');
}

describe('agent.resume refuses', () => {
  const saved = async (): Promise<RunSnapshot> => {
    const { run } = askingRun({ runId: 'saved' });
    await run.idle();
    return JSON.parse(JSON.stringify(await run.suspend())) as RunSnapshot;
  };
  const incompatible = async (snapshot: unknown, word = 'snapshot'): Promise<void> => {
    rows += 1;
    const { agent, expectUntouched } = watchedAgent();
    const error = await thrownBy(() => agent.resume(untyped(snapshot)));
    expect(error).toBeInstanceOf(PawlError);
    expect(error).toMatchObject({ code: 'snapshot_incompatible' });
    expect((error as PawlError).message).toContain(word);
    await expectUntouched();
  };

  it('nothing that it would not go on with', async () => {
    const { agent, log } = watchedAgent({ model: scriptedModel(['Ok.']) });
    const run = await agent.resume(await saved());
    await expectGoesOn(run, log);
  });

  it.each([
    ['nothing', undefined],
    ['null', null],
    ['a number', 5],
    ['a list', []],
    ['an empty object', {}],
    ['a snapshot as text in an object', { snapshot: '{}' }],
    [
      'a snapshot of another machine',
      { status: 'active', value: 'idle', context: { count: 1 }, children: {} },
    ],
    ['a context of null', { status: 'active', value: 'idle', context: null, children: {} }],
  ])('%s', async (_name, snapshot) => {
    await incompatible(snapshot);
  });

  it.each(['nobody', '', '__proto__', '../x', ' '])('the unknown run %s', async (runId) => {
    rows += 1;
    const { agent, expectUntouched } = watchedAgent();
    expect(await thrownBy(() => agent.resume(runId))).toMatchObject({ code: 'unknown_run' });
    await expectUntouched();
  });

  it.each(
    named([
      ['null', 'options', { $all: null }],
      ['an unknown option', 'budgets', {}],
      ['a budget of NaN', 'budget', { maxTurns: Number.NaN }],
      ['a text', 'retry', 'yes'],
      ['an object', 'signal', {}],
      ['a text', 'inspect', 'x'],
    ]),
  )('%s', async (_name, field, value) => {
    const { agent, expectUntouched } = watchedAgent();
    const isAll = typeof value === 'object' && value !== null && '$all' in value;
    const snapshot = await saved();
    const options = isAll ? value.$all : { [field]: value };
    await expectRefused(field, () => agent.resume(snapshot, untyped(options)));
    await expectUntouched();
  });

  it.each([0, 2, 99, -1, 1.5, '1', null])('schema version %s', async (schemaVersion) => {
    const snapshot = await saved();
    await incompatible({ ...snapshot, context: { ...snapshot.context, schemaVersion } });
  });

  it('a run that is stopped, and one whose state is not known', async () => {
    const snapshot = await saved();
    await incompatible({ ...snapshot, status: 'stopped' });
    for (const value of [
      'nowhere',
      { active: 'nowhere' },
      { active: { executeTools: 'x' } },
      {},
      null,
      5,
      [],
    ]) {
      await incompatible({ ...snapshot, value });
    }
  });

  it('one that was cut', async () => {
    const text = JSON.stringify(await saved());
    for (const share of [0.1, 0.5, 0.9]) {
      const cut = text.slice(0, text.length * share);
      rows += 1;
      const { agent } = watchedAgent();
      expect(await thrownBy(() => agent.resume(cut))).toMatchObject({ code: 'unknown_run' });
    }
  });

  it('any part of the context of a wrong type, and any that is missing', {
    timeout: 60_000,
  }, async () => {
    const snapshot = await saved();
    const mayBeNull = new Set([
      'container',
      'limit',
      'failure',
      'refusal',
      'cancelReason',
      'status',
      'stopReason',
      'rawStopReason',
    ]);
    for (const field of Object.keys(snapshot.context)) {
      const { [field]: before, ...without } = snapshot.context;
      await incompatible({ ...snapshot, context: without });
      for (const wrong of [Symbol.for('x').description, -1, {}, [null], true, null]) {
        const isSame =
          wrong === null ? before === null || mayBeNull.has(field) : typeof wrong === typeof before;
        const isText = typeof wrong === 'string' && mayBeNull.has(field);
        if ((isSame && wrong !== -1 && !Array.isArray(wrong)) || isText) continue;
        if (field === 'schemaVersion' && wrong === 1) continue;
        await incompatible({ ...snapshot, context: { ...snapshot.context, [field]: wrong } });
      }
    }
  });

  it('any other part of a wrong type', async () => {
    const snapshot = await saved();
    for (const [field, wrong] of [
      ['status', 5],
      ['status', 'running'],
      ['status', undefined],
      ['value', undefined],
      ['context', 'x'],
      ['context', []],
      ['children', null],
      ['children', 'x'],
      ['children', { 'tool.a': null }],
      ['children', { 'tool.a': { snapshot: null, src: 'toolCall' } }],
      ['children', {}],
    ] as const) {
      await incompatible({ ...snapshot, [field]: wrong });
    }
  });
});

describe('a run refuses, and goes on', () => {
  type Act = (run: Run) => unknown;
  it.each<[string, string, Act]>([
    ['approve: options of null', 'options', (run) => run.approve('a', untyped(null))],
    [
      'approve: an unknown option',
      'argumentHash',
      (run) => run.approve('a', untyped({ argumentHash: 'x' })),
    ],
    [
      'approve: a hash that is a number',
      'argumentsHash',
      (run) => run.approve('a', untyped({ argumentsHash: 5 })),
    ],
    [
      'approve: an input with a function',
      'input',
      (run) => run.approve('a', untyped({ input: { to: () => {} } })),
    ],
    [
      'approve: an input with NaN',
      'input',
      (run) => run.approve('a', { input: { to: Number.NaN } }),
    ],
    [
      'approve: an input that holds itself',
      'input',
      (run) => run.approve('a', untyped({ input: cycle })),
    ],
    [
      'approve: an input with a date',
      'input',
      (run) => run.approve('a', untyped({ input: { to: new Date(0) } })),
    ],
    ['approve: no id', 'callId', (run) => run.approve(untyped(undefined))],
    ['cancel: a reason that is a number', 'reason', async (run) => run.cancel(untyped(5))],
    ['deny: no id', 'callId', (run) => run.deny(untyped(null))],
    ['deny: a reason that is an object', 'reason', (run) => run.deny('a', untyped({}))],
    ['deny: a reason of null', 'reason', (run) => run.deny('a', untyped(null))],
    ['settle: nothing', 'outcome', (run) => run.settle('a', untyped(undefined))],
    ['settle: a text', 'outcome', (run) => run.settle('a', untyped('Done.'))],
    ['settle: no content', 'outcome.content', (run) => run.settle('a', untyped({}))],
    ['settle: blocks', 'outcome.content', (run) => run.settle('a', untyped({ content: [] }))],
    [
      'settle: a text for a boolean',
      'outcome.isError',
      (run) => run.settle('a', untyped({ content: 'x', isError: 'no' })),
    ],
    [
      'settle: an unknown field',
      'outcome.error',
      (run) => run.settle('a', untyped({ content: 'x', error: true })),
    ],
    ['retry: no id', 'callId', (run) => run.retry(untyped(5))],
    ['steer: nothing', 'message', (run) => run.steer(untyped(undefined))],
    ['steer: a blank', 'message', (run) => run.steer(' ')],
    ['steer: no blocks', 'message', (run) => run.steer([])],
    ['steer: a number', 'message', (run) => run.steer(untyped(5))],
    ['steer: a block without a type', 'message[0]', (run) => run.steer(untyped([{}]))],
    [
      'steer: a block without a text',
      'message[0]',
      (run) => run.steer(untyped([{ type: 'text' }])),
    ],
    [
      'steer: a result',
      'message[0].type',
      (run) => run.steer([{ type: 'tool_result', tool_use_id: 'a', content: 'x' }]),
    ],
    ['raiseBudget: nothing', 'budget', (run) => run.raiseBudget(untyped(undefined))],
    ['raiseBudget: a number', 'budget', (run) => run.raiseBudget(untyped(5))],
    [
      'raiseBudget: an unknown limit',
      'budget.turns',
      (run) => run.raiseBudget(untyped({ turns: 5 })),
    ],
    ['raiseBudget: NaN', 'budget.maxTurns', (run) => run.raiseBudget({ maxTurns: Number.NaN })],
    [
      'raiseBudget: a text',
      'budget.maxTurns',
      (run) => run.raiseBudget(untyped({ maxTurns: '9' })),
    ],
    [
      'raiseBudget: less than nothing',
      'budget.maxCostUsd',
      (run) => run.raiseBudget({ maxCostUsd: -1 }),
    ],
  ])('%s', async (_name, field, act) => {
    const { run, log } = askingRun();
    await run.idle();
    const before = JSON.stringify(run.snapshot());
    await expectRefused(field, async () => act(run));
    expect(JSON.stringify(run.snapshot())).toBe(before);
    await expectGoesOn(run, log);
  });

  it('a raised cost limit for a model of unknown price', async () => {
    const model = scriptedModel([mailTo('Ada'), 'Ok.'], { price: null });
    const log: EffectLog = [];
    const run = createAgent({ model, tools: [mailTool(log)] }).start('Go.');
    await run.idle();
    await expectRefused('budget.maxCostUsd', () => run.raiseBudget({ maxCostUsd: 1 }));
    await expectGoesOn(run, log);
  });
});

describe('memoryStore refuses', () => {
  it.each<[string, string, unknown]>([
    ['null', 'options', null],
    ['a number', 'options', 5],
    ['an unknown option', 'keepEnded', { keepEnded: true }],
    ['a text', 'keepsEnded', { keepsEnded: 'no' }],
  ])('%s', async (_name, field, options) => {
    await expectRefused(field, () => memoryStore(untyped(options)));
  });
});

describe('the scripted model and server refuse', () => {
  it.each<[string, string, unknown]>([
    ['nothing', 'script', undefined],
    ['null', 'script', null],
    ['a text', 'script', 'Ok.'],
    ['a reply', 'script', { text: 'Ok.' }],
    ['a hole', 'script[1]', ['Ok.', undefined]],
    ['a number in it', 'script[0]', [5]],
    ['a list in it', 'script[0]', [['Ok.']]],
  ])('%s as a script', async (_name, field, script) => {
    await expectRefused(field, () => scriptedModel(untyped(script)));
    await expectRefused(field, () => startScriptedServer(untyped(script)));
  });

  it.each(
    named([
      ['null', 'options', { $all: null }],
      ['an unknown option', 'name', 'x'],
      ['a number', 'id', 5],
      ['a text', 'price', 'free'],
      ['zero', 'maxOutputTokens', 0],
      ['NaN', 'minOutputTokens', Number.NaN],
      ['a text', 'contextWindow', '1k'],
    ]),
  )('%s', async (_name, field, value) => {
    const isAll = typeof value === 'object' && value !== null && '$all' in value;
    const options = isAll ? value.$all : { [field]: value };
    await expectRefused(field, () => scriptedModel(['Ok.'], untyped(options)));
  });
});

describe('toolOutput, which is made after the tool has acted, throws nothing away', () => {
  it.each<[string, unknown]>([
    ['nothing', undefined],
    ['no content', {}],
    ['a number for content', { content: 5 }],
    ['null for content', { content: null }],
    ['a cost that is no number', { content: 'x', costUsd: Number.NaN }],
    ['a negative cost', { content: 'x', costUsd: -1 }],
    ['a block that is none', { content: [null, { type: 'text' }] }],
  ])('%s', (_name, output) => {
    const { result, costMicros } = resultOf('a', toolOutput(untyped(output)), { maxChars: 100 });
    expect(result).toMatchObject({ type: 'tool_result', tool_use_id: 'a' });
    expect(costMicros).toBe(0);
  });
});
