#!/usr/bin/env node
import { CommanderError } from 'commander';
import { PawlError } from '../core/errors.ts';
import { describeThrown } from '../core/stringify.ts';
import { pawlVersion } from '../core/version.ts';
import { exitCodeOfError, exitCodes } from './exit-code.ts';
import { createInterrupts } from './interrupts.ts';
import type { Surroundings } from './play.ts';
import { type Commands, createProgram } from './program.ts';
import { exitLine } from './screen.ts';
import { showProse } from './show-text.ts';
import { storeCommandsIn } from './store-commands.ts';
import { openTerminal, type Terminal } from './terminal.ts';

/** The commands load their parts when they run, so that help and version are there at once. */
const commandsIn = (surroundings: Surroundings): Commands => ({
  async run(prompt, options) {
    const { runCommand } = await import('./run-command.ts');
    return runCommand(prompt, options, surroundings);
  },
  async chat(options) {
    const { chatCommand } = await import('./chat-command.ts');
    return chatCommand(options, surroundings);
  },
  ...storeCommandsIn(surroundings),
  async diagram(machine, format) {
    const { drawDiagram } = await import('./diagram-command.ts');
    surroundings.terminal.write(await drawDiagram(machine, format));
    return exitCodes.completed;
  },
});

async function main(): Promise<void> {
  const interrupts = createInterrupts(() => process.exit(exitCodes.cancelled));
  const terminal = openTerminal(process, () => interrupts.cancel('nobody reads the output'));
  process.on('SIGINT', () => interrupts.press('Ctrl-C'));
  process.on('SIGTERM', () => interrupts.drain());

  // When nothing is left to wait for, Node ends the process, and by itself with 0: that would say "completed".
  process.exitCode = exitCodes.failed;
  process.once('beforeExit', () => reportStandstill(terminal));

  let code: number = exitCodes.failed;
  const program = createProgram({
    version: pawlVersion,
    commands: commandsIn({ terminal, interrupts }),
    onCode: (result) => {
      code = result;
    },
  });
  try {
    await program.parseAsync();
  } catch (error) {
    code = report(error, terminal);
  }
  await terminal.flush();
  // A tool that listens to no signal, or left a timer behind, must not keep the process.
  process.exit(code);
}

/** Says what went wrong, in one sentence and without a stack trace. */
function report(error: unknown, terminal: Terminal): number {
  if (error instanceof CommanderError) {
    return error.exitCode === 0 ? exitCodes.completed : wrongUsage(error, terminal);
  }
  const code = exitCodeOfError(error);
  const reason = PawlError.is(error) ? error.message : describeThrown(error);
  terminal.say(`${terminal.paint('bad', 'error:')} ${showProse(reason)}`);
  if (wantsJson()) terminal.write(exitLine({ code, reason, result: null, pending: [] }));
  return code;
}

/** Some promise never settles, and nothing is there that could settle it. */
function reportStandstill(terminal: Terminal): void {
  const culprit = process.argv.includes('--tools') ? 'The tools file or a tool' : 'Something';
  const reason = `${culprit} waits for what never comes. The command was not carried out to its end.`;
  process.exitCode = report(new PawlError('internal', reason), terminal);
}

/** Commander has said it on stderr. */
function wrongUsage({ message }: CommanderError, terminal: Terminal): number {
  const code = exitCodes.wrongUsage;
  if (wantsJson())
    terminal.write(
      exitLine({ code, reason: message.replace(/^error: /, ''), result: null, pending: [] }),
    );
  return code;
}

const wantsJson = (): boolean => process.argv.includes('--json');

main().catch((error: unknown) => {
  process.stderr.write(`error: ${showProse(describeThrown(error))}\n`);
  process.exit(exitCodes.failed);
});
