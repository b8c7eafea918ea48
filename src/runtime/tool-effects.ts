import { type AnyActorRef, fromPromise } from 'xstate';
import type { ToolCallRef } from '../../machines/tool-call.ts';
import { openCall } from '../core/call-steps.ts';
import type { Json } from '../core/json.ts';
import { errorResult, type ToolResult, type ToolUse, toolUsesIn } from '../core/message.ts';
import { delayBeforeRetryMs } from '../core/retry.ts';
import type { RunOutcome, ToolCall, Validation, Verdict } from '../core/tool-call.ts';
import { argumentsHash } from '../tools/arguments-hash.ts';
import { decide, isDeniedStill } from '../tools/permissions.ts';
import type { Tool } from '../tools/tool.ts';
import { failureOf, resultOf, timeoutResult } from '../tools/tool-result.ts';
import type { AgentParts } from './agent-parts.ts';
import { type EffectArgs, effect, type Unmetered } from './effect.ts';
import { emitFrom } from './emit.ts';
import { raceTimeout, timedOut } from './race.ts';
import { contextOf, servicesOf } from './services.ts';

/** A tool use with what it takes to carry it out. */
interface Work {
  readonly use: ToolUse;
  readonly call: ToolCall | undefined;
  /** Undefined: today's agent no longer has the tool. */
  readonly tool: Tool | undefined;
  /** The arguments that will run: the model's, or those a person put in their place. */
  readonly input: Json;
  readonly runId: string;
  readonly turn: number;
}

function workOf({ tools }: AgentParts, self: AnyActorRef, callId: string): Work {
  const context = contextOf(self);
  const use = toolUsesIn(context.messages.at(-1)).find(({ id }) => id === callId);
  if (!use) throw new Error(`The transcript has no open tool use "${callId}".`);
  const call = openCall(context, callId);
  return {
    use,
    call,
    tool: tools.get(use.name),
    input: call?.editedInput ?? use.input,
    runId: context.settings.runId,
    turn: context.turn,
  };
}

const hashOf = ({ runId, use, tool }: Work, input: Json): string =>
  argumentsHash({ runId, callId: use.id, tool: tool ?? missingTool(use.name), input });

const missingTool = (name: string) => ({
  name,
  description: '',
  inputSchema: {},
  effect: 'once' as const,
});

export const validateInput = (parts: AgentParts) =>
  fromPromise<Validation, ToolCallRef>(async ({ input: { callId }, self }) => {
    const work = workOf(parts, self, callId);
    if (!work.tool) return { problem: missingToolResult(work) };
    const parsed = await work.tool.parse(work.use.input);
    return { problem: parsed.ok ? null : errorResult(callId, parsed.problem) };
  });

export const checkPermission = (parts: AgentParts) =>
  fromPromise<Verdict, ToolCallRef>(async ({ input: { callId }, self }) => {
    const work = workOf(parts, self, callId);
    const answer = await permissionFor(parts, work);
    if (answer === 'allow') return { kind: 'allow' };
    if (answer === 'ask') return { kind: 'ask', argumentsHash: hashOf(work, work.use.input) };
    return { kind: 'deny', result: deniedByPolicy(work) };
  });

async function permissionFor(parts: AgentParts, { tool, input }: Work) {
  const parsed = await tool?.parse(input);
  return tool && parsed?.ok ? decide(parts.permissions, tool, parsed.value) : 'deny';
}

const missingToolResult = ({ use }: Work) =>
  errorResult(use.id, `The tool ${use.name} no longer exists.`);

const deniedByPolicy = ({ use }: Work) =>
  errorResult(use.id, `Denied: the policy of this agent does not allow this call of ${use.name}.`);

export const acquireSlot = (parts: AgentParts) =>
  fromPromise<void, ToolCallRef>(({ input: { callId }, self, signal }) => {
    const { use, tool } = workOf(parts, self, callId);
    const most = tool?.concurrency ?? Number.POSITIVE_INFINITY;
    return servicesOf(self).slots.acquire(callId, use.name, most, signal);
  });

export const runTool = (parts: AgentParts) =>
  effect<RunOutcome, ToolCallRef>((args) => run(parts, args), { kind: 'lost' });

async function run(
  parts: AgentParts,
  args: EffectArgs<ToolCallRef>,
): Promise<Unmetered<RunOutcome>> {
  const { callId, approvedHash } = args.input;
  try {
    const work = workOf(parts, args.self, callId);
    if (!work.tool) return notRun(missingToolResult(work), 'notRun');
    const shown = hashOf(work, work.use.input);
    if (approvedHash !== null && approvedHash !== shown) {
      return { kind: 'stale', argumentsHash: shown };
    }
    const parsed = await work.tool.parse(work.input);
    if (!parsed.ok) return notRun(errorResult(callId, parsed.problem), 'malformed');
    // Arguments and policy may have changed since it was asked, and no person overrules a policy that denies.
    if (
      approvedHash !== null &&
      (await isDeniedStill(parts.permissions, work.tool, parsed.value))
    ) {
      return notRun(deniedByPolicy(work), 'denied');
    }
    return await callTool(parts, args, { ...work, tool: work.tool }, parsed.value);
  } finally {
    servicesOf(args.self).slots.release(callId);
  }
}

const notRun = (
  result: ToolResult,
  ending: 'denied' | 'malformed' | 'notRun',
): Unmetered<RunOutcome> => ({ kind: 'notRun', result, ending });

async function callTool(
  parts: AgentParts,
  { input: { callId, attempt }, signal, self }: EffectArgs<ToolCallRef>,
  { tool, input, call, runId, turn }: Work & { readonly tool: Tool },
  value: unknown,
): Promise<Unmetered<RunOutcome>> {
  // The run may have been stopped while the arguments were checked: then the body must not begin.
  signal.throwIfAborted();
  const emit = emitFrom(parts, self);
  const maxChars = tool.maxOutputChars ?? parts.maxOutputChars;
  const aborts = new AbortController();
  const abort = (): void => aborts.abort(signal.reason);
  signal.addEventListener('abort', abort, { once: true });
  try {
    emit({ type: 'tool.started', callId, name: tool.name, input, attempt });
    signal.throwIfAborted();
    const work = invoke(tool, value, {
      signal: aborts.signal,
      idempotencyKey: `${runId}/${turn}/${callId}`,
      runId,
      callId,
      attempt,
      progress: (told) => {
        if (!aborts.signal.aborted) emit({ type: 'tool.progress', callId, value: told });
      },
    });
    const output = await raceTimeout(work, tool.timeoutMs, signal);
    const { result, costMicros } = resultOf(callId, output, { maxChars });
    return { kind: 'done', result: withEditNotice(result, call), costMicros };
  } catch (error) {
    signal.throwIfAborted();
    const result =
      error === timedOut
        ? timeoutResult(callId, tool.name, tool.timeoutMs, tool.effect)
        : failureOf(callId, error, { maxChars });
    return { kind: 'failed', result, retryAt: retryAtFor(parts, self, attempt) };
  } finally {
    signal.removeEventListener('abort', abort);
    aborts.abort(new Error('The call is over.'));
  }
}

/** A tool may throw before it returns a promise, and return a value that is none. */
const invoke = async (tool: Tool, value: unknown, context: Parameters<Tool['run']>[1]) =>
  tool.run(value, context);

const retryAtFor = (parts: AgentParts, self: AnyActorRef, attempt: number): number =>
  parts.now() + delayBeforeRetryMs(contextOf(self).settings.retry, attempt, parts.random());

/** The model has to know that what ran is not what it asked for. */
function withEditNotice(result: ToolResult, call: ToolCall | undefined) {
  if (!call?.editedInput || typeof result.content !== 'string') return result;
  const notice = `[A person changed the arguments before this ran: ${JSON.stringify(call.editedInput)}]`;
  return { ...result, content: result.content ? `${result.content}\n\n${notice}` : notice };
}
