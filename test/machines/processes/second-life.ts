/** Takes up the run that another process printed, answers for the person, and prints how it ended. */
import { text } from 'node:stream/consumers';
import { liveOn } from '../lives.ts';

const { snapshot, world } = JSON.parse(await text(process.stdin));
const run = await liveOn(world, snapshot);
const { context, output } = run.getSnapshot();
process.stdout.write(JSON.stringify({ context, text: output?.text, world }));
