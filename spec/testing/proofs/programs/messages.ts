// Instructions: messages, receives, calls, timers.

import fc from "fast-check";
import type { ReplyTo } from "signalbox";
import { type Operations, operation, target } from "./language.js";
import { type Actor, type Message, SKIPPED } from "./stage.js";

const tag: fc.Arbitrary<number> = fc.integer({ min: 1, max: 2 });
const ms: fc.Arbitrary<number> = fc.constantFrom(10, 10, 20);
const name: fc.Arbitrary<string> = fc.constantFrom("x", "y");

/** What an actor outside of all processes does through the system, a process does through its context. */
function port(me: Actor): Pick<NonNullable<Actor["ctx"]>, "send" | "call" | "sendAfter" | "cancel"> {
  return me.ctx ?? me.system;
}

const asks =
  (me: Actor, about: number) =>
  (replyTo: ReplyTo<string>): Message =>
    me.message(about, replyTo);

export const MESSAGES: Operations = {
  send: operation("anyone", fc.record({ to: target, tag }), (me, { to, tag }) =>
    port(me).send(me.pid(to), me.message(tag)),
  ),
  "send by name": operation("anyone", fc.record({ name, tag }), (me, { name, tag }) =>
    port(me).send(name, me.message(tag)),
  ),
  receive: operation("body", fc.record({}), async (me) => {
    const { tag, from, replyTo } = await me.process.receive();
    if (replyTo !== undefined) me.process.reply(replyTo, me.name);
    return `${tag} of ${from}`;
  }),
  "selective receive": operation("body", fc.record({ tag }), async (me, { tag }) => {
    const message = await me.process.receive((one) => one.tag === tag);
    if (message.replyTo !== undefined) me.process.reply(message.replyTo, me.name);
    return `${message.tag} of ${message.from}`;
  }),
  "receive with timeout": operation("body", fc.record({ ms }), async (me, { ms }) => {
    const { tag, from } = await me.process.receive({ timeoutMs: ms });
    return `${tag} of ${from}`;
  }),
  "receive a signal": operation("body", fc.record({ ms }), async (me, { ms }) => {
    const signal = await me.process.receiveSignal({ timeoutMs: ms });
    me.met(signal);
  }),
  call: operation("anyone", fc.record({ to: target, tag }), (me, { to, tag }) =>
    port(me).call(me.pid(to), asks(me, tag), { timeoutMs: 30 }),
  ),
  "call with timeout": operation("anyone", fc.record({ to: target, ms }), (me, { to, ms }) =>
    port(me).call(me.pid(to), asks(me, 1), { timeoutMs: ms }),
  ),
  "call with signal": operation(
    "anyone",
    fc.record({ to: target, signal: fc.nat(1) }),
    (me, { to, signal }) => {
      const { stage } = me;
      return port(me).call(me.pid(to), asks(me, 2), {
        signal: stage.aborts[signal]?.signal as AbortSignal,
      });
    },
  ),
  abort: operation("anyone", fc.record({ signal: fc.nat(1) }), (me, { signal }) => {
    me.stage.aborts[signal]?.abort(new Error("aborted"));
  }),
  "call in the background": operation("anyone", fc.record({ to: target }), (me, { to }) => {
    port(me)
      .call(me.pid(to), asks(me, 3), { timeoutMs: 20 })
      .then(
        (reply) => me.say(`background: ${reply}`),
        (error) => me.say(`background: ${error.name}`),
      );
  }),
  ask: operation("callbacks", fc.record({ to: target }), (me, { to }) =>
    me.process.ask(
      me.pid(to),
      asks(me, 3),
      (reply) => me.say(`reply ${reply.ok ? reply.value : (reply.error as Error).name}`),
      { timeoutMs: 20 },
    ),
  ),
  cast: operation("anyone", fc.record({ to: target, tag }), (me, { to, tag }) => {
    const server = me.stage.serverAt(to);
    if (server === undefined) return SKIPPED;
    return (me.ctx === undefined ? server : server.with({ from: me.ctx })).cast.put(tag, me.name);
  }),
  "call of a server": operation("anyone", fc.record({ to: target, tag }), (me, { to, tag }) => {
    const server = me.stage.serverAt(to);
    if (server === undefined) return SKIPPED;
    return server.with({ timeoutMs: 20, ...(me.ctx && { from: me.ctx }) }).call.get(tag);
  }),
  "stop of a server": operation("anyone", fc.record({ to: target }), (me, { to }) => {
    const server = me.stage.serverAt(to);
    return server === undefined ? SKIPPED : server.stop();
  }),
  sendAfter: operation("anyone", fc.record({ to: target, ms }), (me, { to, ms }) => {
    me.timers.push(port(me).sendAfter(me.pid(to), { ...me.message(4), hops: 0 }, ms));
  }),
  sendInterval: operation("process", fc.record({ to: target }), (me, { to }) => {
    me.timers.push(me.process.sendInterval(me.pid(to), { ...me.message(5), hops: 0 }, 20));
  }),
  runAfter: operation("process", fc.record({ ms }), (me, { ms }) => {
    me.process.runAfter(ms, () => me.say("timer runs"));
  }),
  "cancel own timer": operation("anyone", fc.record({}), (me) => {
    const timer = me.timers.pop() ?? me.system.sendAfter(me.pid(0), me.message(8), 10);
    return port(me).cancel(timer);
  }),
  "cancel another's timer": operation("anyone", fc.record({ which: fc.nat(3) }), (me, { which }) => {
    const { alarms } = me.stage;
    const timer = alarms[which % Math.max(1, alarms.length)];
    return timer === undefined ? SKIPPED : port(me).cancel(timer);
  }),
  "look at a timer": operation("anyone", fc.record({ which: fc.nat(3) }), (me, { which }) => {
    const { alarms } = me.stage;
    return alarms[which % Math.max(1, alarms.length)]?.pending ?? SKIPPED;
  }),
};
