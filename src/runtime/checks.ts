/** Refuses bad input of callers before any effect: which field, what was expected, what was got. */
import { invalidInput, PawlError } from '../core/errors.ts';
import { historyProblems, repairHistory } from '../core/history.ts';
import { type ContentBlock, isBlank, type Message, text } from '../core/message.ts';
import { schemaVersion } from '../core/run-context.ts';
import type { RunSnapshot } from '../stores/store.ts';
import type { Prompt } from './agent-options.ts';

export function checkPrompt(prompt: Prompt, field = 'prompt'): readonly ContentBlock[] {
  const content = typeof prompt === 'string' ? [text(prompt)] : prompt;
  const isContent =
    Array.isArray(content) && content.every((block) => typeof block?.type === 'string');
  if (!isContent || !content.some(saysSomething)) {
    throw invalidInput(field, 'a text that is not blank, or content blocks', prompt);
  }
  return content;
}

const saysSomething = (block: ContentBlock): boolean =>
  block.type !== 'text' || (typeof block.text === 'string' && !isBlank(block.text));

/** What repair can mend is fine; what is no history at all is not. */
export function checkHistory(history: readonly Message[]): void {
  if (!Array.isArray(history)) throw invalidInput('history', 'a list of messages', history);
  for (const [index, message] of history.entries()) {
    const isMessage =
      (message?.role === 'user' || message?.role === 'assistant') &&
      Array.isArray(message.content) &&
      message.content.every((block: unknown) => typeof block === 'object' && block !== null);
    if (!isMessage) {
      throw invalidInput(
        `history[${index}]`,
        'a message { role: "user" | "assistant", content: blocks }',
        message,
      );
    }
  }
  const [problem] = historyProblems(repairHistory(history));
  if (problem) throw invalidInput(`history: ${problem.path}`, 'a valid history', problem.problem);
}

export function checkRunId(runId: unknown): string {
  if (typeof runId === 'string' && /^[A-Za-z0-9_.-]{1,128}$/.test(runId)) return runId;
  throw invalidInput('runId', 'up to 128 letters, digits, "_", "-" and "."', runId);
}

/** Is this a snapshot of an agent loop that this version can read? Looks at what it needs to say so clearly. */
export function checkSnapshot(value: unknown): {
  readonly snapshot: RunSnapshot;
  readonly runId: string;
} {
  const snapshot = value as Partial<RunSnapshot> | null;
  const context = snapshot?.context as { schemaVersion?: unknown; settings?: unknown } | undefined;
  if (typeof snapshot !== 'object' || typeof context?.schemaVersion !== 'number') {
    throw invalidInput('snapshot', 'a snapshot of a run (run.snapshot(), or a run id)', value);
  }
  if (context.schemaVersion !== schemaVersion) {
    throw new PawlError(
      'snapshot_incompatible',
      `snapshot: expected schema version ${schemaVersion}, got ${context.schemaVersion}. Resume it with the version of Pawl that saved it, or a newer one. It was left as it is.`,
    );
  }
  const { runId } = (context.settings ?? {}) as { readonly runId?: unknown };
  return { snapshot: snapshot as RunSnapshot, runId: checkRunId(runId) };
}
