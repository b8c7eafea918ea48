/** The part of the command line that works with stored runs. */
import { type Command, Option } from 'commander';
import * as help from './help-store.ts';
import {
  atOption,
  withForkOptions,
  withLookOptions,
  withPruneOptions,
  withRehearseOptions,
  withResumeOptions,
  withRunsOptions,
} from './options.ts';
import type { PruneOptions } from './prune-command.ts';
import type { RehearseOptions } from './rehearse-command.ts';
import type { ReplayOptions } from './replay-command.ts';
import type { ForkOptions, ResumeOptions } from './resume-command.ts';
import type { RunsOptions } from './runs-command.ts';
import type { ShowOptions } from './show-command.ts';
import type { ApproveOptions, ReasonOptions, SettleOptions, TellOptions } from './tell-command.ts';
import type { WhyOptions } from './why-command.ts';

type Call = string | undefined;

/** What the commands do; each resolves to an exit code. */
export interface StoreCommands {
  runs(options: RunsOptions): Promise<number>;
  show(run: string, options: ShowOptions): Promise<number>;
  why(run: string, options: WhyOptions): Promise<number>;
  replay(run: string, options: ReplayOptions): Promise<number>;
  resume(run: string, options: ResumeOptions): Promise<number>;
  fork(run: string, options: ForkOptions): Promise<number>;
  approve(run: string, call: Call, options: ApproveOptions): Promise<number>;
  deny(run: string, call: Call, options: ReasonOptions): Promise<number>;
  settle(run: string, call: Call, options: SettleOptions): Promise<number>;
  steer(run: string, text: string, options: TellOptions): Promise<number>;
  cancel(run: string, options: ReasonOptions): Promise<number>;
  rehearse(options: RehearseOptions): Promise<number>;
  prune(options: PruneOptions): Promise<number>;
  delete(run: string, options: TellOptions): Promise<number>;
}

type OnCode = (code: number) => void;

/** Adds them in the order in which they are needed. */
export function addStoreCommands(program: Command, commands: StoreCommands, onCode: OnCode): void {
  addLooks(program, commands, onCode);
  addGoingOn(program, commands, onCode);
  addTelling(program, commands, onCode);
  addKeeping(program, commands, onCode);
}

function addLooks(program: Command, commands: StoreCommands, onCode: OnCode): void {
  withRunsOptions(program.command('runs'))
    .description('List the runs, newest first.')
    .addHelpText('after', help.runsHelp)
    .action(async (options: RunsOptions) => onCode(await commands.runs(options)));
  withLookOptions(program.command('show <run>'))
    .addOption(atOption('step', 'the run as it was at this step'))
    .description('Show what a run did and said, and what waits.')
    .addHelpText('after', help.showHelp)
    .action(async (run: string, options: ShowOptions) => onCode(await commands.show(run, options)));
  withLookOptions(program.command('why <run>'))
    .addOption(atOption('step', 'what was asked in this step'))
    .description('Show which questions the machine asks, with what numbers, and the answers.')
    .addHelpText('after', help.whyHelp)
    .action(async (run: string, options: WhyOptions) => onCode(await commands.why(run, options)));
  withLookOptions(program.command('replay <run>'))
    .description('Let the machine decide a run again, from what is stored, and compare.')
    .addHelpText('after', help.replayHelp)
    .action(async (run: string, options: ReplayOptions) =>
      onCode(await commands.replay(run, options)),
    );
}

function addGoingOn(program: Command, commands: StoreCommands, onCode: OnCode): void {
  withResumeOptions(program.command('resume <run>'))
    .description('Go on with a run.')
    .addHelpText('after', help.resumeHelp)
    .action(async (run: string, options: ResumeOptions) =>
      onCode(await commands.resume(run, options)),
    );
  withForkOptions(program.command('fork <run>'))
    .description('Start a new run from a turn of another.')
    .addHelpText('after', help.forkHelp)
    .action(async (run: string, options: ForkOptions) => onCode(await commands.fork(run, options)));
}

const reasonOption = (): Option => new Option('--reason <text>', 'why');

function addTelling(program: Command, commands: StoreCommands, onCode: OnCode): void {
  withLookOptions(program.command('approve <run> [call]'))
    .addOption(new Option('--input <json>', 'other arguments for the call'))
    .description('Let a call run, once, with exactly the arguments that are shown.')
    .addHelpText('after', help.approveHelp)
    .action(async (run: string, call: Call, options: ApproveOptions) =>
      onCode(await commands.approve(run, call, options)),
    );
  withLookOptions(program.command('deny <run> [call]'))
    .addOption(reasonOption())
    .description('Keep a call from running. The model is told, and why.')
    .addHelpText('after', help.denyHelp)
    .action(async (run: string, call: Call, options: ReasonOptions) =>
      onCode(await commands.deny(run, call, options)),
    );
  withLookOptions(program.command('settle <run> [call]'))
    .addOption(new Option('--result <text>', 'what the call came to').conflicts('retry'))
    .addOption(new Option('--error', 'the result is an error').conflicts('retry'))
    .addOption(new Option('--retry', 'let the call run again'))
    .description('Say what an interrupted call came to, or let it run again.')
    .addHelpText('after', help.settleHelp)
    .action(async (run: string, call: Call, options: SettleOptions) =>
      onCode(await commands.settle(run, call, options)),
    );
  withLookOptions(program.command('steer <run> <text>'))
    .description('Add a message to the next request of a run.')
    .addHelpText('after', help.steerHelp)
    .action(async (run: string, text: string, options: TellOptions) =>
      onCode(await commands.steer(run, text, options)),
    );
  withLookOptions(program.command('cancel <run>'))
    .addOption(reasonOption())
    .description('Cancel a run.')
    .addHelpText('after', help.cancelHelp)
    .action(async (run: string, options: ReasonOptions) =>
      onCode(await commands.cancel(run, options)),
    );
}

function addKeeping(program: Command, commands: StoreCommands, onCode: OnCode): void {
  withRehearseOptions(program.command('rehearse'))
    .description('Look whether unfinished runs could go on with this version and these tools.')
    .addHelpText('after', help.rehearseHelp)
    .action(async (options: RehearseOptions) => onCode(await commands.rehearse(options)));
  withPruneOptions(program.command('prune'))
    .description('Drop turns of ended runs, that forks could begin with.')
    .addHelpText('after', help.pruneHelp)
    .action(async (options: PruneOptions) => onCode(await commands.prune(options)));
  withLookOptions(program.command('delete <run>'))
    .description('Remove a run.')
    .addHelpText('after', help.deleteHelp)
    .action(async (run: string, options: TellOptions) =>
      onCode(await commands.delete(run, options)),
    );
}
