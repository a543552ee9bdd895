// Tuples that come again to a bolt with windows of event time under another host. That host has no lineage: a retry is a tuple whose
// equal has come lately. Those for windows that have ended are gathered for a while, so that a window is handed over again for all of
// them together, and not for each.

import { hash } from "../../process/stable-hash.js";
import type { InitContext } from "../definition/component.js";
import { ForeignChannel, type Tuple } from "../definition/tuple.js";
import { foreignHostOf } from "../runtime/foreign-host.js";
import { HandedOverWindows } from "./handed-over-windows.js";
import { SeenTuples } from "./seen-tuples.js";

/**
 * Message timeouts for which a tuple is remembered. The host has a tuple fail within two of them; the rest is for the wait before the
 * retry, and for the queues on the way.
 */
const KEEP = 4;
/** The part of a message timeout for which tuples are gathered. Their own trees wait in the meantime. */
const GATHER = 1 / 4;
/** Tuples that a task remembers at most: some 40 MB. */
const MAX_SEEN = 1_000_000;
/** Tuples of windows that were handed over, which a task keeps at most: some 30 MB, without long values. */
const MAX_KEPT = 100_000;

export class ReturningTuples {
  readonly gatherMs: number;
  readonly windows: HandedOverWindows<Tuple>;
  readonly #seen: SeenTuples;
  #gathered: { readonly time: number; readonly item: Tuple }[] = [];

  constructor(gatherMs: number, seen: SeenTuples, windows: HandedOverWindows<Tuple>) {
    this.gatherMs = gatherMs;
    this.#seen = seen;
    this.windows = windows;
  }

  /**
   * Those of the task with this context. Undefined under our own host. What has come and what was handed over is remembered over
   * restarts of the task.
   */
  static of(ctx: InitContext, timeOf: (tuple: Tuple) => number): ReturningTuples | undefined {
    const host = foreignHostOf(ctx);
    if (host === undefined) return undefined;
    const keepMs = KEEP * host.messageTimeoutMs;
    const seen =
      (ctx.shared.get(SeenTuples) as SeenTuples | undefined) ??
      new SeenTuples({ keepMs, max: MAX_SEEN, now: ctx.now() });
    ctx.shared.set(SeenTuples, seen);
    const windows =
      (ctx.shared.get(HandedOverWindows) as HandedOverWindows<Tuple> | undefined) ??
      new HandedOverWindows({ keepMs, max: MAX_KEPT, hashOf, timeOf });
    ctx.shared.set(HandedOverWindows, windows);
    return new ReturningTuples(GATHER * host.messageTimeoutMs, seen, windows);
  }

  /** How many are gathered. */
  get size(): number {
    return this.#gathered.length;
  }

  /** A tuple has come. Returns whether it may be a retry of one that came before. */
  came(tuple: Tuple, now: number): boolean {
    const hash = hashOf(tuple);
    return hash === undefined || this.#seen.note(hash, now);
  }

  /** A tuple that came is late. When it fails and comes again, it is late again. */
  forget(tuple: Tuple): void {
    const hash = hashOf(tuple);
    if (hash !== undefined) this.#seen.forget(hash);
  }

  gather(time: number, item: Tuple): void {
    this.#gathered.push({ time, item });
  }

  /** All that are gathered. */
  take(): readonly { readonly time: number; readonly item: Tuple }[] {
    const gathered = this.#gathered;
    this.#gathered = [];
    return gathered;
  }
}

/**
 * 53 bits of where the tuple comes from and of what it carried when it came. Undefined: its values have no form as a text, such as a
 * circle.
 */
function hashOf(tuple: Tuple): number | undefined {
  const { component, stream, values, channel } = tuple;
  if (channel instanceof ForeignChannel && channel.hash !== undefined) return channel.hash;
  let text: string;
  try {
    text = JSON.stringify([component, stream, values], shown);
  } catch {
    return undefined;
  }
  const made = (hash(text) >>> 0) * 2 ** 21 + (hash(text, 1) >>> 11);
  if (channel instanceof ForeignChannel) channel.hash = made;
  return made;
}

/** Values that go to another thread or node, and that JSON leaves out or refuses. */
function shown(_key: string, value: unknown): unknown {
  if (typeof value === "bigint") return { bigint: String(value) };
  return value instanceof Map || value instanceof Set ? [...value] : value;
}
