// A system with one topology of lines and words, and a record of its events. The tests of components in other programs
// wait for an entry of this record, never for a time.

import { System } from "signalbox";
import {
  type BoltDefinition,
  bolt,
  DEAD_FIELDS,
  type DeadStream,
  type Failure,
  type Field,
  field,
  ShellError,
  type SpoutDefinition,
  spout,
  type Topology,
  type TopologyRef,
} from "signalbox/topology";

export type Line = { readonly text: Field<string> };
export type Word = { readonly word: Field<string> };
export type Count = { readonly word: Field<string>; readonly count: Field<number> };
export const LINE: Line = { text: field.text };
export const WORD: Word = { word: field.text };
export const COUNT: Count = { word: field.text, count: field.number };

export class WordStage implements AsyncDisposable {
  /** Lines as they were acked. */
  readonly acked: string[] = [];
  /** Lines that failed for good, with their attempts. */
  readonly failed: string[] = [];
  /** Lines that came as dead letters. */
  readonly dead: string[] = [];
  /** The last count of each word. */
  readonly counts: Map<string, number> = new Map();
  /** Every word that came to the end, in order. */
  readonly words: string[] = [];
  /** `component level: text` of every line of the log. */
  readonly log: string[] = [];
  /** Why tasks were restarted. */
  readonly problems: unknown[] = [];
  readonly reports: string[] = [];
  readonly system: System = new System({ name: "stage", report: (text) => this.reports.push(text) });
  #waiting: (() => void)[] = [];
  readonly #queue: string[] = [];
  #wake = (): void => undefined;

  /** A spout of the lines that are put in. */
  readonly lines: SpoutDefinition<{ readonly lines: Line } & DeadStream> = spout({
    streams: { lines: LINE },
    next: ({ emit, wake }) => {
      this.#wake = wake;
      const text = this.#queue.shift();
      if (text !== undefined) emit.lines({ text }, { id: text });
    },
    ack: (text: string) => this.note(() => this.acked.push(text)),
    fail: (text, _ctx, { type, attempts, deadLettered }: Failure) =>
      this.note(() => this.failed.push(`${text}: ${type} ${attempts} ${deadLettered}`)),
  });

  /** Takes the dead letters. */
  readonly undertaker: BoltDefinition<{ readonly "*": DeadStream["dead"] }, Record<never, never>> = bolt({
    input: DEAD_FIELDS,
    execute: ({ values }) => this.note(() => this.dead.push(String(values.id))),
  });

  /** The end of a count: notes the counts. */
  readonly collector: BoltDefinition<{ readonly "*": Count }, Record<never, never>> = bolt({
    input: COUNT,
    execute: ({ values: { word, count } }) => this.note(() => this.counts.set(word, count)),
  });

  /** The end of a split: notes the words. */
  readonly reader: BoltDefinition<{ readonly "*": Word }, Record<never, never>> = bolt({
    input: WORD,
    execute: ({ values: { word } }) => this.note(() => this.words.push(word)),
  });

  start(topology: Topology): Promise<TopologyRef> {
    this.system.events.on("restart", ({ reason }) => {
      const error = reason.type === "crash" ? reason.error : undefined;
      this.problems.push(error instanceof ShellError ? error.problem : reason);
    });
    return this.system.start(topology, {
      logLevel: "debug",
      log: ({ component, level, text }) => this.note(() => this.log.push(`${component} ${level}: ${text}`)),
    });
  }

  put(...lines: readonly string[]): void {
    this.#queue.push(...lines);
    this.#wake();
  }

  note(fn: () => unknown): void {
    fn();
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resolve of waiting) resolve();
  }

  /** Process ids that programs have logged. */
  get pids(): number[] {
    return this.log.flatMap((line) => / info: pid (\d+)$/.exec(line)?.[1] ?? []).map(Number);
  }

  /** Resolves when the record is as wished. */
  async until(wish: () => boolean): Promise<void> {
    while (!wish()) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  /** Resolves when this line is in the log. */
  logged(line: string): Promise<void> {
    return this.until(() => this.log.includes(line));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.system.stop();
  }
}
