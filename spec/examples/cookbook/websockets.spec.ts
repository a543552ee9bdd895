// The recipe of WebSockets, over sockets that are fakes: what happens to one connection happens to no other.

import { type DynamicSupervisorRef, System } from "signalbox";
import { testClock } from "signalbox/testing";
import { expect, it } from "vitest";
import { Connections } from "../../../examples/cookbook/websockets/chat.js";
import { LIMITS, type Socket } from "../../../examples/cookbook/websockets/connection.js";
import { explored } from "../../support/proof.js";

class FakeSocket implements Socket {
  bufferedAmount = 0;
  readonly heard: string[] = [];
  readonly calls: string[] = [];
  readonly listeners = new Map<string, (data: string) => void>();
  send(text: string): void {
    // As ws does: it takes no plain object.
    if (typeof text !== "string") throw new TypeError("the data has to be a text");
    this.heard.push(text);
  }
  ping(): void {
    this.calls.push("ping");
  }
  resume(): void {
    this.calls.push("resume");
  }
  close(code: number): void {
    this.calls.push(`close ${code}`);
  }
  terminate(): void {
    this.calls.push("terminate");
  }
  on(event: string, listener: (data: string) => void): void {
    this.listeners.set(event, listener);
  }
  emit(event: string, data = ""): void {
    this.listeners.get(event)?.(data);
  }
}

type Join = DynamicSupervisorRef<readonly [System, Socket, string]>;
async function join(system: System, connections: Join, room = "tea"): Promise<FakeSocket> {
  const socket = new FakeSocket();
  await connections.startLike([system, socket, room]);
  return socket;
}
const say = (text: string): string => JSON.stringify({ say: text });

async function open() {
  const clock = testClock();
  const system = new System({ environment: clock.environment, report: false });
  const connections = await system.start(Connections);
  const here = async () => (await connections.countChildren()).active;
  return { clock, system, here, join: (room?: string) => join(system, connections, room) };
}

it("all of a room get the messages of each, in their order, whatever crashes, and no other room does", async () => {
  await explored(
    async (sim) => {
      const system = sim.system({ name: "chat" });
      const connections = await system.start(Connections);
      const [ada, bob, eve] = [
        await join(system, connections),
        await join(system, connections),
        await join(system, connections),
      ];
      const other = await join(system, connections, "coffee");
      ada.emit("message", say("one"));
      eve.emit("message", "no JSON");
      ada.emit("message", say("two"));
      await sim.quiet();
      expect([ada.heard, bob.heard]).toEqual([
        ["welcome to tea", "one", "two"],
        ["welcome to tea", "one", "two"],
      ]);
      expect([eve.calls, other.heard]).toEqual([["resume", "close 1011"], ["welcome to coffee"]]);
      expect((await connections.countChildren()).active).toBe(3);
      await system.stop();
    },
    { quick: 20, share: 0.05, seed: 1 },
  );
});

it("a client that sends something that is no text is disconnected alone", async () => {
  const { clock, here, join } = await open();
  const [ada, bob] = [await join(), await join()];
  for (const said of ['{"say":{}}', '{"say":7}', "{}"]) {
    const eve = await join();
    eve.emit("message", said);
    await clock.settle();
    expect([said, await here(), eve.calls]).toEqual([said, 2, ["resume", "close 1011"]]);
  }
  ada.emit("message", say("last"));
  await clock.settle();
  expect(bob.heard).toEqual(["welcome to tea", "last"]);
});

it("a slow client is dropped at its limit, and the others hear on", async () => {
  const { clock, here, join } = await open();
  const [ada, bob] = [await join(), await join()];
  bob.bufferedAmount = LIMITS.maxBufferedBytes;
  ada.emit("message", say("fits"));
  await clock.settle();
  expect(await here()).toBe(2);
  bob.bufferedAmount++;
  ada.emit("message", say("too much"));
  await clock.settle();
  ada.emit("message", say("last"));
  await clock.settle();
  expect([await here(), bob.calls]).toEqual([1, ["resume", "terminate"]]);
  expect(ada.heard.slice(1)).toEqual(["fits", "too much", "last"]);
});

it("a client that floods is dropped before the memory fills", async () => {
  const { clock, here, join } = await open();
  const [ada, bob] = [await join(), await join()];
  for (let n = 0; n <= LIMITS.maxMessages; n++) bob.emit("message", say("spam"));
  await clock.settle();
  expect([await here(), bob.calls.at(-1), ada.calls]).toEqual([1, "terminate", ["resume"]]);
});

it("a client that answers no ping is gone at the next one", async () => {
  const { clock, here, join } = await open();
  const [ada, bob] = [await join(), await join()];
  await clock.advance(LIMITS.pingMs);
  ada.emit("pong");
  await clock.advance(LIMITS.pingMs);
  expect([await here(), ada.calls, bob.calls]).toEqual([
    1,
    ["resume", "ping", "ping"],
    ["resume", "ping", "terminate"],
  ]);
});

it("a stop says goodbye to all, and a client that has left is forgotten", async () => {
  const { clock, system, here, join } = await open();
  const [ada, bob] = [await join(), await join()];
  bob.emit("close");
  await clock.settle();
  expect(await here()).toBe(1);
  await clock.until(system.stop());
  expect(ada.calls).toEqual(["resume", "close 1001"]);
});
