import { createAgent, defineTool, toolOutput } from 'pawl';
import { scriptedModel } from 'pawl/testing';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { eventsNamed, finish, gatedTool, mailer, resultsIn, untilEvent, uses } from './run-kit.ts';

const asksForMail = uses({ id: 'a', name: 'send_mail', input: { to: 'Ada' } });
const mailLike = {
  name: 'send_mail',
  description: 'Sends a mail.',
  input: z.object({ to: z.string() }),
  effect: 'once',
} as const;

function raise(error: Error): never {
  throw error;
}

const never = (): Promise<boolean> => new Promise(() => {});

/** A run that asks for one mail to Ada, and answers. */
function asking(options: Pick<Parameters<typeof createAgent>[0], 'permissions'> = {}) {
  const { tool, sent } = mailer();
  const model = scriptedModel([uses({ id: 'a', name: 'send_mail', input: { to: 'Ada' } }), 'Ok.']);
  const run = createAgent({ model, tools: [tool], ...options }).start('Write to Ada.');
  return { run, sent, model };
}

describe('a call that needs an approval', () => {
  it('waits, with its arguments and their hash, and costs no active time', async () => {
    const { run, sent } = asking();
    expect(await run.idle()).toBe('waiting');
    const wanted = await untilEvent(run, 'approval.wanted');
    expect(run.state).toBe('executeTools.waiting');
    expect(run.pending).toEqual([
      {
        callId: 'a',
        name: 'send_mail',
        input: { to: 'Ada' },
        waits: { for: 'approval', argumentsHash: wanted.argumentsHash },
      },
    ]);
    expect(sent).toEqual([]);
    run.cancel();
    await finish(run);
  });

  it('runs once when it is approved', async () => {
    const { run, sent } = asking();
    const { callId, argumentsHash } = await untilEvent(run, 'approval.wanted');
    await run.approve(callId, { argumentsHash });
    const { result } = await finish(run);
    expect(sent).toEqual(['Ada']);
    expect(resultsIn(result.messages[2])).toEqual(['a: Sent to Ada.']);
  });

  it.each([
    ['the reason', 'Ada is away.', 'a: Denied by a person: Ada is away.'],
    ['that there was none', undefined, 'a: Denied by a person. No reason was given.'],
  ])('tells the model of a denial, and %s', async (_name, reason, told) => {
    const { run, sent, model } = asking();
    await run.idle();
    await run.deny('a', reason);
    const { events } = await finish(run);
    expect(sent).toEqual([]);
    expect(resultsIn(model.requests[1]?.messages[2])).toEqual([told]);
    expect(eventsNamed(events, 'tool.settled')).toMatchObject([{ ending: 'denied' }]);
    expect(eventsNamed(events, 'tool.started')).toEqual([]);
  });

  it.each([
    ['throws', () => raise(new Error('No such person.')), 'No such person.'],
    ['is an error by its own word', () => toolOutput({ content: 'Full.', isError: true }), 'Full.'],
    [
      'gives blocks',
      () => toolOutput({ content: [{ type: 'text', text: 'Sent.' }] }),
      [{ type: 'text', text: 'Sent.' }],
    ],
  ])('tells the model of changed arguments also when it %s', async (_name, send, said) => {
    const tool = defineTool({ ...mailLike, run: send });
    const model = scriptedModel([asksForMail, 'Ok.']);
    const run = createAgent({ model, tools: [tool] }).start('Write to Ada.');
    await run.idle();
    await run.approve('a', { input: { to: 'Bob' } });
    const { result } = await finish(run);
    const notice = '[A person changed the arguments before this ran: {"to":"Bob"}]';
    const expected =
      typeof said === 'string' ? `${said}\n\n${notice}` : [...said, { type: 'text', text: notice }];
    expect(result.messages[2]?.content).toMatchObject([{ content: expected }]);
  });

  it('refuses changed arguments that can not be checked in time', async () => {
    const input = z.object({ to: z.string() }).refine(({ to }) => to === 'Ada' || never());
    const tool = defineTool({ ...mailLike, input, timeoutMs: 20, run: () => 'Sent.' });
    const model = scriptedModel([asksForMail, 'Ok.']);
    const run = createAgent({ model, tools: [tool] }).start('Write to Ada.');
    await run.idle();
    await expect(run.approve('a', { input: { to: 'Bob' } })).rejects.toMatchObject({
      code: 'invalid_tool_input',
      message: expect.stringContaining('could not be checked within 20 ms'),
    });
    await run.approve('a');
    expect(resultsIn((await finish(run)).result.messages[2])).toEqual(['a: Sent.']);
  });

  it('runs with other arguments when they were put in its place, and the model is told', async () => {
    const { run, sent, model } = asking();
    await run.idle();
    await run.approve('a', { input: { to: 'Bob' } });
    const { result, events } = await finish(run);
    expect(sent).toEqual(['Bob']);
    expect(resultsIn(model.requests[1]?.messages[2])).toEqual([
      'a: Sent to Bob.\n\n[A person changed the arguments before this ran: {"to":"Bob"}]',
    ]);
    expect(eventsNamed(events, 'tool.started')).toMatchObject([{ input: { to: 'Bob' } }]);
    expect(result.messages[1]?.content).toMatchObject([{ input: { to: 'Ada' } }]);
  });

  it('still waits when the arguments put in its place do not fit', async () => {
    const { run, sent } = asking();
    await run.idle();
    const invalid = expect.objectContaining({ code: 'invalid_tool_input' });
    await expect(run.approve('a', { input: { to: '' } })).rejects.toEqual(invalid);
    expect(run.pending).toHaveLength(1);
    expect(sent).toEqual([]);
    await run.deny('a');
    await finish(run);
  });

  it('does not run with arguments that the policy denies, whoever put them there', async () => {
    const isBob = (input: unknown): boolean => JSON.stringify(input).includes('Bob');
    const { run, sent } = asking({ permissions: { deny: [{ tool: 'send_mail', when: isBob }] } });
    await run.idle();
    await run.approve('a', { input: { to: 'Bob' } });
    const { result } = await finish(run);
    expect(sent).toEqual([]);
    expect(resultsIn(result.messages[2])[0]).toContain('Denied');
  });

  it('is not run by an approval of other arguments', async () => {
    const { run, sent } = asking();
    await run.idle();
    const stale = expect.objectContaining({ code: 'not_awaiting' });
    await expect(run.approve('a', { argumentsHash: 'another' })).rejects.toEqual(stale);
    expect(run.pending).toHaveLength(1);
    expect(sent).toEqual([]);
    await run.deny('a');
    await finish(run);
  });

  it('takes one of two approvals', async () => {
    const { run, sent } = asking();
    await run.idle();
    const both = await Promise.allSettled([run.approve('a'), run.approve('a')]);
    expect(both).toMatchObject([
      { status: 'fulfilled' },
      { status: 'rejected', reason: { code: 'not_awaiting' } },
    ]);
    await finish(run);
    expect(sent).toEqual(['Ada']);
  });

  it('takes one of two edits', async () => {
    const { run, sent } = asking();
    await run.idle();
    const both = await Promise.allSettled([
      run.approve('a', { input: { to: 'Bob' } }),
      run.approve('a', { input: { to: 'Cleo' } }),
    ]);
    expect(both).toMatchObject([
      { status: 'fulfilled' },
      { status: 'rejected', reason: { code: 'not_awaiting' } },
    ]);
    await finish(run);
    expect(sent).toEqual(['Bob']);
  });

  it('knows no approval of a call that is not there, runs, or has ended', async () => {
    const work = gatedTool();
    const model = scriptedModel([uses({ id: 'a', name: 'work' }), 'Ok.']);
    const run = createAgent({ model, tools: [work.tool] }).start('Go.');
    await run.idle();
    const unknown = { code: 'unknown_tool_use' };
    await expect(run.approve('nobody')).rejects.toMatchObject(unknown);
    await expect(run.deny('__proto__')).rejects.toMatchObject(unknown);
    await expect(run.settle('a', { content: 'x' })).rejects.toMatchObject({ code: 'not_awaiting' });
    await run.approve('a');
    await work.begun;
    await expect(run.approve('a')).rejects.toMatchObject({ code: 'not_awaiting' });
    await expect(run.deny('a')).rejects.toMatchObject({ code: 'not_awaiting' });
    work.finish('Done.');
    await finish(run);
    await expect(run.approve('a')).rejects.toMatchObject({ code: 'run_finished' });
  });

  it('waits beside others, each with an answer of its own', async () => {
    const { tool, sent } = mailer();
    const model = scriptedModel([
      uses(
        { id: 'a', name: 'send_mail', input: { to: 'Ada' } },
        { id: 'b', name: 'send_mail', input: { to: 'Bob' } },
        { id: 'c', name: 'send_mail', input: { to: 'Cleo' } },
      ),
      'Ok.',
    ]);
    const run = createAgent({ model, tools: [tool] }).start('Write to all.');
    await run.idle();
    expect(run.pending.map(({ callId }) => callId)).toEqual(['a', 'b', 'c']);
    await run.deny('b', 'Not Bob.');
    await run.approve('c');
    await run.idle();
    expect(run.pending.map(({ callId }) => callId)).toEqual(['a']);
    await run.approve('a');
    const { result } = await finish(run);
    expect(sent).toEqual(['Cleo', 'Ada']);
    expect(resultsIn(result.messages[2])).toEqual([
      'a: Sent to Ada.',
      'b: Denied by a person: Not Bob.',
      'c: Sent to Cleo.',
    ]);
  });
});
