/** A process for the runs of a play, as the play sees it. */
import { type ChildProcess, spawn } from 'node:child_process';
import type { Readable } from 'node:stream';
import { PawlError } from 'pawl';
import type { Birth } from './engine.ts';
import { untilAborted } from './happenings.ts';
import type { Host } from './host.ts';
import { programs } from './programs.ts';
import type { Tell, Told } from './told.ts';

/** A line that the process writes. Order 0 is to be born. */
export type Said =
  | { readonly told: Told }
  | { readonly number: number; readonly value: unknown }
  | {
      readonly number: number;
      readonly code: PawlError['code'] | null;
      readonly message: string;
    };

interface Waiting {
  readonly resolve: (value: never) => void;
  readonly reject: (error: Error) => void;
}

export interface ProcessOptions {
  readonly birth: Birth;
  readonly tell: Tell;
  /** It ended, and nobody had killed it. */
  readonly onCrash: (reason: string) => void;
}

/** Resolves when the process is ready for its first order. */
export async function hostInProcess({ birth, tell, onCrash }: ProcessOptions): Promise<Host> {
  const child = spawn(process.execPath, [await programs.scriptOf('host')], {
    stdio: ['ignore', 'ignore', 'pipe', 'pipe', 'ipc'],
  });
  const answers = answersOf(child, tell);
  let isKilled = false;
  const ended = answers.end.then((reason) => {
    if (!isKilled) onCrash(reason);
  });
  let orders = 0;
  const born = answers.to(0);
  // One that has ended meanwhile can't be told anything: then its end is the answer.
  child.send(birth, () => {});
  const end = async (): Promise<void> => {
    isKilled = true;
    child.kill('SIGKILL');
    await ended;
  };
  await born.catch(async (error) => {
    await end();
    throw error;
  });
  return {
    async ask(name, argument, signal) {
      orders += 1;
      const answer = answers.to(orders);
      child.send({ number: orders, name, argument }, () => {});
      return untilAborted(signal, answer);
    },
    end,
  };
}

/** What the process says: what it tells goes to the play, the rest answers an order. */
function answersOf(child: ChildProcess, tell: Tell) {
  const waiting = new Map<number, Waiting>();
  const pipe = child.stdio[3] as Readable;
  let endedAs: string | null = null;
  listenTo(pipe, (said) => {
    if ('told' in said) tell(said.told);
    else settle(waiting, said);
  });
  const end = whenEnded(child, pipe).then((reason) => {
    endedAs = reason;
    for (const { reject } of waiting.values()) reject(new Error(reason));
    return reason;
  });
  const to = (number: number): Promise<never> =>
    new Promise((resolve, reject) => {
      if (endedAs === null) waiting.set(number, { resolve, reject });
      else reject(new Error(endedAs));
    });
  return { to, end };
}

function listenTo(pipe: Readable, hear: (said: Said) => void): void {
  let rest = '';
  pipe.setEncoding('utf8');
  pipe.on('data', (chunk: string) => {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) hear(JSON.parse(line));
  });
}

function settle(waiting: Map<number, Waiting>, said: Exclude<Said, { readonly told: Told }>): void {
  const { resolve, reject } = waiting.get(said.number) ?? {};
  waiting.delete(said.number);
  if ('value' in said) resolve?.(said.value as never);
  else if (said.code === null) reject?.(new Error(said.message));
  else reject?.(new PawlError(said.code, said.message));
}

/** How it ended, once everything that it wrote was read. */
async function whenEnded(child: ChildProcess, pipe: Readable): Promise<string> {
  let complaints = '';
  child.stderr?.on('data', (chunk: Buffer) => {
    complaints = `${complaints}${chunk}`.slice(-2_000);
  });
  const isRead = new Promise((resolve) => pipe.once('close', resolve));
  const isOver = new Promise((resolve) => child.once('close', resolve));
  await Promise.all([isRead, isOver]);
  const { exitCode, signalCode } = child;
  return `the process of the runs ended (${signalCode ?? exitCode}). ${complaints}`.trim();
}
