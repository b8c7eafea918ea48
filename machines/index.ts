export { agentLoop } from './agent-loop.ts';
export type { AgentLoopEmitted, AgentLoopEvent } from './agent-loop-events.ts';
export { modelCall } from './model-call.ts';
export { toolCall } from './tool-call.ts';
