/** A tool use and what belongs to it, looked up in the run that it is part of. */
import type { AnyActorRef } from 'xstate';
import { openCall, withNotice } from '../core/call-steps.ts';
import type { Json } from '../core/json.ts';
import { errorResult, type ToolResult, type ToolUse, toolUsesIn } from '../core/message.ts';
import type { ToolCall } from '../core/tool-call.ts';
import { argumentsHash } from '../tools/arguments-hash.ts';
import type { Tool } from '../tools/tool.ts';
import type { AgentParts } from './agent-parts.ts';
import { raceTimeout } from './race.ts';
import { contextOf } from './services.ts';

/** A tool use with what it takes to carry it out. */
export interface Work {
  readonly use: ToolUse;
  readonly call: ToolCall | undefined;
  /** Undefined: today's agent no longer has the tool. */
  readonly tool: Tool | undefined;
  /** The arguments that will run: the model's, or those a person put in their place. */
  readonly input: Json;
  readonly runId: string;
  readonly turn: number;
}

/** Of a tool that there still is. */
export type ToolWork = Work & { readonly tool: Tool };

export function workOf({ tools }: AgentParts, self: AnyActorRef, callId: string): Work {
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

export const hashOf = ({ runId, use, tool }: Work, input: Json): string =>
  argumentsHash({ runId, callId: use.id, tool: tool ?? missingTool(use.name), input });

const missingTool = (name: string) => ({
  name,
  description: '',
  inputSchema: {},
  effect: 'once' as const,
});

/** The same in every attempt of the call, and for whoever looks later what came of it. */
export const idempotencyKeyOf = ({ runId, turn, use }: Work): string =>
  `${runId}/${turn}/${use.id}`;

export const maxCharsOf = ({ maxOutputChars }: AgentParts, tool: Tool): number =>
  tool.maxOutputChars ?? maxOutputChars;

export const missingToolResult = ({ use }: Work) =>
  errorResult(use.id, `The tool ${use.name} no longer exists.`);

/**
 * The machine of a call knows the effect that its tool had when the call began. Where the tool may run only once by now,
 * an attempt that nobody knows the outcome of must stay the last.
 */
export const mustNotRepeat = ({ call, tool }: ToolWork, attempt: number): boolean =>
  attempt > 1 && tool.effect === 'once' && call?.effect !== 'once';

export const notRepeatedResult = ({ use }: Work) =>
  errorResult(
    use.id,
    `The outcome of this call is unknown: an earlier attempt may have taken effect. It was not run again, because ${use.name} may now run only once. Find out what happened before you try it again.`,
  );

/** Of one call: fires when the call is stopped, and once it is over. */
export interface CallSignal {
  /** Made for whoever asks for it: to make and to fire one takes longer than many a tool. */
  readonly signal: AbortSignal;
  readonly hasFired: boolean;
}

/**
 * What the code of a tool gives, in the time that the tool has. Its own signal fires with `signal`, and once the call is
 * over. @throws what it throws, `timedOut`, or the signal's reason
 */
export async function inToolTime<Value>(
  { timeoutMs }: Tool,
  signal: AbortSignal,
  act: (own: CallSignal) => Value | Promise<Value>,
): Promise<Value> {
  const { own, end } = callSignal(signal);
  try {
    // A tool may throw before it returns a promise, and return a value that is none.
    const work = (async () => act(own))();
    return await raceTimeout(work, timeoutMs, signal);
  } finally {
    end();
  }
}

function callSignal(signal: AbortSignal): { readonly own: CallSignal; readonly end: () => void } {
  let aborts: AbortController | null = null;
  let isOver = false;
  const stop = (): void => aborts?.abort(signal.reason);
  const finish = (): void => aborts?.abort(new Error('The call is over.'));
  const make = (): AbortController => {
    aborts = new AbortController();
    if (signal.aborted) stop();
    else if (isOver) finish();
    else signal.addEventListener('abort', stop, { once: true });
    return aborts;
  };
  const end = (): void => {
    isOver = true;
    signal.removeEventListener('abort', stop);
    finish();
  };
  const own: CallSignal = {
    get signal() {
      return (aborts ?? make()).signal;
    },
    get hasFired() {
      return isOver || signal.aborted;
    },
  };
  return { own, end };
}

/** The model has to know that what ran, or tried to, is not what it asked for. */
export function withEditNotice(result: ToolResult, call: ToolCall | undefined): ToolResult {
  const edited = call?.editedInput ?? null;
  if (edited === null) return result;
  const notice = `[A person changed the arguments before this ran: ${JSON.stringify(edited)}]`;
  return { ...result, content: withNotice(result.content, notice) };
}
