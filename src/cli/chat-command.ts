import { createInterface } from 'node:readline';
import type { Message } from '../core/message.ts';
import { demoQuestion } from './demo.ts';
import { type ExitCode, exitCodes } from './exit-code.ts';
import { sayWhoAnswers } from './notices.ts';
import { play, type Surroundings } from './play.ts';
import { readLine } from './read-line.ts';
import { exitLine, type RunEnd } from './screen.ts';
import { openSession, type RunOptions } from './session.ts';
import type { Terminal } from './terminal.ts';

const maxEarlierLines = 200;

/**
 * `pawl chat`: each line is a follow-up to all that was said before. A person may go on after a run that failed;
 * lines from a pipe stop at the first run that does not complete, and its code is the command's.
 * @throws PawlError `invalid_input`
 */
export async function chatCommand(
  options: RunOptions,
  surroundings: Surroundings,
): Promise<number> {
  const { terminal } = surroundings;
  const session = await openSession(options, { env: process.env, folder: process.cwd() });
  let history: readonly Message[] = [];
  let last: RunEnd | null = null;
  try {
    sayWhoAnswers(terminal, session, options);
    if (terminal.mayAsk) sayHowToLeave(terminal, session.isScripted);
    for await (const line of terminal.mayAsk ? typedLines(terminal) : pipedLines()) {
      const text = session.isScripted ? demoQuestion : line;
      const isShown = session.isScripted || !terminal.mayAsk;
      last = await play(session, options, { text, history, isShown }, surroundings);
      history = last.result.messages;
      if (!terminal.mayAsk && last.code !== exitCodes.completed) break;
    }
  } finally {
    await session.close();
  }
  const code = terminal.mayAsk ? exitCodes.completed : (last?.code ?? exitCodes.completed);
  if (options.json) terminal.write(chatExitLine(code, last));
  return code;
}

const chatExitLine = (code: ExitCode, last: RunEnd | null): string =>
  exitLine({
    code,
    reason: last?.reason ?? 'Nothing was asked.',
    result: last?.result ?? null,
    pending: last?.pending ?? [],
  });

function sayHowToLeave({ say, paint }: Terminal, isScripted: boolean): void {
  if (isScripted) say(`  ${paint('dim', 'Whatever you write, the script asks its own question.')}`);
  say(`  ${paint('dim', 'Ctrl-C stops an answer; Ctrl-D, or Ctrl-C here, leaves.')}`);
}

/** Lines of a person, until they leave. Blank ones ask nothing. */
async function* typedLines({ say, paint }: Terminal): AsyncGenerator<string> {
  const earlier: string[] = [];
  for (;;) {
    say();
    const typed = await readLine(`  ${paint('accent', '›')} `, { earlier });
    if (typed.kind !== 'line') return;
    if (typed.line.trim() === '') continue;
    earlier.unshift(typed.line);
    earlier.splice(maxEarlierLines);
    yield typed.line;
  }
}

async function* pipedLines(): AsyncGenerator<string> {
  for await (const line of createInterface({ input: process.stdin })) {
    if (line.trim() !== '') yield line;
  }
}
