/** The ends of the help pages. */

const exitCodeHelp = `
Exit codes:
    0  completed
    1  failed
    2  wrong usage
    3  exhausted: a limit was reached (which one: on stderr, and in the JSON)
    4  waits for a person: nobody decided about a call, or about a higher limit (pawl resume goes on)
    5  interrupted: the outcome of a call is not known, and a person has to say it
    6  refused by the model
    7  held by another process, or started already
    8  completed, but a call that the model wanted was denied
  130  cancelled (Ctrl-C), or stopped at work (SIGTERM; pawl resume goes on)
`;

export const mainHelp = `${exitCodeHelp}
Environment:
  ANTHROPIC_API_KEY   without it, a scripted model plays the demo
  ANTHROPIC_BASE_URL  another address for the Messages API
  NO_COLOR            no colours

Nothing is read from the current folder but the store of runs, .pawl/runs.db, and what an option names:
no configuration, no .env.

Examples:
  pawl run                                       the demo; needs no key
  pawl run "What is 12 factorial?"               one question
  pawl run --tools ./tools.mjs --max-cost 0.50 "Sort my inbox."
  pawl chat --system "Answer in one sentence."   a conversation
  pawl runs                                      what was run, and what waits
  pawl approve 3f2a91c0                          let the call run that waits in a run
  pawl resume 3f2a91c0                           go on with it, also after a crash
  pawl diagram agent-loop --format svg > loop.svg
`;

const answerHelp = `
Stdout gets the answer: as it is written on a terminal, else once, when it is complete. States, tool
calls and the spend go to stderr. Control and invisible characters of a model or tool are shown as
escapes such as \\u{1b}; --json has the exact text.

Tools that only read run at once; a person is asked about all others, with the exact arguments.
Without a terminal nobody is asked: the run is left waiting and the exit code is 4. Decide with pawl approve
or pawl deny, and go on with pawl resume.
Ctrl-C cancels the run, a second Ctrl-C leaves at once. SIGTERM lets the turn end, for 5 s at most, and leaves
the run to pawl resume. Nothing is lost by a kill -9 either: every step is in the store before it acts.
`;

export const runHelp = `${answerHelp}${exitCodeHelp}
Examples:
  pawl run                                   the demo: two tool calls at once, then one that needs them
  pawl run --ask                             the same, and you decide about each call
  pawl run "Name three rivers." > rivers.txt
  git diff | pawl run --system "Review this diff." -
  pawl run --tools ./mail.mjs --yes --max-turns 10 --max-time 5m "Tell Ada the build is green."
  pawl run --json "Hello" | tail -n 1        how it ended, as JSON
`;

export const chatHelp = `${answerHelp}
Each line is a follow-up to everything before it; the limits count for each line anew. Ctrl-D leaves.
Lines from a pipe stop at the first run that does not complete.
${exitCodeHelp}
Examples:
  pawl chat
  pawl chat --tools ./tools.mjs --ask
  printf 'Name a river.\\nHow long is it?\\n' | pawl chat
`;

export const diagramHelp = `
Examples:
  pawl diagram                                  the agent loop, as Mermaid text
  pawl diagram tool-call --format svg > tool-call.svg
  pawl diagram agent-loop --format json         for Stately's editor
`;
