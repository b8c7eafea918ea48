import type { Message, RunEvent } from 'pawl';
import { describe, expect, it } from 'vitest';
import { toolUsesIn } from '../../src/core/message.ts';
import {
  echo,
  eventsNamed,
  eventsOf,
  expectEndedCalls,
  finish,
  gatedTool,
  scripted,
  untilEvent,
  uses,
} from './run-kit.ts';

/** One `tool.settled` for each tool use of the transcript, with the result that the model reads. */
function expectSettledUses(events: readonly RunEvent[], messages: readonly Message[]): void {
  const settled = eventsNamed(events, 'tool.settled');
  const asked = messages.flatMap((message) => toolUsesIn(message).map(({ id }) => id));
  expect(settled.map(({ callId }) => callId).toSorted()).toEqual(asked.toSorted());
  const read = messages.flatMap(({ content }) =>
    content.filter(({ type }) => type === 'tool_result'),
  );
  for (const { result } of settled) expect(read).toContainEqual(result);
}

const overloaded = { error: { status: 529, type: 'overloaded_error', message: 'Busy.' } };
const broken = { error: { status: 400, type: 'invalid_request_error', message: 'No.' } };
const cutOff = {
  stream: [{ type: 'message_start', message: {} }, { $reset: true }],
};
const twoUses = uses(
  { id: 'a', name: 'echo', input: { text: 'x' } },
  { id: 'b', name: 'unknown' },
  { id: 'c', name: 'echo', input: {} },
);

describe('the events of a run', () => {
  it.each([
    ['with good and bad calls', [twoUses, 'Ok.'], 'completed'],
    ['whose model is busy at first', [overloaded, overloaded, twoUses, 'Ok.'], 'completed'],
    ['whose stream breaks', [cutOff, twoUses, 'Ok.'], 'completed'],
    ['whose model fails for good', [twoUses, broken], 'failed'],
    ['that is refused', [twoUses, { text: 'No.', stopReason: 'refusal' }], 'refused'],
    [
      'whose calls are cut off',
      [{ toolUses: [{ id: 'a', name: 'echo' }], stopReason: 'max_tokens' }, 'Ok.'],
      'completed',
    ],
    [
      'with calls in a reply that ends its turn',
      [{ text: 'Bye.', toolUses: [{ id: 'a', name: 'echo' }], stopReason: 'end_turn' }],
      'completed',
    ],
  ])('%s end each model call and settle each tool use once', async (_name, script, status) => {
    const { agent } = scripted(script, { tools: [echo], retry: { baseMs: 0 } });
    const { result, events } = await finish(agent.start('Go.'));
    expect(result.status).toBe(status);
    expectSettledUses(events, result.messages);
  });

  it('settle each tool use once when the run is cancelled', async () => {
    const work = gatedTool();
    const { agent } = scripted(
      [uses({ id: 'a', name: 'work' }, { id: 'b', name: 'echo', input: { text: 'x' } })],
      { tools: [work.tool, echo] },
    );
    const run = agent.start('Go.');
    await untilEvent(run, 'tool.settled');
    run.cancel();
    const { result, events } = await finish(run);
    expectSettledUses(events, result.messages);
    expect(eventsNamed(events, 'tool.settled').map(({ ending }) => ending)).toEqual([
      'done',
      'stopped',
    ]);
  });

  it('say when the next attempt of a failed model call may start', async () => {
    const { agent } = scripted([overloaded, 'Ok.'], { retry: { baseMs: 0 } });
    const { events } = await finish(agent.start('Go.'));
    expect(eventsNamed(events, 'model.failed')).toMatchObject([
      { turn: 1, attempt: 1, isRetryable: true, failure: { code: 'provider_overloaded' } },
    ]);
    expect(eventsNamed(events, 'model.started').map(({ attempt }) => attempt)).toEqual([1, 2]);
  });

  it('all carry the id of their run', async () => {
    const { agent } = scripted(['Ok.']);
    const { events } = await finish(agent.start('Go.', { runId: 'mine' }));
    expect(new Set(events.map(({ runId }) => runId))).toEqual(new Set(['mine']));
  });

  it('of a suspended run end without run.ended, but with the end of its model call', async () => {
    const { agent } = scripted([{ stream: [{ $hang: true }] }]);
    const run = agent.start('Go.');
    await untilEvent(run, 'model.started');
    await run.suspend();
    const events = await eventsOf(run);
    expectEndedCalls(events);
    expect(eventsNamed(events, 'run.ended')).toEqual([]);
    expect((await run.result).status).toBe('suspended');
  });

  it.each([
    'run.started',
    'state.entered',
    'model.started',
    'text.delta',
    'tool.settled',
    'run.ended',
  ])('go on when a listener throws at %s, and the process is warned', async (type) => {
    const warned = new Promise<Error>((resolve) => process.once('warning', resolve));
    const { agent } = scripted([twoUses, 'Ok.'], {
      tools: [echo],
      onEvent: (event) => {
        if (event.type === type) throw new Error('no space left');
      },
    });
    const { result } = await finish(agent.start('Go.'));
    expect(result.status).toBe('completed');
    expect(await warned).toMatchObject({
      name: 'PawlWarning',
      message: `onEvent threw at ${type}: no space left`,
    });
  });

  it('go on when the listener of the agent rejects, which is a warning', async () => {
    const warned = new Promise<Error>((resolve) => process.once('warning', resolve));
    const { agent } = scripted(['Ok.'], {
      onEvent: async ({ type }) => {
        if (type === 'model.started') throw new Error('no space left');
      },
    });
    const { result } = await finish(agent.start('Go.'));
    expect(result.status).toBe('completed');
    expect(await warned).toMatchObject({
      name: 'PawlWarning',
      message: 'onEvent threw at model.started: no space left',
    });
  });
});
