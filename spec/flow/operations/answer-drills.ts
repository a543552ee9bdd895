// All operations that change flows, schedules and the hospital, as drills of their answers.

import { type System, supervisor } from "signalbox";
import {
  defineFlow,
  type FlowHospital,
  type FlowHost,
  type FlowOperations,
  type FlowRun,
  flowHost,
  type OpenFlowOperations,
  openFlowOperations,
  type Schedules,
  schedule,
} from "signalbox/flow";
import type { StoreSource } from "signalbox/store";
import { drillsOf, type NamedDrills, type NoDrill } from "../../support/answer-drills.js";

const waits = defineFlow("waits", (flow, _: undefined) => flow.receive<string>("go"));
const quick = defineFlow("quick", async (_flow, input: string) => input);
const ill = defineFlow("ill", async (flow, _: undefined) => {
  await flow.receive("go");
  return flow.hospital("ill");
});
const flows = [waits, quick, ill];
const yearly = schedule("yearly", { cron: "0 0 1 1 *", timeZone: "UTC", flow: quick, input: "due" });

/** A program: a host and operations on its store, in a system of its own. */
interface Life {
  readonly host: FlowHost;
  readonly on: OpenFlowOperations;
}

interface Drill {
  /** What is asked before. */
  readonly before?: (life: Life) => Promise<unknown>;
  /** What is asked. Its answer is the last that the program gets. */
  act(life: Life): Promise<unknown>;
  /** What the next program finds, at once or after a while. */
  seen(life: Life): Promise<unknown>;
  readonly expected: unknown;
}

/** How often a drill looks. */
const MOST_TURNS = 100_000;
/** The flow that all drills have. */
const ID = "one";
const endOf =
  (id = ID) =>
  ({ on }: Life): Promise<unknown> =>
    on.outcome(id).then(({ status }) => status);
const reached =
  (status: string, id = ID) =>
  ({ host }: Life): Promise<unknown> =>
    until(async () => (await host.get(id).info()).status === status, status);
const pausedBefore = async (life: Life): Promise<void> => {
  await life.on.pause(ID);
  await reached("paused")(life);
};
const admitted = async (life: Life): Promise<void> => {
  await life.host.start(ill, undefined, { id: "ill" });
  await life.host.get("ill").send("go", "");
  await reached("hospitalized", "ill")(life);
};
const scheduleOf = async ({ host }: Life) =>
  (await host.schedules.list()).find(({ name }) => name === "yearly");
const declared = ({ host }: Life): Promise<void> => host.schedules.put(yearly);

/** All operations of a run: whoever adds one says here what it leaves, or that it reads. */
const OF_RUN: Record<Exclude<keyof FlowRun<unknown>, "id" | "attached">, Drill | NoDrill> = {
  send: {
    act: ({ host }) => host.get(ID).send("go", "sent"),
    seen: ({ host }) => host.get(ID).result(),
    expected: "sent",
  },
  cancel: { act: ({ host }) => host.get(ID).cancel(), seen: endOf(), expected: "cancelled" },
  kill: { act: ({ host }) => host.get(ID).kill(), seen: endOf(), expected: "killed" },
  pause: { act: ({ host }) => host.get(ID).pause(), seen: reached("paused"), expected: "paused" },
  resume: {
    before: pausedBefore,
    act: ({ host }) => host.get(ID).resume(),
    seen: reached("running"),
    expected: "running",
  },
  ...{ result: "reads", info: "reads", events: "reads", query: "reads" },
};

const OF_HOST: Record<Exclude<keyof FlowHost, "hospital" | "schedules" | symbol>, Drill | NoDrill> = {
  start: {
    act: ({ host }) => host.start(quick, "hello", { id: "new" }),
    seen: ({ host }) => host.get("new").result(),
    expected: "hello",
  },
  startMany: {
    act: ({ host }) => host.startMany(quick, [{ id: "new", input: "many" }]),
    seen: ({ host }) => host.get("new").result(),
    expected: "many",
  },
  ...{ get: "reads", signals: "reads", stop: "reads" },
};

const OF_HOSPITAL: Record<keyof FlowHospital, Drill | NoDrill> = {
  observe: {
    act: ({ host }) => host.hospital.observe(ID, "why"),
    seen: reached("hospitalized"),
    expected: "hospitalized",
  },
  discharge: {
    before: admitted,
    act: ({ host }) => host.hospital.discharge("ill"),
    // It is ill again, and was admitted once more.
    seen: discharges,
    expected: true,
  },
  ...{ patients: "reads", unknown: "reads" },
};

const OF_SCHEDULES: Record<keyof Schedules, Drill | NoDrill> = {
  put: { act: declared, seen: async (life) => (await scheduleOf(life))?.flow, expected: "quick" },
  pause: {
    before: declared,
    act: ({ host }) => host.schedules.pause("yearly"),
    seen: async (life) => (await scheduleOf(life))?.paused,
    expected: true,
  },
  resume: {
    before: (life) => declared(life).then(() => life.host.schedules.pause("yearly")),
    act: ({ host }) => host.schedules.resume("yearly"),
    seen: async (life) => (await scheduleOf(life))?.paused,
    expected: false,
  },
  trigger: {
    before: declared,
    act: ({ host }) => host.schedules.trigger("yearly"),
    seen: async (life) => endOf((await scheduleOf(life))?.last)(life),
    expected: "completed",
  },
  remove: {
    before: declared,
    act: ({ host }) => host.schedules.remove("yearly"),
    seen: async (life) => (await scheduleOf(life)) === undefined,
    expected: true,
  },
  list: "reads",
};

const OF_OPERATIONS: Record<keyof FlowOperations, Drill | NoDrill> = {
  pause: { act: ({ on }) => on.pause(ID), seen: reached("paused"), expected: "paused" },
  resume: {
    before: pausedBefore,
    act: ({ on }) => on.resume(ID),
    seen: reached("running"),
    expected: "running",
  },
  cancel: { act: ({ on }) => on.cancel(ID), seen: endOf(), expected: "cancelled" },
  kill: { act: ({ on }) => on.kill(ID), seen: endOf(), expected: "killed" },
  send: {
    act: ({ on }) => on.send(ID, "go", "sent"),
    seen: ({ host }) => host.get(ID).result(),
    expected: "sent",
  },
  retry: {
    before: (life) => life.on.cancel(ID).then(() => endOf()(life)),
    act: ({ on }) => on.retry(ID),
    seen: reached("running"),
    expected: "running",
  },
  fork: {
    act: ({ on }) => on.fork(ID, { id: "copy" }),
    seen: reached("running", "copy"),
    expected: "running",
  },
  remove: {
    before: (life) => life.host.start(quick, "", { id: "new" }).then(() => endOf("new")(life)),
    act: ({ on }) => on.remove("new"),
    seen: ({ on }) => on.list().then((page) => page.flows.map(({ id }) => id)),
    expected: [ID],
  },
  prune: {
    before: (life) => life.host.start(quick, "", { id: "new" }).then(() => endOf("new")(life)),
    act: ({ on }) => on.prune({ status: "completed" }),
    seen: ({ on }) => on.list().then((page) => page.flows.map(({ id }) => id)),
    expected: [ID],
  },
  pauseSchedule: {
    before: declared,
    act: ({ on }) => on.pauseSchedule("yearly"),
    seen: async (life) => (await scheduleOf(life))?.paused,
    expected: true,
  },
  resumeSchedule: {
    before: (life) => declared(life).then(() => life.on.pauseSchedule("yearly")),
    act: ({ on }) => on.resumeSchedule("yearly"),
    seen: async (life) => (await scheduleOf(life))?.paused,
    expected: false,
  },
  discharge: { before: admitted, act: ({ on }) => on.discharge("ill"), seen: discharges, expected: true },
  // Needs a host, whose own start is above.
  start: "reads",
  ...{
    list: "reads",
    inspect: "reads",
    history: "reads",
    timeline: "reads",
    counts: "reads",
    evidence: "reads",
    events: "reads",
    outcome: "reads",
    metrics: "reads",
  },
  ...{ schedules: "reads", queues: "reads", queueKeys: "reads", backup: "reads" },
};

/** On a busy machine a host may lose its short lease, and its supervisor starts another one. */
async function lifeOf(system: System, store: StoreSource): Promise<Life> {
  const host = flowHost({ store, flows, name: "flows", socket: false });
  await system.start(supervisor({ intensity: 100, children: [{ id: "flows", start: host }] }));
  return { host: host.at(system, "flows"), on: await openFlowOperations(system, store) };
}

export const FLOW_DRILLS: NamedDrills = drillsOf<Drill>(
  {
    run: OF_RUN,
    host: OF_HOST,
    hospital: OF_HOSPITAL,
    schedules: OF_SCHEDULES,
    operations: OF_OPERATIONS,
  },
  ({ before, act, seen, expected }) => ({
    ask: async (system, store) => {
      const life = await lifeOf(system, store);
      await life.host.start(waits, undefined, { id: ID });
      await reached("running")(life);
      await before?.(life);
      return act(life);
    },
    look: async (system, store) => seen(await lifeOf(system, store)),
    expected,
  }),
);

/** Whether it has left the hospital: it may be there again by now. */
async function discharges({ on }: Life): Promise<boolean> {
  const { hospital } = await on.inspect("ill");
  const record = hospital as { readonly visits?: readonly unknown[] } | undefined;
  return JSON.stringify(record).includes("discharge");
}

/** Looks again and again, in turns of the event loop. */
async function until<T>(isTrue: () => Promise<boolean>, value: T): Promise<T> {
  for (let turn = 0; turn < MOST_TURNS; turn++) {
    if (await isTrue()) return value;
    await new Promise((resolve) => setImmediate(resolve));
  }
  throw new Error(`never ${String(value)}`);
}
