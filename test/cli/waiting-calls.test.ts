import { describe, expect, it } from 'vitest';
import type { Told } from '../../src/cli/known-run.ts';
import { plain } from '../../src/cli/paint.ts';
import { chooseCall, waitingLines } from '../../src/cli/waiting-calls.ts';
import type { PendingCall } from '../../src/runtime/run.ts';

const argumentsHash = '0123456789abcdef'.repeat(4);
const approval = (callId: string, input: PendingCall['input'] = {}): PendingCall => ({
  callId,
  name: 'send_mail',
  input,
  waits: { for: 'approval', argumentsHash },
});
const settlement: PendingCall = {
  callId: 'toolu_9',
  name: 'send_mail',
  input: {},
  waits: { for: 'settlement' },
};
const nothingTold: ReadonlyMap<string, Told> = new Map();

describe('a call that waits', () => {
  it('is shown with every argument and the whole hash', () => {
    const call = approval('toolu_1', { text: `${'x'.repeat(20_000)}\u202e` });
    const text = waitingLines(call, undefined, undefined, plain).join('\n');
    expect(text).toContain(`${'x'.repeat(20_000)}\\u{202e}`);
    expect(text).toContain(`call toolu_1 · hash ${argumentsHash}`);
  });

  it('says when it was decided already', () => {
    expect(waitingLines(approval('toolu_1'), undefined, 'denied', plain).at(-1)).toContain(
      'denied already',
    );
  });

  it('says when nobody knows whether it acted', () => {
    expect(waitingLines(settlement, undefined, undefined, plain)[0]).toContain('interrupted');
  });
});

describe('the call that is meant', () => {
  const [one, two] = [approval('toolu_1'), approval('toolu_22')];

  it.each([
    ['the only one', [one, settlement], undefined, one],
    ['the one with this id', [one, two], 'toolu_1', one],
    ['the one whose id begins so', [one, two], 'toolu_2', two],
  ])('is %s', (_name, pending, text, call) => {
    expect(chooseCall({ pending, told: nothingTold }, 'approval', text)).toBe(call);
  });

  it.each([
    ['none waits', [settlement], undefined, 'not_awaiting', 'No call'],
    ['two wait', [one, two], undefined, 'invalid_input', 'toolu_1, toolu_22'],
    ['the beginning fits two', [one, two], 'toolu', 'invalid_input', 'one id'],
    ['no id fits', [one, two], 'x', 'unknown_tool_use', '"x"'],
    ['the id is empty', [one, two], '', 'unknown_tool_use', '""'],
    ['it waits for something else', [one, settlement], 'toolu_9', 'not_awaiting', 'approval'],
  ])('is not known when %s', (_name, pending, text, code, words) => {
    expect(() => chooseCall({ pending, told: nothingTold }, 'approval', text)).toThrow(
      expect.objectContaining({ code, message: expect.stringContaining(words) }),
    );
  });

  it('is the one that was not decided about yet', () => {
    const told: ReadonlyMap<string, Told> = new Map([['toolu_1', 'approved']]);
    expect(chooseCall({ pending: [one, two], told }, 'approval', undefined)).toBe(two);
  });

  it('is refused when it was decided already', () => {
    const told: ReadonlyMap<string, Told> = new Map([['toolu_1', 'approved']]);
    expect(() => chooseCall({ pending: [one], told }, 'approval', undefined)).toThrow(
      'was approved already',
    );
  });
});
