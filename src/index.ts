/** The public API. Nothing else is. */
export type { Budget, LimitName, LimitReached, Limits } from './core/budget.ts';
export { PawlError } from './core/errors.ts';
export type { ErrorCode, Failure } from './core/failure.ts';
export type { ContentBlock, Message, ToolResult, ToolUse } from './core/message.ts';
export type { Price } from './core/price.ts';
export type { ModelReply, StopReason, Usage } from './core/reply.ts';
export type { RetryPolicy } from './core/retry.ts';
export type { EndStatus, OnLimit, RunInput, RunOutput } from './core/run-context.ts';
export type { RunEvent } from './core/run-event.ts';
export type { OnInterrupted, ToolEffect } from './core/tool-call.ts';
export { anthropic } from './providers/anthropic.ts';
export type { AnthropicOptions } from './providers/anthropic-options.ts';
export {
  type Delta,
  type Model,
  type ModelCallOptions,
  type ModelRequest,
  ProviderError,
  type ToolChoice,
  type ToolSpec,
} from './providers/provider.ts';
export { type Agent, createAgent } from './runtime/agent.ts';
export type {
  AgentOptions,
  ForkOptions,
  InputOptions,
  ResumeOptions,
  StartOptions,
} from './runtime/agent-options.ts';
export { type RemoteRun, remoteRun } from './runtime/remote-run.ts';
export { type Replay, type ReplayDifference, replayRun } from './runtime/replay.ts';
export type { PendingCall, Run } from './runtime/run.ts';
export type { RunResult } from './runtime/run-result.ts';
export { type MemoryStoreOptions, memoryStore } from './stores/memory.ts';
export { sqliteStore } from './stores/sqlite.ts';
export type {
  RunQuery,
  RunSnapshot,
  RunSummary,
  SavedRun,
  SavedTurn,
  SaveStep,
  StepRecord,
  Store,
} from './stores/store.ts';
export { defineTool } from './tools/define-tool.ts';
export type { Permissions, Rule } from './tools/permissions.ts';
export {
  type ProbeAnswer,
  type ProbeContext,
  type Tool,
  type ToolContext,
  toolOutput,
} from './tools/tool.ts';
