/** Plays one case in one mode, and says whether Pawl did what it must. */
import { perform } from './actions.ts';
import { evaluate } from './evaluate.mjs';
import type { Action, Case, Mode } from './load-case.ts';
import { observe } from './observe.ts';
import { cleanPrototype, isTroubled, watchProcess } from './process-watch.ts';
import { startServer } from './server.mjs';
import { createStage, type Stage } from './stage.ts';
import { unknownWords } from './vocabulary.ts';

export interface Verdict {
  readonly id: string;
  readonly mode: string;
  readonly kind: 'passed' | 'failed' | 'skipped';
  /** Why it failed or was skipped. */
  readonly reasons: readonly string[];
  readonly durationMs: number;
  /** Something happened in the process as a whole: in company, nobody knows whose it is. */
  readonly isTroubled: boolean;
}

const defaultTimeoutMs = 15_000;

export async function playCase(kase: Case, mode: Mode): Promise<Verdict> {
  const startedAt = performance.now();
  const verdict = (
    kind: Verdict['kind'],
    reasons: readonly string[] = [],
    troubled = false,
  ): Verdict => {
    const durationMs = Math.round(performance.now() - startedAt);
    return { id: kase.id, mode, kind, reasons, durationMs, isTroubled: troubled };
  };
  try {
    const unknown = unknownWords(kase);
    if (unknown.length > 0) return verdict('failed', unknown);
    const reason = whySkipped(kase);
    if (reason) return verdict('skipped', [reason]);
    const { failures, isTroubled: troubled } = await playOnStage(kase, mode);
    return verdict(failures.length > 0 ? 'failed' : 'passed', failures, troubled);
  } catch (error) {
    return verdict('failed', [String((error as Error)?.stack ?? error)]);
  }
}

/** What Pawl has no part for yet. */
function whySkipped({ script }: Case): string | null {
  if (script.api === 'openai') return 'no OpenAI provider yet';
  const actions = script.actions.flatMap(withInner);
  return actions.some(needsStore) || dies(actions) ? 'no durable store yet' : null;
}

/** A process that was killed leaves nothing but what it stored; only a snapshot that the case itself holds survives. */
const needsStore = ({ do: name, from, workers = 1, retryFailed }: Action): boolean =>
  name === 'resume' && (workers > 1 || (from === undefined && !retryFailed));

const withInner = (action: Action): readonly Action[] => [
  action,
  ...(action.then ?? []).flatMap(withInner),
];

const dies = (actions: readonly Action[]): boolean =>
  actions.some(
    ({ do: name }, index) =>
      name === 'kill' && !actions.slice(index).some(({ from }) => from !== undefined),
  );

async function playOnStage(kase: Case, mode: Mode) {
  const server = await startServer(kase);
  const watch = watchProcess();
  const stage = createStage(kase, mode, server);
  try {
    await playActions(stage);
    const observed = observe(stage);
    await cancelAll(stage);
    const trouble = await watch.stop();
    const record = {
      ...observed,
      checkpoints: stage.checkpoints,
      process: trouble,
      timedOut: stage.isTimedOut,
    };
    return {
      failures: [...stage.failures, ...evaluate(kase, record)],
      isTroubled: isTroubled(trouble),
    };
  } finally {
    await cancelAll(stage);
    await watch.stop();
    cleanPrototype();
    await server.close();
  }
}

async function playActions(stage: Stage): Promise<void> {
  const { timeoutMs = defaultTimeoutMs, waive } = stage.kase.expect;
  const deadline = new AbortController();
  const timer = setTimeout(() => deadline.abort(), timeoutMs);
  for (const [index, action] of stage.kase.script.actions.entries()) {
    try {
      await perform(stage, action, deadline.signal);
    } catch (error) {
      if (!deadline.signal.aborted) {
        stage.failures.push(`action ${index + 1} (${action.do}): ${String(error)}`);
        break;
      }
      stage.isTimedOut = true;
      if (!JSON.stringify(waive ?? []).includes('"settled"')) {
        stage.failures.push(
          `not done after ${timeoutMs} ms: action ${index + 1}, ${action.do} ${action.for ?? ''}`,
        );
      }
      break;
    }
  }
  clearTimeout(timer);
}

async function cancelAll({ runs }: Stage): Promise<void> {
  for (const { run } of runs) run.cancel('The case is over.');
  await Promise.all(runs.map(({ run }) => run.result));
}
