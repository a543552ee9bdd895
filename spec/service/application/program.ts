// The programs of run.spec.ts: each is a service of its own, chosen by the first argument.

import { createServer } from "node:net";
import { type Body, defineServer, stop, supervisor } from "signalbox";
import { type RunOptions, run } from "signalbox/service";

const worker: Body<never> = async (ctx) => void (await ctx.receive());
const tree = supervisor({ label: "shop", children: [{ id: "clerk", start: worker }] });
const say = (text: string): void => void process.stdout.write(`${text}\n`);
const options: RunOptions<undefined> = { name: "shop" };

/** Traps exits, and takes for ever to stop. */
const stubborn = supervisor({
  children: [
    {
      id: "clerk",
      shutdown: Number.POSITIVE_INFINITY,
      start: {
        init: (ctx) => void ctx.trapExit(true),
        handle: () => undefined,
        terminate: () => {
          say("stays");
          return new Promise(() => undefined);
        },
      },
    },
  ],
});
const crashing = supervisor({
  intensity: 0,
  children: [{ id: "clerk", start: (ctx) => void ctx.exit(new Error("out of tea")) }],
});
const failing = supervisor({
  children: [
    {
      id: "floor",
      start: supervisor({
        children: [
          { id: "clerk", start: defineServer({ init: () => Promise.reject(new Error("no such file")) }) },
        ],
      }),
    },
  ],
});

const programs: Record<string, () => unknown> = {
  async plain() {
    const service = run(tree, options);
    await service.started;
    say("up");
    const ending = await service.ended;
    say(`ended ${ending.outcome} ${ending.text}`);
  },
  /** Something other than the service keeps the host running. */
  async leaky() {
    createServer().listen(0, "127.0.0.1");
    const service = run(tree, { ...options, lingerMs: 10 });
    await service.started;
    say("up");
    await service.ended;
    say("x".repeat(300_000));
    say("last words");
  },
  async stubborn() {
    const service = run(stubborn, options);
    await service.started;
    say("up");
    await service.ended;
  },
  async late() {
    const service = run(stubborn, { ...options, drainTimeoutMs: 50 });
    await service.started;
    say("up");
    await service.ended;
  },
  async crashing() {
    await run(crashing, options).ended;
  },
  async failing() {
    await run(failing, options).started;
    say("never");
  },
  async slow() {
    const slow = supervisor({
      children: [
        { id: "quick", start: worker },
        { id: "clerk", start: defineServer({ init: () => new Promise(() => undefined) }) },
      ],
    });
    await run(slow, { ...options, startTimeoutMs: 500 }).started;
  },
  async done() {
    const once = defineServer({ init: () => stop() });
    await run(once, options).ended;
  },
  async batch() {
    const job = supervisor({
      autoShutdown: "any_significant",
      children: [{ id: "job", start: () => say("worked"), restart: "transient", significant: true }],
    });
    await run(job, options).ended;
  },
  async exception() {
    const service = run(tree, options);
    await service.started;
    setImmediate(() => {
      throw new Error("stray");
    });
    await service.ended;
  },
  async rejection() {
    const service = run(tree, options);
    await service.started;
    setImmediate(() => void Promise.reject(new Error("astray")));
    await service.ended;
  },
  /** A rejection that belongs to a process is that process's crash, and no more. */
  async owned() {
    let crashes = 0;
    const careless: Body<never> = async (ctx) => {
      if (crashes++ > 0) return void (await ctx.receive());
      void Promise.reject(new Error("careless"));
      await ctx.receive();
    };
    const service = run(supervisor({ children: [{ id: "clerk", start: careless }] }), options);
    service.system.events.on("restart", () => say("restarted"));
    await service.ended;
  },
  async stopped() {
    const service = run(tree, options);
    await service.started;
    await service.stop();
    say(`goes on, ${process.listenerCount("SIGTERM")} ${process.listenerCount("uncaughtException")}`);
    setTimeout(() => say("to its own end"), 5);
  },
  async handler() {
    const service = run(tree, { ...options, signals: { SIGHUP: () => say("reloads"), SIGUSR2: "stop" } });
    await service.started;
    say("up");
    await service.ended;
  },
  async two() {
    const one = run(tree, { name: "one" });
    const other = run(crashing, { name: "other" });
    say(`one: ${(await one.ended).text}`);
    say(`other: ${(await other.ended).outcome}`);
  },
  async mixed() {
    const one = run(tree, { name: "one" });
    const other = run(tree, { name: "other" });
    await other.started;
    await other.stop();
    say(`one is ${one.phase}, the other ${other.phase}`);
    await one.ended;
  },
  async reports() {
    const sink = Object.assign((text: string): void => say(`report ${text.split("\n")[0]}`), {
      flush: () => new Promise<void>((resolve) => setTimeout(() => resolve(say("flushed")), 5)),
    });
    const service = run(crashing, { ...options, system: { report: sink }, flush: () => say("exported") });
    await service.ended;
    say("ended");
  },
};

await programs[process.argv[2] as string]?.();
