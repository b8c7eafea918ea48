import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, readdirSync, statSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import type { Message } from '../../src/core/message.ts';
import { sqliteStore } from '../../src/stores/sqlite.ts';
import { storeContract } from '../../src/testing/store-contract.ts';
import { says, stepsOf } from '../../src/testing/store-steps.ts';
import { fillStore, pathMaker } from './sqlite-files.ts';

const newPath = pathMaker();

describe('sqliteStore', () => {
  it.each(storeContract)('$name', async ({ check }) => {
    const path = newPath();
    const open = () => sqliteStore(path);
    await expect(check(open, open)).resolves.toBeUndefined();
  });

  it('touches nothing before its first use', async () => {
    const path = newPath();
    await sqliteStore(path).close();
    expect(existsSync(path)).toBe(false);
  });

  it('makes files that only their user can read, and leaves no others', async () => {
    const path = newPath();
    const store = sqliteStore(path);
    await store.save([stepsOf('a').next()]);
    const files = readdirSync(dirname(path)).filter((name) => name.startsWith(basename(path)));
    expect(files.sort()).toEqual(['', '-shm', '-wal'].map((end) => `${basename(path)}${end}`));
    for (const end of ['', '-wal', '-shm']) {
      expect(statSync(`${path}${end}`).mode & 0o777).toBe(0o600);
    }
    await store.close();
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  it('has everything in the file itself once it is closed, and leaves no other file', async () => {
    const path = newPath();
    const store = sqliteStore(path);
    await fillStore(store);
    await store.close();
    const left = readdirSync(dirname(path)).filter((name) => name.startsWith(basename(path)));
    expect(left).toEqual([basename(path)]);
  });

  it('gives a free lease to one of two stores on the same file that ask at the same moment', async () => {
    const path = newPath();
    const stores = [sqliteStore(path), sqliteStore(path)];
    for (const number of Array(10).keys()) {
      const answers = await Promise.all(
        stores.map((store, index) => store.lease(`run ${number}`, `owner ${index}`, 100, 0)),
      );
      expect(answers.filter(({ ok }) => ok)).toHaveLength(1);
    }
    for (const store of stores) await store.close();
  });

  it('refuses every use after it was closed', async () => {
    const store = sqliteStore(newPath());
    await store.save([stepsOf('a').next()]);
    await store.close();
    await expect(store.load('a')).rejects.toMatchObject({ code: 'store_failed' });
  });

  it('gives room back to the disk with vacuum', async () => {
    const path = newPath();
    const store = sqliteStore(path);
    await store.save([stepsOf('big').next({ messages: says('x'.repeat(1_000_000)) })]);
    await store.save([stepsOf('small').next({ messages: says('small') })]);
    await store.delete('big');
    await store.vacuum();
    expect(statSync(path).size).toBeLessThan(200_000);
    expect((await store.load('small'))?.messages).toEqual(says('small'));
    await store.close();
  });

  it('keeps the messages that forks share once', async () => {
    const path = newPath();
    const store = sqliteStore(path);
    await store.save([stepsOf('a').next({ messages: says('x'.repeat(1_000_000)) })]);
    const base = { runId: 'a', generation: 0, length: 1 };
    for (const number of Array(20).keys()) {
      await store.save([stepsOf(`fork ${number}`, { base }).next({ messages: says('y') })]);
    }
    await store.close();
    expect(statSync(path).size).toBeLessThan(1_300_000);
  });

  it('drops what a deleted run did not share', async () => {
    const path = newPath();
    const store = sqliteStore(path);
    const own = says('shared', 'x'.repeat(1_000_000));
    await store.save([stepsOf('a').next({ messages: own })]);
    const base = { runId: 'a', generation: 0, length: 1 };
    await store.save([stepsOf('fork', { base }).next({ messages: says('y') })]);
    await store.delete('a');
    await store.vacuum();
    expect(statSync(path).size).toBeLessThan(200_000);
    expect((await store.load('fork'))?.messages).toEqual(says('shared', 'y'));
    await store.close();
  });

  it('saves in the order in which it was asked, also without waiting', async () => {
    const store = sqliteStore(newPath());
    const run = stepsOf('a');
    const saves = Array.from({ length: 20 }, () => store.save([run.next()]));
    expect((await Promise.all(saves)).flat()).toEqual([]);
    expect((await store.load('a'))?.saveVersion).toBe(20);
    await store.close();
  });

  it('shares a file with another store of the same path: one of two writers wins', async () => {
    const path = newPath();
    const [one, two] = [sqliteStore(path), sqliteStore(path)];
    const run = stepsOf('a');
    await one.save([run.next()]);
    const step = run.next();
    const refused = await Promise.all([one.save([step]), two.save([step])]);
    expect(refused.flat()).toEqual([{ runId: 'a', why: 'stale' }]);
    expect((await two.load('a'))?.saveVersion).toBe(2);
    await one.close();
    expect((await two.load('a'))?.saveVersion).toBe(2);
    await two.close();
  });

  it('is one file for stores that make it at the same moment', async () => {
    const path = newPath();
    const stores = Array.from({ length: 8 }, () => sqliteStore(path));
    await Promise.all(stores.map((store, index) => store.save([stepsOf(`${index}`).next()])));
    expect((await stores[0]?.list())?.runs.length).toBe(8);
    for (const store of stores) await store.close();
  });

  it('needs at most twice the size of a chat of 80 turns, with one and with four tools', async () => {
    for (const tools of [1, 4]) {
      const path = newPath();
      const store = sqliteStore(path);
      const chatBytes = await saveChat(store, tools);
      await store.close();
      expect(statSync(path).size / chatBytes).toBeLessThan(2);
    }
  });

  const isRoot = process.getuid?.() === 0;

  it('refuses a file that it may only read, and says what to do', async () => {
    const path = newPath();
    const store = sqliteStore(path);
    await store.save([stepsOf('a').next()]);
    await store.close();
    chmodSync(dirname(path), 0o755);
    chmodSync(path, 0o444);
    const script = fileURLToPath(new URL('processes/list-runs.ts', import.meta.url));
    const asNobody = isRoot ? ['65534'] : [];
    const { stdout, stderr } = spawnSync(
      process.execPath,
      ['--import', 'tsx', script, path, ...asNobody],
      { encoding: 'utf8' },
    );
    expect(stdout, stderr).toContain(
      `${path}: expected a file to read and write, found one that is`,
    );
    expect(stdout).toContain('Make the file readable and writable for this user');
  });

  it.each(['', 'a\0b'])('refuses the path %j', (path) => {
    expect(() => sqliteStore(path)).toThrow('path: expected the path of a file');
  });

  it('refuses options that it does not know', () => {
    const options: object = { timeout: 1 };
    expect(() => sqliteStore('a.db', options)).toThrow('busyTimeoutMs');
  });
});

/** Two messages and three saves a turn, results of 1,000 characters. Gives the bytes of the messages. */
async function saveChat(store: ReturnType<typeof sqliteStore>, tools: number): Promise<number> {
  const run = stepsOf('run');
  let bytes = 0;
  for (let turn = 1; turn <= 80; turn += 1) {
    const calls = Array.from({ length: tools }, (_, index) => `toolu_01${turn}_${index}`);
    const reply: Message = {
      role: 'assistant',
      content: calls.map((id) => ({
        type: 'tool_use',
        id,
        name: 'search',
        input: { query: `the question of turn ${turn}` },
      })),
    };
    const results = calls.map((id) => ({
      type: 'tool_result' as const,
      tool_use_id: id,
      content: 'x'.repeat(1_000),
    }));
    const answer = { role: 'user', content: results } as const;
    bytes += JSON.stringify(reply).length + JSON.stringify(answer).length;
    await store.save([run.turn(turn, [])]);
    await store.save([run.next({ messages: [reply], results })]);
    await store.save([run.next({ messages: [answer], closesBatch: true })]);
  }
  return bytes;
}
