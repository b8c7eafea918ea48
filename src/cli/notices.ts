/** What a person should know before and after a run, beside its events. */
import { exitCodes } from './exit-code.ts';
import type { RunEnd } from './screen.ts';
import type { RunOptions, Session } from './session.ts';
import { callLine } from './show-run.ts';
import { showLine, showProse } from './show-text.ts';
import type { Terminal } from './terminal.ts';

type Speaker = Pick<Terminal, 'say' | 'paint'>;

/** Who will answer. Says plainly when it is nobody. */
export function sayWhoAnswers(
  { say, paint }: Speaker,
  session: Session,
  options: RunOptions,
): void {
  say();
  if (!session.isScripted) {
    const place = session.baseUrl === null ? '' : ` at ${showLine(session.baseUrl)}`;
    say(`  ${paint('bold', 'pawl')} ${paint('dim', '·')} ${showLine(options.model)}${place}`);
    return;
  }
  say(
    `  ${paint('bold', 'pawl')} ${paint('dim', '·')} ${paint('warn', 'scripted model')}, as ANTHROPIC_API_KEY is not set`,
  );
  const about = [
    `It plays one script over a loopback Messages API (${session.baseUrl}): the machine,`,
    'the SDK, the wire and the tools are the real ones. No model is asked; nothing is charged.',
    'For a real model: export ANTHROPIC_API_KEY=…',
    ...(options.tools === undefined
      ? []
      : ['Your tools were loaded, but the script uses only those of the demo.']),
  ];
  for (const line of about) say(`  ${paint('dim', line)}`);
}

export function sayQuestion({ say, paint }: Speaker, question: string): void {
  say();
  for (const line of showProse(question.trimEnd()).split('\n'))
    say(`  ${paint('accent', '›')} ${line}`);
  say();
}

export function sayPromptUnused({ say, paint }: Speaker): void {
  say(`  ${paint('warn', 'Your prompt was not used:')} the script knows only the question above.`);
}

/** What the exit code means for whoever has to act on it. */
export function sayWhatNow(speaker: Speaker, options: RunOptions, end: RunEnd): void {
  const { say, paint } = speaker;
  if (end.result.status === 'suspended') sayWhatWaits(speaker, end);
  const advice = adviceFor(end, options);
  if (advice !== null) say(`  ${paint('dim', advice)}`);
}

function sayWhatWaits({ say, paint }: Speaker, { pending, reason }: RunEnd): void {
  say(`  ${paint('warn', `● ${showLine(reason)}`)}`);
  for (const { name, input, waits } of pending) {
    const hash = waits.for === 'approval' ? ` hash ${waits.argumentsHash.slice(0, 12)}` : '';
    say(`      ${callLine(name, input)}${paint('dim', hash)}`);
  }
}

function adviceFor({ code, result, pending }: RunEnd, options: RunOptions): string | null {
  switch (code) {
    case exitCodes.waitsForPerson:
      return pending.length === 0
        ? limitAdvice(result.limit?.name, options)
        : 'It did not run. Start it at a terminal to be asked, or with --yes to allow every call.';
    case exitCodes.blockedByDenial:
      return 'A call was denied, so the answer may not be what was asked for.';
    case exitCodes.exhausted:
      return limitAdvice(result.limit?.name, options);
    case exitCodes.failed:
      return result.error?.code === 'provider_auth' ? 'Look at ANTHROPIC_API_KEY.' : null;
    default:
      return null;
  }
}

const limitOptions: ReadonlyMap<string | undefined, string> = new Map([
  ['maxTurns', '--max-turns'],
  ['maxCostMicros', '--max-cost'],
  ['maxTotalTokens', '--max-tokens'],
  ['maxActiveMs', '--max-time'],
]);

function limitAdvice(limit: string | undefined, { onLimit }: RunOptions): string | null {
  const option = limitOptions.get(limit);
  if (option === undefined) return null;
  return onLimit === 'wrapUp'
    ? `Raise it with ${option}.`
    : `Raise it with ${option}, or finish early with --on-limit wrapUp.`;
}
