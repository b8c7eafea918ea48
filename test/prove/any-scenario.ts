/** Generates scenarios. Limits are tight, scripts are rude, and people do everything at the wrong moment. */
import * as fc from 'fast-check';
import type { Budget, Message } from 'pawl';
import type {
  Intervention,
  MessagePlan,
  ModelPlan,
  RatePlan,
  ReplyPlan,
  Scenario,
  ToolPlan,
  UsePlan,
} from './scenario.ts';

/** Null, or a value in this share of the cases. */
const maybe = <Value>(value: fc.Arbitrary<Value>, percent = 25): fc.Arbitrary<Value | null> =>
  fc.oneof(
    { weight: 100 - percent, arbitrary: fc.constant(null) },
    { weight: percent, arbitrary: value },
  );

const oneOf = <const Value>(...values: readonly Value[]): fc.Arbitrary<Value> =>
  fc.constantFrom(...values);

const limit = (value: fc.Arbitrary<number>): fc.Arbitrary<number | null> => maybe(value, 20);

const between = (min: number, max: number): fc.Arbitrary<number> => fc.integer({ min, max });

const budget: fc.Arbitrary<Budget> = fc
  .record({
    maxTurns: maybe(between(0, 7), 40),
    maxInputTokens: limit(between(1_500, 25_000)),
    maxOutputTokens: limit(between(0, 1_500)),
    maxTotalTokens: limit(between(1_500, 25_000)),
    maxCostUsd: limit(between(0, 150_000).map((micros) => micros / 1_000_000)),
    maxActiveMs: maybe(oneOf(0, 1, 3, 8), 10),
    maxToolCalls: limit(between(0, 5)),
    maxRepeats: maybe(oneOf(1, 2, 3, 4, Number.POSITIVE_INFINITY)),
    maxMalformedReplies: maybe(oneOf(1, 2, 4)),
  })
  .map((limits) => Object.fromEntries(Object.entries(limits).filter(([, max]) => max !== null)));

const rate = between(0, 250).map((step) => step * 40);

const rates: fc.Arbitrary<RatePlan> = fc.record({
  input: rate,
  output: rate,
  cacheRead: maybe(rate, 50),
  cacheWrite: maybe(rate, 50),
  cacheWriteLong: maybe(rate, 50),
});

const tier = fc
  .tuple(rates, between(500, 4_000))
  .map(([own, aboveInputTokens]) => ({ ...own, aboveInputTokens }));

const model: fc.Arbitrary<ModelPlan> = fc.record({
  rates,
  // Which of two tiers from one threshold on is meant, nobody can say.
  tiers: fc.uniqueArray(tier, { maxLength: 2, selector: (own) => own.aboveInputTokens }),
  minOutputTokens: between(1, 40),
  maxOutputTokens: fc.oneof(between(60, 300), between(300, 1_500)),
  // The dearest often: a bound that is too low by little shows only there.
  tokenizer: fc.oneof(
    fc.constant({ percentOfBytes: 100, perBlock: 24, perMessage: 16, perRequest: 764 }),
    fc.record({
      percentOfBytes: oneOf(100, 60, 25),
      perBlock: oneOf(24, 3, 0),
      perMessage: oneOf(16, 4),
      perRequest: oneOf(764, 300, 0),
    }),
  ),
});

const behaviour = fc.oneof(
  { weight: 5, arbitrary: oneOf('return', 'slow') },
  { weight: 2, arbitrary: oneOf('throw', 'throwAtOnce', 'returnError', 'returnMuch') },
  { weight: 1, arbitrary: oneOf('hang', 'neverSettle') },
);

/** Only its time limit ends it. */
const isEndless = (behaviour: string | null): boolean =>
  behaviour === 'hang' || behaviour === 'neverSettle';

const tool: fc.Arbitrary<ToolPlan> = fc
  .record({
    effect: oneOf('read', 'idempotent', 'once', 'once'),
    probe: maybe(oneOf('truth', 'truth', 'truth', 'unknown', 'throw', 'neverSettle'), 50),
    onInterrupted: oneOf('ask', 'ask', 'report'),
    maxCalls: maybe(between(1, 3)),
    maxRetries: between(0, 2),
    concurrency: maybe(between(1, 2)),
    maxCostMicros: oneOf(0, 0, 900, 6_000),
    isRepeatable: fc.boolean(),
    timeoutMs: oneOf(2, 5, 60_000),
    behaviours: fc.array(behaviour, { minLength: 1, maxLength: 4 }),
    costPercent: oneOf(100, 50, 0),
  })
  .map((plan) => ({
    ...plan,
    maxRetries: plan.effect === 'once' ? 0 : plan.maxRetries,
    // Whoever hangs has to be stopped by something.
    timeoutMs: [...plan.behaviours, plan.probe].some(isEndless)
      ? Math.min(plan.timeoutMs, 5)
      : plan.timeoutMs,
  }));

const use: fc.Arbitrary<UsePlan> = fc.record({
  tool: fc.oneof(
    { weight: 8, arbitrary: oneOf(0, 0, 0, 1, 1, 2) },
    { weight: 1, arbitrary: oneOf('toolt_0', 'nobody', '__proto__') },
  ),
  input: fc.oneof(
    { weight: 8, arbitrary: oneOf('valid', 'other', 'padded') },
    { weight: 2, arbitrary: oneOf('wrong', 'empty', 'notJson') },
  ),
  id: maybe(oneOf('same', 'same', 'not legal!', ''), 12),
});

const percent = oneOf(0, 0, 30, 100);

const details = {
  thinking: maybe(oneOf('Hm.', 'Let me see. まず…')),
  isUnsigned: oneOf(false, false, true),
  hiddenPercent: percent,
  reportsUsage: maybe(fc.constant(false), 5).map((no) => no !== false),
  cachePercents: fc.tuple(percent, percent, percent),
};

const talk: fc.Arbitrary<MessagePlan> = fc.record({
  kind: fc.constant('message'),
  text: maybe(oneOf('Fertig.', ' \n ', '', '🙂 '.repeat(20), 'A longer answer. '.repeat(12)), 85),
  uses: fc.constant([]),
  stopReason: maybe(
    oneOf(
      'max_tokens',
      'max_tokens',
      'pause_turn',
      'refusal',
      'stop_sequence',
      'model_context_window_exceeded',
      'tool_use',
      'brand_new_reason',
      'compaction',
    ),
    35,
  ),
  ...details,
});

const work: fc.Arbitrary<MessagePlan> = fc.record({
  kind: fc.constant('message'),
  text: maybe(oneOf('I look it up.', ' ')),
  uses: fc.array(use, { minLength: 1, maxLength: 4 }),
  stopReason: maybe(oneOf('max_tokens', 'end_turn', 'refusal', 'pause_turn', 'new_reason'), 12),
  ...details,
});

const trouble: fc.Arbitrary<ReplyPlan> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('error'),
      status: oneOf(429, 500, 529, 529, 400, 401),
      hasRetryAfter: fc.boolean(),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant('cut'), events: between(0, 4) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('hang'), events: between(0, 4) }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'broken' }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'tooLong' }) },
);

/** Some replies come again and again: loops. */
const script: fc.Arbitrary<readonly ReplyPlan[]> = fc
  .array(
    fc.tuple(
      fc.oneof(
        { weight: 8, arbitrary: work },
        { weight: 3, arbitrary: talk },
        { weight: 3, arbitrary: trouble },
      ),
      oneOf(1, 1, 1, 1, 2, 5),
    ),
    { minLength: 1, maxLength: 7 },
  )
  .map((parts) => parts.flatMap(([reply, times]) => Array.from({ length: times }, () => reply)));

const intervention: fc.Arbitrary<Intervention> = fc.record({
  at: fc.oneof(
    between(1, 50),
    oneOf(
      'model.started',
      'text.delta',
      'model.replied',
      'model.failed',
      'tool.started',
      'tool.started',
      'tool.started',
      'tool.started',
      'tool.settled',
      'approval.wanted',
    ),
  ),
  isAtOnce: fc.boolean(),
  kind: oneOf('cancel', 'abort', 'pause', 'steer', 'steer', 'raise', 'crash', 'crash', 'suspend'),
});

const decision = fc.record({
  what: oneOf(
    'grant',
    'grant',
    'grant',
    'deny',
    'edit',
    'wrongHash',
    'wrongEdit',
    'twice',
    'never',
  ),
  afterTicks: between(0, 4),
});

const policies = [
  ...['allow', 'allow', 'allow', 'byEffect', 'byEffect', 'ask', 'ask'],
  ...['denyFirst', 'throwing'],
] as readonly Scenario['permissions'][];

const text = (value: string) => ({ type: 'text', text: value }) as const;

/** Earlier messages, as a careless caller might keep them. */
const histories: readonly (readonly Message[])[] = [
  [],
  [],
  [],
  [
    { role: 'user', content: [text('Hello?')] },
    { role: 'assistant', content: [text('Hello.')] },
  ],
  [
    { role: 'user', content: [text('Well?'), text(' ')] },
    { role: 'assistant', content: [text(''), text('Well.')] },
    { role: 'assistant', content: [text('\n')] },
  ],
  [
    { role: 'user', content: [text('Look.')] },
    {
      role: 'assistant',
      content: ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'].map((id) => ({
        type: 'tool_use',
        id,
        name: 'tool_0',
        input: {},
      })),
    },
  ],
];

/** After a compaction nobody knows the ids that were used before it, so a model that repeats one is not held to it. */
const withOwnIds =
  (isWanted: boolean) =>
  (reply: ReplyPlan): ReplyPlan =>
    isWanted && reply.kind === 'message'
      ? { ...reply, uses: reply.uses.map((each) => ({ ...each, id: null })) }
      : reply;

const scenario: fc.Arbitrary<Scenario> = fc
  .record({
    budget,
    deadlineAfterMs: maybe(oneOf(-1, 1, 4, 12), 8),
    onLimit: oneOf('stop', 'wrapUp', 'ask'),
    onTruncated: oneOf('stop', 'continue'),
    models: fc.tuple(model, fc.array(model, { maxLength: 2 })),
    maxRetries: between(0, 2),
    streams: oneOf(true, true, true, false),
    tools: fc.array(tool, { minLength: 1, maxLength: 3 }),
    toolConcurrency: oneOf(1, 2, 8),
    permissions: oneOf(...policies),
    compaction: fc.oneof(
      { weight: 9, arbitrary: fc.constant('never' as const) },
      { weight: 2, arbitrary: oneOf('summary', 'same', 'invalid', 'throwing') },
    ),
    history: oneOf(...histories),
    script,
    decisions: fc.array(decision, { minLength: 1, maxLength: 4 }),
    interventions: fc.array(intervention, { maxLength: 3 }),
    onHang: oneOf('cancel', 'crash', 'suspend'),
    raises: between(0, 2),
    changesTools: fc.boolean(),
  })
  .map(({ models: [first, others], ...rest }) => ({ ...rest, models: [first, ...others] as const }))
  .map((plan) => ({ ...plan, script: plan.script.map(withOwnIds(plan.compaction !== 'never')) }));

/** Without fast-check's liking for the smallest and largest values: a run with a limit of 0 proves little. */
export const anyScenario: fc.Arbitrary<Scenario> = fc.noBias(scenario);
