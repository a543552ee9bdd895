// What a ledger asks about the ends of its process: whom evidence accuses, who has to wait, and in whose name code runs.

/** A message, or the batches of a queue, whose code runs. */
export interface Accused {
  /** Runs code in its name, with all that the code awaits or leaves behind. */
  run<T>(fn: () => T): T;
  /** The process has outlived its code, and the outcome is committed. */
  progressed(): void;
  /** It runs here no more. */
  end(): void;
}

/** What was found about a message that an earlier life of the program may have had in work. */
export interface Found {
  /** How it is known that it has ended the process, if that is known and its row does not say so yet. */
  readonly evidence: string | undefined;
  /** False: it waits for {@link Blame.watch}. */
  readonly mayRun: boolean;
}

/** The evidence of a host about messages. `id`: of a message, or {@link batchesOf} a queue. */
export interface Blame {
  find(scope: number, id: string): Found;
  begin(scope: number, id: string): Accused;
  /** The evidence is written where the message is, or was acted on. */
  taken(scope: number, id: string): void;
  /** Calls `opened` when those that wait may be asked for again. Returns the call that ends that. */
  watch(opened: () => void): () => void;
}

/** The name under which batches of several messages of a queue run. No id of a message has a blank. */
export const batchesOf = (queue: string): string => `batches of ${queue}`;

const NOTHING: Found = { evidence: undefined, mayRun: true };
const NOBODY: Accused = { run: (fn) => fn(), progressed: () => undefined, end: () => undefined };

/** Without evidence, no message is accused. */
export const NO_BLAME: Blame = {
  find: () => NOTHING,
  begin: () => NOBODY,
  taken: () => undefined,
  watch: () => () => undefined,
};
