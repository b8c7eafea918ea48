/** The ends of the help pages of commands for stored runs. */

const runNote = `
A run is named by its id or the beginning of it, as pawl runs shows it.
`;

const callNote = `
A run is named by its id or the beginning of it; so is the call, which may be left out when only one
waits. What is told is kept until the run hears it: at once where it runs, else with pawl resume.
`;

export const runsHelp = `
AGE is the time since the last save. A run that is "running" has a process, or had one when it died.

Examples:
  pawl runs
  pawl runs --status waiting running --tag mail
  pawl runs --json | head -n 1
`;

export const showHelp = `${runNote}
Examples:
  pawl show 3f2a91c0
  pawl show 3f2a91c0 --at 4          as it was at step 4
  pawl show 3f2a91c0 --json
`;

export const whyHelp = `${runNote}
The guards are the machine's own (pawl diagram shows them all), asked again about the stored run.

Examples:
  pawl why 3f2a91c0
  pawl why 3f2a91c0 --at 4           all questions of step 4, as pawl show numbers them
`;

export const replayHelp = `${runNote}
Works offline: model replies and tool results come from the store, nothing is called and nothing changes.
Exits with 1 when something comes out differently: this version of Pawl would have decided otherwise.

Examples:
  pawl replay 3f2a91c0
  pawl replay 3f2a91c0 --json
`;

export const resumeHelp = `${runNote}
Limits raise those of the run; a run that was exhausted goes on with a higher one. Tools, instructions and
permissions are not kept with a run: give --tools, --system, --ask or --yes again. Two processes can't go
on with one run: the second one exits with 7 and has done nothing.

Examples:
  pawl resume 3f2a91c0
  pawl resume 3f2a91c0 --max-turns 20
  pawl resume 3f2a91c0 --retry --tools ./tools.mjs
`;

export const forkHelp = `${runNote}
The other run stays as it is. What it had spent until that turn counts.

Examples:
  pawl fork 3f2a91c0 --at 2
  pawl fork 3f2a91c0 --at 2 --max-cost 1 --model claude-haiku-5-5
`;

export const approveHelp = `${callNote}
Examples:
  pawl approve 3f2a91c0
  pawl approve 3f2a91c0 toolu_01 --input '{"to":"ada@example.org"}'
`;

export const denyHelp = `${callNote}
Examples:
  pawl deny 3f2a91c0 --reason "Not on a Friday."
`;

export const settleHelp = `${callNote}
A call is interrupted when the process died while it ran and it must not run twice by itself.

Examples:
  pawl settle 3f2a91c0 --result "The mail was sent."
  pawl settle 3f2a91c0 --result "The server had refused it." --error
  pawl settle 3f2a91c0 --retry
`;

export const steerHelp = `${runNote}
Examples:
  pawl steer 3f2a91c0 "Leave the archive alone."
`;

export const cancelHelp = `${runNote}
Examples:
  pawl cancel 3f2a91c0 --reason "Not needed any more."
`;

export const rehearseHelp = `
Runs nothing and changes nothing. Exits with 1 when a run could not go on. Without --tools, the tools are
those of the demo.

Examples:
  pawl rehearse --tools ./tools.mjs
`;

export const pruneHelp = `
Runs, their stories and their transcripts stay; only pawl fork and pawl why --at lose the turns.

Examples:
  pawl prune
  pawl prune --older-than 7d --keep-turns 0
`;

export const deleteHelp = `${runNote}
What forks of it share stays until the last of them is gone.

Examples:
  pawl delete 3f2a91c0
`;
