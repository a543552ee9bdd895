// Instructions: links, monitors, exits, names, groups, and looks at processes.

import fc from "fast-check";
import { custom, type ExitInput } from "signalbox";
import { type Operations, operation, target } from "./language.js";
import { Boom, reasonText } from "./stage.js";

const name: fc.Arbitrary<string> = fc.constantFrom("x", "y");
const flush: fc.Arbitrary<boolean> = fc.boolean();
const word: fc.Arbitrary<string> = fc.constantFrom("normal", "shutdown", "kill", "custom", "error");

function reasonOf(given: string): ExitInput {
  if (given === "custom") return custom("reason");
  return given === "error" ? new Boom() : (given as ExitInput);
}

export const EXITS: Operations = {
  link: operation("process", fc.record({ to: target }), (me, { to }) => me.process.link(me.pid(to))),
  unlink: operation("process", fc.record({ from: target, flush }), (me, { from, flush }) =>
    me.process.unlink(me.pid(from), { flush }),
  ),
  monitor: operation("process", fc.record({ of: target }), (me, { of }) => {
    me.monitors.push(me.process.monitor(me.pid(of)));
  }),
  "monitor by name": operation("process", fc.record({ name }), (me, { name }) => {
    me.monitors.push(me.process.monitor(name));
  }),
  demonitor: operation("process", fc.record({ flush }), (me, { flush }) => {
    const monitor = me.monitors.pop() ?? me.process.monitor(me.pid(0));
    me.process.demonitor(monitor, { flush });
  }),
  trapExit: operation("process", fc.record({ flag: fc.boolean() }), (me, { flag }) =>
    me.process.trapExit(flag),
  ),
  exit: operation("process", fc.record({ reason: word }), (me, { reason }) => {
    if (reason === "error") throw new Boom();
    return me.process.exit(reasonOf(reason));
  }),
  "exit signal": operation("anyone", fc.record({ to: target, reason: word }), (me, { to, reason }) => {
    const pid = me.pid(to);
    if (me.ctx === undefined) me.system.exit(pid, reasonOf(reason));
    else me.ctx.exit(pid, reasonOf(reason));
  }),
  kill: operation("anyone", fc.record({ to: target }), (me, { to }) => {
    const pid = me.pid(to);
    if (me.ctx === undefined) me.system.exit(pid, "kill");
    else me.ctx.exit(pid, "kill");
  }),
  "exit signal by name": operation("anyone", fc.record({ name }), (me, { name }) => {
    if (me.ctx === undefined) me.system.exit(name, "kill");
    else me.ctx.exit(name, "kill");
  }),
  spawn: operation("process", fc.record({}), (me) => {
    me.kids.push(me.process.spawn(me.stage.kid([]), { label: "kid" }));
  }),
  "spawn outside": operation("anyone", fc.record({}), (me) => {
    me.system.spawn(me.stage.kid([]), { label: `spawned by ${me.name}` });
  }),
  spawnLink: operation("process", fc.record({}), (me) => {
    me.kids.push(me.process.spawnLink(me.stage.kid([]), { label: "kid" }));
  }),
  spawnMonitor: operation("process", fc.record({ name }), (me, { name }) => {
    const made = me.process.spawnMonitor(me.stage.kid([]), { label: "kid", name });
    me.kids.push(made.pid);
    me.monitors.push(made.ref);
  }),
  "exit signal to a child": operation("process", fc.record({ reason: word }), (me, { reason }) => {
    const kid = me.kids.at(-1) ?? me.process.spawn(me.stage.kid([]), { label: "kid" });
    me.process.exit(kid, reasonOf(reason));
  }),
  "await an exit": operation("anyone", fc.record({ of: target }), async (me, { of }) =>
    reasonText(await me.system.exited(me.pid(of))),
  ),
  "await an exit with signal": operation("anyone", fc.record({ of: target }), async (me, { of }) => {
    const { stage } = me;
    return reasonText(await me.system.exited(me.pid(of), { signal: stage.aborts[0]?.signal as AbortSignal }));
  }),
  "stop the system": operation("anyone", fc.record({}), (me) => {
    me.system.stop().then(() => me.say("stopped"));
  }),
};

export const NAMES_AND_GROUPS: Operations = {
  register: operation("process", fc.record({ name }), (me, { name }) => me.process.register(name)),
  "register another": operation("anyone", fc.record({ name, who: target }), (me, { name, who }) =>
    (me.ctx ?? me.system).register(name, me.pid(who)),
  ),
  unregister: operation("process", fc.record({}), (me) => me.process.unregister()),
  "unregister a name": operation("anyone", fc.record({ name }), (me, { name }) => me.system.unregister(name)),
  whereis: operation("anyone", fc.record({ name }), (me, { name }) =>
    me.stage.nameOf((me.ctx ?? me.system).whereis(name)),
  ),
  join: operation("process", fc.record({}), (me) => me.process.join("g")),
  leave: operation("process", fc.record({}), (me) => me.process.leave("g")),
  members: operation("anyone", fc.record({}), (me) =>
    (me.ctx ?? me.system).members("g").map((pid) => me.stage.nameOf(pid)),
  ),
  publish: operation("anyone", fc.record({}), (me) => {
    const { system } = me;
    const port = me.ctx ?? system;
    for (const pid of port.members("g")) port.send(pid, me.message(6));
  }),
  monitorGroup: operation("process", fc.record({}), (me) =>
    me.process.monitorGroup("g").map((pid) => me.stage.nameOf(pid)),
  ),
  demonitorGroup: operation("process", fc.record({}), (me) => me.process.demonitorGroup("g")),
};

export const LOOKS: Operations = {
  "listen to exits": operation("anyone", fc.record({}), ({ system, stage, name }) => {
    const heard = stage.log(`heard by ${name}`);
    system.events.on("exit", ({ pid, reason }) => {
      heard.push(`exit of ${stage.nameOf(pid)}: ${reasonText(reason)}`);
    });
  }),
  "listen to dead letters": operation("anyone", fc.record({}), ({ system, stage, name }) => {
    const heard = stage.log(`heard by ${name}`);
    system.events.on("deadLetter", ({ reason }) => heard.push(`dead letter: ${reason}`));
  }),
  isAlive: operation("anyone", fc.record({ of: target }), (me, { of }) => me.system.isAlive(me.pid(of))),
  info: operation("anyone", fc.record({ of: target }), (me, { of }) => {
    const { stage } = me;
    const info = me.system.info(me.pid(of));
    if (info === undefined) return "none";
    const { status, mailboxDepth, handled, links, monitors, monitoredBy, trapExit, name, groups } = info;
    const names = [links, monitors, monitoredBy].map((list) => list.map((pid) => stage.nameOf(pid)).join());
    return [status, mailboxDepth, handled, trapExit, name, groups, ...names].join(" ");
  }),
  population: operation("anyone", fc.record({}), (me) => me.system.population),
  processes: operation("anyone", fc.record({}), (me) =>
    me.system.processes().map((pid) => me.stage.nameOf(pid)),
  ),
  "dead letters": operation("anyone", fc.record({}), (me) => me.system.deadLetters),
};
