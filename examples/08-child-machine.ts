// Shows an agent as the child of a machine of yours: `onDone` gets its typed output.
// Prints the states of the outer machine, and the headline that the agent wrote.
import { createAgent } from 'pawl';
import { scriptedModel } from 'pawl/testing';
import { assign, createActor, setup, toPromise } from 'xstate';

const editor = createAgent({
  system: 'You write headlines.',
  model: scriptedModel(['Local Door No Longer Squeaks']),
});

const newspaper = setup({
  types: {
    context: {} as { readonly story: string; readonly headline: string | null },
    input: {} as { readonly story: string },
    output: {} as { readonly headline: string | null },
  },
  actors: { editor: editor.machine },
}).createMachine({
  id: 'newspaper',
  context: ({ input }) => ({ story: input.story, headline: null }),
  output: ({ context }) => ({ headline: context.headline }),
  initial: 'write',
  states: {
    write: {
      invoke: {
        id: 'editor',
        src: 'editor',
        input: ({ context }) => editor.input(`A headline for: ${context.story}`),
        onDone: [
          {
            guard: ({ event }) => event.output.status === 'completed',
            target: 'printed',
            actions: assign({ headline: ({ event }) => event.output.text }),
          },
          { target: 'dropped' },
        ],
        onError: 'dropped',
      },
    },
    printed: { type: 'final' },
    dropped: { type: 'final' },
  },
});

const issue = createActor(newspaper, { input: { story: 'The door was oiled.' } });
issue.subscribe(({ value }) => console.log('newspaper:', value));
console.log('headline:', (await toPromise(issue.start())).headline);
