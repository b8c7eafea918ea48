import type { Surroundings } from './play.ts';
import type { StorePlace } from './store-file.ts';
import type { StoreCommands } from './store-program.ts';

/** The commands for stored runs. Each loads its parts when it runs. */
export function storeCommandsIn(surroundings: Surroundings): StoreCommands {
  const { terminal } = surroundings;
  return {
    async runs(options) {
      const { runsCommand } = await import('./runs-command.ts');
      return runsCommand(options, terminal, placeOf(options));
    },
    async show(run, options) {
      const { showCommand } = await import('./show-command.ts');
      return showCommand(run, options, terminal, placeOf(options));
    },
    async why(run, options) {
      const { whyCommand } = await import('./why-command.ts');
      return whyCommand(run, options, terminal, placeOf(options));
    },
    async replay(run, options) {
      const { replayCommand } = await import('./replay-command.ts');
      return replayCommand(run, options, terminal, placeOf(options));
    },
    async resume(run, options) {
      const { resumeCommand } = await import('./resume-command.ts');
      return resumeCommand(run, options, surroundings);
    },
    async fork(run, options) {
      const { forkCommand } = await import('./resume-command.ts');
      return forkCommand(run, options, surroundings);
    },
    async rehearse(options) {
      const { rehearseCommand } = await import('./rehearse-command.ts');
      return rehearseCommand(options, terminal, placeOf(options));
    },
    async prune(options) {
      const { pruneCommand } = await import('./prune-command.ts');
      return pruneCommand(options, terminal, placeOf(options));
    },
    async delete(run, options) {
      const { deleteCommand } = await import('./prune-command.ts');
      return deleteCommand(run, options, terminal, placeOf(options));
    },
    ...tellCommandsIn(surroundings),
  };
}

const placeOf = ({ store }: { readonly store: string }): StorePlace => ({
  file: store,
  folder: process.cwd(),
});

type Telling = Pick<StoreCommands, 'approve' | 'deny' | 'settle' | 'steer' | 'cancel'>;

const tellCommandsIn = ({ terminal }: Surroundings): Telling => ({
  async approve(run, call, options) {
    const { approveCommand } = await import('./tell-command.ts');
    return approveCommand(run, call, options, terminal, placeOf(options));
  },
  async deny(run, call, options) {
    const { denyCommand } = await import('./tell-command.ts');
    return denyCommand(run, call, options, terminal, placeOf(options));
  },
  async settle(run, call, options) {
    const { settleCommand } = await import('./tell-command.ts');
    return settleCommand(run, call, options, terminal, placeOf(options));
  },
  async steer(run, text, options) {
    const { steerCommand } = await import('./tell-command.ts');
    return steerCommand(run, text, options, terminal, placeOf(options));
  },
  async cancel(run, options) {
    const { cancelCommand } = await import('./tell-command.ts');
    return cancelCommand(run, options, terminal, placeOf(options));
  },
});
