/** Opens the store that its argument names, and prints what happened: by another process, of another user perhaps. */
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

console.log(await listRuns(process.argv[2] ?? ''));
