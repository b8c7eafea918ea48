/** What strace puts between a process and its disk: errors, and a kill in the middle of a call. */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { storeIn } from './world-file.ts';

export const syscalls = ['pwrite64', 'fsync', 'fdatasync', 'ftruncate'] as const;
export type Syscall = (typeof syscalls)[number];

export interface Fault {
  readonly syscall: Syscall;
  /** A signal is for the process that makes the call. */
  readonly brings: 'error=EIO' | 'error=ENOSPC' | 'signal=SIGKILL';
  /** The n-th call of this kind is the one, counted from 1. */
  readonly time: number;
  /** And so are all that follow. */
  readonly stays: boolean;
}

export const nameOfFault = ({ syscall, brings, time, stays }: Fault): string =>
  `${syscall} ${time}${stays ? ' and on' : ''}, ${brings}`;

const logIn = (folder: string): string => join(folder, 'strace.log');

/** The command that runs another one. Which calls count: those for the store's files, or all of the process. */
export function straced(
  folder: string,
  fault: Fault | null,
  where: 'store' | 'anywhere',
): readonly string[] {
  const store = storeIn(folder);
  const files = where === 'store' ? [store, `${store}-wal`, `${store}-shm`] : [];
  return [
    ...['strace', '-f', '-o', logIn(folder), '-e', `trace=${syscalls.join(',')}`],
    ...(fault ? ['-e', injected(fault)] : []),
    ...files.flatMap((path) => ['-P', path]),
  ];
}

const injected = ({ syscall, brings, time, stays }: Fault): string =>
  `inject=${syscall}:${brings}:when=${time}${stays ? '+' : ''}`;

/** How often each call was made, and how many of them failed on purpose. */
export function tracedIn(folder: string): {
  readonly counts: ReadonlyMap<Syscall, number>;
  readonly injected: number;
} {
  const lines = readFileSync(logIn(folder), 'utf8').split('\n');
  const counts = syscalls.map(
    (name) => [name, lines.filter((line) => line.includes(` ${name}(`)).length] as const,
  );
  return {
    counts: new Map(counts),
    injected: lines.filter((line) => line.includes('(INJECTED)')).length,
  };
}

/** Why there can be no such errors here; null when there can. */
export function whyNoStrace(folder: string): string | null {
  const [program = '', ...given] = [...straced(folder, null, 'store'), process.execPath, '-e', '0'];
  const { error, status, stderr } = spawnSync(program, given, { encoding: 'utf8' });
  if (error) return error.message;
  return status === 0 ? null : `strace ended with ${status}: ${stderr.trim()}`;
}
