/** What happens at the scripted server, as it happens. */
export interface ServerEvent {
  readonly type: string;
  /** Number of the request, from 1. */
  readonly n?: number;
  /** Number of the stream event of that request, from 1. */
  readonly k?: number;
}

export interface ServerRequest {
  readonly n: number;
  readonly bytes: number;
  readonly body: unknown;
}

export interface ServerLog {
  readonly requests: readonly ServerRequest[];
  readonly violations: readonly unknown[];
  readonly exhausted: number;
  readonly unused: readonly number[];
}

export interface ScriptedServer {
  readonly url: string;
  log(): ServerLog;
  on(listener: (event: ServerEvent) => void): () => void;
  close(): Promise<void>;
}

/** Plays the server side of a case on 127.0.0.1. */
export function startServer(kase: unknown): Promise<ScriptedServer>;

/** Mismatches of `actual` with a matcher; none when it matches. */
export function match(expected: unknown, actual: unknown, path?: string): string[];
