import { createAgent, defineTool, type Permissions, type RunSnapshot, type Tool } from 'pawl';
import { scriptedModel } from 'pawl/testing';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { eventsNamed, finish, gate, resultsIn, untilEvent, uses } from './run-kit.ts';

const anotherProcess = (snapshot: RunSnapshot): RunSnapshot => JSON.parse(JSON.stringify(snapshot));

const allowing: Permissions = { allow: ['*'] };
const never = (): Promise<boolean> => new Promise(() => {});

/** Hangs in its first attempt, answers in the next. */
function worker(effect: Tool['effect'], bodies: string[], begin: () => void = () => {}) {
  return defineTool({
    name: 'work',
    description: 'Works.',
    input: z.object({ on: z.string() }),
    effect,
    maxCostUsd: 0.005,
    timeoutMs: 50,
    run({ on }, { attempt }) {
      bodies.push(`${on} ${attempt}`);
      begin();
      return attempt === 1 ? new Promise(() => {}) : 'Done.';
    },
  });
}

/** A run whose call was allowed and lost in its body; `resume` goes on with it by an agent of another day. */
async function lost(effect: 'read' | 'idempotent' = 'idempotent', permissions = allowing) {
  const bodies: string[] = [];
  const begun = gate<void>();
  const ask = uses({ id: 'a', name: 'work', input: { on: 'it' } });
  const model = scriptedModel(({ body }) => (body.messages.length === 1 ? ask : 'Ok.'), {
    price: { input: 0, output: 0 },
  });
  const hanging = { ...worker(effect, bodies, begun.open), timeoutMs: 60_000 };
  const run = createAgent({ model, tools: [hanging], permissions }).start('Go.', { runId: 'r' });
  if (permissions !== allowing) {
    await run.idle();
    await run.approve('a');
  }
  await begun.passed;
  const snapshot = anotherProcess(await run.suspend());
  const resume = (today: Permissions, effectToday: Tool['effect'] = effect) =>
    createAgent({
      model,
      tools: [worker(effectToday, bodies)],
      permissions: today,
    }).resume(anotherProcess(snapshot));
  return { bodies, resume };
}

describe('a call that was lost', () => {
  it.each(['read', 'idempotent'] as const)(
    'of a tool that is %s runs again where the policy of today allows it',
    async (effect) => {
      const { bodies, resume } = await lost(effect);
      const { result } = await finish(await resume(allowing));
      expect(bodies).toEqual(['it 1', 'it 2']);
      expect(resultsIn(result.messages[2])).toEqual(['a: Done.']);
    },
  );

  it.each<[string, Permissions, string]>([
    ['denies it by name', { deny: ['work'] }, 'does not allow this call of work'],
    ['denies what no rule names', { otherwise: 'deny' }, 'does not allow this call of work'],
    [
      'throws',
      {
        allow: [
          {
            tool: 'work',
            when: () => {
              throw new Error('No.');
            },
          },
        ],
      },
      'does not allow this call of work',
    ],
    ['never answers', { deny: [{ tool: 'work', when: never }] }, 'did not answer within 50 ms'],
    [
      'denies these arguments',
      {
        ...allowing,
        deny: [{ tool: 'work', when: (input) => JSON.stringify(input) === '{"on":"it"}' }],
      },
      'does not allow this call of work',
    ],
  ])('does not run again where the policy of today %s', async (_name, today, told) => {
    const { bodies, resume } = await lost();
    const { result, events } = await finish(await resume(today));
    expect(result.status).toBe('completed');
    expect(bodies).toEqual(['it 1']);
    expect(resultsIn(result.messages[2])).toEqual([expect.stringContaining(told)]);
    expect(eventsNamed(events, 'tool.settled')).toMatchObject([{ ending: 'denied' }]);
    expect(eventsNamed(events, 'tool.started')).toEqual([]);
    expect(result.budget.uncertain.costUsd).toBe(0.005);
  });

  it('waits for a person where the policy of today asks, and runs once it is approved', async () => {
    const { bodies, resume } = await lost();
    const run = await resume({ ask: ['work'] });
    const { argumentsHash } = await untilEvent(run, 'approval.wanted');
    expect(await run.idle()).toBe('waiting');
    expect(run.pending).toMatchObject([{ callId: 'a', input: { on: 'it' } }]);
    expect(bodies).toEqual(['it 1']);
    await run.approve('a', { argumentsHash });
    const { result, events } = await finish(run);
    expect(bodies).toEqual(['it 1', 'it 2']);
    expect(resultsIn(result.messages[2])).toEqual(['a: Done.']);
    expect(eventsNamed(events, 'approval.wanted')).toHaveLength(1);
  });

  it('does not run again when that person says no, and stays charged', async () => {
    const { bodies, resume } = await lost();
    const run = await resume({ ask: ['work'] });
    await run.idle();
    await run.deny('a', 'Not today.');
    const { result } = await finish(run);
    expect(bodies).toEqual(['it 1']);
    expect(resultsIn(result.messages[2])).toEqual(['a: Denied by a person: Not today.']);
    expect(result.budget.uncertain.costUsd).toBe(0.005);
  });

  it('runs again without another question when its approval still fits', async () => {
    const { bodies, resume } = await lost('idempotent', { ask: ['work'] });
    const { events } = await finish(await resume({ ask: ['work'] }));
    expect(bodies).toEqual(['it 1', 'it 2']);
    expect(eventsNamed(events, 'approval.wanted')).toEqual([]);
  });

  it('does not run again on an old approval where the policy of today denies', async () => {
    const { bodies, resume } = await lost('idempotent', { ask: ['work'] });
    const { events } = await finish(await resume({ deny: ['work'] }));
    expect(bodies).toEqual(['it 1']);
    expect(eventsNamed(events, 'tool.settled')).toMatchObject([{ ending: 'denied' }]);
  });

  it.each<['read' | 'idempotent', Permissions]>([
    ['read', allowing],
    ['idempotent', allowing],
    ['idempotent', { ask: ['work'] }],
  ])('does not run again when its tool, once %s, is once today (%o)', async (effect, policy) => {
    const { bodies, resume } = await lost(effect, policy);
    const { result, events } = await finish(await resume(policy, 'once'));
    expect(result.status).toBe('completed');
    expect(bodies).toEqual(['it 1']);
    const [told] = resultsIn(result.messages[2]);
    expect(told).toContain('may have taken effect');
    expect(told).toContain('work may now run only once');
    expect(result.messages[2]?.content).toMatchObject([{ is_error: true }]);
    expect(eventsNamed(events, 'tool.settled')).toMatchObject([{ ending: 'notRun' }]);
    expect(eventsNamed(events, 'approval.wanted')).toEqual([]);
    expect(result.budget.uncertain.costUsd).toBe(0.005);
  });
});

describe('a call that is tried again in the same process', () => {
  it.each<[string, Permissions['otherwise'], readonly string[], string]>([
    ['runs where the policy still allows it', 'allow', ['1', '2'], 'done'],
    ['does not where the policy denies it by now', 'deny', ['1'], 'denied'],
  ])('%s', async (_name, later, expected, ending) => {
    const bodies: string[] = [];
    let isAllowed = true;
    const tool = defineTool({
      name: 'work',
      description: 'Works.',
      input: z.object({}),
      effect: 'idempotent',
      maxRetries: 1,
      run(_input, { attempt }) {
        bodies.push(String(attempt));
        isAllowed = later === 'allow';
        if (attempt === 1) throw new Error('Not this time.');
        return 'Done.';
      },
    });
    const { events } = await finish(
      createAgent({
        model: scriptedModel([uses({ id: 'a', name: 'work' }), 'Ok.']),
        tools: [tool],
        permissions: { allow: ['work'], deny: [{ tool: 'work', when: () => !isAllowed }] },
        retry: { baseMs: 0, maxMs: 0 },
      }).start('Go.'),
    );
    expect(bodies).toEqual(expected);
    expect(eventsNamed(events, 'tool.settled')).toMatchObject([{ ending }]);
  });

  it('asks the policy once for a call that succeeds at once', async () => {
    let asked = 0;
    const count = (): boolean => {
      asked += 1;
      return true;
    };
    const tool = { ...worker('read', []), run: () => 'Done.' };
    const model = scriptedModel([uses({ id: 'a', name: 'work', input: { on: 'it' } }), 'Ok.']);
    const permissions = { allow: [{ tool: 'work', when: count }] };
    const { result } = await finish(
      createAgent({ model, tools: [tool], permissions }).start('Go.'),
    );
    expect(resultsIn(result.messages[2])).toEqual(['a: Done.']);
    expect(asked).toBe(1);
  });
});

describe('a call that waited for its turn when the process was left', () => {
  /** Two calls, of which one may run at a time: the second was allowed, and has not begun. */
  async function queued() {
    const bodies: string[] = [];
    const begun = gate<void>();
    const ask = uses(
      { id: 'a', name: 'work', input: { on: 'one' } },
      { id: 'b', name: 'work', input: { on: 'two' } },
    );
    const model = scriptedModel(({ body }) => (body.messages.length === 1 ? ask : 'Ok.'));
    const hanging = {
      ...worker('idempotent', bodies, begun.open),
      timeoutMs: 60_000,
      concurrency: 1,
    };
    const run = createAgent({ model, tools: [hanging], permissions: allowing }).start('Go.');
    await begun.passed;
    const snapshot = anotherProcess(await run.suspend());
    const today = { ...hanging, run: ({ on }: { on: string }) => bodies.push(on) };
    const resume = (permissions: Permissions) =>
      createAgent({ model, tools: [today as unknown as Tool], permissions }).resume(snapshot);
    return { bodies, resume };
  }

  it('runs where the policy of today allows it', async () => {
    const { bodies, resume } = await queued();
    await finish(await resume(allowing));
    expect(bodies.toSorted()).toEqual(['one', 'one 1', 'two']);
  });

  it('does not run where the policy of today denies it', async () => {
    const { bodies, resume } = await queued();
    const { events } = await finish(await resume({ deny: ['work'] }));
    expect(bodies).toEqual(['one 1']);
    expect(eventsNamed(events, 'tool.settled').map(({ ending }) => ending)).toEqual([
      'denied',
      'denied',
    ]);
  });

  it('waits for a person where the policy of today asks', async () => {
    const { bodies, resume } = await queued();
    const run = await resume({ ask: ['work'] });
    await run.idle();
    expect(run.pending.map(({ callId }) => callId)).toEqual(['a', 'b']);
    expect(bodies).toEqual(['one 1']);
    await run.approve('b');
    await run.deny('a');
    await finish(run);
    expect(bodies).toEqual(['one 1', 'two']);
  });
});
