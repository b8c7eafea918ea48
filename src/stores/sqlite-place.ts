/** Whether a path still names the file that a store has open. */
import { statSync } from 'node:fs';
import { PawlError } from '../core/errors.ts';

/** Nobody else gets these two numbers while the file is open, also when it has no name any more. */
export interface FilePlace {
  readonly device: bigint;
  readonly inode: bigint;
}

/** Null when there is no such file. */
export function placeOf(path: string): FilePlace | null {
  // As big integers: inodes of some file systems are beyond what a number holds exactly.
  const found = statSync(path, { bigint: true, throwIfNoEntry: false });
  return found === undefined ? null : { device: found.dev, inode: found.ino };
}

export function isInPlace(path: string, { device, inode }: FilePlace): boolean {
  const found = placeOf(path);
  return found !== null && found.device === device && found.inode === inode;
}

/**
 * SQLite writes on into a file that was removed, and all of it is gone once the file is closed.
 * @throws PawlError `store_failed`
 */
export function checkPlace(path: string, place: FilePlace): void {
  if (isInPlace(path, place)) return;
  throw new PawlError(
    'store_failed',
    `${path}: expected the file that the store opened, found ${placeOf(path) === null ? 'none' : 'another one'}: it was removed or replaced. What is written now would be lost, so nothing is. Move the file back, or close the store and open it anew; then resume the runs.`,
  );
}
