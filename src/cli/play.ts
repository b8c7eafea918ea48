import type { Message } from '../core/message.ts';
import type { Person } from './ask.ts';
import { followRun } from './follow-run.ts';
import type { Interrupts } from './interrupts.ts';
import { sayQuestion, sayWhatNow } from './notices.ts';
import { readLine } from './read-line.ts';
import { jsonScreen, type RunEnd, talkScreen } from './screen.ts';
import type { RunOptions, Session } from './session.ts';
import type { Terminal } from './terminal.ts';

/** What a command works with. */
export interface Surroundings {
  readonly terminal: Terminal;
  readonly interrupts: Interrupts;
}

export interface Question {
  readonly text: string;
  readonly history: readonly Message[];
  /** Repeat the question on the screen: whoever asks didn't just type it. */
  readonly isShown: boolean;
}

/** Asks one question and shows the run that answers it. @throws PawlError `invalid_input` before anything happens */
export async function play(
  session: Session,
  options: RunOptions,
  question: Question,
  { terminal, interrupts }: Surroundings,
): Promise<RunEnd> {
  const signal = interrupts.begin();
  try {
    const run = session.agent.start(question.text, { history: question.history, signal });
    if (question.isShown) sayQuestion(terminal, question.text);
    signal.addEventListener(
      'abort',
      () => terminal.say(`  ${terminal.paint('warn', 'Cancelling.')}`),
      { once: true },
    );
    const screen = options.json ? jsonScreen(terminal) : talkScreen(terminal);
    const person = terminal.mayAsk ? personAt(terminal, interrupts, signal) : null;
    const end = await followRun({ run, screen, tools: session.tools, person });
    sayWhatNow(terminal, options, end);
    return end;
  } finally {
    interrupts.end();
  }
}

const personAt = (terminal: Terminal, interrupts: Interrupts, signal: AbortSignal): Person => ({
  terminal,
  readLine,
  onInterrupt: () => interrupts.press('Ctrl-C'),
  signal,
});
