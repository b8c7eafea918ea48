import { type Agent, createAgent, type Run } from 'pawl';
import { scriptedModel } from 'pawl/testing';
import { describe, expect, it } from 'vitest';
import {
  echo,
  eventsNamed,
  finish,
  gatedTool,
  mailer,
  resultsIn,
  scripted,
  uses,
} from './run-kit.ts';

const echoing = (number: number, text = `call ${number}`) =>
  uses({ id: `call_${number}`, name: 'echo', input: { text } });

describe('a limit', () => {
  it('of no model calls ends the run before the first', async () => {
    const { agent, model } = scripted(['Never.'], { budget: { maxTurns: 0 } });
    const { result } = await finish(agent.start('Go.'));
    expect(result).toMatchObject({
      status: 'exhausted',
      error: { code: 'budget_exceeded' },
      limit: { name: 'maxTurns', max: 0 },
    });
    expect(model.requests).toEqual([]);
  });

  it('of cost refuses a model without a price', () => {
    const model = scriptedModel(['Never.'], { price: null });
    const agent = createAgent({ model });
    const invalid = expect.objectContaining({ code: 'invalid_input' });
    expect(() => agent.start('Go.', { budget: { maxCostUsd: 1 } })).toThrow(invalid);
    expect(model.requests).toEqual([]);
  });

  it('of cost is never passed, whatever the calls really cost', async () => {
    const { agent } = scripted(
      ({ number }) => ({
        toolUses: [{ name: 'echo', input: { text: `${number}` } }],
        usage: { inputTokens: 1_500, outputTokens: 1_000 },
      }),
      { tools: [echo], budget: { maxCostUsd: 0.03 } },
    );
    const { result } = await finish(agent.start('Go.'));
    expect(result.limit?.name).toBe('maxCostMicros');
    expect(result.budget.spend.turns).toBeGreaterThan(1);
    expect(result.budget.spend.costUsd).toBeLessThanOrEqual(0.03);
  });

  it('of active time stops a tool that works, and answers it', async () => {
    const work = gatedTool();
    const { agent } = scripted([uses({ id: 'a', name: 'work' })], {
      tools: [work.tool],
      budget: { maxActiveMs: 5 },
    });
    const { result } = await finish(agent.start('Go.'));
    expect(result).toMatchObject({ status: 'exhausted', error: { code: 'run_timeout' } });
    expect(work.signals[0]?.aborted).toBe(true);
    expect(resultsIn(result.messages[2])[0]).toContain('The run has used up its time.');
  });

  it('of active time that is set while a tool works stops it', async () => {
    const work = gatedTool();
    const { agent } = scripted([uses({ id: 'a', name: 'work' })], { tools: [work.tool] });
    const run = agent.start('Go.');
    await work.begun;
    run.raiseBudget({ maxActiveMs: 1 });
    const { result } = await finish(run);
    expect(result).toMatchObject({ status: 'exhausted', limit: { name: 'maxActiveMs' } });
    expect(work.signals[0]?.aborted).toBe(true);
  });

  it('is not near because of what is only set aside', async () => {
    const { agent } = scripted(['Ok.'], { budget: { maxOutputTokens: 200, maxTurns: 1 } });
    const { events } = await finish(agent.start('Go.'));
    expect(eventsNamed(events, 'limit.near')).toEqual([]);
  });

  it('of tool calls answers those beyond it, in the order of the calls', async () => {
    const three = ['a', 'b', 'c'].map((id) => ({ id, name: 'echo', input: { text: id } }));
    const { agent } = scripted([uses(...three), 'Ok.'], {
      tools: [echo],
      budget: { maxToolCalls: 2 },
    });
    const { result } = await finish(agent.start('Go.'));
    expect(resultsIn(result.messages[2])).toEqual([
      'a: a',
      'b: b',
      'c: Not executed: this run may call tools 2 times, and did.',
    ]);
  });

  it('that is near is told once', async () => {
    const { agent } = scripted(({ number }) => (number < 5 ? echoing(number) : 'Ok.'), {
      tools: [echo],
      budget: { maxTurns: 5 },
    });
    const { events } = await finish(agent.start('Go.'));
    expect(eventsNamed(events, 'limit.near')).toMatchObject([{ limit: { name: 'maxTurns' } }]);
  });

  it('leaves room for a last answer without tools under wrapUp', async () => {
    const { agent, model } = scripted([echoing(1), echoing(2), 'What I know.'], {
      tools: [echo],
      budget: { maxTurns: 3 },
      onLimit: 'wrapUp',
    });
    const { result } = await finish(agent.start('Go.'));
    expect(result).toMatchObject({ status: 'exhausted', text: 'What I know.' });
    expect(model.requests.map(({ toolChoice }) => toolChoice)).toEqual(['auto', 'auto', 'none']);
  });

  it('is told and waits for a person under ask, and goes on when it is raised', async () => {
    const { agent, model } = scripted([echoing(1), echoing(2), 'Ok.'], {
      tools: [echo],
      budget: { maxTurns: 2 },
      onLimit: 'ask',
    });
    const run = agent.start('Go.');
    expect(await run.idle()).toBe('waiting');
    expect(run.state).toBe('awaitBudget');
    expect(model.requests).toHaveLength(2);
    const invalid = expect.objectContaining({ code: 'invalid_input' });
    expect(() => run.raiseBudget({ maxTurns: Number.NaN })).toThrow(invalid);
    run.raiseBudget({ maxTurns: 3 });
    const { result, events } = await finish(run);
    expect(result).toMatchObject({ status: 'completed', text: 'Ok.', limit: null });
    expect(eventsNamed(events, 'budget.wanted')).toMatchObject([{ limit: { name: 'maxTurns' } }]);
  });

  it('is asked for again when it was not raised enough', async () => {
    const { agent, model } = scripted([echoing(1)], {
      tools: [echo],
      budget: { maxTurns: 1 },
      onLimit: 'ask',
    });
    const run = agent.start('Go.');
    await run.idle();
    run.raiseBudget({ maxToolCalls: 9 });
    expect(run.state).toBe('awaitBudget');
    run.cancel();
    await finish(run);
    expect(model.requests).toHaveLength(1);
  });
});

describe('a loop', () => {
  it('of one call ends the run before the third is made', async () => {
    const { agent } = scripted(({ number }) => echoing(number, 'the same'), { tools: [echo] });
    const { result, events } = await finish(agent.start('Go.'));
    expect(result).toMatchObject({ status: 'exhausted', error: { code: 'loop_detected' } });
    expect(eventsNamed(events, 'tool.started')).toHaveLength(2);
  });

  it('of two calls in turns ends the run too', async () => {
    const { agent, model } = scripted(
      ({ number }) => echoing(number, number % 2 === 0 ? 'ping' : 'pong'),
      { tools: [echo] },
    );
    const { result } = await finish(agent.start('Go.'));
    expect(result).toMatchObject({ status: 'exhausted', error: { code: 'loop_detected' } });
    expect(model.requests).toHaveLength(6);
  });

  it('of replies that make no sense ends the run', async () => {
    const { agent, model } = scripted(
      ({ number }) => uses({ id: `call_${number}`, name: `nothing_${number}` }),
      { tools: [echo] },
    );
    const { result } = await finish(agent.start('Go.'));
    expect(result.limit?.name).toBe('maxMalformedReplies');
    expect(model.requests).toHaveLength(3);
  });

  it('is not seen where each call is another', async () => {
    const { agent } = scripted(({ number }) => (number < 8 ? echoing(number) : 'Ok.'), {
      tools: [echo],
    });
    expect((await finish(agent.start('Go.'))).result.status).toBe('completed');
  });
});

describe('a cap of three turns with an approval in each', () => {
  const endless = () => {
    const { tool, sent } = mailer();
    const model = scriptedModel(({ number }) =>
      uses({ id: `mail_${number}`, name: 'send_mail', input: { to: `person ${number}` } }),
    );
    const agent = createAgent({ model, tools: [tool], budget: { maxTurns: 3 } });
    return { agent, model, sent };
  };
  const approveAll = async (run: Run): Promise<void> => {
    for (const { callId } of run.pending) await run.approve(callId);
  };
  const inAnotherProcess = async (agent: Agent, run: Run): Promise<Run> =>
    agent.resume(JSON.parse(JSON.stringify(await run.suspend())));

  it('stops after three model calls', async () => {
    const { agent, model, sent } = endless();
    const run = agent.start('Write to everybody.');
    while ((await run.idle()) === 'waiting') await approveAll(run);
    const { result } = await finish(run);
    expect(result.limit).toMatchObject({ name: 'maxTurns', max: 3 });
    expect(model.requests).toHaveLength(3);
    expect(sent).toEqual(['person 1', 'person 2', 'person 3']);
  });

  it('stops after three model calls when it is suspended and resumed in each', async () => {
    const { agent, model, sent } = endless();
    let run = agent.start('Write to everybody.');
    while ((await run.idle()) === 'waiting') {
      run = await inAnotherProcess(agent, run);
      await run.idle();
      await approveAll(run);
    }
    const { result } = await finish(run);
    expect(result.limit).toMatchObject({ name: 'maxTurns', max: 3 });
    expect(result.budget.spend).toMatchObject({ turns: 3, toolCalls: 3 });
    expect(model.requests).toHaveLength(3);
    expect(sent).toEqual(['person 1', 'person 2', 'person 3']);
  });
});
