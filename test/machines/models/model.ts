import type { AnyStateMachine, EventFrom, InputFrom, SnapshotFrom } from 'xstate';

/** A machine in the configurations in which all its states are visited, and what must hold in each of them. */
export interface Model<Machine extends AnyStateMachine> {
  readonly machine: Machine;
  readonly configurations: readonly Configuration<Machine>[];
  readonly invariants: Invariants<Machine>;
  readonly stepInvariants: StepInvariants<Machine>;
}

export interface Configuration<Machine extends AnyStateMachine> {
  readonly name: string;
  readonly input: InputFrom<Machine>;
  readonly events: (snapshot: SnapshotFrom<Machine>) => readonly EventFrom<Machine>[];
  /** Fewest states that this configuration has: a test that suddenly sees less checks less. */
  readonly floor: number;
}

export type Invariants<Machine extends AnyStateMachine> = {
  readonly [Name in string]: (snapshot: SnapshotFrom<Machine>) => boolean;
};

export type StepInvariants<Machine extends AnyStateMachine> = {
  readonly [Name in string]: (step: Step<Machine>) => boolean;
};

export interface Step<Machine extends AnyStateMachine> {
  readonly from: SnapshotFrom<Machine>;
  readonly event: EventFrom<Machine>;
  readonly to: SnapshotFrom<Machine>;
}

export const isEnd = ({ status }: { readonly status: string }): boolean => status === 'done';

export const isAlive = ({ status }: { readonly status: string }): boolean =>
  status === 'active' || status === 'done';
