// A server against a plain object. Callers chosen at random ask, wait, give up and are killed, under many schedules. Whatever the
// server handled, in whichever order it did: a plain object to which the same is done in that order says what each caller got.

import fc from "fast-check";
import {
  type Caller,
  CallTimeoutError,
  type Context,
  defer,
  defineServer,
  noReply,
  type Pid,
  refuse,
  reply,
  type ServerDefinition,
  type System,
} from "signalbox";
import { explore, type Simulation } from "signalbox/testing";
import { describe, expect, it } from "vitest";
import { sized } from "../../support/proof.js";

type Word = "take" | "slowly" | "wait" | "peek" | "put";

interface Op {
  readonly word: Word;
  readonly n: number;
  readonly timeoutMs: number;
}

interface Script {
  readonly ops: readonly Op[];
  /** After how many milliseconds the caller is killed, if it is. */
  readonly killedAfterMs: number | undefined;
}

/** What the server handled: a request with its id, the work that it continued with, or an idle timeout. */
type Handled = readonly [word: Word | "continued" | "idle", id: string, n: number];

/** The plain object: what a request does to it, and who is answered what for that. */
class Shelf {
  left = 3;
  private readonly waiting: string[] = [];
  readonly answers = new Map<string, string>();

  apply([word, id, n]: Handled): void {
    switch (word) {
      case "take":
      case "slowly":
        if (n > this.left) this.answers.set(id, `refused ${this.left}`);
        else {
          this.left -= n;
          this.answers.set(id, `left ${this.left}`);
        }
        return;
      case "wait":
        this.waiting.push(id);
        this.serve();
        return;
      case "peek":
        this.answers.set(id, `left ${this.left}`);
        return;
      case "put":
        this.left += n;
        this.serve();
        return;
      case "continued":
      case "idle":
        this.left++;
        return;
      default:
        word satisfies never;
    }
  }

  private serve(): void {
    while (this.left > 0) {
      const id = this.waiting.shift();
      if (id === undefined) return;
      this.left--;
      this.answers.set(id, `one of ${this.left + 1}`);
    }
  }
}

type Answer = (state: never, id: string, n: number) => string;
type Calls = { readonly [word in Exclude<Word, "put">]: Answer };
interface Casts {
  readonly put: (state: never, id: string, n: number) => void;
}

interface Stock {
  left: number;
  readonly waiting: Caller<string>[];
}

/** The server: the same by the library's means, refusals, late replies, continues and idle timeouts among them. */
function stockOf(sim: Simulation, handled: Handled[]): ServerDefinition<[], Calls, Casts> {
  const log = (...entry: Handled): void => void handled.push(entry);
  const take = (state: Stock, n: number) => {
    if (n > state.left) return refuse(new RangeError(`refused ${state.left}`));
    state.left -= n;
    return `left ${state.left}`;
  };
  const serve = (state: Stock): void => {
    while (state.left > 0) {
      const caller = state.waiting.shift();
      if (caller === undefined) return;
      state.left--;
      caller.reply(`one of ${state.left + 1}`);
    }
  };
  const more = (state: Stock, what: "continued" | "idle", id: string): void => {
    log(what, id, 1);
    state.left++;
  };
  const inferred = defineServer({
    init: (): Stock => ({ left: 3, waiting: [] }),
    calls: {
      take: (state, id: string, n: number) => {
        log("take", id, n);
        return take(state, n);
      },
      slowly: async (state, id: string, n: number) => {
        log("slowly", id, n);
        await sim.sleep(n);
        return take(state, n);
      },
      wait: (state, id: string, n: number) => {
        log("wait", id, n);
        return defer<string>((caller) => {
          state.waiting.push(caller);
          serve(state);
        });
      },
      peek: (state, id: string, n: number) => {
        log("peek", id, n);
        return reply(`left ${state.left}`, { continue: () => more(state, "continued", id) });
      },
    },
    casts: {
      put: (state, id: string, n: number) => {
        log("put", id, n);
        state.left += n;
        serve(state);
        return noReply({ idleMs: n });
      },
    },
    idle: (state) => more(state, "idle", "nobody"),
  });
  return inferred;
}

/** How the calls of one schedule have ended, as their callers saw it: `timeout`, or what they were answered. */
type Seen = Map<string, string>;

function spawnCaller(
  sim: Simulation,
  system: System,
  name: string,
  script: Script,
  asked: Asked,
): Pid<never> {
  const { Stock, server, seen } = asked;
  return system.spawn<never>(
    async (ctx: Context<never>) => {
      for (const [index, { word, n, timeoutMs }] of script.ops.entries()) {
        const id = `${name}${index}`;
        const bound = Stock.at(system, server).with({ from: ctx, timeoutMs });
        if (word === "put") bound.cast.put(id, n);
        else {
          const end = await bound.call[word](id, n).catch((error: Error) =>
            error instanceof CallTimeoutError ? "timeout" : error.message,
          );
          if (ctx.alive) seen.set(id, end);
        }
        sim.touch("seen", "write");
      }
    },
    { label: name },
  );
}

interface Asked {
  readonly Stock: ServerDefinition<[], Calls, Casts>;
  readonly server: Pid<never>;
  readonly seen: Seen;
}

/** What happened at all in some schedule, over all of them. */
type Tally = Map<string, number>;

async function play(sim: Simulation, scripts: readonly Script[], tally: Tally): Promise<void> {
  const system = sim.system({ name: "shop" });
  const handled: Handled[] = [];
  const seen: Seen = new Map();
  const Stock = stockOf(sim, handled);
  const { pid: server } = await system.start(Stock);
  let doubles = 0;
  system.events.on("discardedReply", ({ error }) => {
    if (error.code === "ERR_DOUBLE_REPLY") doubles++;
  });
  scripts.forEach((script, index) => {
    const name = "abc"[index] as string;
    const caller = spawnCaller(sim, system, name, script, { Stock, server, seen });
    if (script.killedAfterMs === undefined) return;
    const killer = system.spawn({ handle: (ctx) => ctx.exit(caller, "kill") });
    system.sendAfter(killer, "now", script.killedAfterMs);
  });
  await sim.sleep(1_000);
  judge(scripts, handled, seen, { discarded: system.events.discardedReplies, doubles }, tally);
}

function judge(
  scripts: readonly Script[],
  handled: readonly Handled[],
  seen: Seen,
  { discarded, doubles }: { discarded: number; doubles: number },
  tally: Tally,
): void {
  const count = (what: string, times = 1): void => void tally.set(what, (tally.get(what) ?? 0) + times);
  const shelf = new Shelf();
  const taken: string[] = [];
  for (const [index, entry] of handled.entries()) {
    shelf.apply(entry);
    const [word, id] = entry;
    count(word);
    if (word === "continued")
      expect(handled[index - 1]?.slice(0, 2), "nothing comes before a continue").toEqual(["peek", id]);
    else if (word !== "idle") taken.push(id);
  }
  expect(new Set(taken).size, "each request is handled once at most").toBe(taken.length);
  for (const name of "abc") {
    const own = taken.filter((id) => id.startsWith(name));
    expect(own, "requests of one caller are handled in its order").toEqual([...own].sort());
  }
  let delivered = 0;
  for (const [id, end] of seen) {
    if (end === "timeout") count(taken.includes(id) ? "timeout of a request that was handled" : "withdrawn");
    else {
      delivered++;
      expect(end, `what ${id} got`).toBe(shelf.answers.get(id));
      count(end.startsWith("refused") ? "refusal" : "reply");
    }
  }
  // A caller may be killed when its reply is there and it has not run yet: such a reply has reached it.
  const killed = scripts.filter(({ killedAfterMs }) => killedAfterMs !== undefined).length;
  const lost = shelf.answers.size - delivered;
  expect(discarded, "a reply that reaches nobody is counted").toBeGreaterThanOrEqual(lost - killed);
  expect(discarded, "no other is").toBeLessThanOrEqual(lost);
  expect(doubles, "nobody is answered twice").toBe(0);
  count("late reply", discarded);
}

const op: fc.Arbitrary<Op> = fc.record({
  word: fc.constantFrom<Word>("take", "slowly", "wait", "peek", "put"),
  n: fc.integer({ min: 1, max: 4 }),
  timeoutMs: fc.constantFrom(1, 3, 50),
});

const script: fc.Arbitrary<Script> = fc.record({
  ops: fc.array(op, { minLength: 1, maxLength: 4 }),
  killedAfterMs: fc.oneof({ weight: 3, arbitrary: fc.constant(undefined) }, fc.integer({ min: 0, max: 4 })),
});

describe("a server, under any schedule", () => {
  it("does to its state, and answers, what a plain object says [B2]", async () => {
    const tally: Tally = new Map();
    const agrees = fc.asyncProperty(fc.array(script, { minLength: 2, maxLength: 3 }), async (scripts) => {
      await explore((sim) => play(sim, scripts, tally), { schedules: 20, shrinkMs: 2_000 });
    });
    await fc.assert(agrees, { numRuns: sized(12, 0.2), seed: 43 });
    for (const what of [
      ...["take", "slowly", "wait", "peek", "put", "continued", "idle", "reply", "refusal", "late reply"],
      ...["withdrawn", "timeout of a request that was handled"],
    ])
      expect(tally.get(what), what).toBeGreaterThan(0);
  });
});
