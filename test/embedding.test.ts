import { getEventListeners } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type AgentOptions, createAgent, defineTool, type Model, type RunEvent } from 'pawl';
import { type Script, scriptedModel } from 'pawl/testing';
import { afterEach, describe, expect, it, vi } from 'vitest';
import {
  type AnyActorRef,
  assign,
  createActor,
  type InspectionEvent,
  type Snapshot,
  setup,
  toPromise,
  waitFor,
} from 'xstate';
import { z } from 'zod';
import { gate } from './runtime/run-kit.ts';

const hanging = { stream: [{ $hang: true }] };

const publish = defineTool({
  name: 'publish',
  description: 'Publishes a text.',
  input: z.object({ text: z.string() }),
  effect: 'once',
  run: ({ text }) => `Published: ${text}`,
});

const asksToPublish = { toolUses: [{ id: 'p', name: 'publish', input: { text: 'News' } }] };

const publisher = (script: Script) =>
  createAgent({ model: scriptedModel(script), tools: [publish], budget: { maxActiveMs: 60_000 } });

/** A machine of somebody else, with an agent inside. */
const newsroom = ({ machine, input }: Pick<ReturnType<typeof createAgent>, 'machine' | 'input'>) =>
  setup({
    types: {
      context: {} as { readonly text: string | null; readonly turns: number },
      events: {} as { readonly type: 'day.ended' },
    },
    actors: { writer: machine },
  }).createMachine({
    id: 'newsroom',
    context: { text: null, turns: 0 },
    initial: 'writing',
    states: {
      writing: {
        on: { 'day.ended': 'closed' },
        invoke: {
          id: 'writer',
          src: 'writer',
          input: () => input('Write the news.'),
          onDone: {
            target: 'printed',
            actions: assign({
              text: ({ event }) => event.output.text,
              turns: ({ event }) => event.output.turns,
            }),
          },
          onError: 'failed',
        },
      },
      printed: { type: 'final' },
      closed: {},
      failed: { type: 'final' },
    },
  });

const approveAll = (run: AnyActorRef): void => {
  for (const { id, waits } of run.getSnapshot().context.calls) {
    if (waits?.for !== 'approval') continue;
    run.send({ type: 'approval.granted', callId: id, argumentsHash: waits.argumentsHash });
  }
};

const isWaiting = (snapshot: { hasTag(tag: 'waitsForHuman'): boolean }): boolean =>
  snapshot.hasTag('waitsForHuman');

const throughJson = (snapshot: unknown): Snapshot<unknown> => JSON.parse(JSON.stringify(snapshot));

/** As in a new process: XState's types want an input that a restored actor does not use. */
const restored = (snapshot: unknown) => ({
  snapshot: throughJson(snapshot),
  input: undefined as never,
});

afterEach(() => void vi.useRealTimers());

describe('an agent as a plain actor', () => {
  it('shows its root, its children and its states to inspect, in order', async () => {
    const agent = publisher([asksToPublish, 'Ok.']);
    const actors: string[] = [];
    const states: string[] = [];
    const inspect = (event: InspectionEvent): void => {
      const { id } = event.actorRef as AnyActorRef;
      if (event.type === '@xstate.actor') actors.push(id.startsWith('x:') ? 'root' : id);
      if (event.type === '@xstate.snapshot' && id.startsWith('x:')) {
        const state = JSON.stringify((event.snapshot as unknown as { value: unknown }).value);
        if (state !== states.at(-1)) states.push(state);
      }
    };
    const actor = createActor(agent.machine, { input: agent.input('Go.'), inspect });
    actor.on('call.waits', () => approveAll(actor));
    const output = await toPromise(actor.start());
    expect(output).toMatchObject({ status: 'completed', text: 'Ok.', turns: 2 });
    expect(actors).toEqual([
      ...['root', 'modelCall', 'attempt'],
      ...['tool.p', 'validateInput', 'checkPermission', 'slot', 'runTool'],
      ...['modelCall', 'attempt'],
    ]);
    expect(states).toEqual([
      '{"active":"callModel"}',
      '{"active":{"executeTools":"working"}}',
      '{"active":{"executeTools":"waiting"}}',
      '{"active":{"executeTools":"working"}}',
      '{"active":"callModel"}',
      '"completed"',
    ]);
  });

  it('shows the same to inspect when agent.start runs it', async () => {
    const actors: string[] = [];
    const agent = createAgent({ model: scriptedModel(['Ok.']) });
    const inspect = (event: InspectionEvent): void => {
      if (event.type === '@xstate.actor') actors.push((event.actorRef as AnyActorRef).id);
    };
    await agent.start('Go.', { inspect }).result;
    expect(actors).toEqual([expect.stringMatching(/^x:/), 'modelCall', 'attempt']);
  });

  it('goes on from its own persisted snapshot', async () => {
    const agent = publisher(({ body }) => (body.messages.length === 1 ? asksToPublish : 'Ok.'));
    const actor = createActor(agent.machine, { input: agent.input('Go.') }).start();
    await waitFor(actor, isWaiting);
    const snapshot = actor.getPersistedSnapshot();
    actor.stop();
    const again = createActor(agent.machine, restored(snapshot)).start();
    approveAll(again);
    expect(await toPromise(again)).toMatchObject({ status: 'completed', text: 'Ok.', turns: 2 });
  });

  it('gives a snapshot that agent.resume takes, and takes one that a run gives', async () => {
    const agent = publisher(({ body }) => (body.messages.length === 1 ? asksToPublish : 'Ok.'));
    const run = agent.start('Go.');
    await run.idle();
    const actor = createActor(agent.machine, restored(await run.suspend())).start();
    expect(isWaiting(actor.getSnapshot())).toBe(true);
    const snapshot = actor.getPersistedSnapshot();
    actor.stop();
    const again = await agent.resume(JSON.parse(JSON.stringify(snapshot)));
    await again.idle();
    await again.approve('p');
    expect(await again.result).toMatchObject({ status: 'completed', text: 'Ok.' });
  });

  it('keeps what was provided to its machine, also when it is persisted and restored', async () => {
    const agent = publisher(({ body }) => (body.messages.length === 1 ? asksToPublish : 'Ok.'));
    let turns = 0;
    const countTurn = (): void => {
      turns += 1;
    };
    const machine = agent.machine.provide({ actions: { warnNearLimits: countTurn } });
    const actor = createActor(machine, { input: agent.input('Go.') }).start();
    await waitFor(actor, isWaiting);
    expect(turns).toBe(1);
    const snapshot = actor.getPersistedSnapshot();
    actor.stop();
    const again = createActor(machine, restored(snapshot)).start();
    approveAll(again);
    expect((await toPromise(again)).status).toBe('completed');
    expect(turns).toBe(2);
  });

  it('keeps model output that looks like an actor, also in a provided machine', async () => {
    const input = {
      text: 'x',
      xstate$$type: 1,
      id: 'y',
      nested: { sessionId: 1, send: 2, ref: 3 },
    };
    const looksLikeAnActor = { toolUses: [{ id: 'p', name: 'publish', input }] };
    const agent = publisher(({ body }) => (body.messages.length === 1 ? looksLikeAnActor : 'Ok.'));
    const machine = agent.machine.provide({ actions: { warnNearLimits: () => {} } });
    const actor = createActor(machine, { input: agent.input('Go.') }).start();
    await waitFor(actor, isWaiting);
    const again = createActor(machine, restored(actor.getPersistedSnapshot()));
    expect(again.getSnapshot().context.messages[1]?.content).toMatchObject([{ input }]);
    actor.stop();
  });
});

describe('what onEvent hears', () => {
  const script: Script = ({ body }) => (body.messages.length === 1 ? asksToPublish : 'Ok.');
  const listening = (heard: RunEvent[], options: Partial<AgentOptions> = {}) =>
    createAgent({
      model: scriptedModel(script),
      tools: [publish],
      onEvent: (event) => void heard.push(event),
      ...options,
    });
  const runId = 'r';

  it('of a plain actor and of a child is the same as of agent.start', async () => {
    const told: RunEvent[] = [];
    const run = listening(told).start('Go.', { runId });
    await run.idle();
    await run.approve('p');
    await run.result;

    const toldPlain: RunEvent[] = [];
    const plain = listening(toldPlain);
    const actor = createActor(plain.machine, { input: plain.input('Go.', { runId }) });
    actor.on('call.waits', () => approveAll(actor));
    await toPromise(actor.start());

    const toldInside: RunEvent[] = [];
    const inside = listening(toldInside);
    const { machine } = inside;
    const parent = createActor(newsroom({ machine, input: () => inside.input('Go.', { runId }) }));
    parent.start();
    const child = childOf(parent);
    await waitFor(child, isWaiting);
    approveAll(child);
    await toPromise(parent);

    expect(told.map(({ type }) => type)).toContain('approval.wanted');
    expect(told.at(-1)).toMatchObject({ type: 'run.ended', status: 'completed' });
    expect(toldPlain).toEqual(told);
    expect(toldInside).toEqual(told);
  });

  it('of a restored plain actor begins as of agent.resume', async () => {
    const run = listening([]).start('Go.', { runId });
    await run.idle();
    const snapshot = await run.suspend();

    const told: RunEvent[] = [];
    const again = await listening(told).resume(snapshot);
    await again.idle();
    const toldPlain: RunEvent[] = [];
    const actor = createActor(listening(toldPlain).machine, restored(snapshot)).start();
    expect(told.slice(0, 2).map(({ type }) => type)).toEqual(['run.started', 'state.entered']);
    expect(told[0]).toMatchObject({ isResumed: true });
    expect(toldPlain).toEqual(told);
    actor.stop();
    again.cancel();
    await again.result;
  });

  it('of a stopped plain actor has no end, and a run that has no step is not told', async () => {
    const toldStopped: RunEvent[] = [];
    const stopped = listening(toldStopped);
    const actor = createActor(stopped.machine, { input: stopped.input('Go.') }).start();
    await waitFor(actor, isWaiting);
    actor.stop();
    const types = toldStopped.map(({ type }) => type);
    expect(types).toContain('approval.wanted');
    expect(types).not.toContain('run.ended');

    const toldNothing: RunEvent[] = [];
    const over = listening(toldNothing, { budget: { maxTurns: 0 } });
    await toPromise(createActor(over.machine, { input: over.input('Go.') }).start());
    expect(toldNothing).toEqual([]);
  });
});

describe('toolConcurrency', () => {
  it.each(['a plain actor', 'a child'])('holds in %s', async (kind) => {
    const seen = { now: 0, most: 0 };
    const busy = defineTool({
      name: 'busy',
      description: 'Is busy for a few turns of the event loop.',
      input: z.object({}),
      effect: 'read',
      async run() {
        seen.now += 1;
        seen.most = Math.max(seen.most, seen.now);
        for (let turn = 0; turn < 3; turn += 1) await nextTurn();
        seen.now -= 1;
      },
    });
    const toolUses = ['a', 'b', 'c', 'd', 'e'].map((id) => ({ id, name: 'busy' }));
    const model = scriptedModel([{ toolUses }, 'Ok.']);
    const agent = createAgent({ model, tools: [busy], toolConcurrency: 2 });
    const actor: AnyActorRef =
      kind === 'a child'
        ? createActor(newsroom(agent))
        : createActor(agent.machine, { input: agent.input('Go.') });
    actor.start();
    await toPromise(actor);
    expect(seen.most).toBe(2);
  });
});

describe('an agent as the child of another machine', () => {
  it('gives its output to onDone', async () => {
    const actor = createActor(newsroom(createAgent({ model: scriptedModel(['Rain.']) }))).start();
    await toPromise(actor);
    expect(actor.getSnapshot()).toMatchObject({
      value: 'printed',
      context: { text: 'Rain.', turns: 1 },
    });
  });

  it('stops its model call with its parent, and leaves no timer and no listener', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const signals: AbortSignal[] = [];
    const called = gate<void>();
    const inner = scriptedModel([hanging]);
    const model: Model = {
      ...inner,
      call: (request, options) => {
        signals.push(options.signal);
        called.open();
        return inner.call(request, options);
      },
    };
    const agent = createAgent({ model, budget: { maxActiveMs: 60_000 } });
    const actor = createActor(newsroom(agent)).start();
    await called.passed;
    expect(vi.getTimerCount()).toBe(1);
    actor.send({ type: 'day.ended' });
    expect(actor.getSnapshot().value).toBe('closed');
    expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
    await nextTurn();
    expect(vi.getTimerCount()).toBe(0);
    expect(signals.flatMap((signal) => getEventListeners(signal, 'abort'))).toEqual([]);
  });

  it('goes on when its parent is restored while a call waits for a person', async () => {
    const machine = newsroom(
      publisher(({ body }) => (body.messages.length === 1 ? asksToPublish : 'Ok.')),
    );
    const actor = createActor(machine).start();
    const writer = childOf(actor);
    await waitFor(writer, isWaiting);
    const snapshot = actor.getPersistedSnapshot();
    actor.stop();
    const again = createActor(machine, restored(snapshot)).start();
    approveAll(childOf(again));
    await toPromise(again);
    expect(again.getSnapshot()).toMatchObject({
      value: 'printed',
      context: { text: 'Ok.', turns: 2 },
    });
  });

  it('asks its model again when its parent is restored in a call, and charges the lost one', async () => {
    const called = gate<void>();
    const model = scriptedModel(({ number }) => {
      called.open();
      return number === 1 ? hanging : 'Rain.';
    });
    const machine = newsroom(createAgent({ model }));
    const actor = createActor(machine).start();
    await called.passed;
    const snapshot = actor.getPersistedSnapshot();
    actor.stop();
    const again = createActor(machine, restored(snapshot)).start();
    const writer = childOf(again);
    await toPromise(again);
    expect(again.getSnapshot()).toMatchObject({ value: 'printed', context: { turns: 2 } });
    expect(writer.getSnapshot().context.ledger.uncertain.turns).toBe(1);
  });

  // XState tells the end of a child once. The agent's machines hear it again after a restore; a foreign root does not.
  it('has an output that a parent saved between its end and hearing of it finds in its snapshot', async () => {
    const machine = newsroom(createAgent({ model: scriptedModel(['Rain.']) }));
    let between: unknown = null;
    const actor = createActor(machine).start();
    childOf(actor).subscribe(({ status }) => {
      if (status === 'done') between = throughJson(actor.getPersistedSnapshot());
    });
    await toPromise(actor);
    const again = createActor(machine, restored(between)).start();
    await nextTurn();
    expect(again.getSnapshot().value).toBe('writing');
    expect(childOf(again).getSnapshot().output).toMatchObject({
      status: 'completed',
      text: 'Rain.',
    });
    again.stop();
  });
});

function childOf(parent: AnyActorRef): AnyActorRef {
  const { writer } = parent.getSnapshot().children as { readonly writer?: AnyActorRef };
  if (!writer) throw new Error('The newsroom has no writer.');
  return writer;
}
