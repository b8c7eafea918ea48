import { fstatSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { PawlError } from '../core/errors.ts';

export interface PromptSource {
  /** The argument. `-` stands for standard input. */
  readonly argument: string | undefined;
  /** The question to ask when there is none. Null: there has to be one. */
  readonly fallback: string | null;
  readonly hasPipedInput: boolean;
  readonly readInput: () => Promise<string>;
}

/** The prompt that was given, by argument or standard input. @throws PawlError `invalid_input` */
export async function choosePrompt(source: PromptSource): Promise<string> {
  const { argument, fallback, hasPipedInput, readInput } = source;
  if (argument !== undefined && argument !== '-') return notBlank(argument, 'The prompt');
  if (argument === '-' || hasPipedInput) return notBlank(await readInput(), 'Standard input');
  if (fallback !== null) return fallback;
  throw new PawlError(
    'invalid_input',
    'A prompt is needed: pawl run "…", or pawl run - to read it from standard input.',
  );
}

function notBlank(prompt: string, what: string): string {
  if (prompt.trim() !== '') return prompt;
  throw new PawlError('invalid_input', `${what} is blank; there is nothing to ask.`);
}

/** Whether somebody redirected standard input to a pipe or a file. A null device is neither. */
export function hasPipedInput(): boolean {
  if (process.stdin.isTTY) return false;
  try {
    const kind = fstatSync(0);
    return kind.isFIFO() || kind.isFile() || kind.isSocket();
  } catch {
    return false;
  }
}

export const readInput = (): Promise<string> => text(process.stdin);
