import type { Agent, Message, Run } from 'pawl';
import { describe, expect, it } from 'vitest';
import {
  eventsNamed,
  finish,
  gatedTool,
  mailer,
  resultsIn,
  scripted,
  untilEvent,
  uses,
} from './run-kit.ts';

const hanging = { stream: [{ $hang: true }] };

/** A history is only good when a run can go on from it. */
async function expectFollowUp(agent: Agent, history: readonly Message[]): Promise<void> {
  const { result } = await finish(agent.start('And now?', { history }));
  expect(result).toMatchObject({ status: 'completed', text: 'Here I am.' });
}

const expectCancelled = async (run: Run) => {
  const { result, events } = await finish(run);
  expect(result).toMatchObject({ status: 'cancelled', error: { code: 'cancelled' } });
  return { result, events };
};

describe('a cancelled run', () => {
  it('stops its model call, and charges it as it was reserved', async () => {
    const { agent } = scripted([hanging, 'Here I am.']);
    const run = agent.start('Go.');
    await untilEvent(run, 'model.started');
    run.cancel('enough');
    const { result, events } = await expectCancelled(run);
    expect(result.reason).toBe('The run was cancelled: enough');
    expect(eventsNamed(events, 'model.stopped')).toHaveLength(1);
    expect(result.budget.spend.turns).toBe(1);
    expect(result.budget.uncertain.outputTokens).toBe(1_024);
    await expectFollowUp(agent, result.messages);
  });

  it('stops its tools by their signal, and answers them', async () => {
    const work = gatedTool();
    const { agent } = scripted([uses({ id: 'a', name: 'work' }), 'Here I am.'], {
      tools: [work.tool],
    });
    const run = agent.start('Go.');
    await work.begun;
    run.cancel();
    expect(work.signals[0]?.aborted).toBe(true);
    const { result, events } = await expectCancelled(run);
    expect(eventsNamed(events, 'tool.settled')).toMatchObject([{ ending: 'stopped' }]);
    expect(resultsIn(result.messages[2])[0]).toContain('stopped before its result was known');
    await expectFollowUp(agent, result.messages);
    work.finish('too late');
  });

  it('answers calls that wait for a person, and does not run them', async () => {
    const { tool, sent } = mailer();
    const { agent } = scripted(
      [uses({ id: 'a', name: 'send_mail', input: { to: 'Ada' } }), 'Here I am.'],
      { tools: [tool], permissions: {} },
    );
    const run = agent.start('Go.');
    await run.idle();
    run.cancel();
    const { result, events } = await expectCancelled(run);
    expect(eventsNamed(events, 'tool.settled')).toMatchObject([{ ending: 'notRun' }]);
    expect(resultsIn(result.messages[2])[0]).toContain('The run was cancelled.');
    expect(sent).toEqual([]);
    await expectFollowUp(agent, result.messages);
  });

  it('keeps the results of the calls that had ended', async () => {
    const work = gatedTool();
    const { tool } = mailer();
    const { agent } = scripted(
      [
        uses({ id: 'a', name: 'work' }, { id: 'b', name: 'send_mail', input: { to: 'Ada' } }),
        'Here I am.',
      ],
      { tools: [work.tool, tool] },
    );
    const run = agent.start('Go.');
    await untilEvent(run, 'tool.settled');
    run.cancel();
    const { result } = await expectCancelled(run);
    expect(resultsIn(result.messages[2])[1]).toBe('b: Sent to Ada.');
  });

  it('stays cancelled when it is cancelled twice', async () => {
    const { agent } = scripted([hanging]);
    const run = agent.start('Go.');
    run.cancel('first');
    run.cancel('second');
    expect((await expectCancelled(run)).result.reason).toContain('first');
  });

  it('stops a paused run', async () => {
    const { agent } = scripted([uses({ id: 'a', name: 'nothing' })]);
    const run = agent.start('Go.');
    run.pause();
    await run.idle();
    run.cancel();
    await expectCancelled(run);
  });
});

describe('an abort signal', () => {
  it('cancels its run, and gives the reason', async () => {
    const stop = new AbortController();
    const { agent } = scripted([hanging]);
    const run = agent.start('Go.', { signal: stop.signal });
    await untilEvent(run, 'model.started');
    stop.abort(new Error('the user left'));
    expect((await expectCancelled(run)).result.reason).toContain('the user left');
  });

  it('that has fired already lets no model be called', async () => {
    const { agent, model } = scripted(['Never.']);
    const run = agent.start('Go.', { signal: AbortSignal.abort() });
    await expectCancelled(run);
    expect(model.requests).toEqual([]);
  });

  it('that fires after the end changes nothing', async () => {
    const stop = new AbortController();
    const { agent } = scripted(['Done.']);
    const run = agent.start('Go.', { signal: stop.signal });
    await finish(run);
    stop.abort();
    expect((await run.result).status).toBe('completed');
  });
});
