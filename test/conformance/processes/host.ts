/** A process of its own for the runs of a play. It does what it is asked until it is killed. */
import { writeSync } from 'node:fs';
import { PawlError } from 'pawl';
import { type Birth, createEngine } from '../engine.ts';
import type { AnyOrders } from '../host.ts';
import { ordersFor } from '../orders.ts';
import type { Said } from '../process-host.ts';
import type { Told } from '../told.ts';
import { loadClient } from '../wire.ts';

/** A pipe: what was written to it is heard, whatever becomes of this process. */
const listener = 3;

function say(said: Said): void {
  const bytes = Buffer.from(`${JSON.stringify(said)}\n`);
  for (let at = 0; at < bytes.length; ) at += writeSync(listener, bytes, at);
}

const tell = (told: Told): void => say({ told });

const trouble = (kind: 'unhandledRejections' | 'warnings') => (problem: unknown) =>
  tell({
    told: 'trouble',
    kind,
    text: problem instanceof Error ? (problem.stack ?? problem.message) : String(problem),
  });

process.on('unhandledRejection', trouble('unhandledRejections'));
process.on('warning', trouble('warnings'));
process.on('disconnect', () => process.exit());

export interface Order {
  readonly number: number;
  readonly name: string;
  readonly argument: unknown;
}

const { signal } = new AbortController();

async function obey(orders: AnyOrders, { number, name, argument }: Order): Promise<void> {
  try {
    say({ number, value: (await orders[name]?.(argument, signal)) ?? null });
  } catch (error) {
    const code = PawlError.is(error) ? error.code : null;
    say({ number, code, message: error instanceof Error ? error.message : String(error) });
  }
}

process.once('message', async (birth: unknown) => {
  await obey({ beBorn }, { number: 0, name: 'beBorn', argument: birth });
});

async function beBorn(birth: unknown): Promise<void> {
  const orders = ordersFor(createEngine(birth as Birth, tell)) as unknown as AnyOrders;
  await loadClient();
  process.on('message', (order: Order) => void obey(orders, order));
}
