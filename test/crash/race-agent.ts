import { type Agent, createAgent } from '../../src/runtime/agent.ts';
import type { Store } from '../../src/stores/store.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { defineTool } from '../../src/tools/define-tool.ts';

/** Sends one mail for each run, once a person has said yes. `send` gets the key of the call. */
export const raceAgent = (store: Store, send: (callKey: string) => void): Agent =>
  createAgent({
    model: scriptedModel(({ body }) =>
      body.messages.some(({ role }) => role === 'assistant')
        ? 'Sent.'
        : { toolUses: [{ id: 'mail_1', name: 'mail', input: {} }] },
    ),
    tools: [
      defineTool({
        name: 'mail',
        description: 'Sends a mail.',
        input: { type: 'object', properties: {} },
        effect: 'once',
        run(_input, { idempotencyKey }) {
          send(idempotencyKey);
          return 'Sent.';
        },
      }),
    ],
    store,
  });
