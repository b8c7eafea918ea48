/** What really happened in a scenario, noted by the model, the tools and the people in it, not by the run. */
import type { Budget, Message, RunEvent, RunResult, Usage } from 'pawl';
import type { SentMessage } from '../../src/testing/script.ts';
import type { Scenario } from './scenario.ts';

/** A request that a model got. */
export interface Attempt {
  readonly life: number;
  readonly model: number;
  readonly inputTokens: number;
  readonly maxTokens: number;
  readonly isWrapUp: boolean;
  readonly streams: boolean;
  /** `free`: refused, and not billed. `cut`: may have been billed up to its worst. */
  outcome: 'open' | 'replied' | 'free' | 'cut';
  /** Null: it did not reply, or did not say. */
  usage: Usage | null;
  text: string;
  stopReason: string;
  /** Ids of the tool uses in its reply that no other reply has. */
  ownIds: readonly string[];
  uses: number;
  /** What marks its texts, which are its own. */
  readonly mark: string;
}

/** A tool's body that began. */
export interface Body {
  readonly life: number;
  readonly tool: number;
  readonly callId: string;
  readonly key: string;
  readonly attempt: number;
  readonly input: string;
  readonly at: number;
  readonly signal: AbortSignal;
  /** `late`: it returned when nobody waited any more. */
  state: 'running' | 'returned' | 'threw' | 'late';
  readonly costMicros: number;
}

/** A person's yes: to a call, with arguments of theirs or the model's, of the tool as it was described then. */
export interface Grant {
  readonly callId: string;
  readonly input: string | null;
  readonly description: number;
  readonly at: number;
  isRefused: boolean;
}

export interface World {
  readonly scenario: Scenario;
  readonly attempts: Attempt[];
  readonly bodies: Body[];
  readonly grants: Grant[];
  readonly personRetries: Map<string, number>;
  readonly denied: Set<string>;
  /** What the models sent, as far as later requests must agree with it. */
  readonly sent: SentMessage[];
  /** Events by life: a life is the time from a start or a resume to an end, a suspension or a crash. */
  readonly events: RunEvent[][];
  readonly ends: ('ended' | 'suspended' | 'crashed')[];
  /** Limits as people have set them last. */
  limits: Budget;
  /** Moments, for what has to come before what. */
  clock: number;
  result: RunResult | null;
  finalMessages: readonly Message[];
  /** The life that was cancelled: from then on nothing may begin in it. */
  cancelledLife: number | null;
  /** What is wrong with this world. */
  readonly problems: string[];
  /** What happened how often, for the coverage. */
  readonly seen: Map<string, number>;
}

export const createWorld = (scenario: Scenario): World => ({
  scenario,
  attempts: [],
  bodies: [],
  grants: [],
  personRetries: new Map(),
  denied: new Set(),
  sent: [],
  events: [],
  ends: [],
  limits: {
    maxTurns: 50,
    maxRepeats: 3,
    maxMalformedReplies: 3,
    ...scenario.budget,
    ...(scenario.deadlineAfterMs !== null && { deadlineAt: Date.now() + scenario.deadlineAfterMs }),
  },
  clock: 0,
  result: null,
  finalMessages: [],
  cancelledLife: null,
  problems: [],
  seen: new Map(),
});

export function see(world: World, what: string, times = 1): void {
  if (times > 0) world.seen.set(what, (world.seen.get(what) ?? 0) + times);
}

export function tick(world: World): number {
  world.clock += 1;
  return world.clock;
}

/** A run that time may end at any moment. */
export const isTimed = ({ limits }: World): boolean =>
  limits.maxActiveMs !== undefined || limits.deadlineAt !== undefined;

export const isResumed = ({ events }: World): boolean => events.length > 1;

/** Node 20 has no `Map.groupBy`. */
export function groupBy<Value>(
  values: readonly Value[],
  keyOf: (value: Value) => string,
): ReadonlyMap<string, readonly Value[]> {
  const groups = new Map<string, Value[]>();
  for (const value of values) {
    const group = groups.get(keyOf(value));
    if (group) group.push(value);
    else groups.set(keyOf(value), [value]);
  }
  return groups;
}
