// Programs that keep themselves busy for ever, one for each behaviour there is. None of them holds the host, and each one ends
// when it is killed. All run with the options of a user who sets none.

import {
  ConsumerGroup,
  type Context,
  consumer,
  defineServer,
  defineStateMachine,
  dispatch,
  dynamicSupervisor,
  type Pid,
  partitionSupervisor,
  Registry,
  reject,
  System,
  startIn,
  supervisor,
  task,
  taskStream,
} from "signalbox";
import { defineFlow, flowHost } from "signalbox/flow";
import { definePipeline, pipelineHost, queue, route } from "signalbox/pipeline";
import { memory } from "signalbox/store";
import { bolt, field, grouping, spout, topology } from "signalbox/topology";
import { describe, expect, it } from "vitest";
import { macrotask } from "../support/host.js";

/** Steps of the program that runs, however many processes it has. */
let steps = 0;
const step = (): void => {
  steps++;
};

/** Starts a program that never rests. Gives the process to kill. */
type Busy = (system: System) => Promise<Pid<never>> | Pid<never>;

const spawned = (handle: (ctx: Context<number>, message: number) => unknown): Busy => {
  return (system) => {
    const pid = system.spawn<number>({
      handle: (ctx, message) => {
        step();
        return handle(ctx, message) as undefined;
      },
    });
    system.send(pid, 0);
    return pid as Pid<never>;
  };
};

const body = (code: (ctx: Context<number>, system: System) => Promise<void>): Busy => {
  return (system) =>
    system.spawn<number>(async (ctx) => {
      for (;;) {
        step();
        await code(ctx as Context<number>, system);
      }
    }) as Pid<never>;
};

const PROCESSES: { readonly [what: string]: Busy } = {
  "a body that sends to itself and receives": body(async (ctx) => {
    ctx.send(ctx.self, 0);
    await ctx.receive();
  }),
  "a body that waits for no time": body(async (ctx) => {
    await ctx.receive({ timeoutMs: 0 }).catch(() => {});
  }),
  "a body that starts a process and awaits its end": body(async (ctx, system) => {
    await system.exited(ctx.spawn(() => {}));
  }),
  "callbacks that send to themselves": spawned((ctx) => ctx.send(ctx.self, 0)),
  "callbacks that send to themselves twice, with a bounded mailbox": (system) => {
    const pid = system.spawn<number>(
      {
        handle: (ctx) => {
          step();
          ctx.send(ctx.self, 0);
          ctx.send(ctx.self, 0);
        },
      },
      { mailbox: { capacity: 100, overflow: "drop-oldest" } },
    );
    system.send(pid, 0);
    return pid as Pid<never>;
  },
  "callbacks with a timer of zero": spawned((ctx) => void ctx.sendAfter(ctx.self, 0, 0)),
  "asynchronous callbacks that send to themselves": spawned(async (ctx) => {
    await undefined;
    ctx.send(ctx.self, 0);
  }),
  "callbacks that start linked processes which crash": (system) => {
    const pid = system.spawn<number>(
      {
        handle: (ctx) => {
          step();
          ctx.spawnLink(() => {
            throw new Error("broken");
          });
          ctx.send(ctx.self, 0);
        },
        signal: () => undefined,
      },
      { trapExit: true },
    );
    system.send(pid, 0);
    return pid as Pid<never>;
  },
  "two processes that send to each other": (system) => {
    const end = system.spawn<Pid<never>>({
      handle: (ctx, from) => {
        step();
        ctx.send(from as Pid<Pid>, ctx.self as Pid);
      },
    });
    const pid = system.spawn<Pid<never>>({
      handle: (ctx) => {
        step();
        ctx.send(end, ctx.self as Pid<never>);
      },
    });
    system.send(pid, end as Pid<never>);
    return pid as Pid<never>;
  },
};

const BEHAVIOURS: { readonly [what: string]: Busy } = {
  "a server that casts to itself": async (system) => {
    const Loop = defineServer({
      init: () => ({}),
      casts: {
        turn: (_state, ctx: { self: Pid }) => {
          step();
          loop.cast.turn(ctx);
        },
      },
    });
    const loop = await system.start(Loop);
    loop.cast.turn({ self: loop.pid as Pid });
    return loop.pid;
  },
  "a server that calls another one without an end": async (system) => {
    const echo = await system.start(defineServer({ init: () => ({}), calls: { ping: () => "pong" } }));
    const Asker = defineServer({
      init: () => ({}),
      casts: {
        ask: async () => {
          for (;;) {
            step();
            await echo.call.ping();
          }
        },
      },
    });
    const asker = await system.start(Asker);
    asker.cast.ask();
    return asker.pid;
  },
  "a state machine that inserts its own event": async (system) => {
    type Turn = { readonly type: "turn" };
    const machine = await system.start(
      defineStateMachine<{ readonly name: "here" }, Turn>({
        init: startIn("here", () => ({ name: "here" })),
        states: {
          here: {
            on: {
              turn: (state, turn, m) => {
                step();
                return m.next(state, m.insert(turn));
              },
            },
          },
        },
      }),
    );
    machine.cast.turn();
    return machine.pid;
  },
  "a task that never rests": (system) =>
    task(system, async (ctx) => {
      for (;;) {
        step();
        ctx.send(ctx.self as Pid, 0 as never);
        await ctx.receive();
      }
    }).pid as Pid<never>,
  "a stream of tasks over inputs without an end": (system) =>
    system.spawn(async (ctx) => {
      const inputs = (function* () {
        for (;;) yield 0;
      })();
      for await (const _ of taskStream(ctx, inputs, () => 0)) step();
    }) as Pid<never>,
  "a stream of tasks over an asynchronous input without an end": (system) =>
    system.spawn(async (ctx) => {
      const inputs = (async function* () {
        for (;;) yield 0;
      })();
      for await (const _ of taskStream(ctx, inputs, async () => 0)) step();
    }) as Pid<never>,
  "a registry whose keys are claimed and left": (system) => {
    const registry = new Registry<number>(system, { name: "keys" });
    return system.spawn(async (ctx) => {
      for (let key = 0; ; key++) {
        step();
        const name = registry.claim(key % 10);
        await system.exited(ctx.spawn(() => {}, { name } as never));
      }
    }) as Pid<never>;
  },
};

const TREES: { readonly [what: string]: Busy } = {
  "a supervisor whose child crashes at once, without a limit": async (system) => {
    const start = async (): Promise<void> => {
      step();
      throw new Error("broken");
    };
    const children = [{ id: "child", start }];
    const ref = await system.start(supervisor({ intensity: Number.POSITIVE_INFINITY, children }));
    return ref.pid as Pid<never>;
  },
  "a dynamic supervisor whose children come and go": async (system) => {
    const ref = await system.start(
      dynamicSupervisor({ child: { id: "child", start: () => {}, restart: "temporary" } }),
    );
    return system.spawn(async () => {
      for (;;) {
        step();
        await ref.startLike([]);
      }
    }) as Pid<never>;
  },
  "a partition supervisor whose servers feed themselves": async (system) => {
    const Loop = defineServer({
      init: () => ({}),
      casts: {
        turn: (_state, again: () => void) => {
          step();
          again();
        },
      },
    });
    const loops = await system.start(partitionSupervisor({ partitions: 2, child: { start: Loop } }));
    for (const key of ["a", "b", "c", "d"]) {
      const again = (): void => loops.for(key).cast.turn(again);
      again();
    }
    return loops.pid as Pid<never>;
  },
  "a consumer that dispatches again what it is given": async (system) => {
    const group = new ConsumerGroup<number>();
    const work = (payload: number): void => {
      step();
      void system.dispatch(group, payload + 1).catch(() => {});
    };
    const ref = await system.start(supervisor({ children: [{ id: "c", start: consumer(work, { group }) }] }));
    void system.dispatch(group, 0).catch(() => {});
    return ref.pid as Pid<never>;
  },
  "consumers that all reject, and a caller that tries again": async (system) => {
    const group = new ConsumerGroup<number>();
    for (let n = 0; n < 3; n++) system.spawn(consumer(() => reject("no"), { group }));
    return system.spawn(async (ctx) => {
      for (;;) {
        step();
        await dispatch(ctx, group, 0).catch(() => {});
      }
    }) as Pid<never>;
  },
};

const ENGINES: { readonly [what: string]: Busy } = {
  "a topology whose spout never ends": async (system) => {
    const source = spout({
      streams: { numbers: { n: field.number } },
      next: ({ emit }) => {
        step();
        emit.numbers({ n: steps }, { id: steps });
      },
    });
    const sink = bolt({ input: { n: field.number }, execute: () => step() });
    const built = topology("endless")
      .spout("source", source)
      .bolt("sink", sink, { from: { "source.numbers": grouping.shuffle() } })
      .build();
    return (await system.start(built)).pid as Pid<never>;
  },
  "a topology whose spout has nothing to emit": async (system) => {
    const idle = spout({ streams: { numbers: { n: field.number } }, next: () => step() });
    return (await system.start(topology("idle").spout("idle", idle).build())).pid as Pid<never>;
  },
  "a flow of steps without an end": async (system) => {
    const endless = defineFlow("endless", async (flow) => {
      for (;;) await flow.step("turn", step);
    });
    const host = await system.startWith({ name: "host" }, flowHost({ store: memory(), flows: [endless] }));
    await host.start(endless, undefined as never, { id: "endless" });
    return system.whereis("host") as Pid<never>;
  },
  "a pipeline that feeds its own queue": async (system) => {
    const turns = queue<number>("turns");
    const again = route("again", { from: turns })
      .via("turn", (n) => {
        step();
        return n + 1;
      })
      .to(turns);
    const circle = definePipeline("circle", { routes: [again], maxHops: 1_000_000 });
    const host = await system.startWith(
      { name: "host" },
      pipelineHost({ store: memory(), pipelines: [circle] }),
    );
    await host.start(circle, { messages: { to: turns, values: [0] } });
    return system.whereis("host") as Pid<never>;
  },
};

/** Steps of a program in one turn of the host: far more than any has, and far fewer than fit into 100 ms. */
const MOST_STEPS = 20_000;

describe.each(Object.entries({ ...PROCESSES, ...BEHAVIOURS, ...TREES, ...ENGINES }))("%s", (_what, start) => {
  it("lets the host go on, and ends when it is killed [F8]", async () => {
    await using system = new System({ report: false });
    steps = 0;
    const pid = await start(system);
    // It goes on for as long as we look, and we look between its turns.
    let most = 0;
    let timers = 0;
    const timer = setInterval(() => timers++, 1);
    for (let turns = 0; turns < 20 || steps < 20 || timers < 3; turns++) {
      const before = steps;
      await macrotask();
      most = Math.max(most, steps - before);
    }
    clearInterval(timer);
    expect(most).toBeLessThan(MOST_STEPS);
    const exited = system.exited(pid);
    system.exit(pid, "kill");
    expect(await exited).toMatchObject({ type: "killed" });
  });
});
