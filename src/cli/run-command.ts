import { demoQuestion } from './demo.ts';
import { sayPromptUnused, sayWhoAnswers } from './notices.ts';
import { play, type Surroundings } from './play.ts';
import { choosePrompt, hasPipedInput, readInput } from './prompt.ts';
import { exitLine } from './screen.ts';
import { openSession, type RunOptions, type Session } from './session.ts';

/** `pawl run`: one question, one run. @throws PawlError `invalid_input` */
export async function runCommand(
  argument: string | undefined,
  options: RunOptions,
  surroundings: Surroundings,
): Promise<number> {
  const { terminal } = surroundings;
  const session = await openSession(options, { env: process.env, folder: process.cwd() });
  try {
    const prompt = await promptFor(session, argument);
    sayWhoAnswers(terminal, session, options);
    const text = session.isScripted ? demoQuestion : prompt;
    const end = await play(session, options, { text, history: [], isShown: true }, surroundings);
    if (session.isScripted && argument !== undefined) sayPromptUnused(terminal);
    if (options.json) terminal.write(exitLine(end));
    return end.code;
  } finally {
    await session.close();
  }
}

/** The script has a question of its own; standard input is then left alone, as it may never end. */
function promptFor(session: Session, argument: string | undefined): Promise<string> {
  const { isScripted, hasDemoTools } = session;
  return choosePrompt({
    argument: isScripted && argument === '-' ? undefined : argument,
    fallback: hasDemoTools ? demoQuestion : null,
    hasPipedInput: !isScripted && hasPipedInput(),
    readInput,
  });
}
