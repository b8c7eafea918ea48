import { type AnyActorRef, fromPromise } from 'xstate';
import type { ToolCallRef } from '../../machines/tool-call-events.ts';
import type { Json } from '../core/json.ts';
import { errorResult, type ToolResult } from '../core/message.ts';
import { delayBeforeRetryMs } from '../core/retry.ts';
import type { RunOutcome, Validation, Verdict } from '../core/tool-call.ts';
import { type Decision, decide, isDeniedStill } from '../tools/permissions.ts';
import type { Tool } from '../tools/tool.ts';
import { failureOf, resultOf, timeoutResult } from '../tools/tool-result.ts';
import type { AgentParts } from './agent-parts.ts';
import { type EffectArgs, effect, type Unmetered } from './effect.ts';
import { inTime, parseCopy, parseInTime } from './in-time.ts';
import { isRestored } from './plain-context.ts';
import { timedOut } from './race.ts';
import { contextOf, servicesOf } from './services.ts';
import {
  hashOf,
  idempotencyKeyOf,
  inToolTime,
  maxCharsOf,
  missingToolResult,
  mustNotRepeat,
  notRepeatedResult,
  type ToolWork,
  type Work,
  withEditNotice,
  workOf,
} from './tool-work.ts';

export const validateInput = (parts: AgentParts) =>
  fromPromise<Validation, ToolCallRef>(async ({ input: { callId }, self, signal }) => {
    const work = workOf(parts, self, callId);
    if (!work.tool) return { problem: missingToolResult(work) };
    const parsed = await parseInTime(work.tool, work.use.input, signal);
    if (parsed.ok) return { problem: null };
    if (parsed.isLate) throw new Error(parsed.problem);
    return { problem: errorResult(callId, parsed.problem) };
  });

export const checkPermission = (parts: AgentParts) =>
  fromPromise<Verdict, ToolCallRef>(async ({ input: { callId }, self, signal }) => {
    const work = workOf(parts, self, callId);
    const { tool } = work;
    const answer = tool
      ? await inTime(permissionFor(parts, tool, work.input), tool, signal)
      : 'deny';
    if (answer === 'allow') return { kind: 'allow' };
    if (answer === 'ask') return { kind: 'ask', argumentsHash: hashOf(work, work.use.input) };
    return { kind: 'deny', result: deniedByPolicy(work, answer === timedOut) };
  });

async function permissionFor({ permissions }: AgentParts, tool: Tool, input: Json) {
  const parsed = await parseCopy(tool, input);
  return parsed.ok ? decide(permissions, tool, parsed.value) : 'deny';
}

const deniedByPolicy = ({ use, tool }: Work, isLate = false) =>
  errorResult(
    use.id,
    isLate
      ? `Denied: the policy of this agent did not answer within ${tool?.timeoutMs} ms.`
      : `Denied: the policy of this agent does not allow this call of ${use.name}.`,
  );

export const acquireSlot = (parts: AgentParts) =>
  fromPromise<void, ToolCallRef>(({ input: { callId }, self, signal }) => {
    const { use, tool } = workOf(parts, self, callId);
    const most = tool?.concurrency ?? Number.POSITIVE_INFINITY;
    const { slots } = servicesOf(self);
    const giveBack = (): void => slots.release(callId);
    // A call may be stopped between its slot and its body: whatever ends it gives the slot back.
    self._parent?.subscribe({ complete: giveBack, error: giveBack });
    return slots.acquire(callId, use.name, most, signal);
  });

export const runTool = (parts: AgentParts) =>
  effect<RunOutcome, ToolCallRef>((args) => run(parts, args), { kind: 'lost' });

async function run(
  parts: AgentParts,
  args: EffectArgs<ToolCallRef>,
): Promise<Unmetered<RunOutcome>> {
  const { callId, attempt } = args.input;
  try {
    const work = workOf(parts, args.self, callId);
    if (!work.tool) return notRun(missingToolResult(work), 'notRun');
    const toolWork = { ...work, tool: work.tool };
    if (mustNotRepeat(toolWork, attempt)) return notRun(notRepeatedResult(work), 'notRun');
    if (isStale(work, args.input)) return staleOutcome(work);
    const parsed = await parseInTime(work.tool, work.input, args.signal);
    if (!parsed.ok) {
      return notRun(errorResult(callId, parsed.problem), parsed.isLate ? 'notRun' : 'malformed');
    }
    const answer = await policyOfToday(parts, args, toolWork, parsed.value);
    if (answer === 'ask') return staleOutcome(work);
    if (answer !== 'allow') return notRun(deniedByPolicy(work, answer === timedOut), 'denied');
    return await callTool(parts, args, toolWork, parsed.value);
  } finally {
    servicesOf(args.self).slots.release(callId);
  }
}

const isStale = (work: Work, { approvedHash }: ToolCallRef): boolean =>
  approvedHash !== null && approvedHash !== hashOf(work, work.use.input);

const staleOutcome = (work: Work): Unmetered<RunOutcome> => ({
  kind: 'stale',
  argumentsHash: hashOf(work, work.use.input),
});

/** Whether the call may still run. Nothing is asked where `checkPermission` has just allowed it. */
async function policyOfToday(
  { permissions }: AgentParts,
  { input: { attempt, approvedHash }, self, signal }: EffectArgs<ToolCallRef>,
  { tool }: ToolWork,
  value: unknown,
): Promise<Decision | typeof timedOut> {
  // Arguments and policy may have changed since it was asked, and no person overrules a policy that denies.
  if (approvedHash !== null) {
    const isDenied = await inTime(isDeniedStill(permissions, tool, value), tool, signal);
    if (isDenied === timedOut) return timedOut;
    return isDenied ? 'deny' : 'allow';
  }
  // Whoever allowed it may have been another process, with another policy.
  const isNew = attempt === 1 && !(self._parent && isRestored(self._parent));
  return isNew ? 'allow' : inTime(decide(permissions, tool, value), tool, signal);
}

const notRun = (
  result: ToolResult,
  ending: 'denied' | 'malformed' | 'notRun',
): Unmetered<RunOutcome> => ({ kind: 'notRun', result, ending });

async function callTool(
  parts: AgentParts,
  { input: { callId, attempt }, signal, self }: EffectArgs<ToolCallRef>,
  work: ToolWork,
  value: unknown,
): Promise<Unmetered<RunOutcome>> {
  // The run may have been stopped while the arguments were checked: then the body must not begin.
  signal.throwIfAborted();
  const { emit, isHeld, regain } = servicesOf(self);
  // The process may have slept meanwhile, and another one have the run.
  while (!isHeld()) {
    await regain();
    signal.throwIfAborted();
  }
  const { tool, input, runId } = work;
  const maxChars = maxCharsOf(parts, tool);
  const idempotencyKey = idempotencyKeyOf(work);
  emit({ type: 'tool.started', callId, name: tool.name, input, attempt });
  signal.throwIfAborted();
  try {
    const output = await inToolTime(tool, signal, (own) =>
      tool.run(value, {
        get signal() {
          return own.signal;
        },
        idempotencyKey,
        runId,
        callId,
        attempt,
        progress: (told) => {
          if (!own.hasFired) emit({ type: 'tool.progress', callId, value: told });
        },
      }),
    );
    const { result, costMicros } = resultOf(callId, output, { maxChars });
    return { kind: 'done', result: withEditNotice(result, work.call), costMicros };
  } catch (error) {
    signal.throwIfAborted();
    const result =
      error === timedOut
        ? timeoutResult(callId, tool.name, tool.timeoutMs, tool.effect)
        : failureOf(callId, error, { maxChars });
    return {
      kind: 'failed',
      result: withEditNotice(result, work.call),
      retryAt: retryAtFor(parts, self, attempt),
    };
  }
}

const retryAtFor = (parts: AgentParts, self: AnyActorRef, attempt: number): number =>
  parts.now() + delayBeforeRetryMs(contextOf(self).settings.retry, attempt, parts.random());
