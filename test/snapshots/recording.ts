/** What a recording is, which states there have to be recordings of, and how one is played on. */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { RunSnapshot } from 'pawl';
import { agentLoop, modelCall, toolCall } from 'pawl/machines';
import type { AnyStateMachine, AnyStateNode } from 'xstate';
import { schemaVersion } from '../../src/core/run-context.ts';
import { copyOfWorld, playOf, playPerson, type ScenarioName, type World } from './scenarios.ts';

/** How a run ended that was played on. Its calls are those that began from then on. */
export interface Outcome {
  readonly status: string;
  readonly text: string;
  readonly begun: readonly string[];
  readonly modelCalls: number;
  readonly turns: number;
}

export interface Recording {
  readonly scenario: ScenarioName;
  /** What had happened in the world when the process could have died. */
  readonly world: World;
  readonly snapshot: RunSnapshot;
  readonly expected: Outcome;
}

/** Where the recordings of the present schema are, unless others are named. */
export const recordingsFolder = (): string =>
  process.env.PAWL_SNAPSHOTS ?? fileURLToPath(new URL(`./v${schemaVersion}`, import.meta.url));

export const hashesFile = 'hashes.json';
export const storeFile = 'store.db';
export const storeExpectations = 'store.json';

export const hashOf = (path: string): string =>
  createHash('sha256').update(readFileSync(path)).digest('hex');

/** The names of the files with one snapshot each. */
export const snapshotFiles = (folder: string): readonly string[] =>
  existsSync(folder)
    ? readdirSync(folder)
        .filter(
          (name) => name.endsWith('.json') && name !== hashesFile && name !== storeExpectations,
        )
        .sort()
    : [];

export const readRecording = (folder: string, file: string): Recording =>
  JSON.parse(readFileSync(join(folder, file), 'utf8')) as Recording;

const machines: readonly AnyStateMachine[] = [agentLoop, toolCall, modelCall];

/** A run hears of the end of its model call in the same moment, so it is never saved in between. */
const neverSaved = 'model-call: settled';

/** `tool-call: awaitApproval`: every state that a machine can be saved in. */
export const persistableStates: readonly string[] = machines
  .flatMap((machine) =>
    leavesOf(machine.root)
      .filter((node) => !isLeftAtOnce(node))
      .map((node) => `${machine.id}: ${node.path.join('.')}`),
  )
  .filter((state) => state !== neverSaved);

function leavesOf(node: AnyStateNode): readonly AnyStateNode[] {
  const inner = Object.values(node.states);
  return inner.length === 0 ? [node] : inner.flatMap(leavesOf);
}

/** Its questions have an answer in any case, so no machine stays in it. */
function isLeftAtOnce({ always = [] }: AnyStateNode): boolean {
  return always.some(({ guard }) => guard === undefined);
}

const machineOfChild: ReadonlyMap<string, string> = new Map([
  ['toolCall', toolCall.id],
  ['modelCall', modelCall.id],
]);

interface Frame {
  readonly value?: unknown;
  readonly status: string;
  readonly children?: { readonly [id: string]: { readonly src: string; readonly snapshot: Frame } };
}

/** The states that a snapshot and its children are in. */
export const statesIn = (snapshot: RunSnapshot): readonly string[] =>
  framesIn(snapshot as unknown as Frame, agentLoop.id).map(
    ({ machine, state }) => `${machine}: ${state}`,
  );

interface Place {
  readonly machine: string;
  readonly state: string;
}

function framesIn(frame: Frame, machine: string): readonly Place[] {
  const children = Object.values(frame.children ?? {}).flatMap(({ src, snapshot }) => {
    const name = machineOfChild.get(src);
    return name === undefined ? [] : framesIn(snapshot, name);
  });
  return [{ machine, state: pathOf(frame.value) }, ...children];
}

function pathOf(value: unknown): string {
  if (typeof value === 'string') return value;
  const [[name, inner] = ['', '']] = Object.entries(value as object);
  return `${name}.${pathOf(inner)}`;
}

/** `execute-tools.await-approval`, `paused`; with `.unheard` when a child has ended and its parent does not know it. */
export function nameOf(snapshot: RunSnapshot): string {
  const [own, ...children] = framesIn(snapshot as unknown as Frame, agentLoop.id);
  const [state = ''] = (own?.state ?? '').replace(/^active\./, '').split('.');
  const inner = [...new Set(children.map((child) => child.state))].sort();
  const name = [state, inner.length > 0 ? inner.join('+') : (own?.state.split('.')[2] ?? '')];
  const isUnheard = hasUnheard(snapshot as unknown as Frame);
  return kebab(
    [...name.filter((part) => part !== ''), ...(isUnheard ? ['unheard'] : [])].join('.'),
  );
}

export const kebab = (name: string): string =>
  name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

const hasUnheard = ({ children = {} }: Frame): boolean =>
  Object.values(children).some(
    ({ snapshot }) => snapshot.status !== 'active' || hasUnheard(snapshot),
  );

/** Resumes a snapshot in the world that it was recorded in, with a person at hand. */
export async function playOn({
  scenario,
  world: before,
  snapshot,
}: Omit<Recording, 'expected'>): Promise<Outcome> {
  const world = copyOfWorld(before);
  const run = await playOf(scenario, world).agent.resume(snapshot);
  await playPerson(run);
  const { status, text, budget } = await run.result;
  return {
    status,
    text,
    begun: world.begun.slice(before.begun.length).sort(),
    modelCalls: world.modelCalls - before.modelCalls,
    turns: budget.spend.turns,
  };
}
