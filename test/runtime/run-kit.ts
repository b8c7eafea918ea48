import {
  createAgent,
  defineTool,
  type Message,
  type Run,
  type RunEvent,
  type RunResult,
} from 'pawl';
import { type Script, type ScriptedReply, scriptedModel } from 'pawl/testing';
import { expect } from 'vitest';
import { z } from 'zod';
import { historyProblems } from '../../src/core/history.ts';

/** A reply that asks for these tools, in one turn. */
export const uses = (
  ...toolUses: readonly { readonly id: string; readonly name: string; readonly input?: object }[]
): ScriptedReply => ({ toolUses });

/** Answers with its input, at once. */
export const echo = defineTool({
  name: 'echo',
  description: 'Says it again.',
  input: z.object({ text: z.string() }),
  effect: 'read',
  run: ({ text }) => text,
});

/** Needs an approval by default. `sent` holds what it was really called with. */
export function mailer() {
  const sent: string[] = [];
  const tool = defineTool({
    name: 'send_mail',
    description: 'Sends a mail.',
    input: z.object({ to: z.string().min(1) }),
    effect: 'once',
    run({ to }) {
      sent.push(to);
      return `Sent to ${to}.`;
    },
  });
  return { tool, sent };
}

/** A tool that works until the test lets it go on, and the signals that its calls got. */
export function gatedTool(options: { readonly name?: string; readonly timeoutMs?: number } = {}) {
  const { name = 'work', timeoutMs = 60_000 } = options;
  const begun = gate<void>();
  const end = gate<string>();
  const signals: AbortSignal[] = [];
  const tool = defineTool({
    name,
    description: 'Takes as long as it takes.',
    input: z.object({}),
    effect: 'once',
    timeoutMs,
    run(_input, { signal }) {
      signals.push(signal);
      begun.open();
      return end.passed;
    },
  });
  return { tool, signals, begun: begun.passed, finish: end.open };
}

export function gate<Value>() {
  let open: (value: Value) => void = () => {};
  const passed = new Promise<Value>((resolve) => {
    open = resolve;
  });
  return { passed, open };
}

/** An agent over a script that lets every tool run by itself, and its model. */
export function scripted(
  script: Script,
  options: Omit<Parameters<typeof createAgent>[0], 'model'> = {},
) {
  const model = scriptedModel(script);
  const permissions = { otherwise: 'allow' } as const;
  return { model, agent: createAgent({ model, permissions, ...options }) };
}

/** Waits for the end, and checks what is true of every run: its history, and its events. */
export async function finish(
  run: Run,
): Promise<{ readonly result: RunResult; readonly events: readonly RunEvent[] }> {
  const result = await run.result;
  const events = await eventsOf(run);
  expect(historyProblems(result.messages)).toEqual([]);
  expectWellFormed(events);
  return { result, events };
}

/** All events of a run that has ended. */
export async function eventsOf(run: Run): Promise<readonly RunEvent[]> {
  const events: RunEvent[] = [];
  for await (const event of run.events) events.push(event);
  return events;
}

/** The first event of this type. Fails when the run ends without one. */
export async function untilEvent<Type extends RunEvent['type']>(
  run: Run,
  type: Type,
): Promise<Extract<RunEvent, { type: Type }>> {
  for await (const event of run.events) {
    if (event.type === type) return event as Extract<RunEvent, { type: Type }>;
  }
  throw new Error(`The run ended without ${type}.`);
}

export const eventsNamed = <Type extends RunEvent['type']>(
  events: readonly RunEvent[],
  type: Type,
): readonly Extract<RunEvent, { type: Type }>[] =>
  events.filter((event): event is Extract<RunEvent, { type: Type }> => event.type === type);

/** What `run-event.ts` promises. */
function expectWellFormed(events: readonly RunEvent[]): void {
  expect(events[0]?.type).toBe('run.started');
  expect(events.map(({ type }) => type).filter((type) => type === 'run.ended')).toHaveLength(1);
  expect(events.at(-1)?.type).toBe('run.ended');
  expectEndedCalls(events);
  const settled = eventsNamed(events, 'tool.settled').map(({ callId }) => callId);
  expect(new Set(settled).size).toBe(settled.length);
  for (const { callId } of eventsNamed(events, 'tool.started')) expect(settled).toContain(callId);
}

/** Each model call that began has one end, before the next one begins. */
export function expectEndedCalls(events: readonly RunEvent[]): void {
  let open: string | null = null;
  for (const event of events) {
    if (event.type === 'model.started') {
      expect(open).toBeNull();
      open = refOf(event);
    }
    if (
      event.type === 'model.replied' ||
      event.type === 'model.failed' ||
      event.type === 'model.stopped'
    ) {
      expect(refOf(event)).toBe(open);
      open = null;
    }
  }
  expect(open).toBeNull();
}

const refOf = (event: {
  readonly turn: number;
  readonly attempt: number;
  readonly model: string;
}) => `${event.turn}/${event.attempt}/${event.model}`;

/** The tool results of a message, as the model reads them. */
export const resultsIn = (message: Message | undefined): readonly string[] =>
  (message?.content ?? []).flatMap((block) =>
    block.type === 'tool_result' ? [`${block.tool_use_id}: ${String(block.content)}`] : [],
  );
