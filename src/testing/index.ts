export type { Script, ScriptedReply, ScriptedRequest } from './script.ts';
export { type ScriptedModel, type ScriptedModelOptions, scriptedModel } from './scripted-model.ts';
export { type ScriptedServer, startScriptedServer } from './scripted-server.ts';
export { type StoreCheck, storeContract } from './store-contract.ts';
