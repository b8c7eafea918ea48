/** The command line's options, as commander declares them. */
import { Argument, type Command, InvalidArgumentError, Option } from 'commander';
import { readCount, readDurationMs, readUsd } from './option-values.ts';
import { defaultStoreFile } from './store-file.ts';

const defaultModel = 'claude-sonnet-5-5';

export const machineNames = ['agent-loop', 'tool-call', 'model-call'] as const;
export type MachineName = (typeof machineNames)[number];

export const diagramFormats = ['mermaid', 'svg', 'json'] as const;
export type DiagramFormat = (typeof diagramFormats)[number];

/** An option's value through one of the readers, or wrong usage. */
function value(read: (text: string) => number | null, expected: string) {
  return (text: string): number => {
    const amount = read(text);
    if (amount === null) throw new InvalidArgumentError(`Expected ${expected}.`);
    return amount;
  };
}

const count = value(readCount, 'a whole number');
const positive = value((text) => readCount(text) || null, 'a whole number from 1 up');

const storeOption = (): Option =>
  new Option('--store <file>', 'file that keeps the runs').default(defaultStoreFile);

const jsonOption = (): Option =>
  new Option('--json', 'every event as a line of JSON on stdout, then an exit line');

const dataOption = (): Option => new Option('--json', 'lines of JSON on stdout, then an exit line');

const toolsOption = (): Option =>
  new Option('--tools <file>', 'module whose default export is a list of tools (.mjs, .js, .ts)');

const modelOption = (): Option => new Option('--model <id>', 'model to ask');

const tagOption = (): Option => new Option('--tag <tag...>', 'tags to find the run by');

const onLimitOption = (): Option =>
  new Option('--on-limit <what>', 'at a limit: stop, ask, or wrapUp with one last answer').choices([
    'stop',
    'wrapUp',
    'ask',
  ]);

/** What every command that follows a run takes. */
const followOptions = (defaultTurns = ''): readonly Option[] => [
  toolsOption(),
  new Option('--system <text>', 'instructions for the model'),
  new Option('--max-turns <n>', `most model calls${defaultTurns}`).argParser(count),
  new Option('--max-cost <usd>', 'most US dollars').argParser(
    value(readUsd, 'US dollars, such as 0.50'),
  ),
  new Option('--max-tokens <n>', 'most tokens, input and output together').argParser(count),
  new Option('--max-time <time>', 'most time in model calls and tools: 90s, 5m, or ms').argParser(
    value(readDurationMs, 'a time, such as 90s, 5m or 1500 (ms)'),
  ),
  new Option('--yes', 'allow every call of a tool').conflicts('ask'),
  new Option('--ask', 'ask about every call, also of tools that only read'),
  storeOption(),
  jsonOption(),
  new Option('--no-stream', 'ask for replies in one piece'),
];

const withOptions = (command: Command, options: readonly Option[]): Command => {
  for (const option of options) command.addOption(option);
  return command;
};

export const withRunOptions = (command: Command): Command =>
  withOptions(command, [
    modelOption().default(defaultModel),
    ...followOptions(' (default: 50)'),
    onLimitOption(),
    tagOption(),
  ]);

const sameModel = 'model to ask (default: the one it was begun with)';

export const withResumeOptions = (command: Command): Command =>
  withOptions(command, [
    new Option('--retry', 'go on with a run that failed, from its last good step'),
    new Option('--model <id>', sameModel),
    ...followOptions(),
  ]);

export const withForkOptions = (command: Command): Command =>
  withOptions(command, [
    atOption('turn', 'the turn to go on from: 1 is the first model call').makeOptionMandatory(),
    new Option('--model <id>', sameModel),
    ...followOptions(),
    onLimitOption(),
    tagOption(),
  ]);

const statuses = [
  'running',
  'waiting',
  'completed',
  'exhausted',
  'refused',
  'failed',
  'cancelled',
] as const;

export const withRunsOptions = (command: Command): Command =>
  withOptions(command, [
    new Option('--status <status...>', 'only runs with such a status').choices(statuses),
    new Option('--tag <tag>', 'only runs with this tag'),
    new Option('--limit <n>', 'most runs to list').argParser(positive).default(20),
    storeOption(),
    dataOption(),
  ]);

/** Options of commands that look at a run. */
export const withLookOptions = (command: Command): Command =>
  withOptions(command, [storeOption(), dataOption()]);

export const atOption = (what: 'step' | 'turn', description: string): Option =>
  new Option(`--at <${what}>`, description).argParser(positive);

export const withRehearseOptions = (command: Command): Command =>
  withOptions(command, [toolsOption(), storeOption(), dataOption()]);

export const withPruneOptions = (command: Command): Command =>
  withOptions(command, [
    new Option('--older-than <time>', 'of runs that ended longer ago: 12h, 30d')
      .argParser(value(readDurationMs, 'a time, such as 12h or 30d'))
      .default(30 * 86_400_000, '30d'),
    new Option('--keep-turns <n>', 'newest turns of each to keep').argParser(count).default(1),
    storeOption(),
    dataOption(),
  ]);

export const machineArgument = (): Argument =>
  new Argument('[machine]', 'which machine').choices(machineNames).default(machineNames[0]);

export const formatOption = (): Option =>
  new Option('--format <format>', 'form of the picture')
    .choices(diagramFormats)
    .default(diagramFormats[0]);
