/** What a Pawl store looks like inside. */

/** "Pawl" in ASCII: marks the file as ours. */
export const applicationId = 0x5061776c;
/** Raised when an older Pawl could no longer read the file. */
export const formatVersion = 1;

/**
 * Rows with long texts are ordinary ones: without a rowid, SQLite would put most of each text on a page of its own.
 * Their ids are made of an owner and a position (`keyOf`), so what belongs together lies together. Every `sum` is a
 * checksum of its row. Ids, owners, agents, labels (tags and reasons to wait) are JSON texts, which keep what raw text would lose.
 *
 * - `runs`: the newest save of each run. `turns` and `results` count what the run has in those tables.
 * - `begins`: what never changes of a run.
 * - `transcripts`: one per run and generation; the first `shared` messages are those of `base`. `heirs`
 *   counts the transcripts that have this one as their base, `lent` is the most that one of them shared. `run` is null
 *   when the run is gone and heirs still need the messages.
 * - `turns`: what a fork begins with, as the difference to the `start` of its run.
 * - `steps`: the story of each run, with what it heard.
 * - `names`: texts that many rows have, by number: states with causes, and the shapes of events and differences, whose
 *   rows hold the values only.
 * - `store`: one row. `posted` counts events, so that no number comes twice.
 *
 * Tables cost a page each, which counts in a store of one run: so there are few, and few indexes.
 */
export const schema: readonly string[] = [
  'CREATE TABLE store (salt TEXT NOT NULL, sum INTEGER NOT NULL, posted INTEGER NOT NULL)',
  'CREATE TABLE runs (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, version INTEGER NOT NULL, updated INTEGER NOT NULL, status TEXT NOT NULL, agent TEXT, transcript INTEGER NOT NULL, generation INTEGER NOT NULL, length INTEGER NOT NULL, results INTEGER NOT NULL, turns INTEGER NOT NULL, labels TEXT NOT NULL, origin TEXT NOT NULL, originSum INTEGER NOT NULL, head TEXT NOT NULL, headSum INTEGER NOT NULL, checkpoint TEXT NOT NULL, checkpointSum INTEGER NOT NULL)',
  'CREATE INDEX runs_by_update ON runs (updated)',
  'CREATE TABLE begins (run INTEGER PRIMARY KEY, settings TEXT NOT NULL, settingsSum INTEGER NOT NULL, start TEXT, startSum INTEGER)',
  'CREATE TABLE transcripts (number INTEGER PRIMARY KEY, run INTEGER, generation INTEGER NOT NULL, base INTEGER, shared INTEGER NOT NULL, heirs INTEGER NOT NULL, lent INTEGER NOT NULL, sum INTEGER NOT NULL)',
  'CREATE UNIQUE INDEX transcripts_by_run ON transcripts (run, generation)',
  'CREATE TABLE messages (id INTEGER PRIMARY KEY, message TEXT NOT NULL, sum INTEGER NOT NULL)',
  'CREATE TABLE results (id INTEGER PRIMARY KEY, result TEXT NOT NULL, sum INTEGER NOT NULL)',
  'CREATE TABLE turns (id INTEGER PRIMARY KEY, transcript INTEGER NOT NULL, generation INTEGER NOT NULL, length INTEGER NOT NULL, change TEXT NOT NULL, sum INTEGER NOT NULL)',
  'CREATE TABLE steps (id INTEGER PRIMARY KEY, at INTEGER NOT NULL, turn INTEGER NOT NULL, input INTEGER NOT NULL, output INTEGER NOT NULL, cost INTEGER NOT NULL, active INTEGER NOT NULL, name INTEGER NOT NULL, events TEXT NOT NULL, sum INTEGER NOT NULL)',
  'CREATE TABLE names (name TEXT PRIMARY KEY, number INTEGER NOT NULL) WITHOUT ROWID',
  'CREATE TABLE leases (run TEXT PRIMARY KEY, owner TEXT NOT NULL, until INTEGER NOT NULL) WITHOUT ROWID',
  'CREATE TABLE posted (number INTEGER PRIMARY KEY, run TEXT NOT NULL, event TEXT NOT NULL, sum INTEGER NOT NULL)',
];
