/** How rows are named, sealed and read. */
import { hash } from 'node:crypto';
import { PawlError } from '../core/errors.ts';
import type { Connection } from './sqlite-connection.ts';
import type { SqlValue } from './sqlite-driver.ts';
import type { FilePlace } from './sqlite-place.ts';

/** An open store. */
export interface StoreFile {
  readonly path: string;
  /** Where the file was when it was opened. */
  readonly place: FilePlace;
  /** Of this file alone, and part of every checksum: rows of another store don't pass for its own. */
  readonly salt: string;
  readonly connection: Connection;
}

const span = 2 ** 24;
const owners = 2 ** 29;

/** The id of the row of an owner (a run or a transcript, by number) at a position. */
export function keyOf(owner: number, position: number): number {
  if (position < span && owner < owners) return owner * span + position;
  throw new PawlError(
    'store_failed',
    `A store holds at most ${owners} runs of ${span} messages or steps each.`,
  );
}

export const firstKey = (owner: number): number => keyOf(owner, 0);
export const lastKey = (owner: number): number => keyOf(owner, span - 1);
export const positionIn = (key: number): number => key % span;

/** 48 bits, which fit into a number: enough to notice an accident, no defence against an attacker. */
export function checksum(salt: string, place: string, ...values: readonly SqlValue[]): number {
  return Number.parseInt(hash('sha256', `${salt} ${place} ${values.join(' ')}`).slice(0, 12), 16);
}

/** The error of a row that is not as it was written. `place` says where: "message 3", "checkpoint". */
export function damaged(path: string, runId: string | null, place: string): PawlError {
  const where = runId === null ? place : `${place} of run ${JSON.stringify(runId)}`;
  return new PawlError(
    'store_failed',
    `${path}: the ${where} is damaged: expected what was saved, found something else or nothing. Other runs of the file are not affected; restore the file from a copy, or delete this run.`,
  );
}

/** Ids are kept as JSON: raw text would lose lone surrogates, and end at a NUL. */
export const idText = (id: string): string => JSON.stringify(id);

export const fromJson = <Value>(text: unknown): Value => JSON.parse(text as string) as Value;
