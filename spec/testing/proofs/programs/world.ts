// Instructions: what the simulation gives a program. Choices, declared memory, time, a disk.

import fc from "fast-check";
import type { System } from "signalbox";
import { type Operations, operation } from "./language.js";
import { SKIPPED } from "./stage.js";

const key: fc.Arbitrary<string> = fc.constantFrom("u", "v");
const file: fc.Arbitrary<string> = fc.constantFrom("f", "g");
const ms: fc.Arbitrary<number> = fc.constantFrom(10, 20);

function bytes(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

export const WORLD: Operations = {
  choose: operation("anyone", fc.record({}), (me) => me.stage.sim.choose(2)),
  oneOf: operation("anyone", fc.record({}), (me) => me.stage.sim.oneOf(["p", "q", "r"])),
  "write shared memory": operation("anyone", fc.record({ key }), (me, { key }) => {
    const { sim, shared } = me.stage;
    sim.touch(key);
    shared.set(key, `${shared.get(key) ?? ""}${me.name}`);
  }),
  "read shared memory": operation("anyone", fc.record({ key }), (me, { key }) => {
    const { sim, shared } = me.stage;
    sim.touch(key, "read");
    return shared.get(key) ?? "empty";
  }),
  now: operation("anyone", fc.record({}), (me) => me.stage.sim.now),
  sleep: operation("anyone", fc.record({ ms }), (me, { ms }) => me.stage.sim.sleep(ms)),
  quiet: operation("anyone", fc.record({}), (me) => me.stage.sim.quiet()),
  idle: operation("scenario", fc.record({}), (me) => me.system.idle()),
  calm: operation("scenario", fc.record({}), (me) => me.stage.sim.calm()),
};

export const DISK: Operations = {
  "write a file": operation("anyone", fc.record({ file }), (me, { file }) =>
    me.stage.disk.write(file, 0, bytes(me.name)),
  ),
  "append to a file": operation("anyone", fc.record({ file }), (me, { file }) =>
    me.stage.disk.append(file, bytes(me.name)),
  ),
  "read a file": operation("anyone", fc.record({ file }), async (me, { file }) =>
    new TextDecoder().decode(await me.stage.disk.read(file)),
  ),
  "sync a file": operation("anyone", fc.record({ file }), (me, { file }) => me.stage.disk.sync(file)),
  "rename a file": operation("anyone", fc.record({ file }), (me, { file }) =>
    me.stage.disk.rename(file, file === "f" ? "g" : "f"),
  ),
  "remove a file": operation("anyone", fc.record({ file }), (me, { file }) => me.stage.disk.remove(file)),
  "list the files": operation("anyone", fc.record({}), (me) => me.stage.disk.list()),
  "power loss": operation("anyone", fc.record({}), (me) =>
    me.stage.disk.generation > 0 ? SKIPPED : void me.stage.disk.crash(),
  ),
};

export const NETWORK: Operations = {
  cut: operation("anyone", fc.record({ silent: fc.boolean() }), (me, { silent }) => {
    const { network, systems } = me.stage;
    network?.cut(systems[0], systems[1] as System, { silent });
  }),
  heal: operation("anyone", fc.record({}), (me) => {
    const { network, systems } = me.stage;
    network?.heal(systems[0], systems[1] as System);
  }),
};
