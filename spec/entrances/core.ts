// The entrances of processes, behaviours, supervisors and dispatch.

import {
  type BodyContext,
  ConsumerGroup,
  type Context,
  consumer,
  Delivery,
  defineServer,
  defineStateMachine,
  dispatch,
  dynamicSupervisor,
  fairMailbox,
  inspect,
  isolated,
  type Pid,
  partitionSupervisor,
  Registry,
  reject,
  Stash,
  System,
  startIn,
  supervisor,
  task,
  taskStream,
  taskSupervisor,
} from "signalbox";
import { type Lines, made, nothing, on } from "./lines.js";

const idle = { handle: nothing };
const child = { id: "a", start: idle };
const Echo = defineServer({ init: () => ({}), calls: { echo: (_state, n: number) => n } });
const Light: object = defineStateMachine({
  init: startIn("off", () => ({ name: "off" })),
  states: { off: { on: {} } },
} as never);

/** A context of a process that lives until the system stops. */
function contextOf(system: System): Promise<BodyContext<never>> {
  return new Promise((resolve) => {
    system.spawn<never>(async (ctx) => {
      resolve(ctx as BodyContext<never>);
      await new Promise((_, end) => ctx.signal.addEventListener("abort", end));
    });
  });
}

export async function core(system: System): Promise<Lines> {
  const ctx = await contextOf(system);
  const callbacks = await new Promise<Context<never>>((resolve) => {
    system.spawn<never>({ init: (own) => void resolve(own), handle: nothing });
  });
  const receiver = (): Promise<BodyContext<never>> => contextOf(system);
  const pid = (): Pid<never> => system.spawn(idle) as never;
  const echo = await system.start(Echo);
  const light = (await system.start(Light as never)) as object;
  const group = new ConsumerGroup();
  const tasks = await system.start(taskSupervisor({}));
  const sup = await system.start(supervisor({ children: [child] }));
  const many = await system.start(dynamicSupervisor({ child } as never));
  const devices = new Registry(system, { name: "devices" });
  const keyed = await system.start(
    dynamicSupervisor({ child: { ...child, name: (id: string) => devices.claim(id) } } as never),
  );
  const started = (): object => task(system as never, () => new Promise(nothing));
  const inspected = (): object => inspect(system, pid());
  return {
    "new System": () => [made(System), {}],
    "System.dispatch": () => [on(system, "dispatch"), group, 1, {}],
    "System.envelope": () => [on(system, "envelope"), 1, {}],
    "ProcessSystem.spawn": () => [on(system, "spawn"), idle, {}],
    "ProcessSystem.startWith": () => [on(system, "startWith"), {}, Echo],
    "ProcessSystem.call": () => [on(system, "call"), pid(), nothing, {}],
    "ProcessSystem.exited": () => [on(system, "exited"), pid(), {}],
    "ProcessSystem.stop": () => [on(new System({ report: false }), "stop"), {}],
    "new Registry": () => [made(Registry), system, {}],
    defineServer: () => [defineServer, { init: nothing }],
    "ServerRef.with": () => [on(echo, "with"), {}],
    "StateMachineRef.with": () => [on(light, "with"), {}],
    defineStateMachine: () => [
      defineStateMachine as never,
      { init: startIn("off", () => ({ name: "off" })), states: { off: { on: {} } } },
    ],
    "StateMachineDefinition.toMermaid": () => [on(Light, "toMermaid"), {}],
    "StateMachineDefinition.toDot": () => [on(Light, "toDot"), {}],
    taskStream: () => [taskStream, ctx, [1], nothing, {}],
    task: () => [task, ctx, nothing, {}],
    "Task.value": () => [on(started(), "value"), {}],
    "Task.result": () => [on(started(), "result"), {}],
    "Task.stop": () => [on(started(), "stop"), {}],
    "TaskSupervisorRef.async": () => [on(tasks, "async"), ctx, nothing, {}],
    "TaskSupervisorRef.nolink": () => [on(tasks, "nolink"), ctx, nothing, {}],
    "TaskSupervisorRef.start": () => [on(tasks, "start"), nothing, {}],
    taskSupervisor: () => [taskSupervisor, {}],
    consumer: () => [consumer, nothing, {}],
    reject: () => [reject, "why", {}],
    "Delivery.reject": async () => [on(await delivery(system), "reject"), "why", {}],
    dispatch: () => [dispatch, ctx, group, 1, {}],
    "new ConsumerGroup": () => [made(ConsumerGroup), {}],
    "ConsumerGroup.join": () => [on(new ConsumerGroup(), "join"), pid(), {}],
    isolated: () => [isolated, new URL("file:///route.js"), {}],
    "BodyContext.receive": async () => [on(await receiver(), "receive"), nothing, {}],
    "BodyContext.receiveSignal": async () => [on(await receiver(), "receiveSignal"), nothing, {}],
    "BodyContext.receiveAny": async () => [on(await receiver(), "receiveAny"), {}],
    "BodyContext.messages": async () => [on(await receiver(), "messages"), {}],
    "Context.call": () => [on(ctx, "call"), pid(), nothing, {}],
    "Context.ask": () => [
      // What is wrong comes back as the reply.
      (to: never, build: never, _onReply: never, options: never) =>
        new Promise((resolve, reject) => {
          callbacks.ask(to, build, (reply) => (reply.ok ? resolve(reply) : reject(reply.error)), options);
        }),
      pid(),
      nothing,
      nothing,
      {},
    ],
    "Context.spawn": () => [on(ctx, "spawn"), idle, {}],
    "Context.spawnLink": () => [on(ctx, "spawnLink"), idle, {}],
    "Context.spawnMonitor": () => [on(ctx, "spawnMonitor"), idle, {}],
    "Context.startWith": () => [on(ctx, "startWith"), {}, Echo],
    "Context.unlink": () => [on(ctx, "unlink"), pid(), {}],
    "Context.demonitor": () => [on(ctx, "demonitor"), ctx.monitor(pid() as never), {}],
    fairMailbox: () => [fairMailbox, { perSender: 5 }],
    inspect: () => [inspect, system, pid(), {}],
    "Inspector.state": () => [on(inspected(), "state"), {}],
    "Inspector.suspend": () => [on(inspected(), "suspend"), {}],
    "Inspector.resume": () => [on(inspected(), "resume"), {}],
    "Suspension.resume": async () => [on(await inspect(system, pid()).suspend(), "resume"), {}],
    "Inspector.swap": () => [on(inspected(), "swap"), Echo, nothing, {}],
    "Inspector.trace": () => [on(inspected(), "trace"), nothing, {}],
    "new Stash": () => [made(Stash), ctx, {}],
    supervisor: () => [supervisor, { children: [child] }],
    dynamicSupervisor: () => [dynamicSupervisor, { child }],
    partitionSupervisor: () => [partitionSupervisor, { child: { start: idle } }],
    "DynamicSupervisorRef.startLike": () => [(options: never) => many.startLike([], options), {}],
    "DynamicSupervisorRef.startOrGet": () => [
      (options: never) => keyed.startOrGet(["a"] as never, options),
      {},
    ],
    "DynamicSupervisorRef.terminateChild": () => [on(many, "terminateChild"), pid(), {}],
    "AnySupervisorRef.whichChildren": () => [on(sup, "whichChildren"), {}],
    "AnySupervisorRef.countChildren": () => [on(sup, "countChildren"), {}],
    "AnySupervisorRef.status": () => [on(sup, "status"), {}],
    "SupervisorRef.startChild": () => [on(sup, "startChild"), { id: "b", start: idle }, {}],
    "SupervisorRef.terminateChild": () => [on(sup, "terminateChild"), "none", {}],
    "SupervisorRef.restartChild": () => [on(sup, "restartChild"), "none", {}],
    "SupervisorRef.deleteChild": () => [on(sup, "deleteChild"), "none", {}],
    "SupervisorRef.child": () => [on(sup, "child"), "a", {}],
  };
}

/** A delivery that nobody answers. */
function delivery(system: System): Promise<Delivery<unknown>> {
  return new Promise((resolve) => {
    const group = new ConsumerGroup<unknown>();
    const pid = system.spawn({
      handle: (_ctx, message) => {
        if (message instanceof Delivery) resolve(message as Delivery<unknown>);
      },
    });
    group.join(pid as never);
    system.dispatch(group, 1).catch(nothing);
  });
}
