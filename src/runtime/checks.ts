/** Refuses bad input of callers before any effect: which field, what was expected, what was got. */

import { blocksIn } from '../../machines/received.ts';
import { blockProblem, messageProblem } from '../core/block-shape.ts';
import { copyJson } from '../core/copy-json.ts';
import { invalidInput } from '../core/errors.ts';
import { historyProblems, repairHistory } from '../core/history.ts';
import { type ContentBlock, isBlank, type Message, text } from '../core/message.ts';
import type { Prompt } from './agent-options.ts';

/** The blocks of a prompt, as a copy: what the caller does with its own afterwards changes no run. */
export function checkPrompt(prompt: Prompt, field = 'prompt'): readonly ContentBlock[] {
  const content = typeof prompt === 'string' ? [text(prompt)] : prompt;
  if (!Array.isArray(content)) throw invalidInput(field, notBlank, prompt);
  for (const [index, block] of content.entries()) {
    const problem = blockProblem(block);
    if (problem) throw invalidInput(`${field}[${index}]`, problem, block);
    if (!isUserBlock(block)) {
      throw invalidInput(`${field}[${index}].type`, 'that of a block a user may say', block.type);
    }
  }
  if (content.some(saysSomething)) return copyJson(content);
  throw invalidInput(field, notBlank, prompt);
}

const notBlank = 'a text that is not blank, or content blocks';

const isUserBlock = (block: unknown): boolean => blocksIn([block]).length === 1;

const saysSomething = (block: ContentBlock): boolean =>
  block.type !== 'text' || !isBlank(block.text);

/** What repair can mend is fine; what is no history at all is not. */
export function checkHistory(history: readonly Message[]): void {
  if (!Array.isArray(history)) throw invalidInput('history', 'a list of messages', history);
  for (const [index, message] of history.entries()) checkMessage(`history[${index}]`, message);
  const [problem] = historyProblems(repairHistory(history));
  if (problem) throw invalidInput(`history: ${problem.path}`, 'a valid history', problem.problem);
}

function checkMessage(field: string, message: unknown): void {
  const problem = messageProblem(message);
  if (problem) throw invalidInput(`${field}${problem.path}`, problem.expected, problem.got);
}

export function checkRunId(runId: unknown): string {
  if (typeof runId === 'string' && /^[A-Za-z0-9_.-]{1,128}$/.test(runId)) return runId;
  throw invalidInput('runId', 'up to 128 letters, digits, "_", "-" and "."', runId);
}
