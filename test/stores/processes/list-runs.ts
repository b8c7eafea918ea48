/**
 * Opens the store that its first argument names, and prints what happened. With a second argument it
 * first becomes the user of that number, after the code is loaded: that user may not read the project.
 */
import { sqliteStore } from '../../../src/stores/sqlite.ts';

async function listRuns(path: string): Promise<string> {
  const store = sqliteStore(path);
  try {
    const { runs } = await store.list();
    return `runs: ${runs.map(({ runId }) => runId).join(' ')}`;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  } finally {
    await store.close();
  }
}

const [path = '', userId] = process.argv.slice(2);
if (userId !== undefined) {
  // Loads the driver while its files may still be read.
  await listRuns(`${path}.other`);
  process.setgroups?.([]);
  process.setgid?.(Number(userId));
  process.setuid?.(Number(userId));
}
console.log(await listRuns(path));
