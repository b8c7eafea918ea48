/** All that one play of a case knows while it runs, whatever becomes of the processes that it plays in. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { PawlError, RunEvent } from 'pawl';
import type { Birth } from './engine.ts';
import { createHappenings, type Happenings } from './happenings.ts';
import { type Host, hostHere } from './host.ts';
import type { Action, Case, CaseTool, Config, Mode } from './load-case.ts';
import { hostInProcess } from './process-host.ts';
import type { ScriptedServer } from './server.mjs';
import type { Ending, Told } from './told.ts';

/** A run that was heard of, in one of its processes. */
export interface HeardRun {
  readonly runId: string;
  /** Started by a tool. */
  readonly isChild: boolean;
  readonly events: RunEvent[];
  ended: Ending | null;
}

/** Somebody who acts, at a process: the user of the case, or one of several workers. */
export interface Seat {
  /** Null before the first, and once it was killed. */
  host: Host | null;
  /** Why the last start or resume was refused. */
  refusal: PawlError | null;
  /** Where what was refused is noted. */
  readonly errors: { readonly do: string; readonly code: string }[];
  readonly isWorker: boolean;
}

export interface Stage {
  readonly kase: Case;
  readonly mode: Mode;
  readonly server: ScriptedServer;
  /** Where processes keep what outlives them; null: all is played in this process. */
  readonly folder: string | null;
  readonly happenings: Happenings;
  readonly runs: Map<string, HeardRun>;
  readonly executions: Map<string, unknown[]>;
  readonly snapshots: Map<string, string>;
  readonly notices: string[];
  readonly checkpoints: Record<string, unknown>;
  readonly actionErrors: Seat['errors'];
  readonly workerErrors: Seat['errors'];
  /** What else was said: events as the agent's listener got them, texts of errors. */
  readonly said: string[];
  readonly trouble: { readonly unhandledRejections: string[]; readonly warnings: string[] };
  readonly failures: string[];
  /** All that were not killed. */
  readonly hosts: Set<Host>;
  hostCount: number;
  killCount: number;
  predicateCalls: number;
  startedAt: number;
  config: Config;
  tools: readonly CaseTool[];
  /** The run of the last user message. */
  runId: string | null;
  seat: Seat;
  isSteerRejected: boolean;
  isTimedOut: boolean;
}

export function createStage(kase: Case, mode: Mode, server: ScriptedServer): Stage {
  const happenings = createHappenings();
  server.on(({ type, n, k }) => {
    happenings.note([type, n, k].filter((part) => part !== undefined).join(':'));
  });
  const actionErrors: Seat['errors'] = [];
  return {
    ...{ kase, mode, server, happenings, actionErrors },
    folder: needsProcesses(kase) ? mkdtempSync(join(tmpdir(), 'pawl-play-')) : null,
    runs: new Map(),
    executions: new Map(),
    snapshots: new Map(),
    notices: [],
    checkpoints: {},
    workerErrors: [],
    said: [],
    trouble: { unhandledRejections: [], warnings: [] },
    failures: [],
    hosts: new Set(),
    hostCount: 0,
    killCount: 0,
    predicateCalls: 0,
    startedAt: performance.now(),
    config: kase.script.config,
    tools: kase.script.tools ?? [],
    runId: null,
    seat: { host: null, refusal: null, errors: actionErrors, isWorker: false },
    isSteerRejected: false,
    isTimedOut: false,
  };
}

/** What is killed, and what another one goes on with, can't be this process. */
export const needsProcesses = ({ script }: Case): boolean =>
  Array.isArray(script.actions) &&
  script.actions.some(({ do: name }: Action) => name === 'kill' || name === 'resume');

/** A new place for runs, with the configuration and the tools of now. */
export async function openHost(stage: Stage): Promise<Host> {
  const { mode, server, folder, config, tools, runId, kase, hosts } = stage;
  stage.hostCount += 1;
  const name = `process ${stage.hostCount}`;
  const { responses } = kase.script.server;
  const birth: Birth = { name, mode, url: server.url, responses, config, tools, folder, runId };
  const tell = (told: Told): void => hear(stage, told);
  const onCrash = (reason: string): void => void stage.failures.push(`${name}: ${reason}`);
  const host =
    folder === null ? hostHere(birth, tell) : await hostInProcess({ birth, tell, onCrash });
  hosts.add(host);
  return host;
}

/** The process that the seat is at; a new one where there is none. */
export async function hostOf(stage: Stage, seat: Seat): Promise<Host> {
  seat.host ??= await openHost(stage);
  return seat.host;
}

export async function endHost(stage: Stage, host: Host): Promise<void> {
  stage.hosts.delete(host);
  await host.end();
}

/** Ends whatever is left of the play. */
export async function clearStage(stage: Stage): Promise<void> {
  await Promise.all([...stage.hosts].map((host) => endHost(stage, host)));
  if (stage.folder !== null) rmSync(stage.folder, { recursive: true, force: true });
}

function hear(stage: Stage, told: Told): void {
  switch (told.told) {
    case 'happened':
      stage.happenings.note(told.name);
      return;
    case 'executed': {
      const { id, input } = told;
      stage.executions.set(id, [...(stage.executions.get(id) ?? []), input]);
      return;
    }
    case 'asked':
      stage.predicateCalls += 1;
      return;
    case 'opened': {
      const { key, runId, isChild } = told;
      stage.runs.set(key, { runId, isChild, events: [], ended: null });
      return;
    }
    case 'event':
      stage.runs.get(told.key)?.events.push(told.event);
      return;
    case 'ended':
      Object.assign(stage.runs.get(told.key) ?? {}, { ended: told.result });
      return;
    case 'said':
      stage.said.push(told.text);
      return;
    case 'trouble':
      stage.trouble[told.kind].push(told.text);
  }
}
