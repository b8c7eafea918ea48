/** The models of a scenario: the scripted model of the package, with a meter that is not the run's. */
import {
  type ContentBlock,
  type Model,
  type ModelReply,
  type ModelRequest,
  ProviderError,
  type Usage,
} from 'pawl';
import { type Script, type ScriptedReply, scriptedModel } from 'pawl/testing';
import { requestBody } from '../../src/providers/anthropic-request.ts';
import { requestProblems } from '../../src/testing/request-rules.ts';
import { checkRoom, checkShape } from './check-request.ts';
import type { MessagePlan, ModelPlan, RatePlan, ReplyPlan, UsePlan } from './scenario.ts';
import { inputOf, tokensOfContent, tokensOfRequest } from './tokens.ts';
import { type Attempt, isResumed, see, type World } from './world.ts';

const lastWord: MessagePlan = {
  kind: 'message',
  text: 'That is all.',
  thinking: null,
  isUnsigned: false,
  uses: [],
  stopReason: null,
  hiddenPercent: 0,
  reportsUsage: true,
  cachePercents: [0, 0, 0],
};

/** All models of a scenario play one script together. `life` says which life of the run is asking. */
export function scriptedModels(world: World, life: () => number): readonly [Model, ...Model[]] {
  const script = [...world.scenario.script];
  const sentIds = new Set<string>();
  const next = (): ReplyPlan => script.shift() ?? lastWord;
  const [first, ...others] = world.scenario.models.map((plan, index) =>
    meteredModel({ world, life, next, sentIds }, plan, index),
  );
  if (!first) throw new Error('A scenario has a model.');
  return [first, ...others];
}

interface Stage {
  readonly world: World;
  readonly life: () => number;
  readonly next: () => ReplyPlan;
  readonly sentIds: Set<string>;
}

function meteredModel(stage: Stage, plan: ModelPlan, index: number): Model {
  const { world } = stage;
  let current: ReplyPlan = lastWord;
  let room = { content: [] as readonly ContentBlock[], stopReason: '', maxTokens: 0 };
  const script: Script = (): ScriptedReply => {
    if (current.kind === 'message') return room;
    if (current.kind === 'error') return httpError(current);
    if (current.kind === 'cut') return { stream: openStream(current.events) };
    return {
      stream: [...openStream(current.kind === 'hang' ? current.events : 0), { $hang: true }],
    };
  };
  const inner = scriptedModel(script, {
    id: `model-${index}`,
    price: priceOf(plan),
    maxOutputTokens: plan.maxOutputTokens,
    minOutputTokens: plan.minOutputTokens,
  });
  return {
    ...inner,
    async call(request, options) {
      const attempt = noteAttempt(stage, plan, index, request);
      current = stage.next();
      see(world, `reply ${current.kind}`);
      try {
        if (current.kind === 'broken') throw new TypeError('A provider that breaks its contract');
        if (current.kind === 'tooLong') throw tooLong();
        if (current.kind === 'message') room = speak(stage, plan, current, request.maxTokens);
        const reply = await inner.call(request, options);
        return noteReply(attempt, reply, usageOf(current, plan, attempt, reply));
      } catch (error) {
        attempt.outcome = error instanceof ProviderError && !error.mayHaveBilled ? 'free' : 'cut';
        throw error;
      }
    },
  };
}

function noteAttempt(
  { world, life }: Stage,
  plan: ModelPlan,
  model: number,
  request: ModelRequest,
): Attempt {
  const attempt: Attempt = {
    life: life(),
    model,
    inputTokens: tokensOfRequest(plan.tokenizer, request),
    maxTokens: request.maxTokens,
    isWrapUp: request.toolChoice === 'none',
    streams: request.streams,
    outcome: 'open',
    usage: null,
    text: '',
    stopReason: '',
    ownIds: [],
    uses: 0,
    mark: markOf(world.attempts.length + 1),
  };
  const settings = {
    model: `model-${model}`,
    caching: '5m',
    serverTools: [],
    thinking: { type: 'adaptive' },
    extraBody: {},
  } as const;
  const problems = requestProblems(requestBody(request, settings), world.sent);
  world.problems.push(...problems.map((problem) => `request: ${problem}`));
  if (world.cancelledLife === attempt.life)
    world.problems.push('cancel: a model was asked after it');
  checkShape(world, plan, request);
  checkRoom(world, attempt);
  world.attempts.push(attempt);
  if (isResumed(world)) see(world, 'request after a resume');
  if (model > 0) see(world, 'fallback asked');
  if (!request.streams) see(world, 'asked without a stream');
  return attempt;
}

function noteReply(attempt: Attempt, reply: ModelReply, usage: Usage): ModelReply {
  attempt.outcome = 'replied';
  attempt.usage = inputOf(usage) > 0 ? usage : null;
  attempt.text = reply.content.map((block) => (block.type === 'text' ? block.text : '')).join('');
  attempt.stopReason = reply.stopReason;
  const uses = reply.content.flatMap((block) => (block.type === 'tool_use' ? [block.id] : []));
  attempt.uses = uses.length;
  attempt.ownIds = uses.filter((id) => id.startsWith('toolu_'));
  return { ...reply, usage };
}

/** The reply as far as there is room for it, and what stops it. */
function speak(stage: Stage, { tokenizer }: ModelPlan, plan: MessagePlan, maxTokens: number) {
  const { world } = stage;
  const whole = contentOf(plan, world.attempts.length);
  const content: ContentBlock[] = [];
  for (const block of whole) {
    if (tokensOfContent(tokenizer, [...content, block]) > maxTokens) break;
    content.push(block);
  }
  const isCut = content.length < whole.length;
  if (isCut) see(world, 'reply cut by its room');
  const hasUse = content.some(({ type }) => type === 'tool_use');
  const stopReason = isCut ? 'max_tokens' : (plan.stopReason ?? (hasUse ? 'tool_use' : 'end_turn'));
  see(world, `stop ${stopReason}`);
  noteSent(stage, content, stopReason);
  return { content, stopReason, maxTokens };
}

function contentOf(plan: MessagePlan, number: number): readonly ContentBlock[] {
  const signature = plan.isUnsigned ? '' : `signature-${number}`;
  // The rules tell whose thinking it is by the calls around it: a paused reply without any has none.
  const isPaused = plan.stopReason === 'pause_turn' || plan.stopReason === 'compaction';
  return [
    ...(plan.thinking === null || isPaused
      ? []
      : [{ type: 'thinking', thinking: plan.thinking, signature } as const]),
    ...(plan.text === null ? [] : [{ type: 'text', text: marked(plan.text, number) } as const]),
    ...plan.uses.map((use, index) => toolUse(use, `toolu_${number}_${index}`)),
  ];
}

const markOf = (number: number): string => `(reply ${number})`;

/** Blank texts stay blank. */
const marked = (text: string, number: number): string =>
  text.trim() === '' ? text : `${text} ${markOf(number)}`;

const inputs = {
  valid: { n: 1 },
  other: { n: 2 },
  padded: { n: 1, pad: 'é🙂'.repeat(30) },
  wrong: { n: 'one' },
  empty: {},
  notJson: { INVALID_JSON: '{"n":' },
} as const;

const toolUse = ({ tool, input, id }: UsePlan, ownId: string): ContentBlock => ({
  type: 'tool_use',
  id: id ?? ownId,
  name: typeof tool === 'number' ? `tool_${tool}` : tool,
  input: inputs[input],
});

/**
 * What a later request must agree with. Not the calls of messages that share an id, which the run renames, nor
 * thinking without a signature, which can't go back.
 */
function noteSent(
  { world, sentIds }: Stage,
  content: readonly ContentBlock[],
  stopReason: string,
): void {
  const ids = content.flatMap((block) => (block.type === 'tool_use' ? [block.id] : []));
  const shared = new Set(
    ids.filter((id, at) => sentIds.has(id) || ids.indexOf(id) !== at || !/^[\w-]+$/.test(id)),
  );
  for (const id of ids) sentIds.add(id);
  const kept = content.filter((block) => block.type !== 'thinking' || block.signature !== '');
  const { model = 0 } = world.attempts.at(-1) ?? {};
  world.sent.push({ content: kept, stop_reason: stopReason, model: `model-${model}` });
  if (shared.size === 0) return;
  see(world, 'id renamed');
  const isShared = (block: unknown) => shared.has(String((block as { id?: unknown }).id));
  world.sent.forEach((message, index) => {
    if (!message.content.some(isShared)) return;
    const withoutCalls = message.content.filter((block) => !Object.hasOwn(block as object, 'name'));
    world.sent[index] = { ...message, content: withoutCalls };
  });
}

const usageOfNothing: Usage = {
  inputTokens: 0,
  outputTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  cacheWriteLongTokens: 0,
};

/** Tokens as a provider would count them: never more than the request and its room. */
function usageOf(
  reply: ReplyPlan,
  { tokenizer }: ModelPlan,
  attempt: Attempt,
  { content }: ModelReply,
): Usage {
  const plan = reply.kind === 'message' ? reply : lastWord;
  if (!plan.reportsUsage) return { ...usageOfNothing };
  const [read, write, long] = plan.cachePercents;
  const share = (tokens: number, percent: number): number => Math.floor((tokens * percent) / 100);
  const cacheReadTokens = share(attempt.inputTokens, read);
  const cacheWriteTokens = share(attempt.inputTokens - cacheReadTokens, write);
  const written = tokensOfContent(tokenizer, content);
  const usage: Usage = {
    inputTokens: attempt.inputTokens - cacheReadTokens - cacheWriteTokens,
    cacheReadTokens,
    cacheWriteTokens,
    cacheWriteLongTokens: share(cacheWriteTokens, long),
    outputTokens: written + share(attempt.maxTokens - written, plan.hiddenPercent),
  };
  if (inputOf(usage) !== attempt.inputTokens) throw new Error('The usage does not add up.');
  return usage;
}

const usd = (perBillion: number): number => perBillion / 1_000;

function ratesOf({ input, output, cacheRead, cacheWrite, cacheWriteLong }: RatePlan) {
  return {
    input: usd(input),
    output: usd(output),
    ...(cacheRead !== null && { cacheRead: usd(cacheRead) }),
    ...(cacheWrite !== null && { cacheWrite: usd(cacheWrite) }),
    ...(cacheWriteLong !== null && { cacheWriteLong: usd(cacheWriteLong) }),
  };
}

const priceOf = ({ rates, tiers }: ModelPlan) => ({
  ...ratesOf(rates),
  tiers: tiers.map((tier) => ({ ...ratesOf(tier), aboveInputTokens: tier.aboveInputTokens })),
});

const httpError = ({ status, hasRetryAfter }: { status: number; hasRetryAfter: boolean }) => ({
  error: {
    status,
    type: 'error',
    message: `Status ${status}`,
    ...(hasRetryAfter && { headers: { 'retry-after': '0' } }),
  },
});

const tooLong = (): ProviderError =>
  new ProviderError('context_exceeded', 'prompt is too long', {
    isRetryable: false,
    mayHaveBilled: false,
  });

/** The beginning of a reply that says something, and has no end. */
const openStream = (events: number): readonly unknown[] =>
  [
    { type: 'message_start', message: {} },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'I was ' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'about to' } },
  ].slice(0, events);
