/** Who holds a lease: host, process, and which agent in it. */
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';

export const newOwner = (): string => `${hostname()}/${process.pid}/${randomUUID()}`;

/**
 * Is the process behind this lease surely gone? Only known on the same host; a number that another process has got since
 * counts as alive, and then the lease has to run out.
 */
export function isOwnerGone(owner: string): boolean {
  const [host, pid] = owner.split('/');
  if (host !== hostname() || !/^\d{1,10}$/.test(pid ?? '')) return false;
  try {
    process.kill(Number(pid), 0);
    return false;
  } catch (error) {
    return (error as { readonly code?: unknown }).code === 'ESRCH';
  }
}
