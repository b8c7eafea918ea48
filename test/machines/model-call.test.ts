/** One model call, played by hand: its attempts, its waits, and when it gives the decision back to the run. */
import { describe, expect, it } from 'vitest';
import type { EventFrom } from 'xstate';
import { type ModelCallInput, modelCall } from '../../machines/model-call.ts';
import { type AttemptOutcome, firstAttempt } from '../../src/core/reply.ts';
import { type Play, play } from './driver.ts';
import { failedWith, lost, says } from './samples.ts';

type Machine = typeof modelCall;
type CallEvent = EventFrom<Machine>;

const playCall = (input: Partial<ModelCallInput> = {}): Play<Machine> =>
  play(modelCall, {
    ask: { kind: 'turn', turn: 3 },
    plan: firstAttempt,
    maxRetries: 2,
    models: 1,
    ...input,
  });

const attempted = (output: unknown): CallEvent => ({
  type: 'xstate.done.actor.attempt',
  actorId: 'attempt',
  output: output as AttemptOutcome,
});
const waited = { type: 'xstate.done.actor.until', actorId: 'until' } as CallEvent;

const busy = failedWith('provider_overloaded', { isRetryable: true, retryAt: 99 });
const cut = failedWith('stream_interrupted', {
  isRetryable: true,
  mayHaveBilled: true,
  retryAt: 99,
});
const forGood = failedWith('provider_auth');

describe('a model call', () => {
  it('asks for what the run wants, by id', () => {
    const call = playCall({ plan: { ...firstAttempt, model: 1 }, models: 2 });
    expect(call.now.value).toBe('attempt');
    const attempt = call.now.children.attempt?.getSnapshot();
    expect(attempt).toMatchObject({
      input: { kind: 'turn', turn: 3, attempt: 1, model: 1, streams: true, retryAt: 0 },
    });
  });

  it.each([
    ['a reply', says('done')],
    ['a loss', lost],
    ['a failure for good', forGood],
  ])('ends with %s', (_name, outcome) => {
    const call = playCall();
    call.send(attempted(outcome));
    expect(call.now.output).toEqual(outcome);
  });

  it('begins with a wait when it goes on after one', () => {
    const call = playCall({ plan: { ...firstAttempt, attempt: 2, retryAt: 99 } });
    expect(call.now.value).toBe('backOff');
    expect(call.now.children.until?.getSnapshot()).toMatchObject({ input: { at: 99 } });
    call.send(waited);
    expect(call.now.value).toBe('attempt');
  });

  it('tries again by itself what was not billed, as often as it may', () => {
    const call = playCall();
    for (const attempt of [2, 3]) {
      call.send(attempted(busy));
      expect(call.now.value).toBe('backOff');
      expect(call.now.context.plan).toMatchObject({ attempt, retryAt: 99, streams: true });
      call.send(waited);
    }
    call.send(attempted(busy));
    expect(call.now.output).toEqual(busy);
  });

  it('gives the decision back when another attempt needs another reservation', () => {
    const call = playCall();
    call.send(attempted(cut));
    expect(call.now.output).toEqual({
      kind: 'again',
      activeMs: 1,
      plan: { attempt: 2, model: 0, streams: true, retryAt: 99 },
      mayHaveBilled: true,
    });
  });

  it('stops streaming once a stream broke before it began', () => {
    const call = playCall();
    const broken = failedWith('stream_error', { isRetryable: true, isStreamTrouble: true });
    call.send(attempted(broken), waited);
    expect(call.now.context.plan).toMatchObject({ attempt: 2, streams: false });
    call.send(attempted(busy), waited);
    expect(call.now.context.plan.streams).toBe(false);
  });

  it.each([
    ['busy', busy, false],
    ['cut', cut, true],
  ])('asks for the next model when this one stays %s', (_name, outcome, mayHaveBilled) => {
    const call = playCall({ maxRetries: 0, models: 2 });
    call.send(attempted(outcome));
    expect(call.now.output).toEqual({
      kind: 'again',
      activeMs: 1,
      plan: { attempt: 1, model: 1, streams: true, retryAt: 0 },
      mayHaveBilled,
    });
  });

  it.each([
    ['there is none', { maxRetries: 0, models: 1 }, busy],
    ['it was the last', { maxRetries: 0, models: 2, plan: { ...firstAttempt, model: 1 } }, busy],
    ['the failure is for good', { maxRetries: 0, models: 2 }, forGood],
  ])('asks for no other model when %s', (_name, input, outcome) => {
    const call = playCall(input);
    call.send(attempted(outcome));
    expect(call.now.output).toEqual(outcome);
  });

  it.each([
    ['an error', new Error('broken'), 'broken'],
    ['an object without a prototype', Object.create(null), '{}'],
    ['nothing', undefined, 'Threw undefined'],
  ])('is charged when its effect breaks, whatever was thrown: %s', (_name, error, message) => {
    const call = playCall();
    call.send({ type: 'xstate.error.actor.attempt', actorId: 'attempt', error });
    expect(call.now.output).toMatchObject({
      kind: 'failed',
      failure: { code: 'internal', message },
      isRetryable: false,
      mayHaveBilled: true,
    });
  });

  it('fails when its wait breaks', () => {
    const call = playCall();
    call.send(attempted(busy), {
      type: 'xstate.error.actor.until',
      actorId: 'until',
      error: new Error('broken'),
    });
    expect(call.now.output).toMatchObject({ kind: 'failed', failure: { message: 'broken' } });
  });
});
