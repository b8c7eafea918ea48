/** What a Pawl store looks like inside. */

/** "Pawl" in ASCII: marks the file as ours. */
export const applicationId = 0x5061776c;
/** Raised when an older Pawl could no longer read the file. */
export const formatVersion = 1;

/**
 * Rows with long texts are ordinary ones: without a rowid, SQLite would put most of each text on a page of its own.
 * Their ids are made of an owner and a position (`keyOf`), so what belongs together lies together. Every `sum` is a
 * checksum of its row. Ids, owners, agents, labels are JSON texts, which keep what raw text would lose.
 *
 * - `runs`: the newest save of each run. `turns` and `results` count what the run has in those tables.
 * - `begins`: what never changes of a run.
 * - `transcripts`: one per run and generation; the first `shared` messages are those of `base`. `run` is null when the
 *   run is gone and forks still need the messages.
 * - `turns`: what a fork begins with, as the difference to the `start` of its run.
 * - `labels`: tags and reasons to wait, for filters.
 */
export const schema: readonly string[] = [
  'CREATE TABLE store (salt TEXT NOT NULL, sum INTEGER NOT NULL)',
  'CREATE TABLE runs (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, version INTEGER NOT NULL, updated INTEGER NOT NULL, status TEXT NOT NULL, agent TEXT, transcript INTEGER NOT NULL, generation INTEGER NOT NULL, length INTEGER NOT NULL, results INTEGER NOT NULL, turns INTEGER NOT NULL, labels TEXT NOT NULL, origin TEXT NOT NULL, originSum INTEGER NOT NULL, head TEXT NOT NULL, headSum INTEGER NOT NULL, checkpoint TEXT NOT NULL, checkpointSum INTEGER NOT NULL)',
  'CREATE INDEX runs_by_update ON runs (updated)',
  'CREATE TABLE begins (run INTEGER PRIMARY KEY, settings TEXT NOT NULL, settingsSum INTEGER NOT NULL)',
  'CREATE TABLE starts (run INTEGER PRIMARY KEY, context TEXT NOT NULL, sum INTEGER NOT NULL)',
  'CREATE TABLE transcripts (number INTEGER PRIMARY KEY, run INTEGER, generation INTEGER NOT NULL, base INTEGER, shared INTEGER NOT NULL, sum INTEGER NOT NULL)',
  'CREATE UNIQUE INDEX transcripts_by_run ON transcripts (run, generation)',
  'CREATE INDEX transcripts_by_base ON transcripts (base, shared) WHERE base IS NOT NULL',
  'CREATE TABLE messages (id INTEGER PRIMARY KEY, message TEXT NOT NULL, sum INTEGER NOT NULL)',
  'CREATE TABLE results (id INTEGER PRIMARY KEY, result TEXT NOT NULL, sum INTEGER NOT NULL)',
  'CREATE TABLE turns (id INTEGER PRIMARY KEY, transcript INTEGER NOT NULL, generation INTEGER NOT NULL, length INTEGER NOT NULL, change TEXT NOT NULL, sum INTEGER NOT NULL)',
  'CREATE TABLE steps (id INTEGER PRIMARY KEY, at INTEGER NOT NULL, turn INTEGER NOT NULL, input INTEGER NOT NULL, output INTEGER NOT NULL, cost INTEGER NOT NULL, active INTEGER NOT NULL, what TEXT NOT NULL, sum INTEGER NOT NULL)',
  'CREATE TABLE labels (label TEXT NOT NULL, run INTEGER NOT NULL, PRIMARY KEY (label, run)) WITHOUT ROWID',
  'CREATE TABLE leases (run TEXT PRIMARY KEY, owner TEXT NOT NULL, until INTEGER NOT NULL) WITHOUT ROWID',
  'CREATE TABLE posted (number INTEGER PRIMARY KEY AUTOINCREMENT, run TEXT NOT NULL, event TEXT NOT NULL, sum INTEGER NOT NULL)',
  'CREATE INDEX posted_by_run ON posted (run)',
];
