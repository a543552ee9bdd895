// A store that fails for a while, at whichever call: the host stays, and does what it had to do.

import { describe, expect, it } from "vitest";
import {
  defineFlow,
  type FlowHost,
  type FlowHostDefinition,
  type FlowHostOptions,
  flowHost,
  type StoreOutage,
  schedule,
} from "../../../lib/flow/index.js";
import { END_TOPIC, flows as flowTable, journal } from "../../../lib/flow/journal/tables.js";
import { Background, STORE_RETRY } from "../../../lib/host/background/background.js";
import { System, supervisor } from "../../../lib/index.js";
import { definePipeline, pipelineHost, queue, route } from "../../../lib/pipeline/index.js";
import {
  FencedError,
  memory,
  type SqlTransaction,
  type Store,
  StoreClosedError,
  StoreError,
  StoreFullError,
  type StoreSource,
  StoreUnreachableError,
  StoreVersionError,
  TransactionOvertakenError,
  TransactionTimeoutError,
  type WriteSet,
} from "../../../lib/store/index.js";
import { testClock } from "../../../lib/testing/index.js";
import { proving } from "../../support/proof.js";
import { NoAnswerError, opened, watched } from "../defects/support.js";
import { bench } from "./bench.js";

/** Which calls of a store fail, from which one of them on, and for how long. */
interface Fault {
  readonly of: (method: string, given: readonly unknown[]) => boolean;
  readonly from: number;
  readonly forMs: number;
  readonly error?: Error;
  /** The calls take place, and their answers are lost. */
  readonly late?: boolean;
}

const NO_FAULT: Fault = { of: () => false, from: 1, forMs: 0 };

/** A host on a store that fails, in virtual time. */
class World implements AsyncDisposable {
  readonly clock = testClock();
  readonly system = new System({ environment: this.clock.environment, report: false });
  readonly told: StoreOutage[] = [];
  readonly exits: string[] = [];
  readonly ends = new Map<string, number>();
  readonly source = memory();
  flows!: FlowHost;
  calls = 0;
  #fault: Fault | undefined;
  #until = 0;

  async open(options: Omit<FlowHostOptions, "store">): Promise<this> {
    const store = watched(
      this.source,
      (method, given) => this.#meet(method, given, false),
      (method, given) => this.#meet(method, given, true),
    );
    this.system.events.on("storeOutage", ({ host: _, ...outage }) => this.told.push(outage));
    this.flows = await this.clock.until(this.system.start(flowHost({ store, ...options })));
    await this.clock.settle();
    this.system.events.on("exit", ({ pid }) => {
      if (String(pid).endsWith(" flow host>")) this.exits.push(String(pid));
    });
    const other = await opened(this.clock, this.source);
    other.watch(END_TOPIC, {
      notified: (topic) => this.ends.set(topic, (this.ends.get(topic) ?? 0) + 1),
      again: () => undefined,
    });
    return this;
  }

  fail(fault: Fault): void {
    this.calls = 0;
    this.#until = 0;
    this.#fault = fault;
  }

  #meet(method: string, given: readonly unknown[], isLate: boolean): void {
    const fault = this.#fault;
    if (fault === undefined || (fault.late ?? false) !== isLate || !fault.of(method, given)) return;
    if (++this.calls === fault.from) this.#until = this.clock.now + fault.forMs;
    if (this.calls >= fault.from && this.clock.now < this.#until)
      throw fault.error ?? new NoAnswerError(`no answer to ${method}`);
  }

  until<T>(promise: Promise<T>): Promise<T> {
    return this.clock.until(promise);
  }

  /** Asks until the store lets the host answer. */
  async insist<T>(ask: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await this.until(ask());
      } catch (error) {
        if (!(error instanceof StoreError)) throw error;
        await this.clock.advance(500);
      }
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.until(this.system.stop());
  }
}

/** Whether a commit gives a flow this status. */
function setsStatus([set]: readonly unknown[], status: string): boolean {
  return JSON.stringify((set as WriteSet).writes).includes(`"status":"${status}"`);
}

interface Promised {
  readonly promise: Promise<void>;
  resolve(): void;
}

function promised(): Promised {
  let resolve: () => void = () => undefined;
  const promise = new Promise<void>((go) => {
    resolve = go;
  });
  return { promise, resolve: () => resolve() };
}

/** Told of a transaction at its beginning, and when it has committed. What is thrown there is its answer. */
interface Ear {
  readonly before?: () => void;
  readonly after?: (result: unknown) => void;
}

/** A store whose transactions run a body, and commit what is attached. */
function transacting(source: StoreSource, { before, after }: Ear): StoreSource {
  return {
    label: source.label,
    open: async (schemas, context) => {
      const store = await source.open(schemas, context);
      const transaction: Store["transaction"] = async (body, { attach, claim } = {}) => {
        before?.();
        const result = await body({} as SqlTransaction);
        await store.commit({ writes: [], ...(await attach?.(result)), ...(claim && { claim }) });
        after?.(result);
        return result;
      };
      const get = (of: Store, name: keyof Store): unknown => {
        const value: unknown = name === "transaction" ? transaction : Reflect.get(of, name, of);
        return typeof value === "function" ? value.bind(of) : value;
      };
      return new Proxy(store, { get: get as never });
    },
  };
}

/** Flows that use every kind of work in the background of a host, and what their code has seen. */
class Cast {
  readonly wrong: string[] = [];
  readonly #seen = new Map<string, unknown>();
  #failed = false;
  ticks = 0;
  readonly tick = defineFlow("tick", async (flow, _: undefined) =>
    this.saw(`${flow.flowId} tick`, await flow.step("tick", () => ++this.ticks)),
  );
  readonly child = defineFlow("child", async (flow, n: number) => {
    await flow.sleep("3 seconds");
    return flow.step("double", () => n * 2);
  });
  readonly main = defineFlow("main", async (flow, n: number) => {
    const one = this.saw("one", await flow.step("one", () => n + Math.random()));
    const doubled = await flow.call(this.child, one);
    await flow.sleep("4 seconds");
    const word = this.saw("word", await flow.receive<string>("go"));
    return { isDouble: doubled === one * 2, word };
  });
  readonly queued = defineFlow("queued", { queue: "line" }, async (flow, n: number) => {
    await flow.sleep("1 second");
    return flow.step("n", () => n);
  });
  readonly patient = defineFlow("patient", async (flow, _: undefined) => {
    const value = this.saw("patient", await flow.step("value", () => Math.random()));
    if (!this.#failed) {
      this.#failed = true;
      throw new NoAnswerError("the flow's own");
    }
    return value > 0;
  });
  readonly endless = defineFlow("endless", async (flow, _: undefined) => flow.receive("never"));
  readonly options: Omit<FlowHostOptions, "store"> = {
    flows: [this.tick, this.child, this.main, this.queued, this.patient, this.endless],
    limits: { idleMs: 1_000, pollMs: 3_000 },
    queues: { line: { concurrency: 1 } },
    schedules: [schedule("ticks", { every: "10 seconds", flow: this.tick, input: undefined })],
    retention: { most: 1_000, every: "5 seconds" },
  };

  /** The code of a flow has got an outcome: for ever the same. */
  saw<T>(what: string, value: T): T {
    if (this.#seen.has(what) && this.#seen.get(what) !== value) this.wrong.push(what);
    this.#seen.set(what, value);
    return value;
  }
}

/** Plays all flows of a cast to their ends. */
async function played(world: World, cast: Cast): Promise<void> {
  const { flows } = world;
  await world.insist(() => flows.start(cast.main, 1, { id: "main" }));
  for (const n of [1, 2, 3]) await world.insist(() => flows.start(cast.queued, n, { id: `queued ${n}` }));
  await world.insist(() => flows.start(cast.patient, undefined, { id: "patient" }));
  await world.insist(() => flows.start(cast.endless, undefined, { id: "endless" }));
  await world.clock.advance(2_500);
  await world.insist(() => flows.get("endless").cancel());
  await world.insist(() => flows.get("main").send("go", "on", { messageId: "m" }));
  const result = (id: string): Promise<unknown> =>
    world.insist(() => flows.get(id).result({ timeoutMs: 300_000 }));
  expect(await result("main")).toEqual({ isDouble: true, word: "on" });
  for (const n of [1, 2, 3]) expect(await result(`queued ${n}`)).toBe(n);
  expect(await result("patient")).toBe(true);
  await expect(result("endless")).rejects.toMatchObject({ status: "cancelled" });
  await world.clock.advance(60_000);
  expect(cast.ticks).toBeGreaterThan(2);
  expect(cast.wrong).toEqual([]);
}

describe.each(["flow host", "pipeline host"])("a %s that starts while the disk is full", (kind) => {
  const FULL_MS = 600_000;
  const echo = definePipeline("echo", {
    routes: [route("drop", { from: queue<string>("lines") })],
  });

  /** A supervised host that is killed as soon as it runs, with the disk full for ten minutes. */
  async function restarted(
    fullAt: string,
  ): Promise<{ outages: StoreOutage[]; starts: number; tries: number }> {
    const clock = testClock();
    await using system = new System({ environment: clock.environment, report: false });
    const outages: StoreOutage[] = [];
    system.events.on("storeOutage", ({ host: _, ...outage }) => outages.push(outage));
    let starts = 0;
    system.events.on("spawn", ({ pid }) => {
      if (String(pid).endsWith(" host>")) starts++;
    });
    let fullUntil = 0;
    let tries = 0;
    const meet = (method: string): void => {
      if (method !== fullAt || clock.now >= fullUntil) return;
      tries++;
      throw new StoreFullError("orders.db");
    };
    const inner = watched(memory(), meet);
    const store: StoreSource = {
      label: inner.label,
      open: async (schemas, context) => {
        meet("open");
        return inner.open(schemas, context);
      },
    };
    const host =
      kind === "flow host"
        ? flowHost({ store, flows: [], hostId: "one", name: "host", queues: { line: { concurrency: 1 } } })
        : pipelineHost({ store, pipelines: [echo], hostId: "one", name: "host" });
    await clock.until(
      system.start(supervisor({ strategy: "one_for_one", children: [{ id: "host", start: host }] })),
    );
    fullUntil = clock.now + FULL_MS;
    starts = 0;
    system.exit("host", "kill");
    await clock.advance(FULL_MS / 2);
    expect(outages.map(({ type }) => type)).toEqual(["began"]);
    await clock.advance(FULL_MS);
    expect(system.whereis("host")).toBeDefined();
    return { outages, starts, tries };
  }

  it.each(["open", "claim"])(
    "at %s waits for space, with growing waits and one report, and runs then [J300]",
    async (fullAt) => {
      const { outages, starts, tries } = await restarted(fullAt);
      expect(outages.map(({ type }) => type)).toEqual(["began", "ended"]);
      expect(outages[0]).toMatchObject({ error: { code: "ERR_STORE_FULL" } });
      expect(starts).toBe(1);
      // The longest wait is stated, with its jitter. While the waits grow, few attempts are added.
      const { minMs, maxMs } = STORE_RETRY;
      expect(tries).toBeLessThan((1.5 * FULL_MS) / maxMs + Math.log2(maxMs / minMs) + 2);
    },
  );

  it("does not keep its system from stopping", async () => {
    const clock = testClock();
    const system = new System({ environment: clock.environment, report: false });
    const store: StoreSource = {
      label: "full",
      open: () => Promise.reject(new StoreFullError("orders.db")),
    };
    const host =
      kind === "flow host" ? flowHost({ store, flows: [] }) : pipelineHost({ store, pipelines: [echo] });
    const starting = system.start(host as FlowHostDefinition).then(
      () => "started",
      () => "refused",
    );
    await clock.advance(10_000);
    await clock.until(system.stop());
    expect(await clock.until(starting)).toBe("refused");
  });
});

describe("a store that was full, and has space again", () => {
  it("lets all flows go on within the longest wait of the host [J302]", async () => {
    const work = defineFlow("work", async (flow, n: number) => {
      await flow.sleep("1 second");
      return flow.step("n", () => n);
    });
    await using world = await new World().open({ flows: [work] });
    const runs = await Promise.all(
      Array.from({ length: 20 }, (_, n) => world.until(world.flows.start(work, n, { id: `w${n}` }))),
    );
    // Shorter than the first wait in the hospital.
    const fullMs = 2_000;
    const writes = (method: string): boolean => method === "submit" || method === "commit";
    world.fail({ of: writes, from: 1, forMs: fullMs, error: new StoreFullError("orders.db") });
    await world.clock.advance(fullMs);
    const { maxMs, jitter = 0 } = STORE_RETRY;
    await world.clock.advance(maxMs * (1 + jitter));
    const ended = await Promise.all(runs.map((run) => world.until(run.info())));
    expect(ended.map(({ status }) => status)).toEqual(runs.map(() => "completed"));
    expect(world.told.map(({ type }) => type)).toEqual(["began", "ended"]);
  });
});

/** From one lost answer to the next: all of them are a proof. */
const STRIDE = proving ? 1 : 5;

describe("a host whose store fails for a while", () => {
  it.each(["get", "scan", "clock", "commit", "submit", "every method"])(
    "at %s goes on when it works again: each flow ends once [J25]",
    async (method) => {
      let outages = 0;
      for (let from = 1, calls = 1; from <= calls; from *= 2) {
        const cast = new Cast();
        await using world = await new World().open(cast.options);
        world.fail({ of: (name) => method === "every method" || name === method, from, forMs: 8_000 });
        await played(world, cast);
        ({ calls } = world);
        world.fail(NO_FAULT);
        await world.clock.advance(20_000);
        expect(world.exits).toEqual([]);
        expect([...world.ends].filter(([, times]) => times !== 1)).toEqual([]);
        const told = world.told.map(({ type }) => type);
        expect(told).toEqual(told.map((_, i) => (i % 2 === 0 ? "began" : "ended")));
        expect(told.length % 2).toBe(0);
        outages += told.length / 2;
      }
      // A checkpoint that fails is the hospital's.
      if (method !== "submit") expect(outages).toBeGreaterThan(0);
    },
  );

  it.each(["commit", "submit"])(
    "at the answer of a %s finds out what took place: each flow ends once [J63]",
    async (method) => {
      for (let from = 1, calls = 1; from <= calls; from += STRIDE) {
        const cast = new Cast();
        await using world = await new World().open(cast.options);
        world.fail({ of: (name) => name === method, from, forMs: 1, late: true });
        await played(world, cast).catch((error: Error) => {
          throw new Error(`the answer of ${method} ${from} was lost`, { cause: error });
        });
        ({ calls } = world);
        world.fail(NO_FAULT);
        await world.clock.advance(20_000);
        expect(world.exits).toEqual([]);
        expect([...world.ends].filter(([, times]) => times !== 1)).toEqual([]);
        expect(world.told.filter(({ type }) => type === "began").length).toBe(world.told.length / 2);
      }
    },
  );

  it("at the answer to a start does not run a flow that is on its way to the hospital [J63]", async () => {
    let isOut = true;
    let runs = 0;
    const broken = defineFlow("broken", { onError: "hospital" }, async () => {
      runs++;
      throw new Error("broken");
    });
    const lose = (status: string) => (method: string, given: readonly unknown[]) => {
      if (isOut && method === "commit" && setsStatus(given, status)) throw new NoAnswerError("no answer");
    };
    const store = watched(memory(), lose("hospitalized"), lose("running"));
    await using world = await bench([broken], { store });
    const start = (): Promise<unknown> => world.until(world.flows.start(broken, undefined, { id: "b" }));
    for (let i = 0; i < 3; i++) {
      await expect(start()).rejects.toThrow(NoAnswerError);
      await world.clock.advance(1_000);
      expect(runs).toBe(1);
    }
    isOut = false;
    await world.clock.advance(10_000);
    expect(await world.until(world.flows.get("b").info())).toMatchObject({ status: "hospitalized" });
    expect(runs).toBe(1);
  });

  it("at the answer with which a flow left it leaves the flow to the host that has it by then [J63]", async () => {
    const clock = testClock();
    const source = memory({ shared: true, clock: () => clock.now + 1 });
    let runs = 0;
    const done = promised();
    const work = defineFlow("work", async (flow, _: undefined) => {
      await flow.receive("go");
      return flow.step("work", async () => {
        runs++;
        await done.promise;
        return "done";
      });
    });
    let lost = 0;
    const parks = (method: string, given: readonly unknown[]): boolean =>
      method === "commit" && setsStatus(given, "waiting");
    const gate = promised();
    const store = watched(
      source,
      (method) => (lost === 1 && method === "get" ? gate.promise : undefined),
      (method, given) => {
        if (parks(method, given) && lost++ === 0) throw new NoAnswerError("no answer");
      },
    );
    await using first = await bench([work], { store, clock, limits: { idleMs: 1_000 } });
    await first.until(first.flows.start(work, undefined, { id: "w" }));
    await clock.advance(1_000);
    expect(lost).toBe(1);
    await using second = await bench([work], { store: source, clock });
    await second.until(second.flows.get("w").send("go", 1));
    await clock.advance(10_000);
    const reader = await opened(clock, source);
    const holders = async (): Promise<unknown> =>
      (await reader.scan(flowTable, {})).map(({ holder }) => holder);
    const [token] = (await holders()) as [number];
    expect(token).toBeGreaterThan(0);
    // The first host hears from the store again.
    gate.resolve();
    await clock.advance(10_000);
    expect(await holders()).toEqual([token]);
    done.resolve();
    expect(await second.until(second.flows.get("w").result())).toBe("done");
    expect(runs).toBe(1);
  });

  it("at the answer of a transaction reads the journal, which tells whether it took place [J64]", async () => {
    const committed: unknown[] = [];
    const book = defineFlow("book", (flow, seat: number) => flow.transaction("seat", async () => seat));
    const clock = testClock();
    const after = (result: unknown): void => {
      committed.push(result);
      if (committed.length === 1) throw new StoreUnreachableError("memory", 30_000, "unknown", undefined);
    };
    await using world = await bench([book], { store: transacting(memory(), { after }), clock });
    const run = await world.until(world.flows.start(book, 7));
    expect(await world.until(run.result())).toBe(7);
    expect(committed).toEqual([7]);
  });

  it.each([
    new TransactionOvertakenError(10),
    new TransactionTimeoutError(10_000),
    new StoreUnreachableError("memory", 10_000, "nothing", undefined),
  ])("at a transaction brings its flow to the hospital, and it runs again: $name [J66]", async (error) => {
    let asked = 0;
    const before = (): void => {
      if (++asked <= 4) throw error;
    };
    const book = defineFlow("book", (flow, seat: number) =>
      flow
        .transaction("seat", async () => seat, { retry: { attempts: 2 } })
        .catch(() => "the code hears of it"),
    );
    const clock = testClock();
    await using world = await bench([book], { store: transacting(memory(), { before }), clock });
    const run = await world.until(world.flows.start(book, 7));
    expect(await world.until(run.result())).toBe(7);
    // Both attempts of the step, and one in each further run of the flow.
    expect(asked).toBe(5);
  });

  it("at a transaction is an error of the step when its limit is the step's, or its store the body's [J66]", async () => {
    let asked = 0;
    const before = (): void => {
      if (++asked === 1) throw new TransactionTimeoutError(10_000);
    };
    const book = defineFlow("book", async (flow, _: undefined) => {
      const heard: string[] = [];
      const keep = ({ name }: Error): unknown => heard.push(name);
      await flow.transaction("limit", async () => 1, { timeout: "10 seconds" }).catch(keep);
      const away = async (): Promise<never> => {
        throw new StoreUnreachableError("another store", 10_000, "nothing", undefined);
      };
      await flow.transaction("away", away).catch(keep);
      return heard;
    });
    const clock = testClock();
    await using world = await bench([book], { store: transacting(memory(), { before }), clock });
    const run = await world.until(world.flows.start(book, undefined));
    expect(await world.until(run.result())).toEqual(["TransactionTimeoutError", "StoreUnreachableError"]);
  });

  it("runs a flow that it holds already, when its journal can be read again [J25]", async () => {
    const cast = new Cast();
    await using world = await new World().open(cast.options);
    // Admission by a queue has succeeded; then the journal cannot be read.
    const isJournal = (method: string, [table]: readonly unknown[]): boolean =>
      method === "scan" && (table as { name: string }).name === journal.name;
    world.fail({ of: isJournal, from: 1, forMs: 8_000 });
    await world.until(world.flows.start(cast.queued, 1, { id: "q" }));
    await world.clock.advance(20_000);
    expect(await world.until(world.flows.get("q").info())).toMatchObject({ status: "completed" });
    expect(world.told).toEqual([
      { type: "began", error: expect.any(NoAnswerError) },
      { type: "ended", failures: expect.any(Number), tookMs: expect.any(Number) },
    ]);
  });

  it.each([
    new FencedError("flows/x", 1),
    new StoreClosedError("memory"),
    new StoreVersionError("memory", "flow", 9, 1),
  ])("ends when nothing cures it: $name [J26]", async (error) => {
    const cast = new Cast();
    await using world = await new World().open(cast.options);
    world.fail({ of: (method) => method === "scan", from: 1, forMs: 60_000, error });
    // The schedules look at their time.
    await world.clock.advance(20_000);
    expect(world.exits.length).toBe(1);
    expect(world.told).toEqual([]);
  });
});

describe("a host that looks for flows that are due", () => {
  it("finds those behind more than a page of flows that it cannot take [J27]", async () => {
    const one = defineFlow("one", async (_flow, _: undefined) => undefined);
    const other = defineFlow("other", async (_flow, n: number) => n);
    const blocker = defineFlow("blocker", async (flow, _: undefined) =>
      flow.step("wait", () => new Promise(() => undefined)),
    );
    const limits = { mostLoaded: 1, takeAtOnce: 5 };
    const source = memory();
    const clock = testClock();
    {
      // All places are taken: what is started waits in the store.
      await using first = await bench([blocker, one, other], { store: source, clock, limits });
      await first.until(first.flows.start(blocker, undefined));
      for (let i = 0; i < 12; i++) await first.until(first.flows.start(one, undefined));
      await first.until(first.flows.start(other, 7, { id: "other" }));
    }
    await using second = await bench([other], { store: source, clock, limits });
    expect(await second.until(second.flows.get("other").result({ timeoutMs: 60_000 }))).toBe(7);
  });
});

describe("work in the background", () => {
  it("is tried again after waits that grow to a bound, and begin anew when it was done [J25]", async () => {
    const waits: number[] = [];
    const told: string[] = [];
    let failures = 9;
    const background = new Background({
      ...{ now: () => 0, random: () => 0.5, told: ({ type }) => void told.push(type) },
      after: (ms, fn) => {
        waits.push(ms);
        fn();
      },
      end: (error) => void told.push(String(error)),
    });
    const work = async (): Promise<string> => {
      if (--failures > 0) throw new StoreError("no answer");
      return "done";
    };
    expect(await background.until("work", work)).toBe("done");
    expect(waits).toEqual([100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000]);
    failures = 2;
    expect(await background.until("work", work)).toBe("done");
    expect(waits.slice(8)).toEqual([100]);
    expect(told).toEqual(["began", "ended", "began", "ended"]);
  });
});
