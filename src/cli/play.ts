import type { Message } from '../core/message.ts';
import type { Run } from '../runtime/run.ts';
import type { Person } from './ask.ts';
import { followRun } from './follow-run.ts';
import type { Interrupts, Stops } from './interrupts.ts';
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

/** After SIGTERM a run has this long to come to the end of its turn; container runtimes kill after 10 s. */
const graceMs = 5_000;

/** Asks one question and shows the run that answers it. @throws PawlError `invalid_input` before anything happens */
export const play = (
  session: Session,
  options: RunOptions,
  { text, history, isShown }: Question,
  surroundings: Surroundings,
): Promise<RunEnd> =>
  watch(session, options, surroundings, async (signal) => {
    const run = session.agent.start(text, { history, signal, tags: options.tag ?? [] });
    if (isShown) sayQuestion(surroundings.terminal, text);
    return run;
  });

/**
 * Opens a run and shows it to its end, or to where it is left. `hadDenial`: one of its calls was denied before.
 * @throws PawlError what `open` throws
 */
export async function watch(
  session: Session,
  options: RunOptions,
  { terminal, interrupts }: Surroundings,
  open: (signal: AbortSignal) => Promise<Run>,
  hadDenial = false,
): Promise<RunEnd> {
  const stops = interrupts.begin(() => session.agent.drain({ graceMs }));
  try {
    const run = await open(stops.cancelled);
    sayStops(terminal, stops);
    const screen = options.json ? jsonScreen(terminal) : talkScreen(terminal);
    const person = terminal.mayAsk ? personAt(terminal, interrupts, stops) : null;
    const allowsAll = options.yes ?? false;
    const { draining } = stops;
    const { tools } = session;
    const end = await followRun({ run, screen, tools, person, allowsAll, hadDenial, draining });
    sayWhatNow(terminal, end, options);
    return end;
  } finally {
    interrupts.end();
  }
}

function sayStops({ say, paint }: Terminal, { cancelled, draining }: Stops): void {
  const once = { once: true };
  cancelled.addEventListener('abort', () => say(`  ${paint('warn', 'Cancelling.')}`), once);
  const stopping = 'Stopping after this turn. A second signal leaves at once; nothing is lost.';
  draining.addEventListener('abort', () => say(`  ${paint('warn', stopping)}`), once);
}

const personAt = (
  terminal: Terminal,
  interrupts: Interrupts,
  { cancelled, draining }: Stops,
): Person => ({
  terminal,
  readLine,
  onInterrupt: () => interrupts.press('Ctrl-C'),
  signal: AbortSignal.any([cancelled, draining]),
});
