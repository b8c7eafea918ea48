/** Counts that outlive a process, and that several processes can't draw twice. */
import { createHash } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';

export interface Counters {
  /** How often this was asked before: 0 at first. */
  next(name: string): number;
}

export function countersInMemory(): Counters {
  const counts = new Map<string, number>();
  return {
    next(name) {
      const count = counts.get(name) ?? 0;
      counts.set(name, count + 1);
      return count;
    },
  };
}

/** Each number is a folder, and only one can make it. */
export function countersIn(folder: string): Counters {
  return {
    next(name) {
      const own = join(folder, createHash('sha256').update(name).digest('hex'));
      mkdirSync(own, { recursive: true });
      for (let count = 0; ; count += 1) if (mayClaim(join(own, String(count)))) return count;
    },
  };
}

function mayClaim(path: string): boolean {
  try {
    mkdirSync(path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}
