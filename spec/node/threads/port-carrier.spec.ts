// Frames over message ports.

import { MessageChannel } from "node:worker_threads";
import { afterEach, describe, expect, it } from "vitest";
import { PortCarrier } from "../../../lib/node/threads/port-carrier.js";
import { until } from "../../support/until.js";

const one = { name: "one", id: "1" };
const two = { name: "two", id: "2" };
const open: PortCarrier[] = [];

/** A carrier, and what it brought. */
function carrier(): { readonly carrier: PortCarrier; readonly log: string[] } {
  const log: string[] = [];
  const made = new PortCarrier((node) => log.push(`gone ${node.name}`));
  open.push(made);
  made.open({
    frame: (from, frame) => log.push(`${from.name}: ${frame}`),
    seen: (node) => log.push(`seen ${node.name}`),
    unreachable: (node) => log.push(`unreachable ${node.name}`),
    notices: () => undefined,
    isUp: () => false,
  });
  return { carrier: made, log };
}

function pair() {
  const { port1, port2 } = new MessageChannel();
  const [left, right] = [carrier(), carrier()];
  left.carrier.add(two, port1);
  right.carrier.add(one, port2);
  return { left, right };
}

afterEach(() => {
  for (const each of open.splice(0)) each.close();
});

describe("a carrier of ports", () => {
  it("brings all frames, and then the end of the other side, once [N1100]", async () => {
    const { left, right } = pair();
    for (const frame of ["a", "b"]) expect(left.carrier.send(two, frame)).toBe(true);
    left.carrier.close();
    await until(() => right.log.includes("unreachable one"));
    expect(right.log).toEqual(["seen one", "one: a", "one: b", "gone one", "unreachable one"]);
    expect(right.carrier.send(one, "c")).toBe(false);
    expect(left.log).toEqual(["seen two"]);
  });

  it("knows that nobody listens at a node without a port [N1100]", () => {
    const { left } = pair();
    expect(left.carrier.send({ name: "two", id: "another" }, "a")).toBe(false);
  });

  it("resolves the wait for the end of a node when that is received [N1100]", async () => {
    const { left, right } = pair();
    left.carrier.send(two, "last");
    const ended = right.carrier.ended(one.id);
    left.carrier.close();
    await ended;
    expect(right.log).toContain("one: last");
    await right.carrier.ended(one.id);
  });
});
