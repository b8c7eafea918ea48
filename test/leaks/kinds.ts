/** Runs that end in each way a run can: what the model says, and what a person does. */
import { defineTool, type Message, type Run, type RunEvent } from 'pawl';
import type { ScriptedReply } from 'pawl/testing';
import { z } from 'zod';

export const kinds = [
  'cancelled in a model call',
  'cancelled in a deaf model',
  'cancelled before a retry',
  'cancelled in a tool',
  'cancelled in an approval',
  'failed after a model error',
  'failed after a broken stream',
  'failed after a wrong request',
  'failed after a tool that throws',
  'failed after a deaf tool',
  'completed at once',
  'completed with tools',
  'completed with an approval',
  'completed with a denial',
  'completed with a word in between',
] as const;
export type Kind = (typeof kinds)[number];

const input = z.object({});
/** One for all, as a connection that is stuck: what waits for it is held as long as it lives. */
const never = new Promise<never>(() => {});

export const tools = [
  defineTool({
    name: 'look',
    description: 'Answers.',
    input,
    effect: 'read',
    run: () => 'It is there.',
  }),
  defineTool({
    name: 'mail',
    description: 'Needs an approval.',
    input,
    effect: 'once',
    run: () => 'Sent.',
  }),
  defineTool({
    name: 'break',
    description: 'Throws.',
    input,
    effect: 'read',
    maxRetries: 1,
    run: () => {
      throw new Error('broken');
    },
  }),
  defineTool({
    name: 'wait',
    description: 'Works until it is stopped.',
    input,
    effect: 'read',
    run: (_input, { signal }) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason), { once: true });
      }),
  }),
  defineTool({
    name: 'ignore',
    description: 'Neither ends nor listens.',
    input,
    effect: 'read',
    timeoutMs: 5,
    run: () => never,
  }),
  defineTool({
    name: 'sleep',
    description: 'Neither ends nor listens, with much time to do so.',
    input,
    effect: 'read',
    run: () => never,
  }),
];

const uses = (...names: readonly string[]): ScriptedReply => ({
  text: 'Let me see.',
  toolUses: names.map((name) => ({ name })),
});
const hang: ScriptedReply = { stream: [{ $hang: true }] };
const reset: ScriptedReply = { stream: [{ $reset: true }] };
const error = (status: number, type: string, headers = {}): ScriptedReply => ({
  error: { status, type, message: 'Not now.', headers },
});
const broken = error(500, 'api_error');
const busy = error(429, 'rate_limit_error', { 'retry-after': '60' });
const refused = error(400, 'invalid_request_error');

/** The first reply, and every later one. */
const scripts: Readonly<Record<Kind, readonly [ScriptedReply, ScriptedReply?]>> = {
  'cancelled in a model call': [uses('look'), hang],
  'cancelled in a deaf model': [uses('look'), hang],
  'cancelled before a retry': [busy],
  'cancelled in a tool': [uses('wait', 'look', 'sleep')],
  'cancelled in an approval': [uses('mail', 'look')],
  'failed after a model error': [broken],
  'failed after a broken stream': [uses('look'), reset],
  'failed after a wrong request': [refused],
  'failed after a tool that throws': [uses('break', 'look'), refused],
  'failed after a deaf tool': [uses('ignore', 'look'), refused],
  'completed at once': ['Done.'],
  'completed with tools': [uses('look', 'break', 'ignore'), 'Done.'],
  'completed with an approval': [uses('mail', 'look'), 'Done.'],
  'completed with a denial': [uses('mail', 'look'), 'Done.'],
  'completed with a word in between': [uses('look'), 'Done.'],
};

type Said = readonly Pick<Message, 'role' | 'content'>[];

const hasReplied = (messages: Said): boolean => messages.some(({ role }) => role === 'assistant');

function kindOf(messages: Said): Kind {
  const [first] = messages[0]?.content ?? [];
  const kind = kinds.find((name) => first?.type === 'text' && first.text === name);
  if (!kind) throw new Error('The prompt names no kind of run.');
  return kind;
}

/** Whether the model neither answers nor listens: what no honest server can play. */
export const isDeafTo = (messages: Said): boolean =>
  kindOf(messages) === 'cancelled in a deaf model' && hasReplied(messages);

/** The model's part, for a request of a run whose prompt is its kind. */
export function replyTo(messages: Said): ScriptedReply {
  const kind = kindOf(messages);
  const reply = scripts[kind][hasReplied(messages) ? 1 : 0];
  if (!reply) throw new Error(`A run was to end before: ${kind}`);
  return reply;
}

/** The person's part. Leaves the events as soon as it has been played. */
export async function accompany(run: Run, kind: Kind): Promise<void> {
  for await (const event of run.events) {
    if (isTimeToCancel(event, kind)) return run.cancel();
    if (event.type === 'tool.started' && kind === 'completed with a word in between') {
      return run.steer('One more word.');
    }
    if (event.type !== 'approval.wanted') continue;
    if (kind === 'completed with an approval') return run.approve(event.callId);
    if (kind === 'completed with a denial') return run.deny(event.callId);
    await run.idle();
    return run.cancel();
  }
}

function isTimeToCancel(event: RunEvent, kind: Kind): boolean {
  switch (kind) {
    case 'cancelled in a model call':
    case 'cancelled in a deaf model':
      return event.type === 'model.started' && event.turn === 2;
    case 'cancelled before a retry':
      return event.type === 'model.failed';
    case 'cancelled in a tool':
      return event.type === 'tool.started' && event.name === 'sleep';
    default:
      return false;
  }
}
