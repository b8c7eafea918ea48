/**
 * Do the parts of a run's snapshot fit one another? Each may be whole by itself, and the run still wait for ever, act
 * without anybody knowing, or spend what no account has.
 */
import type { ShapeProblem } from '../core/block-shape.ts';
import { callPolicy, openCalls } from '../core/call-steps.ts';
import { describeGot } from '../core/errors.ts';
import { isJsonObject, type JsonObject } from '../core/json.ts';
import { reservedFor } from '../core/ledger.ts';
import { type ToolUse, toolUsesIn } from '../core/message.ts';
import { type RunContext, toolNamed } from '../core/run-context.ts';
import { fieldPath } from '../core/shape.ts';
import type { ToolCall } from '../core/tool-call.ts';
import type { RunSnapshot } from '../stores/store.ts';

/** Of a snapshot whose parts have their shapes. */
export function senseProblem({
  status,
  value,
  children,
  ...run
}: RunSnapshot): ShapeProblem | null {
  if (status === 'error') return null;
  const context = run.context as unknown as RunContext;
  const state = topStates(value);
  const isExecuting = state.includes('executeTools');
  return (
    endProblem(context, status === 'done' ? state : []) ??
    (isExecuting ? callsProblem(context) : strayCallProblem(context)) ??
    childProblem(context, children as JsonObject, isExecuting) ??
    accountProblem(context, state)
  );
}

/** `['active', 'executeTools']`: the state and those around it, without the innermost of three. */
function topStates(value: RunSnapshot['value']): readonly string[] {
  if (!isJsonObject(value)) return [String(value)];
  const { active } = value;
  return ['active', ...(isJsonObject(active) ? Object.keys(active) : [String(active)])];
}

function endProblem({ status }: RunContext, ended: readonly string[]): ShapeProblem | null {
  const end = ended[0] ?? null;
  if (status === end) return null;
  return { path: 'context.status', expected: end ?? 'null, as it goes on', got: status };
}

function strayCallProblem({ calls }: RunContext): ShapeProblem | null {
  if (calls.length === 0) return null;
  return { path: 'context.calls', expected: 'none in this state', got: calls };
}

/** The calls of a batch are the tool uses of the last message, and nothing else. */
function callsProblem(context: RunContext): ShapeProblem | null {
  const { calls, messages } = context;
  const uses = toolUsesIn(messages.at(-1));
  const seen = new Set<string>();
  for (const [index, call] of calls.entries()) {
    const problem = callProblem(context, call, uses[index], `context.calls[${index}]`);
    if (problem) return problem;
    const path = `context.calls[${index}].id`;
    if (seen.has(call.id)) return { path, expected: 'an id of its own', got: call.id };
    seen.add(call.id);
  }
  if (uses.length === calls.length) return null;
  return { path: 'context.calls', expected: `${uses.length} calls, one per tool use`, got: calls };
}

function callProblem(
  context: RunContext,
  call: ToolCall,
  use: ToolUse | undefined,
  path: string,
): ShapeProblem | null {
  const policy = toolNamed(context, call.name);
  const most = call.effect === 'once' ? 0 : policy?.maxRetries;
  const isOpen = call.result === null;
  const known: readonly (readonly [field: string, got: unknown, expected: unknown])[] = [
    ['id', call.id, use?.id],
    ['name', call.name, use?.name],
    ...(isOpen
      ? [
          ['ending', call.ending, null] as const,
          ['effect', call.effect, policy?.effect] as const,
          ['maxRetries', call.maxRetries, most] as const,
        ]
      : [['result.tool_use_id', call.result.tool_use_id, call.id] as const]),
  ];
  const [differs] = known.filter(([, got, expected]) => got !== expected);
  if (differs) {
    const [field, got, expected] = differs;
    const fits = `what fits its tool use (${describeGot(expected)})`;
    return { path: `${path}.${field}`, expected: fits, got };
  }
  if (isOpen || call.ending !== null) return null;
  return { path: `${path}.ending`, expected: 'how it ended, as it has a result', got: null };
}

/** Each open call has its child, which knows the same of it; nothing else has one. */
function childProblem(
  context: RunContext,
  children: JsonObject,
  isExecuting: boolean,
): ShapeProblem | null {
  const open = new Map((isExecuting ? openCalls(context) : []).map((call) => [call.id, call]));
  for (const id of open.keys()) {
    const path = fieldPath('children', `tool.${id}`);
    if (!Object.hasOwn(children, `tool.${id}`))
      return { path, expected: 'a child', got: undefined };
  }
  for (const [name, child] of Object.entries(children)) {
    if (!name.startsWith('tool.')) continue;
    const path = fieldPath('children', name);
    const call = open.get(name.slice('tool.'.length));
    if (!call) return { path, expected: 'no child, as no such call is open', got: child };
    const problem = knowledgeProblem(
      call,
      callPolicy(context, call),
      child as JsonObject,
      `${path}.snapshot`,
    );
    if (problem) return problem;
  }
  return null;
}

function knowledgeProblem(
  call: ToolCall,
  given: object,
  child: JsonObject,
  path: string,
): ShapeProblem | null {
  const { context, output, status, value } = child.snapshot as JsonObject;
  const { outcome, ...own } = context as JsonObject;
  const known: readonly (readonly [string, unknown, unknown])[] = [
    ['context.callId', own.callId, call.id],
    ...Object.entries(given).map(([name, value]) => [`context.${name}`, own[name], value] as const),
    ...(value === 'awaitApproval'
      ? [['context.argumentsHash', own.argumentsHash, shownHash(call, own.argumentsHash)] as const]
      : []),
    ['context.outcome.callId', (outcome as JsonObject).callId, call.id],
    ...(status === 'done'
      ? [['output.callId', (output as JsonObject).callId, call.id] as const]
      : []),
  ];
  const [differs] = known.filter(([, got, expected]) => got !== expected);
  if (!differs) return null;
  const [field, got, expected] = differs;
  return {
    path: `${path}.${field}`,
    expected: `what the run knows (${describeGot(expected)})`,
    got,
  };
}

/** An approval names what was shown: without a hash none would ever fit. */
function shownHash({ waits }: ToolCall, hash: unknown): unknown {
  if (waits?.for === 'approval') return waits.argumentsHash;
  return typeof hash === 'string' ? hash : 'a hash';
}

/** What is under way has its worst case set aside: without it, what it takes would be on no account. */
function accountProblem(context: RunContext, state: readonly string[]): ShapeProblem | null {
  const { settings, ledger, plan } = context;
  if (plan.model >= settings.models.length) {
    return { path: 'context.plan.model', expected: 'the index of a model', got: plan.model };
  }
  const unpriced = settings.models.findIndex(({ price }) => price === null);
  if (ledger.limits.maxCostMicros !== null && unpriced !== -1) {
    const path = `context.settings.models[${unpriced}].price`;
    return { path, expected: 'a price, as costs are limited', got: null };
  }
  const isAsking = state.includes('callModel') || state.includes('wrapUp');
  const wanted = [
    ...(isAsking ? ['model'] : []),
    ...openCalls(context).map(({ id }) => `tool:${id}`),
  ];
  const missing = wanted.find((id) => reservedFor(context.ledger, id) === null);
  if (missing === undefined) return null;
  const path = 'context.ledger.reserved';
  return { path, expected: `a reservation for ${missing}`, got: context.ledger.reserved };
}
