/** Plays one case in one mode, and says whether Pawl did what it must. */
import { perform } from './actions.ts';
import { evaluate } from './evaluate.mjs';
import type { Case, Mode } from './load-case.ts';
import { type Observed, observe } from './observe.ts';
import { cleanPrototype, isTroubled as isTrouble, watchProcess } from './process-watch.ts';
import { startServer } from './server.mjs';
import { clearStage, createStage, hostOf, type Stage } from './stage.ts';
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
  /** Processes that the case had killed. */
  readonly killCount: number;
}

const defaultTimeoutMs = 15_000;
/** Starting processes takes the runner's time, not the case's. */
const processesTimeoutMs = 15_000;

export async function playCase(kase: Case, mode: Mode): Promise<Verdict> {
  const startedAt = performance.now();
  const verdict = (
    kind: Verdict['kind'],
    reasons: readonly string[] = [],
    { isTroubled = false, killCount = 0 } = {},
  ): Verdict => {
    const durationMs = Math.round(performance.now() - startedAt);
    return { id: kase.id, mode, kind, reasons, durationMs, isTroubled, killCount };
  };
  try {
    const unknown = unknownWords(kase);
    if (unknown.length > 0) return verdict('failed', unknown);
    const reason = whySkipped(kase);
    if (reason) return verdict('skipped', [reason]);
    const { failures, ...found } = await playOnStage(kase, mode);
    return verdict(failures.length > 0 ? 'failed' : 'passed', failures, found);
  } catch (error) {
    return verdict('failed', [String((error as Error)?.stack ?? error)]);
  }
}

/** What Pawl has no part for yet. */
const whySkipped = ({ script }: Case): string | null =>
  script.api === 'openai' ? 'no OpenAI provider yet' : null;

async function playOnStage(kase: Case, mode: Mode) {
  const server = await startServer(kase);
  const watch = watchProcess();
  const stage = createStage(kase, mode, server);
  try {
    const observed = await playToItsEnd(stage);
    const trouble = await watch.stop();
    const process = {
      unhandledRejections: [...trouble.unhandledRejections, ...stage.trouble.unhandledRejections],
      warnings: [...trouble.warnings, ...stage.trouble.warnings],
    };
    const record = { ...observed, checkpoints: stage.checkpoints, process };
    return {
      failures: [...stage.failures, ...evaluate(kase, { ...record, timedOut: stage.isTimedOut })],
      isTroubled: isTrouble(trouble),
      killCount: stage.killCount,
    };
  } finally {
    await clearStage(stage);
    await watch.stop();
    cleanPrototype();
    await server.close();
  }
}

async function playToItsEnd(stage: Stage): Promise<Observed> {
  const unhurried = new AbortController().signal;
  await hostOf(stage, stage.seat);
  stage.startedAt = performance.now();
  await playActions(stage);
  const observed = await observe(stage, stage.seat, unhurried);
  await Promise.all([...stage.hosts].map((host) => host.ask('stop', null, unhurried)));
  return observed;
}

async function playActions(stage: Stage): Promise<void> {
  const { timeoutMs: caseTimeoutMs = defaultTimeoutMs, waive } = stage.kase.expect;
  const timeoutMs = caseTimeoutMs + (stage.folder === null ? 0 : processesTimeoutMs);
  const deadline = new AbortController();
  const timer = setTimeout(() => deadline.abort(), timeoutMs);
  for (const [index, action] of stage.kase.script.actions.entries()) {
    try {
      await perform(stage, stage.seat, action, deadline.signal);
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
