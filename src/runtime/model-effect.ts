import type { AttemptInput } from '../../machines/model-call.ts';
import { copyJson } from '../core/copy-json.ts';
import { toFailure } from '../core/errors.ts';
import { goneTools } from '../core/gone-tools.ts';
import { requestHistory } from '../core/history.ts';
import { costMicros, usdOfMicros } from '../core/price.ts';
import type { AttemptOutcome, ModelReply } from '../core/reply.ts';
import { delayBeforeRetryMs } from '../core/retry.ts';
import type { ModelSettings, RunContext } from '../core/run-context.ts';
import type { AttemptRef, UnaddressedEvent } from '../core/run-event.ts';
import { describeThrown } from '../core/stringify.ts';
import { wellFormedJson } from '../core/well-formed-json.ts';
import { type Delta, type Model, type ModelRequest, ProviderError } from '../providers/provider.ts';
import type { AgentParts } from './agent-parts.ts';
import { checkReply } from './check-reply.ts';
import { type EffectArgs, effect, type Unmetered } from './effect.ts';
import { contextOf, servicesOf } from './services.ts';

/** One request to a model, and what came of it. */
export function attemptEffect(parts: AgentParts) {
  const fixed = fixedParts(parts);
  return effect<AttemptOutcome, AttemptInput>((args) => attempt(parts, fixed, args), {
    kind: 'lost',
  });
}

/** What is the same in all requests of an agent. */
const fixedParts = ({ system, toolSpecs }: AgentParts) => ({
  system: wellFormedJson(system),
  tools: wellFormedJson(toolSpecs),
});

async function attempt(
  parts: AgentParts,
  fixed: ReturnType<typeof fixedParts>,
  { input, signal, self }: EffectArgs<AttemptInput>,
): Promise<Unmetered<AttemptOutcome>> {
  const context = contextOf(self);
  const settings = context.settings.models[input.model] ?? context.settings.models[0];
  const model = modelFor(parts, settings, input.model);
  const ref: AttemptRef = { turn: input.turn, attempt: input.attempt, model: settings.id };
  const { emit } = servicesOf(self);

  const stopped = (): void => emit({ type: 'model.stopped', ...ref });
  // Whoever hears an event may cancel the run in it: each attempt still gets one end.
  const end = (event: UnaddressedEvent): void => {
    signal.removeEventListener('abort', stopped);
    emit(event);
  };
  signal.addEventListener('abort', stopped, { once: true });
  try {
    emit({ type: 'model.started', ...ref });
    signal.throwIfAborted();
    const answer = await model.call(requestFor(parts, fixed, context, input, settings.id), {
      signal,
      onDelta: (delta) => {
        if (!signal.aborted) emit(deltaEvent(delta, ref));
      },
    });
    signal.throwIfAborted();
    const checked = checkReply(answer);
    const reply = { ...checked, content: copyJson(checked.content) };
    end(repliedEvent(reply, settings, ref));
    return { kind: 'reply', reply };
  } catch (error) {
    signal.throwIfAborted();
    const outcome = failed(parts, context, input, error);
    const { failure, isRetryable, retryAt } = outcome;
    end({ type: 'model.failed', ...ref, failure, isRetryable, retryAt });
    return outcome;
  } finally {
    signal.removeEventListener('abort', stopped);
  }
}

/** The agent's model of that name, wherever it stands now; else the one that took its place. */
const modelFor = ({ models }: AgentParts, { id, provider }: ModelSettings, index: number): Model =>
  models.find((model) => model.id === id && model.provider === provider) ??
  models[index] ??
  models[0];

function requestFor(
  parts: AgentParts,
  { system, tools }: ReturnType<typeof fixedParts>,
  context: RunContext,
  input: AttemptInput,
  model: string,
): ModelRequest {
  const isFirst = input.kind === 'turn' && input.turn === 1;
  const messages = requestHistory(context.messages, model);
  return {
    system,
    messages,
    tools: tools.length > 0 ? tools : goneTools(messages),
    toolChoice: input.kind === 'wrapUp' ? 'none' : isFirst ? parts.toolChoice : 'auto',
    maxTokens: context.replyCap,
    streams: parts.streams && input.streams,
    container: wellFormedJson(context.container),
  };
}

function deltaEvent({ type, index, text }: Delta, ref: AttemptRef): UnaddressedEvent {
  return { type: `${type}.delta`, index, text, ...ref };
}

const repliedEvent = (
  { stopReason, usage }: ModelReply,
  { price }: ModelSettings,
  ref: AttemptRef,
): UnaddressedEvent => ({
  type: 'model.replied',
  stopReason,
  usage,
  costUsd: price ? usdOfMicros(costMicros(price, usage)) : null,
  ...ref,
});

function failed(
  parts: AgentParts,
  { settings }: RunContext,
  { attempt }: AttemptInput,
  thrown: unknown,
): Extract<AttemptOutcome, { kind: 'failed' }> extends infer Outcome
  ? Omit<Outcome, 'activeMs'> & { readonly kind: 'failed' }
  : never {
  const error = thrown instanceof ProviderError ? thrown : unexpected(thrown);
  const delayMs = delayBeforeRetryMs(settings.retry, attempt, parts.random(), error.retryAfterMs);
  return {
    kind: 'failed',
    failure: toFailure(error),
    isRetryable: error.isRetryable,
    mayHaveBilled: error.mayHaveBilled,
    isStreamTrouble: error.isStreamTrouble,
    retryAt: parts.now() + delayMs,
  };
}

/** A provider that breaks its contract: not retried, and charged, since nobody knows what happened. */
const unexpected = (thrown: unknown): ProviderError =>
  new ProviderError('provider_error', describeThrown(thrown), {
    isRetryable: false,
    mayHaveBilled: true,
    cause: thrown,
  });
