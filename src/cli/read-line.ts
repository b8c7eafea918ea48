import { createInterface } from 'node:readline';

/** What a person did at a prompt: wrote a line, closed the input (Ctrl-D), or pressed Ctrl-C. */
export type Typed =
  | { readonly kind: 'line'; readonly line: string }
  | { readonly kind: 'closed' }
  | { readonly kind: 'interrupted' };

export interface LineOptions {
  /** Stands in the line already, to be edited. Must be free of control characters. */
  readonly prefill?: string;
  /** Lines to reach with the arrow keys, newest first. */
  readonly earlier?: readonly string[];
  /** Ends the prompt as if the input were closed. */
  readonly signal?: AbortSignal;
}

/** Asks for one line on the terminal. Talk, so the prompt goes to stderr. */
export function readLine(prompt: string, options: LineOptions = {}): Promise<Typed> {
  const { prefill = '', earlier = [], signal } = options;
  if (signal?.aborted) return Promise.resolve({ kind: 'closed' });
  const reader = createInterface({
    input: process.stdin,
    output: process.stderr,
    terminal: true,
    history: [...earlier],
  });
  return new Promise((resolve) => {
    let isOver = false;
    const finish = (typed: Typed): void => {
      // Closing the reader tells of itself.
      if (isOver) return;
      isOver = true;
      signal?.removeEventListener('abort', onAbort);
      reader.close();
      if (typed.kind !== 'line') process.stderr.write('\n');
      resolve(typed);
    };
    const onAbort = (): void => finish({ kind: 'closed' });
    signal?.addEventListener('abort', onAbort, { once: true });
    reader.once('line', (line) => finish({ kind: 'line', line }));
    reader.once('close', () => finish({ kind: 'closed' }));
    reader.once('SIGINT', () => finish({ kind: 'interrupted' }));
    reader.setPrompt(prompt);
    reader.prompt();
    if (prefill !== '') reader.write(prefill);
  });
}
