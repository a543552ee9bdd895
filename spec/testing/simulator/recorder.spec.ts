// The trace of a schedule says what really happened. The processes and the scenario note it themselves, and the two are compared.

import { readFileSync } from "node:fs";
import { fc, test } from "@fast-check/vitest";
import { type Context, defineServer, type Pid, type ReplyTo, type System } from "signalbox";
import { arbitrarySchedules, renderTrace, type Simulation, simulate } from "signalbox/testing";
import { describe, expect } from "vitest";
import { errorOf } from "../support/found.js";
import { effectsLike, stepsLike, stepsOf } from "../support/trace.js";

const PROCESSES = ["a", "b", "c"] as const;
/** Some are objects that are sent again and again. */
const POOL = [{ item: "tea" }, { item: "milk" }, 7, "note"] as const;
const TEXTS = ['{item: "tea"}', '{item: "milk"}', "7", '"note"'] as const;

interface Sending {
  readonly to: number;
  readonly value: number;
}
interface Round {
  /** Which values of the pool the receive wants; none for any. */
  readonly wanted: readonly number[];
  readonly sends: readonly Sending[];
}
interface Program {
  /** A process of callbacks takes each message; a body goes through its rounds and ends. */
  readonly bodies: readonly boolean[];
  readonly rounds: readonly (readonly Round[])[];
  readonly capacity: number | undefined;
  readonly overflow: "drop-oldest" | "drop-newest";
  readonly begin: readonly Sending[];
}

const sending: fc.Arbitrary<Sending> = fc.record({ to: fc.nat(2), value: fc.nat(3) });
const round: fc.Arbitrary<Round> = fc.record({
  wanted: fc.oneof(fc.constant([]), fc.array(fc.nat(3), { minLength: 1, maxLength: 2 })),
  sends: fc.array(sending, { maxLength: 3 }),
});
const programs: fc.Arbitrary<Program> = fc.record({
  bodies: fc.array(fc.boolean(), { minLength: 3, maxLength: 3 }),
  rounds: fc.array(fc.array(round, { maxLength: 4 }), { minLength: 3, maxLength: 3 }),
  capacity: fc.option(fc.integer({ min: 1, max: 3 }), { nil: undefined }),
  overflow: fc.constantFrom("drop-oldest", "drop-newest"),
  begin: fc.array(sending, { minLength: 1, maxLength: 8 }),
});

/** Runs a program, and keeps account of what is where: the letters in each mailbox, and who took which. */
class Office {
  /** Process, message and sender, in the order of taking. */
  readonly taken: string[] = [];
  private readonly mailboxes: { readonly value: number; readonly from: string }[][] = [[], [], []];
  private readonly pids: Pid<unknown>[] = [];
  private readonly ended = new Set<number>();
  private readonly program: Program;

  constructor(system: System, program: Program) {
    this.program = program;
    const { capacity, overflow } = program;
    const options = capacity === undefined ? {} : { mailbox: { capacity, overflow } };
    for (const [index, label] of PROCESSES.entries()) {
      const rounds = program.rounds[index] as readonly Round[];
      let next = 0;
      const callbacks = {
        handle: (ctx: Context<unknown>, message: unknown): void => {
          this.took(index, message, []);
          this.sendAll(`shop/${label}`, (to, value) => ctx.send(to, value), rounds[next++]?.sends ?? []);
        },
      };
      const body = async (ctx: Context<unknown>): Promise<void> => {
        for (const { wanted, sends } of rounds) {
          const fits = (message: unknown): boolean => wanted.includes(POOL.indexOf(message as never));
          const message = await (wanted.length === 0 ? ctx.receive() : ctx.receive(fits));
          this.took(index, message, wanted);
          this.sendAll(`shop/${label}`, (to, value) => ctx.send(to, value), sends);
        }
        this.ended.add(index);
      };
      const behaviour = program.bodies[index] === true ? body : callbacks;
      this.pids.push(system.spawn<unknown>(behaviour, { label, ...options }));
    }
    this.sendAll("scenario", (to, value) => system.send(to, value), program.begin);
  }

  private sendAll(
    from: string,
    send: (to: Pid<unknown>, value: unknown) => void,
    sends: readonly Sending[],
  ): void {
    const { capacity = Number.POSITIVE_INFINITY, overflow } = this.program;
    for (const { to, value } of sends) {
      const mailbox = this.mailboxes[to] as { value: number; from: string }[];
      if (!this.ended.has(to)) {
        if (mailbox.length < capacity || overflow === "drop-oldest") mailbox.push({ value, from });
        if (mailbox.length > capacity) mailbox.shift();
      }
      send(this.pids[to] as Pid<unknown>, POOL[value]);
    }
  }

  private took(index: number, message: unknown, wanted: readonly number[]): void {
    const mailbox = this.mailboxes[index] as { value: number; from: string }[];
    const at = mailbox.findIndex(({ value }) => wanted.length === 0 || wanted.includes(value));
    const [letter] = mailbox.splice(at, 1) as [{ value: number; from: string }];
    expect(POOL[letter.value]).toBe(message);
    this.taken.push(`shop/${PROCESSES[index]} took ${TEXTS[letter.value]} from ${letter.from}`);
  }
}

describe("the trace tells which message a step took, and who sent it", () => {
  test.prop([programs, arbitrarySchedules(40)], { numRuns: 60 })(
    "in random programs, with selective receives, objects sent again and bounded mailboxes [T30]",
    async (program, choices) => {
      let office: Office | undefined;
      const error = await errorOf(
        simulate(
          async (sim) => {
            office = new Office(sim.system({ name: "shop" }), program);
            await sim.quiet();
            throw new Error("the end");
          },
          { choices },
        ),
      );
      const { steps } = (error as { trace: { steps: Parameters<typeof stepsLike>[0] } }).trace;
      const said = stepsLike(steps, "run")
        .filter(({ envelope }) => envelope !== undefined)
        .map(({ process, took, sender }) => `${process} took ${took} from ${sender}`);
      expect(said).toEqual(office?.taken);
      const envelopes = effectsLike(steps, "send").map(({ envelope }) => envelope);
      expect(envelopes).toEqual(envelopes.map((_, index) => index + 1));
    },
  );

  test("a receive that finds nothing looks at so many messages", async () => {
    const steps = await stepsOf((sim) => {
      const system = sim.system({ name: "shop" });
      const clerk = system.spawn<string>(
        async (ctx) => void (await ctx.receive((message) => message === "c")),
        { label: "clerk" },
      );
      system.spawn(async (ctx) => {
        ctx.send(clerk, "a");
        ctx.send(clerk, "b");
      });
    });
    expect(
      stepsLike(steps, "run")
        .filter(({ process }) => process === "shop/clerk")
        .map(({ took }) => took),
    ).toEqual(["starts", "looks at 2 messages, none fits"]);
  });

  test("over a network: from a process and its node, to a process", async () => {
    const steps = await stepsOf(async (sim) => {
      const { here, asker } = abroad(sim);
      here.send(asker, "go");
      await sim.quiet();
    });
    const text = renderTrace({ steps, failure: undefined });
    expect(text).toContain("there/echo  took {n: 1} from here/asker");
    expect(text).toContain("held message from here/asker arrived: {n: 1}");
    expect(text).toContain("⇢ there/echo (held): {n: 1}");
    expect(text).toContain('here/asker  took "pong" from there/echo');
  });
});

/** Two systems; the asker here sends to the echo there, which sends back. */
function abroad(sim: Simulation): { here: System; asker: Pid<string> } {
  const network = sim.network();
  const [here, there] = ["here", "there"].map((name) => network.join(sim.system({ name }))) as [
    System,
    System,
  ];
  let asker: Pid<string>;
  const echo = there.spawn<unknown>(
    { handle: (ctx) => ctx.send(there.pidAt(here.address(asker)), "pong") },
    { label: "echo" },
  );
  asker = here.spawn<string>(
    {
      handle: (ctx, message) => {
        if (message === "go") ctx.send(here.pidAt(there.address(echo)), { n: 1 });
      },
    },
    { label: "asker" },
  );
  return { here, asker };
}

const Till = defineServer({
  init: (_ctx, cash: number) => ({ cash }),
  calls: {
    pay: (state, n: number) => (state.cash -= n),
    fail: () => {
      throw new RangeError("jammed");
    },
  },
});

describe("the trace tells", () => {
  test("the values and errors of awaited promises [T31]", async () => {
    const seen: unknown[] = [];
    const steps = await stepsOf(async (sim) => {
      const system = sim.system({ name: "shop" });
      const till = await system.start(Till, 10);
      seen.push(await till.call.pay(3));
      const silent = system.spawn<{ to: ReplyTo<number> }>({ handle: () => undefined });
      seen.push(await errorOf(system.call(silent, (to: ReplyTo<number>) => ({ to }), { timeoutMs: 5 })));
      seen.push(await errorOf(till.call.fail()));
      const brief = system.spawn(() => Promise.resolve());
      seen.push(await system.exited(brief));
    });
    const results = stepsLike(steps, "resume").map(({ from, result }) => `${from}: ${result}`);
    expect(results.slice(0, 5)).toEqual([
      "a start: started shop/server",
      `a call: reply ${seen[0]}`,
      expect.stringMatching(/^a call: failed: CallTimeoutError: .*5 ms/),
      expect.stringMatching(/^a call: failed: CalleeExitedError: .*/),
      "an exit: normal",
    ]);
    const settled = effectsLike(steps, "settle").map(({ what, result }) => `${what}: ${result}`);
    expect(settled).toEqual(expect.arrayContaining(results.slice(0, 5)));
  });

  test("choices of the scenario, with label and value, and random numbers that deviate", async () => {
    const values: unknown[] = [];
    const steps = await stepsOf(
      (sim) => {
        const system = sim.system({ name: "shop" });
        values.push(sim.oneOf(["tea", "milk"], "drink"), sim.choose(3, "cups"));
        system.spawn((ctx) => void values.push(ctx.random()));
      },
      { schedules: 2, strategy: { name: "last", begin: () => ({ pick: () => 0, draw: (n) => n - 1 }) } },
    );
    const choices = effectsLike(steps, "choice").map(({ label, value }) => `${label}: ${value}`);
    expect(choices).toEqual([`drink: "${values[0]}"`, `cups: ${values[1]}`]);
  });

  test("messages that nobody takes", async () => {
    const steps = await stepsOf(async (sim) => {
      const system = sim.system({ name: "shop" });
      const full = system.spawn<number>(
        { handle: () => undefined },
        { label: "full", mailbox: { capacity: 1, overflow: "drop-newest" } },
      );
      system.send(full, 1);
      system.send(full, 2);
      await sim.quiet();
      system.exit(full, "kill");
      await sim.quiet();
      system.send(full, 3);
      system.send("nobody", 4);
    });
    const lost = effectsLike(steps, "lost").map(
      ({ to, message, reason, envelope }) => `${to} ${message} ${reason} ${envelope}`,
    );
    expect(lost).toEqual([
      "shop/full 2 its mailbox is full 2",
      "shop/full 3 no such process undefined",
      "nobody 4 no such process undefined",
    ]);
  });
});

describe("the trace has a place", () => {
  const source = readFileSync(new URL(import.meta.url), "utf8").split("\n");
  /** The line of this file, without indentation; it has to have a mark at its end. */
  const lineAt = (place: string | undefined): string => {
    const found = /^spec\/testing\/simulator\/recorder\.spec\.ts:(\d+):\d+$/.exec(place ?? "");
    return /\/\/ (\w+)$/.exec(source[Number(found?.[1]) - 1] ?? "")?.[1] ?? String(place);
  };

  test("of the code that ran, or went on, and of each send and spawn [T32]", async () => {
    const steps = await stepsOf(async (sim) => {
      const system = sim.system({ name: "shop" });
      const till = await system.start(Till, 10); // started
      const work = async (ctx: Context<string>): Promise<void> => {
        const order = await ctx.receive(); // received
        ctx.send("nobody", order);
        await till.call.pay(3); // paid
        await ctx.receive();
      };
      const clerk = system.spawn<string>(work, { label: "clerk" }); // spawned
      const porter = (ctx: Context<string>): void => ctx.send(clerk, "open"); // sent
      const carrier = system.spawn<string>({ handle: porter }, { label: "porter" });
      system.send(carrier, "go");
    });
    const places = steps.map((step) => `${step.process} ${step.type} ${lineAt(step.place)}`);
    expect(places).toEqual(
      expect.arrayContaining([
        "scenario resume started",
        "shop/porter run sent",
        "shop/clerk run received",
        "shop/clerk resume paid",
      ]),
    );
    const spawned = effectsLike(steps, "spawn").find(({ process }) => process === "shop/clerk");
    expect(lineAt(spawned?.place)).toBe("spawned");
    const sent = effectsLike(steps, "send").find(({ message }) => message === '"open"');
    expect(lineAt(sent?.place)).toBe("sent");
  });

  test("is missing where only the library ran", async () => {
    const steps = await stepsOf(async (sim) => {
      await sim.system({ name: "shop" }).start(Till, 10);
    });
    const [start] = stepsLike(steps, "run").filter(({ process }) => process === "shop/server");
    expect(start).toBeDefined();
    expect(start?.place).toBeUndefined();
  });
});
