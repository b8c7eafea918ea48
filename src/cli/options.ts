/** The command line's options, as commander declares them. */
import { Argument, type Command, InvalidArgumentError, Option } from 'commander';
import { readCount, readDurationMs, readUsd } from './option-values.ts';

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

const runOptions = (): readonly Option[] => [
  new Option('--tools <file>', 'module whose default export is a list of tools (.mjs, .js, .ts)'),
  new Option('--model <id>', 'model to ask').default(defaultModel),
  new Option('--system <text>', 'instructions for the model'),
  new Option('--max-turns <n>', 'most model calls (default: 50)').argParser(count),
  new Option('--max-cost <usd>', 'most US dollars').argParser(
    value(readUsd, 'US dollars, such as 0.50'),
  ),
  new Option('--max-tokens <n>', 'most tokens, input and output together').argParser(count),
  new Option('--max-time <time>', 'most time in model calls and tools: 90s, 5m, or ms').argParser(
    value(readDurationMs, 'a time, such as 90s, 5m or 1500 (ms)'),
  ),
  new Option('--on-limit <what>', 'at a limit: stop, ask, or wrapUp with one last answer').choices([
    'stop',
    'wrapUp',
    'ask',
  ]),
  new Option('--yes', 'allow every call of a tool').conflicts('ask'),
  new Option('--ask', 'ask about every call, also of tools that only read'),
  new Option('--json', 'every event as a line of JSON on stdout, then an exit line'),
  new Option('--no-stream', 'ask for replies in one piece'),
];

export function withRunOptions(command: Command): Command {
  for (const option of runOptions()) command.addOption(option);
  return command;
}

export const machineArgument = (): Argument =>
  new Argument('[machine]', 'which machine').choices(machineNames).default(machineNames[0]);

export const formatOption = (): Option =>
  new Option('--format <format>', 'form of the picture')
    .choices(diagramFormats)
    .default(diagramFormats[0]);
