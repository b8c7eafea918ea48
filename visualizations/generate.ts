/** Draws the three machines into this folder: Mermaid text, an SVG picture, and JSON for Stately's editor. */
import { writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { AnyStateMachine } from 'xstate';
import { agentLoop } from '../machines/agent-loop.ts';
import { modelCall } from '../machines/model-call.ts';
import { toolCall } from '../machines/tool-call.ts';
import { chartOf } from '../src/diagrams/chart.ts';
import { toMermaid } from '../src/diagrams/mermaid.ts';
import { toStatelyJson } from '../src/diagrams/stately.ts';
import { toSvg } from '../src/diagrams/svg.ts';

const machines: readonly AnyStateMachine[] = [agentLoop, toolCall, modelCall];

/** The text of every generated file, by its name inside this folder. */
export async function generateFiles(): Promise<ReadonlyMap<string, string>> {
  const files = await Promise.all(machines.map(filesOf));
  return new Map(files.flat());
}

async function filesOf(machine: AnyStateMachine): Promise<readonly (readonly [string, string])[]> {
  const chart = chartOf(machine);
  return [
    [`${machine.id}.mmd`, toMermaid(chart)],
    [`${machine.id}.svg`, await toSvg(chart)],
    [`${machine.id}.json`, toStatelyJson(machine)],
  ];
}

async function writeFiles(): Promise<void> {
  for (const [name, text] of await generateFiles()) {
    await writeFile(new URL(name, import.meta.url), text);
  }
}

const isCalledDirectly = fileURLToPath(import.meta.url) === resolve(process.argv[1] ?? '');
if (isCalledDirectly) await writeFiles();
