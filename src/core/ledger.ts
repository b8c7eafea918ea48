import type { LimitName, LimitReached, Limits } from './budget.ts';
import { update } from './update.ts';

/** What a call takes, or may take at worst. */
export interface Amount {
  readonly turns: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly costMicros: number;
}

export const nothing: Amount = { turns: 0, inputTokens: 0, outputTokens: 0, costMicros: 0 };

export const add = (a: Amount, b: Amount): Amount => ({
  turns: a.turns + b.turns,
  inputTokens: a.inputTokens + b.inputTokens,
  outputTokens: a.outputTokens + b.outputTokens,
  costMicros: a.costMicros + b.costMicros,
});

/**
 * The run's account. Every call is reserved at its worst before it starts and settled after, and all of it is in the
 * snapshot: no crash, resume or approval forgets what is under way.
 */
export interface Ledger {
  readonly limits: Limits;
  /** What calls took, as their providers report it. */
  readonly spent: Amount;
  /** What calls may have taken whose outcome is not known: cut, lost, cancelled. Counts like `spent`. */
  readonly uncertain: Amount;
  readonly reserved: readonly { readonly id: string; readonly amount: Amount }[];
  /** Reading of the active-time meter. Only the runtime reads clocks. */
  readonly activeMs: number;
  /** The latest time that the run was told, in ms since the epoch: what a deadline is held against. 0: none yet. */
  readonly clockMs: number;
  readonly toolCalls: readonly { readonly tool: string; readonly calls: number }[];
}

export const openLedger = (limits: Limits): Ledger => ({
  limits,
  spent: nothing,
  uncertain: nothing,
  reserved: [],
  activeMs: 0,
  clockMs: 0,
  toolCalls: [],
});

/** Spent, uncertain and set aside, together: what a new call has to fit beside. */
export const committed = ({ spent, uncertain, reserved }: Ledger): Amount =>
  reserved.reduce((sum, { amount }) => add(sum, amount), add(spent, uncertain));

const fitsOf = (after: Amount): readonly (readonly [keyof Limits, number])[] => [
  ['maxTurns', after.turns],
  ['maxInputTokens', after.inputTokens],
  ['maxOutputTokens', after.outputTokens],
  ['maxTotalTokens', after.inputTokens + after.outputTokens],
  ['maxCostMicros', after.costMicros],
];

/** The first limit that `amount` on top of everything committed would pass, or null when it fits. */
export function limitPassedBy(ledger: Ledger, amount: Amount): LimitReached | null {
  for (const [name, used] of fitsOf(add(committed(ledger), amount))) {
    const max = ledger.limits[name];
    if (max !== null && used > max) return { name, used, max };
  }
  const { maxActiveMs } = ledger.limits;
  if (maxActiveMs !== null && ledger.activeMs >= maxActiveMs) {
    return { name: 'maxActiveMs', used: ledger.activeMs, max: maxActiveMs };
  }
  return null;
}

/**
 * Limits of which at least this share is used, most used first. For warnings before the end. What is only set aside
 * does not count: a reservation takes all the room there is, whatever the call will use of it.
 */
export function limitsNear(ledger: Ledger, share: number): readonly LimitReached[] {
  const used: readonly (readonly [LimitName & keyof Limits, number])[] = [
    ...fitsOf(add(ledger.spent, ledger.uncertain)),
    ['maxActiveMs', ledger.activeMs],
    ['maxToolCalls', totalToolCalls(ledger)],
  ];
  return used
    .flatMap(([name, amount]) => {
      const max = ledger.limits[name];
      return max !== null && max > 0 && amount >= max * share ? [{ name, used: amount, max }] : [];
    })
    .sort((a, b) => b.used / b.max - a.used / a.max);
}

const withoutReservation = ({ reserved }: Ledger, id: string): Ledger['reserved'] =>
  reserved.filter((entry) => entry.id !== id);

export const reserve = (ledger: Ledger, id: string, amount: Amount): Ledger => ({
  ...ledger,
  reserved: [...withoutReservation(ledger, id), { id, amount }],
});

export const reservedFor = ({ reserved }: Ledger, id: string): Amount | null =>
  reserved.find((entry) => entry.id === id)?.amount ?? null;

/** Replaces a reservation by what was used. Does nothing without one, so nothing is ever settled twice. */
export function settle(ledger: Ledger, id: string, used: Amount): Ledger {
  if (reservedFor(ledger, id) === null) return ledger;
  const spent = add(ledger.spent, used);
  return { ...ledger, reserved: withoutReservation(ledger, id), spent };
}

/** Charges a whole reservation: the call's outcome is not known. `but` is left out of the charge. */
export function charge(ledger: Ledger, id: string, but: Partial<Amount> = {}): Ledger {
  const held = reservedFor(ledger, id);
  if (held === null) return ledger;
  const uncertain = add(ledger.uncertain, { ...held, ...but });
  return { ...ledger, reserved: withoutReservation(ledger, id), uncertain };
}

export const release = (ledger: Ledger, id: string): Ledger => settle(ledger, id, nothing);

export const readMeter = (ledger: Ledger, activeMs: number): Ledger =>
  activeMs > ledger.activeMs ? { ...ledger, activeMs } : ledger;

export const readClock = (ledger: Ledger, clockMs: number): Ledger =>
  clockMs > ledger.clockMs ? { ...ledger, clockMs } : ledger;

/** The deadline that has passed, or null. */
export function deadlinePassed({ limits, clockMs }: Ledger): LimitReached | null {
  const { deadlineAt } = limits;
  if (deadlineAt === null || clockMs < deadlineAt) return null;
  return { name: 'deadlineAt', used: clockMs, max: deadlineAt };
}

export const callsOf = ({ toolCalls }: Ledger, tool: string): number =>
  toolCalls.find((entry) => entry.tool === tool)?.calls ?? 0;

export const totalToolCalls = ({ toolCalls }: Ledger): number =>
  toolCalls.reduce((sum, { calls }) => sum + calls, 0);

export function countCall(ledger: Ledger, tool: string): Ledger {
  const isKnown = ledger.toolCalls.some((entry) => entry.tool === tool);
  const toolCalls = isKnown
    ? ledger.toolCalls.map((entry) =>
        entry.tool === tool ? { tool, calls: entry.calls + 1 } : entry,
      )
    : [...ledger.toolCalls, { tool, calls: 1 }];
  return { ...ledger, toolCalls };
}

export const raiseLimits = (ledger: Ledger, limits: Partial<Limits>): Ledger =>
  update(ledger, (draft) => {
    Object.assign(draft.limits, limits);
  });
