import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { hostname } from 'node:os';
import { Worker } from 'node:worker_threads';
import { describe, expect, it, vi } from 'vitest';
import { isOwnerGone, nameOfOwner, newOwner } from '../../src/runtime/owner.ts';

const own = newOwner();
const [host, pid, thread, life] = own.split('/');

/** Of a process that has ended. */
const gonePid = (): number => spawnSync(process.execPath, ['--version']).pid;

async function idOfWorker(): Promise<number> {
  const worker = new Worker('', { eval: true });
  const { threadId } = worker;
  await once(worker, 'exit');
  return threadId;
}

describe('isOwnerGone', () => {
  it('takes the owners that this process made for alive', () => {
    expect([own, newOwner()].map(isOwnerGone)).toEqual([false, false]);
    expect(newOwner()).not.toBe(own);
  });

  it('takes those for alive that another copy of the module made in this process', async () => {
    vi.resetModules();
    const copy = await import('../../src/runtime/owner.ts');
    expect(copy.isOwnerGone).not.toBe(isOwnerGone);
    expect([copy.isOwnerGone(own), isOwnerGone(copy.newOwner())]).toEqual([false, false]);
  });

  it.each([
    ['an earlier life of this number', `${host}/${pid}/${thread}/another life/agent`],
    ['this number without a thread', `${hostname()}/${process.pid}/an agent`],
    ['this number alone', `${hostname()}/${process.pid}`],
    ['a process that has ended', `${hostname()}/${gonePid()}/0/${life}/agent`],
  ])('takes an owner for gone that names %s', (_, owner) => {
    expect(isOwnerGone(owner)).toBe(true);
  });

  it.each([
    ['another host', `elsewhere/${gonePid()}/0/life/agent`],
    ['another host with this number', `elsewhere/${pid}/${thread}/life/agent`],
    ['another process that lives', `${hostname()}/${process.ppid}/0/life/agent`],
    ['no number', `${hostname()}/x/0/life/agent`],
    ['nothing', ''],
    ['a prototype', '__proto__'],
  ])('knows nothing bad of an owner that names %s', (_, owner) => {
    expect(isOwnerGone(owner)).toBe(false);
  });

  it('takes an owner of another thread of this process for alive', async () => {
    const other = await idOfWorker();
    expect(isOwnerGone(`${host}/${pid}/${other}/another life/agent`)).toBe(false);
  });
});

describe('the name of an owner', () => {
  it.each([
    [`vm/29059/0/${life}/agent`, '29059 on vm'],
    ['somebody else', 'somebody else'],
    ['vm/x/0/life/agent', 'vm/x/0/life/agent'],
    ['', ''],
  ])('of %j is %j', (owner, name) => {
    expect(nameOfOwner(owner)).toBe(name);
  });
});
