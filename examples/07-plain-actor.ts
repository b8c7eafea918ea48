// Shows an agent as an ordinary XState actor: input, inspect, subscribe, emitted events, typed output.
// Prints the actors as they are created, the states of the run, and its output.
import { createAgent, defineTool } from 'pawl';
import { scriptedModel } from 'pawl/testing';
import { createActor, toPromise } from 'xstate';
import { z } from 'zod';

const deleteBuild = defineTool({
  name: 'delete_build',
  description: 'Deletes a build.',
  input: z.object({ number: z.number() }),
  effect: 'once',
  run: ({ number }) => `Build ${number} is gone.`,
});

const agent = createAgent({
  model: scriptedModel([
    { toolUses: [{ id: 'delete_41', name: 'delete_build', input: { number: 41 } }] },
    'Build 41 is deleted.',
  ]),
  tools: [deleteBuild],
});

const actor = createActor(agent.machine, {
  input: agent.input('Delete build 41.'),
  inspect: ({ type, actorRef }) => {
    if (type === '@xstate.actor' && 'id' in actorRef) console.log('actor:', actorRef.id);
  },
});

actor.subscribe(({ value }) => console.log('state:', JSON.stringify(value)));
actor.on('call.waits', ({ callId, wait }) => {
  if (wait.for !== 'approval') return;
  console.log('approving:', callId);
  actor.send({ type: 'approval.granted', callId, argumentsHash: wait.argumentsHash });
});

const { status, text, turns } = await toPromise(actor.start());
console.log(`${status} in ${turns} turns: ${text}`);
