import { createHash } from 'node:crypto';
import { canonicalJson, type Json } from '../core/json.ts';
import type { Tool } from './tool.ts';

/** What a person approves: this call, with these arguments, of the tool as it was shown. */
export interface Approvable {
  readonly runId: string;
  readonly callId: string;
  readonly tool: Pick<Tool, 'name' | 'description' | 'inputSchema' | 'effect'>;
  readonly input: Json;
}

/**
 * SHA-256, in hex, of everything an approval stands for: whatever differs in it gives another hash.
 * The order of object keys means nothing.
 * @throws TypeError when the input is not JSON.
 */
export function argumentsHash({ runId, callId, tool, input }: Approvable): string {
  const { name, description, inputSchema, effect } = tool;
  const shown = { runId, callId, tool: { name, description, inputSchema, effect }, input };
  // Over JSON text, which escapes lone surrogates: as raw UTF-8 they would all be the same U+FFFD.
  return createHash('sha256').update(canonicalJson(shown)).digest('hex');
}
