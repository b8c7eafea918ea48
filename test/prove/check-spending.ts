/** Ceilings: what the run says it spent, and what models and tools really took, against the limits. */
import { amountsAgainst, billOfAttempt, billOfWorld } from './check-request.ts';
import { inputOf } from './tokens.ts';
import { type Attempt, isResumed, isTimed, see, type World } from './world.ts';

const micros = (usd: number): number => Math.round(usd * 1_000_000);

export function spendingProblems(world: World): readonly string[] {
  return [
    ...ceilingProblems(world),
    ...coverProblems(world),
    ...exactProblems(world),
    ...turnProblems(world),
    ...callProblems(world),
    ...limitProblems(world),
    ...wrapUpProblems(world),
  ];
}

const over = (who: string, amounts: ReturnType<typeof amountsAgainst>): readonly string[] =>
  amounts.flatMap(([name, used, max]) =>
    max !== undefined && used > max ? [`ceiling: ${who} passed ${name}: ${used} of ${max}`] : [],
  );

function ceilingProblems(world: World): readonly string[] {
  const { spend, uncertain } = resultOf(world).budget;
  if (uncertain.inputTokens > 0) see(world, 'uncertain tokens charged');
  if (uncertain.costUsd > 0) see(world, 'uncertain cost charged');
  const { inputTokens, outputTokens, costUsd } = spend;
  const told = { inputTokens, outputTokens, costMicros: micros(costUsd) };
  return [
    ...over('the result', amountsAgainst(world, told)),
    ...over('the bill', amountsAgainst(world, billOfWorld(world))),
  ];
}

/** Whatever was taken, or may have been, is counted. */
function coverProblems(world: World): readonly string[] {
  const { spend } = resultOf(world).budget;
  const bill = billOfWorld(world);
  const pairs = [
    ['input tokens', spend.inputTokens, bill.inputTokens],
    ['output tokens', spend.outputTokens, bill.outputTokens],
    ['micro-dollars', micros(spend.costUsd), bill.costMicros],
  ] as const;
  return pairs.flatMap(([what, told, billed]) =>
    told < billed ? [`cover: ${billed} ${what} were billed, ${told} are counted`] : [],
  );
}

/**
 * What is certain is exact. Not where a moment may have been lost between a reply and its place in the account: the
 * last reply before a cancel, and what a crash or the end of time cuts off.
 */
function exactProblems(world: World): readonly string[] {
  if (isResumed(world) || isTimed(world)) return [];
  const { status, usage, budget } = resultOf(world);
  const replied = world.attempts.filter(({ outcome }) => outcome === 'replied');
  const reported = replied.filter(({ usage: used }) => used !== null);
  const possible = status === 'cancelled' ? [reported, reported.slice(0, -1)] : [reported];
  const isExact = possible.some((attempts) => {
    const bills = attempts.map((attempt) => billOfAttempt(world, attempt));
    const input = bills.reduce((sum, bill) => sum + bill.inputTokens, 0);
    const output = bills.reduce((sum, bill) => sum + bill.outputTokens, 0);
    return (
      input === inputOf(usage) &&
      output === usage.outputTokens &&
      input === budget.spend.inputTokens - budget.uncertain.inputTokens &&
      output === budget.spend.outputTokens - budget.uncertain.outputTokens &&
      (status === 'cancelled' || isCostExact(world, attempts))
    );
  });
  return isExact
    ? []
    : [`exact: the usage is not what the models billed: ${JSON.stringify(usage)}`];
}

function isCostExact(world: World, attempts: readonly Attempt[]): boolean {
  const { spend, uncertain } = resultOf(world).budget;
  const calls = new Set(world.bodies.map(({ callId }) => callId)).size;
  const isCertain = world.bodies.every(({ state }) => state === 'returned');
  if (!isCertain || calls < world.bodies.length) return true;
  const models = attempts.reduce(
    (sum, attempt) => sum + billOfAttempt(world, attempt).costMicros,
    0,
  );
  const tools = world.bodies.reduce((sum, { costMicros }) => sum + costMicros, 0);
  return models + tools === micros(spend.costUsd) - micros(uncertain.costUsd);
}

function turnProblems(world: World): readonly string[] {
  const { turns } = resultOf(world).budget.spend;
  const { maxTurns = 50 } = world.limits;
  const started = new Set(
    world.events.flat().flatMap((event) => (event.type === 'model.started' ? [event.turn] : [])),
  );
  // A turn whose further attempts no budget is left for is not counted: it came to nothing.
  const unfinished = world.attempts.at(-1)?.outcome === 'replied' ? 0 : 1;
  const perTurn = (world.scenario.maxRetries + 1) * world.scenario.models.length;
  return [
    ...(turns > maxTurns ? [`ceiling: ${turns} turns of ${maxTurns}`] : []),
    ...(started.size > maxTurns ? [`ceiling: ${started.size} turns began of ${maxTurns}`] : []),
    ...(started.size - unfinished > turns
      ? [`cover: ${started.size} turns began, ${turns} are counted`]
      : []),
    ...(world.attempts.length > (turns + unfinished) * perTurn
      ? [`ceiling: ${world.attempts.length} requests in ${turns} turns`]
      : []),
  ];
}

function callProblems(world: World): readonly string[] {
  const { toolCalls } = resultOf(world).budget.spend;
  const { maxToolCalls = Number.POSITIVE_INFINITY } = world.limits;
  const begun = new Set(world.bodies.map(({ callId }) => callId)).size;
  const perTool = world.scenario.tools.map((plan, index) => ({
    most: plan.maxCalls ?? Number.POSITIVE_INFINITY,
    calls: new Set(world.bodies.flatMap(({ tool, callId }) => (tool === index ? [callId] : [])))
      .size,
  }));
  for (const { calls, most } of perTool) if (calls === most) see(world, 'maxCalls used up');
  return [
    ...(toolCalls > maxToolCalls ? [`ceiling: ${toolCalls} tool calls of ${maxToolCalls}`] : []),
    ...(begun > toolCalls ? [`cover: ${begun} tool calls began, ${toolCalls} are counted`] : []),
    ...perTool.flatMap(({ most, calls }, index) =>
      calls > most ? [`ceiling: ${calls} calls of tool_${index}, which may have ${most}`] : [],
    ),
  ];
}

/** A limit that ends a run was reached. */
function limitProblems(world: World): readonly string[] {
  const { status, limit, error } = resultOf(world);
  if (status !== 'exhausted') return [];
  if (!limit || !error) return ['limit: the run is exhausted, and nobody knows why'];
  see(world, `limit ${limit.name}`);
  return limit.used >= limit.max || limit.name === 'maxReplyTokens'
    ? []
    : [`limit: ${limit.name} ended the run at ${limit.used} of ${limit.max}`];
}

/** Where only turns are limited, the last one is always left for an answer. */
function wrapUpProblems(world: World): readonly string[] {
  const { status, limit } = resultOf(world);
  const { maxTurns: _turns, maxToolCalls: _calls, maxRepeats: _repeats, ...others } = world.limits;
  const { maxMalformedReplies: _malformed, ...amounts } = others;
  const isOwed =
    world.scenario.onLimit === 'wrapUp' &&
    status === 'exhausted' &&
    limit?.name === 'maxTurns' &&
    // As it was when the run ended: a raise may come too late.
    limit.max > 0 &&
    Object.keys(amounts).length === 0 &&
    !isResumed(world);
  if (!isOwed) return [];
  see(world, 'wrap-up owed');
  return world.attempts.some(({ isWrapUp }) => isWrapUp)
    ? []
    : ['wrap-up: the run ended at its limit of turns without a last answer'];
}

export function resultOf({ result }: World) {
  if (!result) throw new Error('The run has no result.');
  return result;
}
