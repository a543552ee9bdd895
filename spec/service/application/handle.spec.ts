// The handle of a service within a test: on a host of the test's own, or on none. And what each bad input gives.

import { type Body, defineServer, OptionError, type Startable, System, supervisor } from "signalbox";
import { type Host, type RunOptions, run, type Service, ServiceStartError } from "signalbox/service";
import { describe, expect, it } from "vitest";

const worker: Body<never> = async (ctx) => void (await ctx.receive());
const tree = supervisor({ children: [{ id: "clerk", name: "clerk", start: worker }] });
const quiet = { report: false } as const;

/** A host that does nothing but take notes. */
class Puppet implements Host {
  readonly log: string[] = [];
  readonly listeners = new Map<string, (...args: never[]) => void>();
  alive = 0;
  readonly exited: Promise<number>;
  #exit: (code: number) => void = () => undefined;
  #timers: (() => void)[] = [];

  constructor() {
    this.exited = new Promise((resolve) => {
      this.#exit = resolve;
    });
  }
  #listen(name: string, listener: (...args: never[]) => void): () => void {
    this.listeners.set(name, listener);
    return () => void this.listeners.delete(name);
  }
  onSignal(name: string, listener: () => void): () => void {
    return this.#listen(name, listener);
  }
  onError(listener: (error: unknown, origin: string) => void): () => void {
    return this.#listen("error", listener);
  }
  keepAlive(): () => void {
    this.alive++;
    return () => void this.alive--;
  }
  after(_delayMs: number, fn: () => void): () => void {
    this.#timers.push(fn);
    return () => {
      this.#timers = this.#timers.filter((one) => one !== fn);
    };
  }
  async flush(): Promise<void> {
    this.log.push("flush");
  }
  setExitCode(code: number): void {
    this.log.push(`code ${code}`);
  }
  exit(code: number): void {
    this.log.push(`exit ${code}`);
    this.#exit(code);
  }
  /** The time of all that waits is up. */
  elapse(): void {
    for (const fn of this.#timers.splice(0)) fn();
  }
  send(name: string, ...args: unknown[]): void {
    (this.listeners.get(name) as (...args: unknown[]) => void)(...args);
  }
}

describe("on a host", () => {
  it("a service listens while it runs, and removes every listener at its end [A8]", async () => {
    const host = new Puppet();
    const service = run(tree, { host, system: quiet, signals: { SIGHUP: () => undefined, SIGINT: false } });
    await service.started;
    expect([[...host.listeners.keys()].sort(), host.alive]).toEqual([["SIGHUP", "SIGTERM", "error"], 1]);
    host.send("SIGTERM");
    expect((await service.ended).text).toBe("service stopped by SIGTERM");
    await new Promise((resolve) => setImmediate(resolve));
    expect([[...host.listeners.keys()], host.alive, host.log]).toEqual([[], 0, ["code 0", "flush"]]);
    // Something keeps the host: it is ended.
    host.elapse();
    expect(await host.exited).toBe(0);
  });

  it("a stop by code leaves the host running [A8]", async () => {
    const host = new Puppet();
    {
      await using service = run(tree, { host, system: quiet });
      await service.started;
    }
    host.elapse();
    expect([[...host.listeners.keys()], host.alive, host.log]).toEqual([[], 0, ["code 0"]]);
  });

  it("an AbortSignal stops the service, also one that is aborted already", async () => {
    const control = new AbortController();
    const service = run(tree, { host: false, system: quiet, signal: control.signal });
    await service.started;
    control.abort();
    expect((await service.ended).outcome).toBe("clean");
    const late = run(tree, { host: false, system: quiet, signal: AbortSignal.abort() });
    expect((await late.ended).outcome).toBe("clean");
    await expect(late.started).rejects.toBeInstanceOf(ServiceStartError);
  });

  it("hostErrors: false leaves stray errors to the host", async () => {
    const host = new Puppet();
    await using service = run(tree, { host, system: quiet, hostErrors: false, signals: false });
    await service.started;
    expect([...host.listeners.keys()]).toEqual([]);
  });
});

describe("a service", () => {
  it("gives the handle of its root, with its type, and takes arguments for it", async () => {
    const Till = defineServer({
      init: (_ctx, cash: number) => ({ cash }),
      calls: { cash: (state) => state.cash },
    });
    await using service = run(Till, { args: [7], host: false });
    const till = await service.started;
    expect(await till.call.cash()).toBe(7);
    // @ts-expect-error: the arguments are missing.
    const wrong = () => run(Till, { host: false });
    // @ts-expect-error: they are of the wrong type.
    const worse = () => run(Till, { args: ["7"], host: false });
    expect([wrong, worse]).toHaveLength(2);
  });

  it("in a given system leaves it running, and stops when the system does", async () => {
    await using system = new System({ name: "house", ...quiet });
    const one = run(tree, { system, host: false });
    await one.started;
    expect([one.name, (await one.stop()).outcome, system.stopped, system.population]).toEqual([
      "house",
      "clean",
      false,
      0,
    ]);
    const other = run(tree, { system, host: false });
    await other.started;
    await system.stop();
    expect((await other.ended).outcome).toBe("clean");
  });

  it("reports errors in its hooks and handlers, and goes on to its end", async () => {
    const texts: string[] = [];
    const host = new Puppet();
    const fails = (name: string) => () => Promise.reject(new Error(`${name} fails`));
    const service = run(tree, {
      host,
      name: "shop",
      system: { report: (text) => void texts.push(text.split("\n").slice(0, 2).join(" ")) },
      signals: { SIGHUP: fails("reload") },
      onDrain: fails("drain"),
      flush: fails("flush"),
    });
    await service.started;
    host.send("SIGHUP");
    await service.system.idle();
    host.send("SIGTERM");
    expect((await service.ended).outcome).toBe("clean");
    expect(texts).toEqual([
      "shop: the handler of SIGHUP failed Error: reload fails",
      "shop: SIGTERM; it stops within 25000 ms",
      "shop: onDrain failed Error: drain fails",
      "shop: flush failed: Error: flush fails",
    ]);
  });

  it.each<[string, () => unknown, RegExp]>([
    [
      "throws",
      () => {
        throw new Error("no plan");
      },
      /^service did not start: its root failed \(crash, Error: no plan\)/,
    ],
    [
      "returns no definition",
      () => 5,
      /^service did not start: its root failed \(crash, OptionError: tree must be a function that returns/,
    ],
    [
      "returns what does not start",
      () =>
        defineServer({
          init: () => {
            throw new Error("no till");
          },
        }),
      /^service did not start: its root failed \(crash, Error: no till\)/,
    ],
  ])("does not start when the function of its tree %s [A4]", async (_name, make, text) => {
    const service = run(make as () => Startable<readonly [], unknown>, { host: false, system: quiet });
    const ending = await service.ended;
    expect(ending.text).toMatch(text);
    expect([ending.outcome, service.system.population]).toEqual(["startFailed", 0]);
  });

  it("emits its phases", async () => {
    await using system = new System(quiet);
    const phases: string[] = [];
    system.events.on("application", ({ name, phase }) => phases.push(`${name} ${phase}`));
    const service = run(tree, { name: "shop", system, host: false });
    await service.started;
    await service.stop();
    expect(phases).toEqual([
      "shop starting",
      "shop running",
      "shop draining",
      "shop stopping",
      "shop stopped",
    ]);
  });
});

const wrong: readonly [string, RunOptions<undefined>][] = [
  ["options", 5 as never],
  ["nmae", { nmae: "shop" } as never],
  ["name", { name: "" }],
  ["startTimeoutMs", { startTimeoutMs: -1 }],
  ["drainDelayMs", { drainDelayMs: Number.POSITIVE_INFINITY }],
  ["drainDelayMs", { drainDelayMs: 5_000, drainTimeoutMs: 5_000 }],
  ["drainTimeoutMs", { drainTimeoutMs: Number.NaN }],
  ["flushTimeoutMs", { flushTimeoutMs: "1" as never }],
  ["lingerMs", { lingerMs: -1 }],
  ["signals", { signals: 5 as never }],
  ["signals.SIGKILL", { signals: { SIGKILL: "stop" } }],
  ["signals.SIGTREM", { signals: { SIGTREM: "stop" } as never }],
  ["signals.SIGHUP", { signals: { SIGHUP: "restart" as never } }],
  ["hostErrors", { hostErrors: 1 as never }],
  ["signal", { signal: {} as never }],
  ["onDrain", { onDrain: 5 as never }],
  ["flush", { flush: 5 as never }],
  ["host", { host: {} as never }],
  ["config", { config: 5 as never }],
  ["config.schema", { config: { schema: {}, from: {} } as never }],
  [
    "config.from",
    {
      config: {
        schema: { "~standard": { version: 1, vendor: "t", validate: () => ({ value: 1 }) } },
      } as never,
    },
  ],
  ["args", { args: 5 } as never],
];

it.each(wrong)("a wrong %s is refused", (path, options) => {
  const make = (): Service => run(tree, options === (5 as never) ? options : { host: false, ...options });
  expect(make).toThrow(OptionError);
  expect(make).toThrow(expect.objectContaining({ path }));
});

it("a tree that is none is refused", () => {
  expect(() => run({} as never, { host: false })).toThrow(expect.objectContaining({ path: "tree" }));
});
