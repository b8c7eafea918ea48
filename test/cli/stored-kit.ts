import { createAgent } from '../../src/runtime/agent.ts';
import type { AgentOptions } from '../../src/runtime/agent-options.ts';
import { memoryStore } from '../../src/stores/memory.ts';
import type { Store } from '../../src/stores/store.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { defineTool } from '../../src/tools/define-tool.ts';
import type { Tool } from '../../src/tools/tool.ts';

export const sendMail = (effect: Tool['effect'] = 'once'): Tool =>
  defineTool({
    name: 'send_mail',
    description: 'Sends a mail.',
    input: { type: 'object' },
    effect,
    run: () => 'sent',
  });

/** A store with the run `mail`, which was left where it waits, or has ended. */
export async function storeWithRun(
  script: Parameters<typeof scriptedModel>[0],
  options: Partial<AgentOptions> = {},
): Promise<Store> {
  const store = memoryStore();
  const model = scriptedModel(script);
  const agent = createAgent({ model, tools: [sendMail()], store, ...options });
  const run = agent.start('Mail Ada.', { runId: 'mail' });
  if ((await run.idle()) === 'waiting') await run.suspend();
  return store;
}

export const wantsMail = { toolUses: [{ name: 'send_mail', input: { to: 'ada' } }] };
