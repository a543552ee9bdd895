// The entrances of processes, behaviours, supervisors and dispatch.

import {
  available,
  type BodyContext,
  type Caller,
  ConsumerGroup,
  type Context,
  consumer,
  crash,
  custom,
  Delivery,
  defer,
  defineServer,
  defineStateMachine,
  dispatch,
  dynamicSupervisor,
  fairMailbox,
  formatReason,
  inspect,
  isOrderly,
  isolated,
  leastLoaded,
  loggerReport,
  match,
  noReply,
  outside,
  ownerOf,
  type Pid,
  partitionSupervisor,
  Registry,
  type Reply,
  type ReplyTo,
  ready,
  refuse,
  reject,
  remoteNodes,
  rendezvous,
  reply,
  replyAndStop,
  Stash,
  System,
  shutdown,
  startIn,
  sticky,
  stop,
  supervisor,
  supervisorRef,
  task,
  taskStream,
  taskSupervisor,
  to,
  where,
} from "signalbox";
import { type Lines, made, nothing, on } from "./lines.js";

const idle = { handle: nothing };
const child = { id: "a", start: idle };
const press = { type: "press" };
const Echo = defineServer({ init: () => ({}), calls: { echo: (_state, n: number) => n } });
const Light: object = defineStateMachine({
  init: startIn("off", () => ({ name: "off" })),
  states: { off: { on: { press: "ignore" } } },
} as never);

let names = 0;
const name = (): string => `name ${names++}`;

/** The lines of the predicates of dispatch, by the names that the types give them. */
function predicates(): Lines {
  const given: Readonly<Record<string, readonly unknown[]>> = {
    payload: ["a"],
    tag: ["a"],
    compare: [match.payload("a"), "eq", 1],
    range: [match.payload("a"), 1, 2],
    exists: [match.payload("a")],
    and: [match.exists(match.payload("a"))],
    or: [match.exists(match.payload("a"))],
    not: [match.exists(match.payload("a"))],
  };
  return Object.fromEntries(
    Object.entries(given).map(([one, values]) => [
      `match.${one}`,
      () => [on(match, one), ...values] as const,
    ]),
  );
}

/** A server that answers late, asked once. */
async function askLate(system: System, take: (caller: Caller<never>) => void): Promise<void> {
  const Late = defineServer({
    init: () => ({}),
    calls: { late: () => defer((caller) => take(caller as never)) },
  });
  const late = await system.start(Late);
  await late.call.late().catch(nothing);
}

/** What handlers of state machines get as `m`. */
function movesOf(system: System): Promise<object> {
  return new Promise((resolve) => {
    const init = (m: object): object => {
      resolve(m);
      return { name: "off" };
    };
    void system.start(
      defineStateMachine({
        init: startIn("off", init as never),
        states: { off: { on: {} } },
      } as never) as never,
    );
  });
}

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
  const resting = async (): Promise<object> => {
    const quiet = await system.start(supervisor({ children: [child] }));
    await quiet.terminateChild("a");
    return quiet;
  };
  const many = await system.start(dynamicSupervisor({ child } as never));
  const devices = new Registry(system, { name: "devices" });
  const keyed = await system.start(
    dynamicSupervisor({ child: { ...child, name: (id: string) => devices.claim(id) } } as never),
  );
  const started = (): object => task(system as never, () => new Promise(nothing));
  const inspected = (): object => inspect(system, pid());
  const replyTo = (): Promise<ReplyTo<never>> =>
    new Promise((resolve) => {
      const to = system.spawn<never>({ handle: (_ctx, asked) => resolve(asked) });
      system.call(to as Pid<never>, (asked: ReplyTo<never>) => asked as never).catch(nothing);
    });
  const caller = (): Promise<Caller<never>> => new Promise((resolve) => void askLate(system, resolve));
  const moves = await movesOf(system);
  const partitions = await system.start(partitionSupervisor({ child: { start: idle } } as never));
  const events = (): object => new System({ report: false }).events;
  const registry = (): Registry<string> => new Registry(system, {});
  const registered = (): Registry<string> => {
    const made = registry();
    made.register(ctx as never, "a");
    return made;
  };
  const timer = (): object => system.sendAfter(pid(), 1 as never, 1e6);
  const connected = new System({ report: false, transport: remoteNodes({ send: () => false }) });
  const plain: Lines = {
    "SystemEvents.on": () => [on(events(), "on"), "spawn", nothing],
    "SystemEvents.addListener": () => [on(events(), "addListener"), "spawn", nothing],
    "SystemEvents.once": () => [on(events(), "once"), "spawn", nothing],
    "SystemEvents.removeListener": () => [on(events(), "removeListener"), "spawn", nothing],
    "SystemEvents.off": () => [on(events(), "off"), "spawn", nothing],
    "SystemEvents.removeAllListeners": () => [on(events(), "removeAllListeners"), "spawn"],
    "ProcessSystem.start": () => [on(system, "start"), Echo],
    "ProcessSystem.send": () => [on(system, "send"), pid(), 1],
    "ProcessSystem.exit": () => [on(system, "exit"), pid(), "shutdown"],
    "ProcessSystem.sendAfter": () => [on(system, "sendAfter"), pid(), 1, 1e6],
    "ProcessSystem.cancel": () => [on(system, "cancel"), timer()],
    "ProcessSystem.register": () => [on(system, "register"), name(), pid()],
    "ProcessSystem.unregister": () => [on(system, "unregister"), "nobody"],
    "ProcessSystem.whereis": () => [on(system, "whereis"), "nobody"],
    "ProcessSystem.members": () => [on(system, "members"), "nobody"],
    "ProcessSystem.isAlive": () => [on(system, "isAlive"), pid()],
    "ProcessSystem.info": () => [on(system, "info"), pid()],
    "ProcessSystem.deliver": () => [
      on(connected, "deliver"),
      { type: "message", to: connected.address(connected.spawn(idle)), message: 1 },
    ],
    "ProcessSystem.nodeDown": () => [on(system, "nodeDown"), "elsewhere"],
    "ProcessSystem.address": () => [on(system, "address"), pid()],
    "ProcessSystem.pidAt": () => [on(system, "pidAt"), system.address(pid())],
    "ProcessSystem.replyAddress": async () => [on(connected, "replyAddress"), await replyTo()],
    "ProcessSystem.replyAt": () => [
      on(connected, "replyAt"),
      { node: { name: "elsewhere", id: "elsewhere" }, ref: 1 },
    ],
    "Registry.register": () => [on(registry(), "register"), pid(), "a"],
    "Registry.unregister": () => [on(registered(), "unregister"), ctx, "a"],
    "Registry.update": () => [on(registered(), "update"), ctx, "a", nothing],
    "Registry.find": () => [on(registered(), "find"), "a"],
    "Registry.lookup": () => [on(registered(), "lookup"), "a"],
    "Registry.keysOf": () => [on(registered(), "keysOf"), ctx.self],
    "Registry.select": () => [on(registered(), "select"), () => true],
    "Registry.count": () => [on(registered(), "count"), "a"],
    "Registry.dispatch": () => [on(registered(), "dispatch"), "a", nothing],
    "Registry.via": () => [on(registered(), "via"), "a"],
    "Registry.claim": () => [on(registered(), "claim"), "a"],
    "Registry.listen": () => [on(registered(), "listen"), pid()],
    "Registry.unlisten": () => [on(registered(), "unlisten"), pid()],
    defer: () => [defer, nothing, { idleMs: 5 }],
    noReply: () => [noReply, { idleMs: 5 }],
    ready: () => [ready, 1, { idleMs: 5 }],
    refuse: () => [refuse, new Error("no"), { idleMs: 5 }],
    reply: () => [reply, 1, { idleMs: 5 }],
    replyAndStop: () => [replyAndStop, 1, "normal"],
    "ServerDefinition.at": () => [on(Echo, "at"), system, pid()],
    "ServerRef.stop": async () => [on(await system.start(Echo), "stop"), "normal"],
    "StateMachineRef.send": () => [on(light, "send"), press],
    "MachineCaller.send": () => [on(on(light, "with")({}) as object, "send"), press],
    "StateMachineRef.stop": async () => [
      on((await system.start(Light as never)) as object, "stop"),
      "normal",
    ],
    "StateMachineDefinition.at": () => [on(Light, "at"), system, pid()],
    "StateMachineDefinition.transition": () => [on(Light, "transition"), { name: "off" }, press],
    startIn: () => [startIn, "off", nothing],
    to: () => [to, "off", nothing],
    "TaskStream.throw": () => [on(taskStream(ctx, [1], nothing), "throw"), 1],
    "TaskSupervisorDefinition.at": () => [on(taskSupervisor({}), "at"), system, pid()],
    "Delivery.reply": async () => [on(await delivery(system), "reply"), 1],
    "ConsumerGroup.leave": () => [on(new ConsumerGroup(), "leave"), pid()],
    available: () => [available, []],
    rendezvous: () => [rendezvous, nothing],
    sticky: () => [sticky, nothing, leastLoaded()],
    where: () => [where, match.exists(match.payload("a")), leastLoaded()],
    "Context.senderContext()": () => [ctx.senderContext() as never, nothing],
    "Context.buggify": () => [on(ctx, "buggify"), "a", 0.5],
    "Context.send": () => [on(ctx, "send"), pid(), 1],
    "Context.reply": async () => [on(ctx, "reply"), await replyTo(), 1],
    "Context.refuse": async () => [on(ctx, "refuse"), await replyTo(), new Error("no")],
    "Context.start": () => [on(ctx, "start"), Echo],
    "Context.link": async () => [on(await receiver(), "link"), pid()],
    "Context.monitor": () => [on(ctx, "monitor"), pid()],
    "Context.exit": async () => [on(await receiver(), "exit"), pid(), "shutdown"],
    "Context.trapExit": async () => [on(await receiver(), "trapExit"), true],
    "Context.sendAfter": () => [on(ctx, "sendAfter"), pid(), 1, 1e6],
    "Context.sendInterval": () => [on(ctx, "sendInterval"), pid(), 1, 1e6],
    "Context.runAfter": () => [on(ctx, "runAfter"), 1e6, nothing],
    "Context.cancel": () => [on(ctx, "cancel"), timer()],
    "Context.wrap": () => [on(ctx, "wrap"), nothing],
    "Context.wrap()": () => [ctx.wrap(nothing) as never, 1],
    "Context.register": () => [on(ctx, "register"), name(), pid()],
    "Context.whereis": () => [on(ctx, "whereis"), "nobody"],
    "Context.join": () => [on(ctx, "join"), "g"],
    "Context.leave": () => [on(ctx, "leave"), "g"],
    "Context.members": () => [on(ctx, "members"), "g"],
    "Context.monitorGroup": () => [on(ctx, "monitorGroup"), "g"],
    "Context.demonitorGroup": () => [on(ctx, "demonitorGroup"), "g"],
    outside: () => [outside, nothing],
    ownerOf: () => [ownerOf, Promise.resolve()],
    crash: () => [crash, new Error("it")],
    custom: () => [custom, 1],
    formatReason: () => [formatReason, crash(1)],
    isOrderly: () => [isOrderly, crash(1)],
    shutdown: () => [shutdown, 1],
    remoteNodes: () => [remoteNodes, { send: nothing }],
    loggerReport: () => [loggerReport, { info: nothing, warn: nothing, error: nothing }],
    "Stash.unstash": () => [on(new Stash(callbacks as never, { capacity: 5 }), "unstash"), 1],
    stop: () => [stop, "normal"],
    "SupervisorDefinition.at": () => [on(supervisor({ children: [child] }), "at"), system, pid()],
    "PartitionSupervisorRef.for": () => [on(partitions as object, "for"), "a"],
    supervisorRef: () => [supervisorRef, system, pid()],
    "Caller.reply": async () => [on(await caller(), "reply"), 1],
    "Caller.refuse": async () => [on(await caller(), "refuse"), new Error("no")],
    "InitMoves.next": () => [on(moves, "next"), { name: "off" }, { type: "postpone" }],
    "InitMoves.insert": () => [on(moves, "insert"), press],
    "CommonMoves.setData": () => [on(moves, "setData"), 1],
    "CommonMoves.replyTo": async () => [on(moves, "replyTo"), await replyTo(), 1],
    "CommonMoves.refuseTo": async () => [on(moves, "refuseTo"), await replyTo(), new Error("no")],
    "CommonMoves.stateTimeout": () => [on(moves, "stateTimeout"), 5, press],
    "CommonMoves.eventTimeout": () => [on(moves, "eventTimeout"), 5, press],
    "CommonMoves.timeout": () => [on(moves, "timeout"), "t", 5, press],
    "CommonMoves.run": () => [on(moves, "run"), nothing],
    "CommonMoves.task": () => [on(moves, "task"), nothing],
    ...predicates(),
  };
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
      (to: never, build: never, onReply: unknown, options: never) =>
        new Promise((resolve, reject) => {
          const settle = (reply: Reply<never>): void => (reply.ok ? resolve(reply) : reject(reply.error));
          callbacks.ask(to, build, (onReply === nothing ? settle : onReply) as never, options);
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
    "Inspector.swap": () => [on(inspect(system, echo.pid), "swap"), Echo, nothing, {}],
    "Inspector.trace": () => [on(inspected(), "trace"), nothing, {}],
    "new Stash": () => [made(Stash), callbacks, { capacity: 5 }],
    supervisor: () => [supervisor, { children: [child] }],
    dynamicSupervisor: () => [dynamicSupervisor, { child }],
    partitionSupervisor: () => [partitionSupervisor, { child: { start: idle } }],
    "DynamicSupervisorRef.startLike": () => [(options: never) => many.startLike([], options), {}],
    "DynamicSupervisorRef.startOrGet": () => [
      (options: never) => keyed.startOrGet(["a"] as never, options),
      {},
    ],
    "DynamicSupervisorRef.terminateChild": async () => [
      on(many, "terminateChild"),
      await many.startLike([] as never),
      {},
    ],
    "AnySupervisorRef.whichChildren": () => [on(sup, "whichChildren"), {}],
    "AnySupervisorRef.countChildren": () => [on(sup, "countChildren"), {}],
    "AnySupervisorRef.status": () => [on(sup, "status"), {}],
    "SupervisorRef.startChild": () => [on(sup, "startChild"), { id: name(), start: idle }, {}],
    "SupervisorRef.terminateChild": () => [on(sup, "terminateChild"), "a", {}],
    "SupervisorRef.restartChild": async () => [on(await resting(), "restartChild"), "a", {}],
    "SupervisorRef.deleteChild": async () => [on(await resting(), "deleteChild"), "a", {}],
    "SupervisorRef.child": () => [on(sup, "child"), "a", {}],
    ...plain,
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
