// What a host of a kill test is doing, for the day on which it stands still: its waits, its processes and what keeps it running. It
// says so when its parent asks with a signal.

import type { System } from "signalbox";
import type { Store, StoreSource } from "signalbox/store";

/** The signal with which a parent asks. */
export const ASK = "SIGUSR2";
/** The last line of the answer. */
export const ANSWERED = "that is all that is under way";

/** Most lines of each kind in an answer. */
const MOST_LINES = 60;

/** What was begun and has not ended. */
export class UnderWay {
  readonly #open = new Map<number, { readonly what: string; readonly since: number }>();
  #begun = 0;

  /** Notes that something is under way. Returns the call that ends it. */
  begin(what: string): () => void {
    const number = this.#begun++;
    this.#open.set(number, { what, since: performance.now() });
    return () => void this.#open.delete(number);
  }

  async during<T>(what: string, work: () => Promise<T>): Promise<T> {
    const end = this.begin(what);
    try {
      return await work();
    } finally {
      end();
    }
  }

  /** The oldest first. */
  lines(): string[] {
    const now = performance.now();
    return [...this.#open.values()].map(({ what, since }) => `${what} for ${Math.round(now - since)} ms`);
  }
}

/** Answers each question with what is under way, in bounded text. */
export function answering(system: System, underWay: UnderWay): void {
  let outage: (() => void) | undefined;
  system.events.on("storeOutage", (told) => {
    outage?.();
    outage =
      told.type === "began" ? underWay.begin(`an outage of the store (${told.error.message})`) : undefined;
  });
  process.on(ASK, () => {
    const processes = system.processes().map((pid) => {
      const info = system.info(pid);
      return `${info?.name ?? info?.label ?? pid} ${info?.status}, ${info?.mailboxDepth} in its mailbox`;
    });
    const resources = new Map<string, number>();
    for (const one of process.getActiveResourcesInfo()) resources.set(one, (resources.get(one) ?? 0) + 1);
    console.log(
      [
        ...of("waits", underWay.lines()),
        ...of("processes", processes),
        ...of(
          "resources",
          [...resources].map(([name, count]) => `${count} ${name}`),
        ),
        ANSWERED,
      ].join("\n"),
    );
  });
}

function of(kind: string, lines: readonly string[]): string[] {
  const left = lines.length - MOST_LINES;
  const shown = lines.slice(0, MOST_LINES).map((line) => `  ${line}`);
  return [`${lines.length} ${kind}:`, ...shown, ...(left > 0 ? [`  and ${left} more`] : [])];
}

/** The store, with a note of each operation that is under way. */
export function noted(source: StoreSource, underWay: UnderWay): StoreSource {
  return {
    label: source.label,
    ...(source.unreachableMs !== undefined && { unreachableMs: source.unreachableMs }),
    open: async (schemas, context) =>
      notedStore(await underWay.during("store.open", () => source.open(schemas, context)), underWay),
  };
}

function notedStore(store: Store, underWay: UnderWay): Store {
  return new Proxy(store, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      if (name === "submit")
        return (...[set, settled]: Parameters<Store["submit"]>) => {
          const end = underWay.begin("store.submit");
          target.submit(set, (error, committed) => {
            end();
            settled(error, committed);
          });
        };
      return (...given: readonly unknown[]) => {
        const result: unknown = Reflect.apply(value, target, given);
        return result instanceof Promise ? underWay.during(`store.${String(name)}`, () => result) : result;
      };
    },
  });
}
