import { PawlError } from '../core/errors.ts';
import type { Message } from '../core/message.ts';
import type { RunInput } from '../core/run-context.ts';
import { memoryStore } from '../stores/memory.ts';
import type { RunSnapshot, StepRecord } from '../stores/store.ts';
import { inputOf, partsOf } from './agent-input.ts';
import { type AgentMachine, agentMachine } from './agent-machine.ts';
import type {
  AgentOptions,
  ForkOptions,
  InputOptions,
  Prompt,
  ResumeOptions,
  StartOptions,
} from './agent-options.ts';
import { checkAgentOptions, checkResumeOptions } from './check-options.ts';
import { groupCommit } from './commits.ts';
import { drainRun } from './drain-run.ts';
import { createKeeper } from './keeper.ts';
import { finished, lockedBy, type RunOptions } from './live-run.ts';
import { type OpenRun, openRun } from './open-run.ts';
import { isOwnerGone, newOwner } from './owner.ts';
import type { Run } from './run.ts';
import { nothingKnown } from './step-builder.ts';
import { forkOf, type Reopened, reopenedRun, storedRun, unknownRun } from './stored-run.ts';
import { isHeld, isOfOneRun, unattended, warnOfRun } from './unattended.ts';

/** A configuration: model, instructions, tools, limits. Has no state of its own; `start` gives a run. */
export interface Agent {
  /**
   * The XState machine with its effects: `createActor(agent.machine, { input: agent.input('…') })`, or
   * `invoke: { src: agent.machine }` in a machine of yours.
   */
  readonly machine: AgentMachine;
  /** The machine's input for this prompt. @throws PawlError `invalid_input` */
  input(prompt: Prompt, options?: InputOptions): RunInput;
  /** Starts a run. @throws PawlError `invalid_input`, `run_exists`, before anything has happened */
  start(prompt: Prompt, options?: StartOptions): Run;
  /**
   * Goes on with a run: one that the store knows, or one from `run.snapshot()`. Finished calls keep their results; what
   * was in flight when a process died comes back as of unknown outcome.
   * @throws PawlError `unknown_run`, `run_exists` (it runs in this process), `run_locked` (in another),
   * `snapshot_incompatible`
   */
  resume(run: string | RunSnapshot, options?: ResumeOptions): Promise<Run>;
  /**
   * Goes on with every run of agents of this name that nobody holds and that does not wait for a person, or does so past
   * its deadline. One that can't be read is left as it is, with a `PawlWarning` of the process, and keeps no other from going on.
   */
  resumeAll(): Promise<readonly Run[]>;
  /**
   * A new run from a turn of another one, also of one that has ended: with another past, a raised budget, or this
   * agent's tools. @throws PawlError `unknown_run`, `invalid_input`
   */
  fork(runId: string, options: ForkOptions): Promise<Run>;
  /** What a run said and did. @throws PawlError `unknown_run` */
  history(runId: string): Promise<{
    readonly messages: readonly Message[];
    readonly steps: readonly StepRecord[];
    readonly forkOf: { readonly runId: string; readonly turn: number } | null;
  }>;
  /**
   * For a graceful end of the process: starts nothing new, lets each run come to the end of its turn, for `graceMs` at most
   * (default 10,000), and suspends it. `resumeAll` of another process goes on.
   */
  drain(options?: { readonly graceMs?: number }): Promise<void>;
}

/** @throws PawlError `invalid_input`: which field, what was expected, what was got */
export function createAgent(options: AgentOptions): Agent {
  checkAgentOptions(options);
  const parts = partsOf(options);
  const machine = agentMachine(parts);
  const store = options.store ?? memoryStore({ keepsEnded: false });
  const commits = groupCommit(store);
  const { toolConcurrency } = parts;
  const keeper = createKeeper(store, newOwner(), parts.now);
  const live = new Map<string, Run>();
  /** Runs that are being taken up: whoever wants one of them too must not touch its lease. */
  const opening = new Set<string>();
  const ended = recentIds(10_000);
  let isDraining = false;

  const input = (prompt: Prompt, inputOptions: InputOptions = {}): RunInput =>
    inputOf(options, parts, prompt, inputOptions);
  const lease = () => ({ owner: keeper.owner, untilMs: keeper.leaseUntilMs() });

  const open = (
    runId: string,
    own: Pick<RunOptions, 'source' | 'known' | 'begin' | 'tags' | 'isReopened' | 'leaseUntilMs'>,
    { signal, inspect }: Pick<StartOptions, 'signal' | 'inspect'>,
  ): OpenRun => {
    if (live.has(runId)) throw alreadyRuns(runId);
    if (isDraining) throw draining();
    const onClosed = (hasEnded: boolean): void => {
      live.delete(runId);
      if (hasEnded) ended.add(runId);
    };
    const shared = { parts, machine, commits, toolConcurrency, keeper, onClosed };
    const opened = openRun({ ...shared, ...own, signal, inspect });
    if (!opened.live.isOver()) live.set(runId, opened.run);
    return opened;
  };
  /** Only one process goes on with a run: whoever else holds it is named. Gives until when it is held. */
  const takeLease = async (runId: string): Promise<number> => {
    const { owner, untilMs } = lease();
    const ask = () => store.lease(runId, owner, untilMs, parts.now());
    const answer = await ask();
    if (answer.ok) return untilMs;
    // A process that was killed can't give its lease back.
    if (isOwnerGone(answer.owner)) await store.release([runId], answer.owner);
    const again = isOwnerGone(answer.owner) ? await ask() : answer;
    if (!again.ok) throw lockedBy(runId, again.owner);
    return untilMs;
  };
  const goOn = async (
    reopened: Reopened,
    resumeOptions: ResumeOptions,
    leaseUntilMs: number,
  ): Promise<Run> => {
    const { runId, snapshot, known, tags, begin, events, isReopened } = reopened;
    const withLease = begin && { ...begin, lease: { owner: keeper.owner, untilMs: leaseUntilMs } };
    const own = { source: { snapshot }, known, tags, begin: withLease, isReopened, leaseUntilMs };
    const opened = open(runId, own, resumeOptions);
    for (const event of events) opened.live.send(event);
    for (const posted of await store.posted([runId])) opened.live.hear(posted);
    return opened.run;
  };

  const resume = async (
    run: string | RunSnapshot,
    resumeOptions: ResumeOptions = {},
  ): Promise<Run> => {
    checkResumeOptions(resumeOptions);
    // Looked at before anything is written: a run that this version can't read stays as it is.
    const seen = await storedRun(store, run);
    const { runId } = seen;
    if (seen.begin && seen.snapshot.status === 'active' && ended.has(runId)) throw finished(runId);
    if (live.has(runId) || opening.has(runId)) throw alreadyRuns(runId);
    opening.add(runId);
    try {
      if (seen.begin) {
        return await goOn(reopenedRun(seen, resumeOptions), resumeOptions, keeper.leaseUntilMs());
      }
      const leaseUntilMs = await takeLease(runId);
      try {
        const found = reopenedRun(await storedRun(store, run), resumeOptions);
        return await goOn(found, resumeOptions, leaseUntilMs);
      } catch (error) {
        // A run that was opened has its lease, and gives it back by itself.
        if (!live.has(runId)) await store.release([runId], keeper.owner).catch(() => {});
        throw error;
      }
    } finally {
      opening.delete(runId);
    }
  };

  return {
    machine,
    input,
    start(prompt, startOptions = {}) {
      const runInput = input(prompt, startOptions);
      const { settings } = runInput;
      const own = lease();
      const begin = { settings, base: null, forkOf: null, lease: own };
      const source = { input: runInput };
      const tags = startOptions.tags ?? [];
      const made = { source, known: nothingKnown, begin, tags, leaseUntilMs: own.untilMs };
      return open(settings.runId, made, startOptions).run;
    },
    resume,
    async resumeAll() {
      const resumed: Run[] = [];
      for (const runId of await unattended(store, options.name ?? null, parts.now())) {
        if (live.has(runId) || opening.has(runId)) continue;
        try {
          resumed.push(await resume(runId));
        } catch (error) {
          if (!isOfOneRun(error)) throw error;
          if (!isHeld(error)) warnOfRun(runId, error);
        }
      }
      return resumed;
    },
    async fork(runId, forkOptions) {
      const { begin, source, known, tags, id } = await forkOf(
        store,
        options,
        parts,
        runId,
        forkOptions,
      );
      const own = lease();
      const withLease = { ...begin, lease: own };
      const made = { source, known, tags, begin: withLease, leaseUntilMs: own.untilMs };
      return open(id, made, forkOptions).run;
    },
    async history(runId) {
      const saved = await store.load(runId);
      if (!saved) throw unknownRun(runId);
      const { messages, forkOf: from } = saved;
      return { messages, steps: await store.steps(runId), forkOf: from };
    },
    async drain({ graceMs = 10_000 } = {}) {
      isDraining = true;
      const runs = [...live.values()];
      await Promise.all(runs.map((run) => drainRun(run, graceMs, store, keeper.owner)));
    },
  };
}

/** Ids of runs that ended lately, so that an old snapshot of one is not taken for a run that goes on. */
function recentIds(most: number): { add(id: string): void; has(id: string): boolean } {
  const ids = new Set<string>();
  return {
    has: (id) => ids.has(id),
    add(id) {
      ids.add(id);
      const [oldest] = ids;
      if (ids.size > most && oldest !== undefined) ids.delete(oldest);
    },
  };
}

const alreadyRuns = (runId: string): PawlError =>
  new PawlError(
    'run_exists',
    `Run "${runId}" is running in this process already. Use the run you have, or another id.`,
  );

const draining = (): PawlError =>
  new PawlError('run_locked', 'The agent is draining: it starts nothing new in this process.');
