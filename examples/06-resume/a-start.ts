// Shows the first half of a run that outlives its process: it stops while an approval waits. Then run b-resume.ts.
// Prints what waits, and where the snapshot was written.
import { writeFile } from 'node:fs/promises';
import { agent, snapshotPath } from './agent.ts';

const run = agent.start('Put version 2.0.0 into production.');
await run.idle();
for (const { name, input } of run.pending) console.log('waiting:', name, input);

await writeFile(snapshotPath, JSON.stringify(await run.suspend()));
console.log(`suspended, saved in ${snapshotPath}`);
