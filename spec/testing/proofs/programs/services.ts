// Instructions: supervisors, and dispatch through a group of consumers.

import fc from "fast-check";
import { dispatch } from "signalbox";
import { type Operations, operation, target } from "./language.js";
import { type Actor, errorText, SKIPPED } from "./stage.js";

const LIMIT = { timeoutMs: 30 } as const;

/** Does something with the supervisor that a number means, or nothing if that is none. */
function supervising(
  args: (me: Actor, ref: NonNullable<ReturnType<Actor["stage"]["supervisorAt"]>>, id: string) => unknown,
): Operations[string] {
  return operation(
    "anyone",
    fc.record({ to: target, child: fc.constantFrom("1", "2") }),
    (me, { to, child }) => {
      const ref = me.stage.supervisorAt(to);
      return ref === undefined ? SKIPPED : args(me, ref, `${me.stage.nameOf(me.pid(to))}${child}`);
    },
  );
}

export const SUPERVISION: Operations = {
  terminateChild: supervising((_me, ref, id) => ref.terminateChild(id, LIMIT)),
  restartChild: supervising(async (me, ref, id) => me.stage.nameOf(await ref.restartChild(id, LIMIT))),
  deleteChild: supervising((_me, ref, id) => ref.deleteChild(id, LIMIT)),
  startChild: supervising(async (me, ref) =>
    me.stage.nameOf(
      await ref.startChild({ id: "more", start: me.stage.kid([]), restart: "temporary" }, LIMIT),
    ),
  ),
  whichChildren: supervising(async (me, ref) =>
    (await ref.whichChildren(LIMIT)).map(({ id, pid, status }) => `${id} ${me.stage.nameOf(pid)} ${status}`),
  ),
  countChildren: supervising(async (_me, ref) => JSON.stringify(await ref.countChildren(LIMIT))),
  "crash a supervised child": supervising((me, _ref, id) => me.system.exit(id, new TypeError("crash"))),
  "send to a supervised child": supervising((me, _ref, id) => (me.ctx ?? me.system).send(id, me.message(7))),
  startLike: operation("anyone", fc.record({ to: target }), async (me, { to }) => {
    const ref = me.stage.dynamicAt(to);
    if (ref === undefined) return SKIPPED;
    const pid = await ref.startLike([], LIMIT);
    if (pid !== undefined) me.likes.push(pid);
    return me.stage.nameOf(pid);
  }),
  "terminateChild by pid": operation("anyone", fc.record({ to: target }), async (me, { to }) => {
    const ref = me.stage.dynamicAt(to);
    const pid = me.likes.pop() ?? (await ref?.startLike([], LIMIT));
    return ref === undefined || pid === undefined ? SKIPPED : ref.terminateChild(pid, LIMIT);
  }),
  "whichChildren of a dynamic supervisor": operation(
    "anyone",
    fc.record({ to: target }),
    async (me, { to }) => {
      const ref = me.stage.dynamicAt(to);
      if (ref === undefined) return SKIPPED;
      return (await ref.whichChildren(LIMIT)).map(({ pid, status }) => `${me.stage.nameOf(pid)} ${status}`);
    },
  ),
};

const tag: fc.Arbitrary<number> = fc.integer({ min: 1, max: 2 });

async function dispatched(
  me: Actor,
  about: number,
  id: string | undefined,
  deadlineMs: number,
): Promise<string> {
  const { system } = me;
  const { consumers } = me.stage;
  const payload = id === undefined ? me.message(about) : system.envelope(me.message(about), { id });
  try {
    const outcome = await (me.ctx === undefined
      ? system.dispatch(consumers, payload, { deadlineMs })
      : dispatch(me.ctx, consumers, payload, { deadlineMs }));
    const { deliveredTo, settledBy, reply, attempts, reroutedFrom, duplicate } = outcome;
    return `${settledBy} of ${deliveredTo}: ${reply}, ${attempts} ${reroutedFrom} ${duplicate ? "duplicate" : "first"}`;
  } catch (error) {
    if (me.ctx?.alive === false) throw error;
    return errorText(error);
  }
}

export const DISPATCH: Operations = {
  dispatch: operation("anyone", fc.record({ tag }), (me, { tag }) => dispatched(me, tag, undefined, 30)),
  "dispatch in the background": operation("anyone", fc.record({ tag }), (me, { tag }) => {
    dispatched(me, tag, undefined, 30).then(
      (outcome) => me.say(`background: ${outcome}`),
      () => undefined,
    );
  }),
  "dispatch with deadline": operation("anyone", fc.record({ tag }), (me, { tag }) =>
    dispatched(me, tag, undefined, 10),
  ),
  "dispatch once": operation("anyone", fc.record({ tag }), (me, { tag }) => dispatched(me, tag, "e", 30)),
  "leave the consumers": operation("anyone", fc.record({ who: target }), (me, { who }) =>
    me.stage.consumers.leave(me.pid(who)),
  ),
  "join the consumers": operation(
    "process",
    fc.record({}),
    (me) => me.stage.consumers.join(me.process.self, { id: `${me.name} again`, acknowledges: false }).id,
  ),
  "look at the loads": operation("anyone", fc.record({}), (me) =>
    me.stage.consumers.consumers.map((one) => `${one.id} ${one.inFlight} ${one.delivered} ${one.pressure}`),
  ),
  "look at who waits": operation("anyone", fc.record({}), (me) => me.stage.consumers.waitingCount),
};
