/** Who holds a lease: host, process, thread, and which agent in it. */
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { threadId } from 'node:worker_threads';

/** In the global object, since a process may load this module twice: its copies must know each other's owners. */
const lifeKey = Symbol.for('pawl.life');

/** Of this thread alone: another process never has it, also when it gets the same number later. */
function ownLife(): string {
  const global = globalThis as { [lifeKey]?: string };
  global[lifeKey] ??= randomUUID();
  return global[lifeKey];
}

export const newOwner = (): string =>
  `${hostname()}/${process.pid}/${threadId}/${ownLife()}/${randomUUID()}`;

/** For people: `29059 on vm`. Owners of another form are foreign text, and stay as they are. */
export function nameOfOwner(owner: string): string {
  const [host, pid, ...rest] = owner.split('/');
  return rest.length > 1 && /^\d{1,10}$/.test(pid ?? '') ? `${pid} on ${host}` : owner;
}

/**
 * Is the process behind this lease surely gone? Only known on the same host; a number that another process has got since
 * counts as alive, and then the lease has to run out. When it is this process that has got it, as after each start of a
 * container, only its own owners are alive.
 */
export function isOwnerGone(owner: string): boolean {
  const [host, pid, thread, life] = owner.split('/');
  if (host !== hostname() || !/^\d{1,10}$/.test(pid ?? '')) return false;
  if (Number(pid) === process.pid) return life !== ownLife() && !isOtherThread(thread);
  try {
    process.kill(Number(pid), 0);
    return false;
  } catch (error) {
    return (error as { readonly code?: unknown }).code === 'ESRCH';
  }
}

/** What other threads made is not known in this one. Their numbers come once in a process. */
const isOtherThread = (thread: string | undefined): boolean =>
  /^\d{1,10}$/.test(thread ?? '') && Number(thread) !== threadId;
