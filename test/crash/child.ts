/** Processes in which runs live. */
import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process';
import { closeSync } from 'node:fs';
import type { LifeOrder } from './processes/life.ts';
import { programs } from './programs.ts';
import { openLog } from './world-file.ts';

export interface Death {
  /** By what was to kill it, not because it took too long. */
  readonly wasKilled: boolean;
  readonly problem: string | null;
}

export interface Life {
  /** True: it has begun. False: it was over before that, whatever the reason. */
  readonly begun: Promise<boolean>;
  /** True: it has come to the point where it sleeps. False: it ended without. */
  readonly asleep: Promise<boolean>;
  readonly end: Promise<Death>;
  wake(): void;
  kill(): void;
}

/** How long a life may take, in ms: one that waits for ever is a failure, not a hang of the test. */
const lifeTimeoutMs = 180_000;

/** `under`: the command that is to start the process, and gets it as its last arguments. */
export async function startLife(order: LifeOrder, under: readonly string[] = []): Promise<Life> {
  const script = await programs.scriptOf('life');
  const command = [...under, process.execPath, script, JSON.stringify(order)];
  const logs = order.folders.map(openLog);
  const [program = '', ...given] = command;
  // In a group of its own, so that what it starts goes with it.
  const stdio: StdioOptions = ['ignore', 'pipe', 'pipe', ...logs];
  const child = spawn(program, given, { stdio, detached: under.length > 0 });
  for (const log of logs) closeSync(log);
  return watchLife(child, under.length > 0);
}

function watchLife(child: ChildProcess, isGroup: boolean): Life {
  let isLate = false;
  let told = '';
  let errors = '';
  child.stdout?.on('data', (text) => {
    told += text;
  });
  child.stderr?.on('data', (text) => {
    errors += text;
  });
  const late = setTimeout(() => {
    isLate = true;
    signal(child, isGroup, 'SIGKILL');
  }, lifeTimeoutMs);
  const end = endOf(child).then(({ code, name, trouble }): Death => {
    clearTimeout(late);
    const failed = code ? `exit code ${code}: ${errors}` : trouble;
    return {
      wasKilled: name === 'SIGKILL' && !isLate,
      problem: isLate ? 'it did not end' : failed,
    };
  });
  const hasSaid = (word: string): Promise<boolean> =>
    new Promise((resolve) => {
      const look = (): boolean => told.includes(`${word}\n`);
      child.stdout?.on('data', () => look() && resolve(true));
      void end.then(() => resolve(look()));
    });
  return {
    begun: hasSaid('begun'),
    asleep: hasSaid('asleep'),
    end,
    wake: () => signal(child, isGroup, 'SIGCONT'),
    kill: () => signal(child, isGroup, 'SIGKILL'),
  };
}

function signal(child: ChildProcess, isGroup: boolean, name: 'SIGKILL' | 'SIGCONT'): void {
  if (!isGroup || child.pid === undefined) {
    child.kill(name);
    return;
  }
  try {
    process.kill(-child.pid, name);
  } catch {
    // All of them have ended.
  }
}

interface End {
  readonly code: number | null;
  readonly name: NodeJS.Signals | null;
  readonly trouble: string | null;
}

const endOf = (child: ChildProcess): Promise<End> =>
  new Promise((resolve) => {
    child.on('error', ({ message }) => resolve({ code: null, name: null, trouble: message }));
    child.on('close', (code, name) => resolve({ code, name, trouble: null }));
  });

const tries = 3;

/** One life, to its end. `killAfterMs`: it is killed from outside so long after it began, wherever it is then. */
export async function liveOnce(
  order: LifeOrder,
  { killAfterMs = null, under = [] }: LifeOptions = {},
): Promise<Death> {
  let last: Death = { wasKilled: false, problem: null };
  for (let tried = 0; tried < tries; tried += 1) {
    const life = await startLife(order, under);
    const hasBegun = await life.begun;
    const shot =
      hasBegun && killAfterMs !== null ? setTimeout(() => life.kill(), killAfterMs) : undefined;
    last = await life.end;
    clearTimeout(shot);
    if (hasBegun) return last;
  }
  return { wasKilled: false, problem: `it never began, ${tries} times: ${last.problem}` };
}

interface LifeOptions {
  readonly killAfterMs?: number | null;
  readonly under?: readonly string[];
}
