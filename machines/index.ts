export { type AgentLoopEmitted, type AgentLoopEvent, agentLoop } from './agent-loop.ts';
export { modelCall } from './model-call.ts';
export { toolCall } from './tool-call.ts';
