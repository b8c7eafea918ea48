/** What a person should know before and after a run, beside its events. */
import type { LimitReached } from '../core/budget.ts';
import { type ExitCode, exitCodes } from './exit-code.ts';
import { type Kept, resumeLine, tellLine } from './next-steps.ts';
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
  if (!session.isKept) {
    say(`  ${paint('warn', 'This run is kept in memory only')}: there is no SQLite for this Node.`);
    say(`  ${paint('dim', 'Node 22.13 has one; or: npm install @photostructure/sqlite')}`);
  }
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

/** Which run is taken up or branched, and from where. */
export function sayWhichRun({ say, paint }: Speaker, text: string): void {
  say(`  ${paint('accent', '›')} ${showLine(text)}`);
  say();
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
export function sayWhatNow(speaker: Speaker, end: RunEnd, kept: Kept): void {
  const { say, paint } = speaker;
  if (end.result.status === 'suspended') sayWhatWaits(speaker, end, kept);
  for (const line of adviceFor(end, kept)) say(`  ${paint('dim', line)}`);
}

function sayWhatWaits(
  { say, paint }: Speaker,
  { pending, reason, result: { runId } }: RunEnd,
  kept: Kept,
): void {
  say(`  ${paint('warn', `● ${showLine(reason)}`)}`);
  for (const { callId, name, input, waits } of pending) {
    const hash = waits.for === 'approval' ? ` hash ${waits.argumentsHash.slice(0, 12)}` : '';
    const verb = waits.for === 'approval' ? 'approve' : 'settle';
    say(`      ${callLine(name, input)}${paint('dim', hash)}`);
    say(`        ${tellLine(verb, runId, callId, kept)}`);
  }
}

function adviceFor(end: RunEnd, kept: Kept): readonly string[] {
  const { code, result } = end;
  const resume = (...more: readonly string[]): string => resumeLine(result.runId, kept, ...more);
  if (result.status === 'suspended') return suspendedAdvice(end, resume);
  const advice: ReadonlyMap<ExitCode, () => readonly string[]> = new Map([
    [
      exitCodes.blockedByDenial,
      () => ['A call was denied, so the answer may not be what was asked for.'],
    ],
    [exitCodes.exhausted, () => limitAdvice(result.limit, resume)],
    [
      exitCodes.failed,
      () => [
        ...(result.error?.code === 'provider_auth' ? ['Look at ANTHROPIC_API_KEY.'] : []),
        `From its last good step: ${resume('--retry')}`,
      ],
    ],
  ]);
  return advice.get(code)?.() ?? [];
}

type Resume = (...more: readonly string[]) => string;

function suspendedAdvice({ waits, result }: RunEnd, resume: Resume): readonly string[] {
  switch (waits) {
    case 'approval':
      return [`Decide (pawl approve, pawl deny), then go on: ${resume()}`];
    case 'settlement':
      return [
        'Say what it came to (--result TEXT, --error), or let it run again (--retry).',
        `Then go on: ${resume()}`,
      ];
    case 'budget':
      return limitAdvice(result.limit, resume);
    default:
      return [`Go on: ${resume()}`];
  }
}

const limitOptions: ReadonlyMap<string, readonly [option: string, unit: number]> = new Map([
  ['maxTurns', ['--max-turns', 1]],
  ['maxCostMicros', ['--max-cost', 1_000_000]],
  ['maxTotalTokens', ['--max-tokens', 1]],
  ['maxActiveMs', ['--max-time', 1]],
]);

/** With twice the limit: a command that can be taken as it is. */
function limitAdvice(limit: LimitReached | null, resume: Resume): readonly string[] {
  const [option, unit] = limitOptions.get(limit?.name ?? '') ?? [];
  if (limit === null || option === undefined || unit === undefined) return [];
  const raised = Math.max(limit.max * 2, limit.used) / unit;
  return [`Go on with a higher limit: ${resume(option, String(raised))}`];
}
