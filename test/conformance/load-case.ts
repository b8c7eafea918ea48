/** The case files of a folder, read. What a field means is said in the corpus; here are only the names. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ContentBlock } from 'pawl';

export interface Behaviour {
  readonly kind: string;
  readonly value?: unknown;
  readonly message?: string;
  readonly ms?: number;
  readonly then?: Behaviour;
  readonly steps?: readonly Behaviour[];
  readonly what?: string;
  readonly chars?: number;
  readonly prefix?: string;
  readonly bytes?: number;
  readonly depth?: number;
  readonly blocks?: readonly ContentBlock[];
  readonly isError?: boolean;
  readonly prompt?: string;
  readonly tools?: readonly (string | CaseTool)[];
}

export interface CaseTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: { readonly type: 'object'; readonly [key: string]: unknown };
  readonly sideEffect: boolean;
  readonly idempotent: boolean;
  readonly needsApproval: boolean | string;
  readonly timeoutMs?: number;
  readonly behaviour: Behaviour;
}

export interface Config {
  readonly model: string;
  readonly system?: string;
  readonly maxTokens?: number;
  readonly thinking?: { readonly budgetTokens: number };
  readonly toolChoice?: string | { readonly type: string; readonly name?: string };
  readonly caching?: boolean;
  readonly apiKey?: string;
  readonly secrets?: readonly string[];
  readonly pricing?: { readonly [rate: string]: number };
  readonly toolConcurrency?: number;
  readonly compaction?: { readonly triggerTokens: number; readonly keepMessages: number };
  readonly retry?: { readonly [field: string]: number };
  readonly limits?: { readonly [limit: string]: number };
}

export interface Action {
  readonly do: string;
  readonly prompt?: string;
  readonly text?: string;
  readonly id?: string;
  readonly input?: never;
  readonly reason?: string;
  readonly as?: string;
  readonly for?: string;
  readonly from?: string;
  readonly mutate?: { readonly op: string; readonly value?: unknown; readonly keep?: number };
  readonly tools?: readonly (string | CaseTool)[];
  readonly toolOverrides?: unknown;
  readonly retryFailed?: boolean;
  readonly workers?: number;
  readonly then?: readonly Action[];
  readonly config?: Partial<Config>;
  readonly orStart?: boolean;
  readonly mayFail?: boolean;
}

export interface CaseMessage {
  readonly role: 'user' | 'assistant';
  readonly content: string | readonly ContentBlock[];
}

export type Mode = 'json' | 'sse';

export interface Case {
  readonly id: string;
  readonly script: {
    readonly api: string;
    readonly modes: readonly Mode[];
    readonly config: Config;
    readonly history?: readonly CaseMessage[];
    readonly server: { readonly responses: readonly unknown[] };
    readonly tools?: readonly CaseTool[];
    readonly actions: readonly Action[];
  };
  readonly expect: {
    readonly timeoutMs?: number;
    readonly status?: unknown;
    readonly anyOf?: readonly unknown[];
    readonly requests?: { readonly gapMs?: unknown };
    readonly [field: string]: unknown;
  };
}

/** A recorded answer of a model server, and how it is to be read. */
export interface Recording {
  readonly id: string;
  readonly api: string;
  readonly kind: string;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly expected: { readonly [field: string]: unknown };
}

export interface Folder {
  readonly cases: readonly Case[];
  readonly recordings: readonly Recording[];
  /** Files that are neither. */
  readonly unreadable: readonly { readonly id: string; readonly problem: string }[];
}

/** Reads all JSON files in the folder and the folders in it, in the order of their names. */
export function loadFolder(folder: string): Folder {
  const cases: Case[] = [];
  const recordings: Recording[] = [];
  const unreadable: { id: string; problem: string }[] = [];
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort()) {
    if (!name.endsWith('.json')) continue;
    try {
      const file = JSON.parse(readFileSync(join(folder, name), 'utf8'));
      if (isCase(file)) cases.push(file);
      else if (isRecording(file)) recordings.push(file);
      else
        throw new Error('neither a case (id, script, expect) nor a recording (id, body, expected)');
    } catch (error) {
      unreadable.push({ id: name, problem: String(error) });
    }
  }
  return { cases, recordings, unreadable };
}

const isCase = (file: unknown): file is Case =>
  isObject(file) && typeof file.id === 'string' && isObject(file.script) && isObject(file.expect);

const isRecording = (file: unknown): file is Recording =>
  isObject(file) &&
  typeof file.id === 'string' &&
  typeof file.body === 'string' &&
  isObject(file.expected);

export const isObject = (value: unknown): value is { readonly [key: string]: unknown } =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
