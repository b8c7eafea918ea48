/** Runs until nothing moves but a person, prints the snapshot and what was done, and dies. */
import { createActor, waitFor } from 'xstate';
import { createLivingAgent, newWorld } from '../lives.ts';

const world = newWorld();
const agent = createLivingAgent(world);
const input = agent.input('Go.', { runId: 'run_1', budget: { maxTurns: 9 } });
const run = createActor(agent.machine, { input });
run.start();
await waitFor(run, (snapshot) => snapshot.hasTag('waitsForHuman'));
process.stdout.write(JSON.stringify({ snapshot: run.getPersistedSnapshot(), world }));
// It would wait for its deadline.
run.stop();
