/** Where the runs of a play are: in this process, or in one of their own that can be killed. */
import { type Birth, createEngine } from './engine.ts';
import { type Orders, ordersFor } from './orders.ts';
import type { Tell } from './told.ts';

type Arguments<Name extends keyof Orders> =
  Parameters<Orders[Name]> extends readonly [] ? null : Parameters<Orders[Name]>[0];

export interface Host {
  /** @throws PawlError what Pawl refuses */
  ask<Name extends keyof Orders>(
    name: Name,
    argument: Arguments<Name>,
    signal: AbortSignal,
  ): Promise<Awaited<ReturnType<Orders[Name]>>>;
  /** The process is gone at once. Resolves when everything is heard that it told before. */
  end(): Promise<void>;
}

/** Nothing of it can be killed. */
export function hostHere(birth: Birth, tell: Tell): Host {
  const orders = ordersFor(createEngine(birth, tell)) as unknown as AnyOrders;
  return {
    ask: (name, argument, signal) => (orders[name] as AnyOrder)(argument, signal) as never,
    end: async () => {},
  };
}

export type AnyOrder = (argument: unknown, signal: AbortSignal) => Promise<unknown>;
export type AnyOrders = Readonly<Record<string, AnyOrder>>;
