/** Whoever embeds the machine in plain JavaScript can send it anything: no event may kill a run or spoil its numbers. */
import { isDeepStrictEqual } from 'node:util';
import { describe, expect, it } from 'vitest';
import { agentLoop } from '../../machines/agent-loop.ts';
import { historyProblems, repairHistory } from '../../src/core/history.ts';
import { committed } from '../../src/core/ledger.ts';
import { driverOf } from './driver.ts';
import { type LoopEvent, oneCall, type Snapshot, waysTo } from './loop.ts';
import { answered, modelDone, runInput, says, toolDone, waitsForSettlement } from './samples.ts';

const names = [
  'approval.granted',
  'approval.denied',
  'call.settled',
  'call.retried',
  'call.waits',
  'call.works',
  'message.steered',
  'budget.raised',
  'time.ranOut',
  'run.paused',
  'run.resumed',
  'run.cancelled',
  'actor.restored',
  'no.such.event',
];
const fields = [
  ['callId', 'argumentsHash', 'content', 'reason', 'isError', 'isRunning'],
  ['limits', 'activeMs', 'wait', 'input'],
].flat();
const values: readonly unknown[] = [undefined, null, 0, '', 'x', [], [null], {}];

const junk = names.flatMap((type) => [
  { type },
  { type, callId: 'a' },
  ...fields.flatMap((field) => values.map((value) => ({ type, callId: 'a', [field]: value }))),
  { type, callId: 'a', activeMs: Number.NaN },
  { type, callId: 'a', content: [{ type: 'text' }, { type: 'tool_result' }, { type: 5 }] },
  { type, callId: 'a', wait: { for: 'approval' } },
  { type, callId: 'a', wait: { for: 'nothing', argumentsHash: 'hash' } },
  { type, callId: 'a', limits: JSON.parse('{"__proto__": 1, "maxTurns": "9"}') },
  { type, callId: 'a', limits: { maxTurns: Number.NaN, maxCostMicros: -1 } },
]) as unknown as readonly LoopEvent[];

/** What follows the junk, so that harm which only shows later shows too. */
const rest = [toolDone(answered('a')), modelDone(says('done'))];

const settlementWay = [
  'executeTools.waiting, for a settlement',
  runInput(),
  [oneCall, waitsForSettlement('a')],
] as const;
const living = [...waysTo, settlementWay].filter(
  ([state]) => state === 'paused' || !/ed$/.test(state),
);

describe('events that no type allows', () => {
  it.each(living)('do no harm in %s', (_state, input, events) => {
    const driver = driverOf(agentLoop, input);
    const sendAll = (start: Snapshot, all: readonly LoopEvent[]): Snapshot => {
      let now = start;
      for (const event of all) if (now.status === 'active') now = driver.send(now, event);
      return now;
    };
    const start = sendAll(driver.first, events);
    for (const event of junk) {
      const problem = problemOf(sendAll(start, [event, ...rest]));
      expect(problem, JSON.stringify(event)).toBeNull();
    }
  });
});

/** What is wrong with a run: it died, its numbers are none, or it can't be saved or sent to a model. */
function problemOf({ status, context }: Snapshot): string | null {
  if (status === 'error') return 'it died';
  const { activeMs, limits } = context.ledger;
  const numbers = [activeMs, ...Object.values(committed(context.ledger))];
  if (!numbers.every(Number.isFinite)) return 'the ledger holds what is no number';
  const isLimit = (max: unknown) => max === null || Number.isInteger(max);
  if (!Object.values(limits).every(isLimit)) return 'a limit is no number';
  const saved: unknown = JSON.parse(JSON.stringify(context));
  if (!isDeepStrictEqual(saved, context)) return 'the context is not JSON';
  const [problem] = historyProblems(repairHistory(context.messages));
  return problem ? `${problem.path}: ${problem.problem}` : null;
}
