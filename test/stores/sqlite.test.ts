import { existsSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { loadDriver } from '../../src/stores/sqlite-driver.ts';
import { sqliteStore, storeAt } from '../../src/stores/sqlite.ts';
import { storeContract } from '../../src/testing/store-contract.ts';
import { says, stepsOf } from '../../src/testing/store-steps.ts';

const folder = mkdtempSync(join(tmpdir(), 'pawl-store-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let made = 0;
const newPath = (): string => {
  made += 1;
  return join(folder, `${made}.db`);
};

describe('sqliteStore', () => {
  it.each(storeContract)('$name', async ({ check }) => {
    const path = newPath();
    const open = () => sqliteStore(path);
    await expect(check(open, open)).resolves.toBeUndefined();
  });

  it('touches nothing before its first use', async () => {
    const path = newPath();
    const store = sqliteStore(path);
    await store.close();
    expect(existsSync(path)).toBe(false);
  });
});
