/** One tool use, played by hand: every state, and each guard both ways. */
import { describe, expect, it } from 'vitest';
import type { EventFrom, SnapshotFrom } from 'xstate';
import { toolCall } from '../../machines/tool-call.ts';
import { errorResult } from '../../src/core/message.ts';
import type {
  OnInterrupted,
  ProbeOutcome,
  RunOutcome,
  ToolEffect,
  Validation,
  Verdict,
} from '../../src/core/tool-call.ts';
import { type Play, play, sentIn } from './driver.ts';

type Machine = typeof toolCall;
type ToolEvent = EventFrom<Machine>;

const playCall = (
  effect: ToolEffect = 'read',
  maxRetries = 0,
  onInterrupted: OnInterrupted = 'ask',
): Play<Machine> => play(toolCall, { callId: 'a', effect, maxRetries, onInterrupted });

const done = (id: string, output: unknown): ToolEvent =>
  ({ type: `xstate.done.actor.${id}`, actorId: id, output }) as ToolEvent;
const broke = (id: string, error: unknown = new Error('broken')): ToolEvent => ({
  type: `xstate.error.actor.${id}`,
  actorId: id,
  error,
});

const result = { type: 'tool_result', tool_use_id: 'a', content: 'ok' } as const;
const problem = errorResult('a', 'bad');

const validated = (found: Validation['problem']): ToolEvent =>
  done('validateInput', { problem: found });
const judged = (verdict: Verdict): ToolEvent => done('checkPermission', verdict);
const ran = (outcome: Unmetered<RunOutcome>): ToolEvent =>
  done('runTool', { activeMs: 7, ...outcome });
const probed = (outcome: Unmetered<ProbeOutcome>): ToolEvent =>
  done('probeTool', { activeMs: 9, ...outcome });
type Unmetered<Outcome> = Outcome extends unknown ? Omit<Outcome, 'activeMs'> : never;

const valid = validated(null);
const allowed = judged({ kind: 'allow' });
const asked = judged({ kind: 'ask', argumentsHash: 'hash' });
const slot = done('slot', undefined);
const waited = done('until', undefined);
const lost = ran({ kind: 'lost' });
const unknown = probed({ kind: 'unknown' });
const approved: ToolEvent = { type: 'approval.granted', callId: 'a', argumentsHash: 'hash' };

const running = [valid, allowed, slot];

const actorsIn = ({ children }: SnapshotFrom<Machine>): readonly string[] => Object.keys(children);
const inputOf = (call: Play<Machine>): unknown =>
  call.wanted
    .filter(({ type }) => type === 'xstate.spawnChild')
    .map(({ params }) => (params as { readonly input: unknown }).input)[0];

describe('a tool call', () => {
  it('is validated, allowed, given a slot, run and settled', () => {
    const call = playCall();
    const states = [valid, allowed, slot, ran({ kind: 'done', result, costMicros: 3 })].map(
      (event) => call.send(event).value,
    );
    expect(states).toEqual(['checkPermission', 'awaitSlot', 'run', 'settled']);
    expect(call.now.output).toEqual({
      callId: 'a',
      result,
      ending: 'done',
      costMicros: 3,
      activeMs: 7,
    });
  });

  it('ends at once when its arguments are invalid', () => {
    const call = playCall();
    call.send(validated(problem));
    expect(call.now.output).toMatchObject({ result: problem, ending: 'malformed' });
  });

  it('ends when the policy denies it', () => {
    const call = playCall();
    call.send(valid, judged({ kind: 'deny', result: problem }));
    expect(call.now.output).toMatchObject({ result: problem, ending: 'denied' });
  });

  it.each([
    ['validateInput', []],
    ['checkPermission', [valid]],
    ['slot', [valid, allowed]],
    ['runTool', running],
    ['until', [...running, ran({ kind: 'failed', result, retryAt: 5 })]],
  ])('is answered with the error when %s breaks', (id, events) => {
    const call = playCall('idempotent', 1);
    call.send(...events);
    expect(actorsIn(call.now)).toEqual([id]);
    call.send(broke(id));
    expect(call.now.output).toMatchObject({
      result: errorResult('a', 'broken'),
      ending: 'failed',
    });
  });

  it.each([
    ['an object without a prototype', Object.create(null)],
    ['nothing', undefined],
    ['a symbol', Symbol('x')],
  ])('bears any thrown value: %s', (_name, error) => {
    const call = playCall();
    call.send(broke('validateInput', error));
    expect(call.now.output).toMatchObject({ ending: 'failed', result: { is_error: true } });
    expect(call.now.output?.result.content).toMatch(/\S/);
  });

  it.each(['validateInput', 'slot', 'runTool'])('gives %s an id, and no arguments', (id) => {
    const call = playCall();
    const ways = new Map([
      ['validateInput', []],
      ['slot', [valid, allowed]],
      ['runTool', running],
    ]);
    call.send(...(ways.get(id) ?? []));
    const input = { callId: 'a', attempt: 1, approvedHash: null };
    expect(call.now.children[id]?.getSnapshot()).toMatchObject({ input });
  });
});

describe('an approval', () => {
  it('is asked for, bound to the arguments', () => {
    const call = playCall('once');
    call.send(valid, asked);
    expect(call.now.value).toBe('awaitApproval');
    expect(call.now.hasTag('waitsForHuman')).toBe(true);
    expect(sentIn(call.wanted).map(({ event }) => event)).toEqual([
      { type: 'call.waits', callId: 'a', wait: { for: 'approval', argumentsHash: 'hash' } },
    ]);
  });

  it('lets the call run, and goes with it', () => {
    const call = playCall('once');
    call.send(valid, asked, approved);
    expect(sentIn(call.wanted).map(({ event }) => event)).toEqual([
      { type: 'call.works', callId: 'a', isRunning: false },
    ]);
    call.send(slot);
    expect(call.now.value).toBe('run');
    expect(inputOf(call)).toEqual({ callId: 'a', attempt: 1, approvedHash: 'hash' });
  });

  it.each(['other', '', undefined])('for other arguments (%s) changes nothing', (argumentsHash) => {
    const call = playCall('once');
    call.send(valid, asked, { ...approved, argumentsHash } as ToolEvent);
    expect(call.now.value).toBe('awaitApproval');
  });

  it('is asked for again when what it was given for has changed', () => {
    const call = playCall('once');
    call.send(valid, asked, approved, slot, ran({ kind: 'stale', argumentsHash: 'new' }));
    expect(call.now.value).toBe('awaitApproval');
    expect(call.now.context).toMatchObject({
      isApproved: false,
      argumentsHash: 'new',
      attempt: 1,
    });
    call.send(approved);
    expect(call.now.value).toBe('awaitApproval');
    call.send({ ...approved, argumentsHash: 'new' } as ToolEvent, slot);
    expect(inputOf(call)).toMatchObject({ approvedHash: 'new' });
  });

  it.each([
    ['with a reason', 'not today', 'Denied by a person: not today'],
    ['without one', undefined, 'Denied by a person. No reason was given.'],
    ['with a blank one', '  ', 'Denied by a person. No reason was given.'],
    ['with one that is no text', 5, 'Denied by a person. No reason was given.'],
  ])('that is denied %s ends the call', (_name, reason, said) => {
    const call = playCall('once');
    call.send(valid, asked, { type: 'approval.denied', callId: 'a', reason } as ToolEvent);
    expect(call.now.output).toMatchObject({ result: errorResult('a', said), ending: 'denied' });
  });

  it.each<[string, ToolEvent[]]>([
    ['nothing was asked', [valid]],
    ['the call runs', running],
  ])('means nothing when %s', (_name, events) => {
    const call = playCall();
    call.send(...events);
    expect(call.now.can(approved)).toBe(false);
    expect(call.now.can({ type: 'approval.denied', callId: 'a' })).toBe(false);
  });
});

describe('a failed call', () => {
  const failed = ran({ kind: 'failed', result: problem, retryAt: 99 });

  it('is tried again after a wait, as often as it may', () => {
    const call = playCall('idempotent', 1);
    call.send(...running, failed);
    expect(call.now.value).toBe('backOff');
    expect(inputOf(call)).toEqual({ at: 99 });
    call.send(waited, slot);
    expect(call.now.value).toBe('run');
    expect(inputOf(call)).toMatchObject({ attempt: 2 });
    call.send(failed);
    expect(call.now.output).toMatchObject({ result: problem, ending: 'failed', activeMs: 7 });
  });

  it('is not tried again by itself when it may not be', () => {
    const call = playCall('once');
    call.send(...running, failed);
    expect(call.now.output).toMatchObject({ result: problem, ending: 'failed' });
  });

  it('counts as begun while it waits for its next attempt', () => {
    const call = playCall('idempotent', 1);
    call.send(...running);
    expect(sentIn(call.wanted).map(({ event }) => event)).toEqual([
      { type: 'call.works', callId: 'a', isRunning: true },
    ]);
    call.send(failed);
    expect(sentIn(call.wanted)).toEqual([]);
  });
});

describe('a lost call', () => {
  it.each(['read', 'idempotent'] as const)(
    'of effect %s runs again, as another attempt',
    (effect) => {
      const call = playCall(effect);
      call.send(...running, lost);
      expect(call.now.value).toBe('awaitSlot');
      call.send(slot);
      expect(inputOf(call)).toMatchObject({ attempt: 2 });
    },
  );

  it('of effect once is probed: busy, as a call that may have acted', () => {
    const call = playCall('once');
    call.send(...running, lost);
    expect(call.now.value).toBe('probe');
    expect(call.now.hasTag('busy')).toBe(true);
    expect(inputOf(call)).toEqual({ callId: 'a', attempt: 1, approvedHash: null });
    expect(sentIn(call.wanted)).toEqual([]);
  });

  it.each([
    ['its cost is told', 3, 3],
    ['its cost is not told', null, null],
  ])('that happened is answered with the result that the probe found: %s', (_name, told, kept) => {
    const call = playCall('once');
    call.send(...running, lost, probed({ kind: 'happened', result, costMicros: told }));
    expect(call.now.output).toEqual({
      callId: 'a',
      result,
      ending: 'done',
      costMicros: kept,
      activeMs: 9,
    });
  });

  it('whose earlier attempt was lost too counts in full, whatever the last one cost', () => {
    const call = playCall('once');
    const happened = probed({ kind: 'happened', result, costMicros: 3 });
    call.send(...running, lost, probed({ kind: 'notHappened' }), slot, lost, happened);
    expect(call.now.output).toMatchObject({ ending: 'done', costMicros: null });
  });

  it('that did not happen runs again, as another attempt, with the approval it had', () => {
    const call = playCall('once');
    call.send(valid, asked, approved, slot, lost, probed({ kind: 'notHappened' }));
    expect(call.now.value).toBe('awaitSlot');
    call.send(slot);
    expect(call.now.value).toBe('run');
    expect(inputOf(call)).toEqual({ callId: 'a', attempt: 2, approvedHash: 'hash' });
  });

  it('is probed again when the probe itself was lost', () => {
    const call = playCall('once');
    call.send(...running, lost, probed({ kind: 'lost' }));
    expect(call.now.value).toBe('probe');
    expect(inputOf(call)).toEqual({ callId: 'a', attempt: 1, approvedHash: null });
    expect(actorsIn(call.now)).toEqual(['probeTool']);
  });

  it.each([
    ['knows nothing', unknown],
    ['breaks', broke('probeTool')],
  ])('whose probe %s is reported to the model where that is wanted', (_name, event) => {
    const call = playCall('once', 0, 'report');
    call.send(...running, lost, event);
    expect(call.now.output).toMatchObject({ ending: 'unknown', costMicros: null });
    expect(call.now.output?.result).toMatchObject({ tool_use_id: 'a', is_error: true });
    expect(call.now.output?.result.content).toMatch(/outcome of this call is unknown.*Find out/);
  });

  it.each([
    ['knows nothing', unknown],
    ['breaks', broke('probeTool')],
  ])('of effect once whose probe %s waits for a person, who is told so', (_name, event) => {
    const call = playCall('once');
    call.send(...running, lost, event);
    expect(call.now.value).toBe('interrupted');
    expect(actorsIn(call.now)).toEqual([]);
    expect(sentIn(call.wanted).map(({ event }) => event)).toEqual([
      { type: 'call.waits', callId: 'a', wait: { for: 'settlement' } },
    ]);
  });

  it.each([
    ['what came of it', { content: 'sent' }, { ...result, content: 'sent' }],
    ['that it failed', { content: 'no', isError: true }, errorResult('a', 'no')],
    [
      'that it failed, in no words',
      { content: '', isError: true },
      errorResult('a', 'The call failed.'),
    ],
    ['nothing that is a text', { content: [null] }, { ...result, content: '' }],
  ])('is settled by a person who says %s', (_name, said, expected) => {
    const call = playCall('once');
    call.send(...running, lost, unknown, {
      type: 'call.settled',
      callId: 'a',
      ...said,
    } as ToolEvent);
    expect(call.now.output).toMatchObject({ result: expected, ending: 'settled' });
  });

  it('runs again when a person says so', () => {
    const call = playCall('once');
    call.send(...running, lost, unknown, { type: 'call.retried', callId: 'a' }, slot);
    expect(call.now.value).toBe('run');
    expect(inputOf(call)).toMatchObject({ attempt: 2 });
  });

  it.each([approved, { type: 'approval.denied', callId: 'a' } as const])(
    'is not moved by a decision that nobody asked for: $type',
    (event) => {
      const call = playCall('once');
      call.send(...running, lost, unknown);
      expect(call.now.can(event)).toBe(false);
    },
  );
});

describe('a restored call', () => {
  it.each<[string, ToolEvent[], unknown[]]>([
    ['validate', [], []],
    ['checkPermission', [valid], []],
    ['awaitSlot', [valid, allowed], []],
    [
      'awaitApproval',
      [valid, asked],
      [{ type: 'call.waits', callId: 'a', wait: { for: 'approval', argumentsHash: 'hash' } }],
    ],
    ['run', running, [{ type: 'call.works', callId: 'a', isRunning: true }]],
    ['probe', [...running, lost], [{ type: 'call.works', callId: 'a', isRunning: true }]],
    [
      'interrupted',
      [...running, lost, unknown],
      [{ type: 'call.waits', callId: 'a', wait: { for: 'settlement' } }],
    ],
  ])('in %s tells the run what the run may not know', (state, events, reports) => {
    const call = playCall('once');
    call.send(...events);
    expect(call.now.value).toBe(state);
    call.send({ type: 'actor.restored' });
    expect(call.now.value).toBe(state);
    const told = events.length > 0 || reports.length > 0 ? sentIn(call.wanted) : [];
    expect(told.map(({ event }) => event)).toEqual(reports);
  });
});
