// Instructions: requests to a store outside of the program, and points of `ctx.buggify`.

import fc from "fast-check";
import { type Operations, operation } from "./language.js";
import { SKIPPED } from "./stage.js";

const row: fc.Arbitrary<string> = fc.constantFrom("u", "v");

export const REQUESTS: Operations = {
  "get a row": operation("anyone", fc.record({ row }), (me, { row }) => me.stage.store.get(row)),
  "get a row slowly": operation("anyone", fc.record({ row }), (me, { row }) => me.stage.store.slowly(row)),
  "append to a row": operation("anyone", fc.record({ row }), (me, { row }) =>
    me.stage.store.append(row, me.name),
  ),
  "append until aborted": operation("anyone", fc.record({ row }), (me, { row }) =>
    me.stage.store.append(row, me.name, me.stage.aborts[1]?.signal),
  ),
  "append and forget": operation("anyone", fc.record({ row }), (me, { row }) => {
    me.stage.store.append(row, me.name).catch(() => undefined);
  }),
  abort: operation("anyone", fc.record({}), (me) => {
    me.stage.aborts[1]?.abort();
  }),
  "dump all rows": operation("anyone", fc.record({}), (me) => me.stage.store.dump()),
  "clear all rows": operation("anyone", fc.record({}), (me) => me.stage.store.clear()),
  "peek at a row": operation("anyone", fc.record({ row }), (me, { row }) => {
    me.stage.sim.touch(row, "read");
    return me.stage.store.peek(row);
  }),
  "sleep for no time": operation("anyone", fc.record({}), (me) => me.stage.sim.sleep(0)),
  buggify: operation("process", fc.record({}), (me) => me.process.buggify("x")),
  calm: operation("scenario", fc.record({}), (me) => me.stage.sim.calm()),
  "kill a": operation("anyone", fc.record({}), (me) => {
    const [pid] = me.stage.pids;
    if (pid === undefined) return SKIPPED;
    me.stage.system.exit(pid, "kill");
    return undefined;
  }),
};
