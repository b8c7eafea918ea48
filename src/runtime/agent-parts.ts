import type { Message } from '../core/message.ts';
import type { Redactor } from '../core/redact.ts';
import type { RunEvent } from '../core/run-event.ts';
import type { Model, ToolChoice, ToolSpec } from '../providers/provider.ts';
import type { Permissions } from '../tools/permissions.ts';
import type { Tool } from '../tools/tool.ts';

/** Says a transcript again in fewer tokens. Its answer has to be a valid history. */
export type Compact = (input: {
  readonly messages: readonly Message[];
  readonly signal: AbortSignal;
}) => Promise<readonly Message[]>;

/** The bodies behind a machine: an agent's code of today, checked and with its defaults filled in. */
export interface AgentParts {
  readonly models: readonly [Model, ...Model[]];
  readonly system: string;
  readonly tools: ReadonlyMap<string, Tool>;
  /** In the order of the agent: the same in every request. */
  readonly toolSpecs: readonly ToolSpec[];
  /** For the first model call of a run; later ones are free to answer. */
  readonly toolChoice: ToolChoice;
  readonly streams: boolean;
  readonly permissions: Permissions;
  readonly maxOutputChars: number;
  /** Most tool calls at once in one run. */
  readonly toolConcurrency: number;
  readonly compact: Compact | null;
  readonly redactor: Redactor;
  readonly onEvent: ((event: RunEvent) => void) | null;
  readonly now: () => number;
  readonly random: () => number;
}
