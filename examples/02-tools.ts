// Shows a tool with a typed input, two calls of it in parallel, and the progress they report.
// Prints both calls as they start, report and settle, and then the answer.
import { createAgent, defineTool } from 'pawl';
import { scriptedModel } from 'pawl/testing';
import { z } from 'zod';

const stations = new Map([
  ['Oslo', -4],
  ['Lisbon', 21],
]);

const readWeather = defineTool({
  name: 'read_weather',
  description: 'The temperature in a city, in degrees Celsius.',
  input: z.object({ city: z.string() }),
  effect: 'read',
  async run({ city }, { progress }) {
    progress(`asking the station in ${city}`);
    return { city, celsius: stations.get(city) };
  },
});

const model = scriptedModel([
  {
    text: 'I look at both.',
    toolUses: [
      { name: 'read_weather', input: { city: 'Oslo' } },
      { name: 'read_weather', input: { city: 'Lisbon' } },
    ],
  },
  'Oslo is colder: -4 °C against 21 °C.',
]);

const run = createAgent({ model, tools: [readWeather] }).start('Is Oslo colder than Lisbon?');

for await (const event of run.events) {
  if (event.type === 'tool.started') console.log('started ', event.callId, event.input);
  if (event.type === 'tool.progress') console.log('progress', event.callId, event.value);
  if (event.type === 'tool.settled') console.log('settled ', event.callId, event.result.content);
}
console.log((await run.result).text);
