export { agentLoop, type AgentLoopEmitted, type AgentLoopEvent } from './agent-loop.ts';
export { modelCall } from './model-call.ts';
export { toolCall } from './tool-call.ts';
