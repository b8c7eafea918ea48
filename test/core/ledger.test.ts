import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { LimitName, Limits } from '../../src/core/budget.ts';
import {
  type Amount,
  add,
  callsOf,
  charge,
  committed,
  countCall,
  type Ledger,
  limitPassedBy,
  limitsNear,
  nothing,
  openLedger,
  raiseLimits,
  readMeter,
  release,
  reserve,
  reservedFor,
  settle,
  totalToolCalls,
} from '../../src/core/ledger.ts';
import { unlimited } from './sample-run.ts';

const amount = (change: Partial<Amount>): Amount => ({ ...nothing, ...change });
const open = (limits: Partial<Limits> = {}): Ledger => openLedger({ ...unlimited, ...limits });

const used = (ledger: Ledger, change: Partial<Amount>): Ledger =>
  settle(reserve(ledger, 'a', nothing), 'a', amount(change));

/** Spent, uncertain and reserved: a third of everything in each. */
const usedThrice = (limits: Partial<Limits>, each: Partial<Amount>): Ledger =>
  reserve(
    charge(
      reserve(settle(reserve(open(limits), 'a', nothing), 'a', amount(each)), 'b', amount(each)),
      'b',
    ),
    'c',
    amount(each),
  );

describe('limitPassedBy', () => {
  it.each<[keyof Limits, Partial<Amount>, number]>([
    ['maxTurns', { turns: 1 }, 4],
    ['maxInputTokens', { inputTokens: 10 }, 40],
    ['maxOutputTokens', { outputTokens: 10 }, 40],
    ['maxTotalTokens', { inputTokens: 4, outputTokens: 6 }, 40],
    ['maxCostMicros', { costMicros: 10 }, 40],
  ])(
    'counts spent, uncertain and reserved against %s, and takes it to the brim',
    (name, each, all) => {
      expect(limitPassedBy(usedThrice({ [name]: all + 1 }, each), amount(each))).toBeNull();
      expect(limitPassedBy(usedThrice({ [name]: all }, each), amount(each))).toBeNull();
      const passed = limitPassedBy(usedThrice({ [name]: all - 1 }, each), amount(each));
      expect(passed).toEqual({ name, used: all, max: all - 1 });
      expect(limitPassedBy(usedThrice({}, each), amount(each))).toBeNull();
    },
  );

  it.each([
    [999, null],
    [1_000, 'maxActiveMs'],
    [1_001, 'maxActiveMs'],
  ])('ends active time at its limit: %i of 1000 ms', (activeMs, expected) => {
    const ledger = readMeter(open({ maxActiveMs: 1_000 }), activeMs);
    expect(limitPassedBy(ledger, nothing)?.name ?? null).toBe(expected);
  });

  it('lets nothing start under a limit of zero', () => {
    for (const name of ['maxTurns', 'maxOutputTokens', 'maxCostMicros', 'maxActiveMs'] as const) {
      const call = { turns: 1, inputTokens: 1, outputTokens: 1, costMicros: 1 };
      expect(limitPassedBy(open({ [name]: 0 }), call)?.name).toBe(name);
    }
  });
});

describe('limitsNear', () => {
  it.each([
    [79, []],
    [80, ['maxTurns']],
    [100, ['maxTurns']],
  ])('names a limit from the share on: %i of 100 turns', (turns, expected) => {
    const spent = used(open({ maxTurns: 100 }), { turns: turns - 1 });
    const ledger = charge(reserve(spent, 'b', amount({ turns: 1 })), 'b');
    expect(limitsNear(ledger, 0.8).map(({ name }) => name)).toEqual(expected);
  });

  it('names the most used first, of every kind', () => {
    let ledger = open({
      maxTurns: 10,
      maxCostMicros: 100,
      maxActiveMs: 10,
      maxToolCalls: 1,
      maxInputTokens: 1_000,
      maxTotalTokens: 0,
    });
    ledger = used(ledger, { turns: 8, costMicros: 95, inputTokens: 10 });
    ledger = countCall(readMeter(ledger, 9), 'search');
    const expected: readonly LimitName[] = [
      'maxToolCalls',
      'maxCostMicros',
      'maxActiveMs',
      'maxTurns',
    ];
    expect(limitsNear(ledger, 0.8).map(({ name }) => name)).toEqual(expected);
  });

  it('counts nothing that is only set aside', () => {
    const limits = { maxTurns: 1, maxOutputTokens: 100, maxCostMicros: 100 };
    const call = amount({ turns: 1, outputTokens: 100, costMicros: 100 });
    expect(limitsNear(reserve(open(limits), 'a', call), 0.8)).toEqual([]);
  });
});

describe('readMeter', () => {
  it('never goes back', () => {
    const ledger = readMeter(open(), 500);
    expect(readMeter(ledger, 400).activeMs).toBe(500);
    expect(readMeter(ledger, 501).activeMs).toBe(501);
  });
});

describe('countCall', () => {
  it.each(['search', '__proto__', 'constructor', 'toString', ''])('counts calls of %j', (name) => {
    const once = countCall(countCall(open(), 'other'), name);
    expect([callsOf(open(), name), callsOf(once, name)]).toEqual([0, 1]);
    const twice = countCall(once, name);
    expect([callsOf(twice, name), callsOf(twice, 'other'), totalToolCalls(twice)]).toEqual([
      2, 1, 3,
    ]);
    expect(JSON.parse(JSON.stringify(twice))).toEqual(twice);
    expect(Object.hasOwn(Object.prototype, 'calls')).toBe(false);
  });
});

describe('raiseLimits', () => {
  it('changes what is named, and nothing else', () => {
    const ledger = usedThrice({ maxTurns: 3, maxToolCalls: 5 }, { turns: 1 });
    const raised = raiseLimits(ledger, { maxTurns: 9, maxCostMicros: null });
    expect(raised).toEqual({
      ...ledger,
      limits: { ...ledger.limits, maxTurns: 9, maxCostMicros: null },
    });
    expect(ledger.limits.maxTurns).toBe(3);
  });
});

const anyAmount: fc.Arbitrary<Amount> = fc.record({
  turns: fc.nat(3),
  inputTokens: fc.nat(1_000),
  outputTokens: fc.nat(1_000),
  costMicros: fc.nat(10_000),
});
const anyLimits = fc
  .record({
    maxTurns: fc.option(fc.nat(12)),
    maxInputTokens: fc.option(fc.nat(4_000)),
    maxOutputTokens: fc.option(fc.nat(4_000)),
    maxTotalTokens: fc.option(fc.nat(8_000)),
    maxCostMicros: fc.option(fc.nat(40_000)),
  })
  .map((limits): Limits => ({ ...unlimited, ...limits }));
const anyId = fc.constantFrom('model', 'tool:a', '__proto__', 'constructor');
const anyStep = fc.record({
  kind: fc.constantFrom('reserve', 'settle', 'charge', 'release'),
  id: anyId,
  amount: anyAmount,
});

function isWithin({ limits }: Ledger, used: Amount): boolean {
  const fits = (max: number | null, value: number) => max === null || value <= max;
  return (
    fits(limits.maxTurns, used.turns) &&
    fits(limits.maxInputTokens, used.inputTokens) &&
    fits(limits.maxOutputTokens, used.outputTokens) &&
    fits(limits.maxTotalTokens, used.inputTokens + used.outputTokens) &&
    fits(limits.maxCostMicros, used.costMicros)
  );
}

const least = (a: Amount, b: Amount): Amount => ({
  turns: Math.min(a.turns, b.turns),
  inputTokens: Math.min(a.inputTokens, b.inputTokens),
  outputTokens: Math.min(a.outputTokens, b.outputTokens),
  costMicros: Math.min(a.costMicros, b.costMicros),
});

describe('the account, over any row of steps', () => {
  it('never passes a limit when only what fits is reserved, and only what was reserved is used', () => {
    let refused = 0;
    let admitted = 0;
    fc.assert(
      fc.property(
        anyLimits,
        fc.array(anyStep, { minLength: 15, maxLength: 40 }),
        (limits, steps) => {
          let ledger = openLedger(limits);
          for (const step of steps) {
            const held = reservedFor(ledger, step.id);
            if (step.kind === 'reserve' && held === null) {
              const passed = limitPassedBy(ledger, step.amount);
              if (passed) refused += 1;
              else admitted += 1;
              if (!passed) ledger = reserve(ledger, step.id, step.amount);
            } else if (step.kind === 'settle') {
              ledger = settle(ledger, step.id, least(held ?? nothing, step.amount));
            } else if (step.kind === 'charge') ledger = charge(ledger, step.id);
            else if (step.kind === 'release') ledger = release(ledger, step.id);
            expect(isWithin(ledger, committed(ledger))).toBe(true);
          }
        },
      ),
      { numRuns: 500 },
    );
    expect(refused).toBeGreaterThan(100);
    expect(admitted).toBeGreaterThan(200);
  });

  it('refuses only what would really pass a limit', () => {
    let refused = 0;
    fc.assert(
      fc.property(anyLimits, anyAmount, anyAmount, (limits, before, next) => {
        const ledger = reserve(openLedger(limits), 'a', before);
        const passed = limitPassedBy(ledger, next);
        if (passed) refused += 1;
        expect(passed === null).toBe(isWithin(ledger, add(before, next)));
        if (passed) expect(passed.used).toBeGreaterThan(passed.max);
      }),
      { numRuns: 1_000 },
    );
    expect(refused).toBeGreaterThan(100);
  });

  it('keeps what is committed when a reservation is charged, and settles nothing twice', () => {
    let known = 0;
    let unknown = 0;
    fc.assert(
      fc.property(fc.array(fc.tuple(anyId, anyAmount)), anyId, anyAmount, (held, id, used) => {
        const ledger = held.reduce((sum, [key, each]) => reserve(sum, key, each), open());
        if (reservedFor(ledger, id) === null) {
          unknown += 1;
          expect(charge(ledger, id)).toBe(ledger);
          expect(settle(ledger, id, used)).toBe(ledger);
          expect(release(ledger, id)).toBe(ledger);
          return;
        }
        known += 1;
        const charged = charge(ledger, id);
        expect(committed(charged)).toEqual(committed(ledger));
        expect(charge(charged, id)).toBe(charged);
        const settled = settle(ledger, id, used);
        expect(settled.spent).toEqual(used);
        expect(settle(settled, id, used)).toBe(settled);
        expect(release(ledger, id).spent).toEqual(nothing);
        expect(release(ledger, id).reserved).toHaveLength(ledger.reserved.length - 1);
      }),
      { numRuns: 500 },
    );
    expect(known).toBeGreaterThan(100);
    expect(unknown).toBeGreaterThan(50);
  });

  it('replaces a reservation of the same id, and changes no ledger in place', () => {
    fc.assert(
      fc.property(anyId, anyAmount, anyAmount, (id, first, second) => {
        const ledger = reserve(open(), id, first);
        const before = JSON.stringify(ledger);
        expect(committed(reserve(ledger, id, second))).toEqual(second);
        charge(ledger, id, { turns: 0 });
        settle(ledger, id, second);
        countCall(ledger, id);
        expect(JSON.stringify(ledger)).toBe(before);
      }),
    );
  });

  it('charges all but what is left out', () => {
    const ledger = reserve(open(), 'a', amount({ turns: 1, inputTokens: 5, costMicros: 7 }));
    expect(charge(ledger, 'a', { turns: 0 }).uncertain).toEqual(
      amount({ inputTokens: 5, costMicros: 7 }),
    );
  });
});
