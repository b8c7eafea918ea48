import { Command } from 'commander';
import { chatHelp, diagramHelp, mainHelp, runHelp } from './help.ts';
import {
  type DiagramFormat,
  formatOption,
  type MachineName,
  machineArgument,
  withRunOptions,
} from './options.ts';
import type { RunOptions } from './session.ts';
import { addStoreCommands, type StoreCommands } from './store-program.ts';

/** What the commands do; each resolves to an exit code. */
export interface Commands extends StoreCommands {
  run(prompt: string | undefined, options: RunOptions): Promise<number>;
  chat(options: RunOptions): Promise<number>;
  diagram(machine: MachineName, format: DiagramFormat): Promise<number>;
}

export interface ProgramOptions {
  readonly version: string;
  readonly commands: Commands;
  readonly onCode: (code: number) => void;
}

/** The command line. Throws a CommanderError where commander itself would end the process. */
export function createProgram({ version, commands, onCode }: ProgramOptions): Command {
  const program = new Command('pawl')
    .description(
      'Runs an agent loop that is an explicit state machine, keeps every run, and shows what it does.',
    )
    .version(version, '--version')
    .helpOption('--help', 'show this help')
    .helpCommand(false)
    .exitOverride()
    .addHelpText('after', mainHelp);

  withRunOptions(program.command('run [prompt]'))
    .description('Ask one question ("-" reads it from stdin). Without a key: play the demo.')
    .addHelpText('after', runHelp)
    .action(async (prompt: string | undefined, options: RunOptions) =>
      onCode(await commands.run(prompt, options)),
    );
  withRunOptions(program.command('chat'))
    .description('Ask line by line; each line is a follow-up.')
    .addHelpText('after', chatHelp)
    .action(async (options: RunOptions) => onCode(await commands.chat(options)));
  addStoreCommands(program, commands, onCode);
  program
    .command('diagram')
    .description('Print the picture of a machine.')
    .addArgument(machineArgument())
    .addOption(formatOption())
    .addHelpText('after', diagramHelp)
    .action(async (machine: MachineName, { format }: { readonly format: DiagramFormat }) =>
      onCode(await commands.diagram(machine, format)),
    );
  return program;
}
