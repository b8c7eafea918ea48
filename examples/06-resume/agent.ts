// The agent that both processes share: limits and policies travel with the run, the functions are today's code.
// Prints nothing itself.
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createAgent, defineTool } from 'pawl';
import { scriptedModel } from 'pawl/testing';
import { z } from 'zod';

export const snapshotPath = join(tmpdir(), 'pawl-06-resume.json');

const deploy = defineTool({
  name: 'deploy',
  description: 'Puts a version into production.',
  input: z.object({ version: z.string() }),
  effect: 'once',
  run: ({ version }) => `Version ${version} is live.`,
});

/** Asks for the tool first, and answers once it has the result. */
const model = scriptedModel(({ body }) =>
  body.messages.length === 1
    ? { toolUses: [{ name: 'deploy', input: { version: '2.0.0' } }] }
    : 'Done: 2.0.0 is live.',
);

export const agent = createAgent({ model, tools: [deploy], permissions: { ask: ['deploy'] } });
