import { type AddressInfo, createServer, type Socket } from "node:net";
import { connect } from "@nats-io/transport-node";
import { OptionError, type RemoteNode, System } from "signalbox";
import { joinCluster, type NatsCarrier, type NatsOptions, nats } from "signalbox/nodes";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Loopback } from "../../chaos/loopback.js";
import { describeNats, type NatsServer, startNats } from "../../support/nats.js";
import { until } from "../../support/until.js";

describe("the options of nats()", () => {
  test.each([
    [{ servers: [] }, "servers must be the address"],
    [{ servers: 7 }, "servers[0]"],
    [{ cluster: "a b" }, "a name of letters, digits, _ and -"],
    [{ cluster: "a.b" }, "a name of letters, digits, _ and -"],
    [{ cluster: "a.>" }, "a name of letters, digits, _ and -"],
    [{ cluster: "*" }, "a name of letters, digits, _ and -"],
    [{ cluster: "" }, "a name of letters, digits, _ and -"],
    [{ cluster: undefined }, "a name of letters, digits, _ and -"],
    [{ answerMs: 0 }, "answerMs"],
    [{ presenceMs: 99 }, "presenceMs"],
    [{ probeMs: 4 }, "probeMs"],
    [{ maxPendingBytes: 1 }, "maxPendingBytes"],
    [{ connection: "me" }, "connection"],
    [{ clusterr: "shop" }, "did you mean cluster?"],
  ])("are checked: %j [N1030]", (wrong, says) => {
    const options = { servers: "127.0.0.1:4222", cluster: "shop", ...wrong } as NatsOptions;
    expect(() => nats(options)).toThrow(OptionError);
    expect(() => nats(options)).toThrow(says);
  });
});

describeNats("a carrier over NATS", () => {
  let server: NatsServer;
  beforeAll(async () => {
    server = await startNats();
  });
  afterAll(() => server.stop());

  test("carries frames in order, and says who sent them [N1031]", async () => {
    await using a = await join(server, "a");
    await using b = await join(server, "b");
    await met(a, b);
    for (let i = 0; i < 1_000; i++) expect(a.carrier.send(b.node, `frame ${i} ä`)).toBe(true);
    await until(() => b.frames.length === 1_000);
    expect(b.frames).toEqual(Array.from({ length: 1_000 }, (_, i) => `frame ${i} ä`));
    expect(b.senders).toEqual(new Set([`a.${a.node.id}`]));
    expect(a.frames).toEqual([]);
  });

  test("finds the nodes of its cluster, and no others [N1031]", async () => {
    await using a = await join(server, "a");
    await using other = await join(server, "o", { cluster: "other" });
    await using b = await join(server, "b");
    await met(a, b);
    expect(other.seen).toEqual(new Set());
    expect(a.seen.has(a.node.id)).toBe(false);
  });

  test("tells at once that nobody listens at a node [N1032]", async () => {
    await using a = await join(server, "a");
    const b = await join(server, "b");
    await met(a, b);
    a.carrier.send(b.node, "one");
    await until(() => b.frames.length === 1);
    await b[Symbol.asyncDispose]();
    await until(() => a.unreachable.length === 1);
    // The server hears of the end of the connection after the farewell: until then it takes frames.
    await until(() => a.carrier.send(b.node, "D 4 7 1 0 8 9 1\n[1]") && a.unreachable.length > 1);
    // The notice names the epoch of the frame, so that it ends no newer one.
    expect(a.lost.at(-1)).toBe("D 4 7");
    expect(new Set(a.unreachable)).toEqual(new Set([b.node.id]));
  });

  // Every second node asks the next one, which notices its silence.
  test.each([
    ["asks", 4, 0],
    ["asks", 4, 2],
    ["is asked", 4, 1],
    ["is asked", 4, 3],
    ["asks", 3, 0],
    ["is asked", 3, 1],
    ["asks, the last of an odd number,", 3, 2],
  ])(
    "notices a node that %s and is gone, though nothing is sent to it, and tells all %i [N1230]",
    async (_, count, place) => {
      const wires = Array.from(
        { length: count },
        () => new Loopback(0, Number(server.address.split(":")[1])),
      );
      for (const wire of wires) await wire.open();
      const connected = await Promise.all(
        wires.map(async (wire, i) => ({
          wire,
          one: await join({ address: `127.0.0.1:${wire.port}` }, `n${i}`),
        })),
      );
      connected.sort((a, b) => (a.one.node.id < b.one.node.id ? -1 : 1));
      const { wire, one: lost } = connected[place] as (typeof connected)[number];
      const all = connected.map(({ one }) => one);
      const others = all.filter((one) => one !== lost);
      for (const one of all) for (const other of all) if (one !== other) await met(one, other);
      for (const one of all) for (const other of all) if (one !== other) one.carrier.send(other.node, "one");
      await until(() => all.every(({ frames }) => frames.length === all.length - 1));
      wire.cut();
      await until(() => others.every(({ unreachable }) => unreachable.includes(lost.node.id)));
      expect(others.flatMap(({ unreachable }) => unreachable).every((id) => id === lost.node.id)).toBe(true);
      // A node that asks gives no frame.
      expect(others.flatMap(({ frames }) => frames).every((frame) => frame === "one")).toBe(true);
      for (const one of all) await one[Symbol.asyncDispose]();
      for (const each of wires) each.cut();
    },
  );

  test("believes nobody that another node is lost, and looks for itself [N1231]", async () => {
    const liar = await connect({ servers: server.address });
    await using a = await join(server, "a");
    await using b = await join(server, "b");
    await met(a, b);
    a.carrier.send(b.node, "one");
    liar.publish("signalbox.shop.seen", JSON.stringify({ type: "lost", id: b.node.id, name: b.node.name }));
    a.seen.clear();
    await liar.flush();
    await liar.close();
    // Its word of presence comes behind the question.
    await until(() => a.seen.has(b.node.id));
    expect(a.unreachable).toEqual([]);
  });

  test("refuses and counts frames while there is no server, ends all sessions, and meets the others again [N1033]", async () => {
    await using own = await startNats();
    await using a = await join(own, "a");
    await using b = await join(own, "b");
    await met(a, b);
    a.carrier.send(b.node, "one");
    await until(() => b.frames.length === 1);
    await own.kill();
    await until(() => a.unreachable.includes(b.node.id));
    expect(a.carrier.send(b.node, "lost")).toBe(false);
    expect(a.carrier.state).toMatchObject({ isConnected: false, disconnects: 1, refusedFrames: 1 });
    a.seen.clear();
    b.seen.clear();
    await own.start();
    await met(a, b);
    expect(a.carrier.send(b.node, "two")).toBe(true);
    await until(() => b.frames.length === 2);
    expect(b.frames).toEqual(["one", "two"]);
  });

  test("refuses a frame that the server does not take, and says so [N1034]", async () => {
    const reports: string[] = [];
    await using a = await join(server, "a", {}, (text) => reports.push(text));
    await using b = await join(server, "b");
    await met(a, b);
    const { maxFrameBytes } = a.carrier;
    expect(a.carrier.send(b.node, "x".repeat(maxFrameBytes + 1))).toBe(false);
    expect(reports.join()).toContain(`has ${maxFrameBytes + 1} bytes; the server takes ${maxFrameBytes}`);
    expect(a.carrier.send(b.node, "x".repeat(maxFrameBytes))).toBe(true);
    await until(() => b.frames.length === 1);
  });

  test("knows what waits for the server, and refuses what is too much [N1034]", async () => {
    await using a = await join(server, "a", { maxPendingBytes: 1_000_000 });
    await using b = await join(server, "b");
    await met(a, b);
    const frame = "x".repeat(99_000);
    let sent = 0;
    while (a.carrier.send(b.node, frame)) sent++;
    expect(sent).toBe(10);
    expect(a.carrier.pending()).toBeGreaterThanOrEqual(sent * frame.length);
    expect(a.carrier.state.refusedFrames).toBe(1);
    await until(() => a.carrier.pending() === 0);
    expect(a.carrier.send(b.node, frame)).toBe(true);
    await until(() => b.frames.length === sent + 1);
  });

  test("says by name why a cluster cannot be joined [N1030]", async () => {
    await using system = new System({ report: false });
    const nobody = nats({ servers: "127.0.0.1:1", cluster: "shop", answerMs: 1_000 }).connect(system);
    await expect(nobody).rejects.toMatchObject({ code: "ERR_CLUSTER_CONNECT" });
    await expect(nobody).rejects.toThrow("the cluster shop over NATS at 127.0.0.1:1 cannot be joined");
  });
});

describe("a server that hangs", () => {
  test("does not hold up a carrier that closes, which leaves no socket [N1035]", async () => {
    await using mute = await MuteServer.start();
    const a = await join(mute, "a");
    expect(mute.sockets.size).toBe(1);
    a.carrier.send({ name: "b", id: "b" }, "lost");
    await a[Symbol.asyncDispose]();
    await until(() => mute.sockets.size === 0);
    expect(a.carrier.send({ name: "b", id: "b" }, "late")).toBe(false);
  });

  test("does not hold up a node that leaves while its system stops [N1433]", async () => {
    await using mute = await MuteServer.start();
    const system = new System({ name: "a", report: false });
    // Without pings the client does not notice that the server hangs.
    const carrier = nats({ servers: mute.address, cluster: "shop", connection: { pingInterval: 3_600_000 } });
    const node = await joinCluster(system, carrier, { settleMs: 0 });
    const left = node.leave();
    await until(() => mute.heard.includes('"leave"'));
    // Its carrier waits for the server to confirm the farewell. A system that has stopped has no timers to end that.
    await system.stop();
    await left;
    await until(() => mute.sockets.size === 0);
  });

  test("does not hold up the end of a carrier that connects anew, which leaves no socket [N1035]", async () => {
    await using mute = await MuteServer.start();
    const a = await join(mute, "a");
    mute.greets = false;
    for (const socket of mute.sockets) socket.destroy();
    await until(() => !a.carrier.state.isConnected && mute.sockets.size === 1);
    await a[Symbol.asyncDispose]();
    await until(() => mute.sockets.size === 0);
  });
});

/** Greets as a server of NATS does, and says nothing else. */
class MuteServer implements AsyncDisposable {
  readonly sockets = new Set<Socket>();
  greets = true;
  heard = "";
  readonly #server = createServer((socket) => {
    this.sockets.add(socket);
    socket.on("close", () => this.sockets.delete(socket)).on("error", nothing);
    if (this.greets)
      socket.write(`INFO ${JSON.stringify({ version: "2.12.0", headers: true, max_payload: 65_536 })}\r\n`);
    socket.on("data", (data) => {
      this.heard += data.toString();
    });
    socket.once("data", () => this.greets && socket.write("PONG\r\n"));
  });

  static async start(): Promise<MuteServer> {
    const mute = new MuteServer();
    await new Promise<void>((resolve) => {
      mute.#server.listen(0, "127.0.0.1", resolve);
    });
    return mute;
  }

  get address(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

const nothing = (): undefined => undefined;

/** A node listens before it says that it is there. */
const met = (a: Joined, b: Joined): Promise<void> =>
  until(() => a.seen.has(b.node.id) && b.seen.has(a.node.id));

interface Joined extends AsyncDisposable {
  readonly carrier: NatsCarrier;
  readonly node: RemoteNode;
  readonly frames: string[];
  readonly senders: Set<string>;
  readonly seen: Set<string>;
  readonly unreachable: string[];
  /** The frames that the notices named. */
  readonly lost: (string | undefined)[];
}

async function join(
  server: { readonly address: string },
  name: string,
  options: Partial<NatsOptions> = {},
  report?: (text: string) => void,
): Promise<Joined> {
  const system = new System({ name, report: report ?? false });
  const carrier = await nats({
    servers: server.address,
    cluster: "shop",
    presenceMs: 100,
    connection: { reconnectTimeWait: 20 },
    ...options,
  }).connect(system);
  const joined: Joined = {
    carrier,
    node: system.node,
    frames: [],
    senders: new Set(),
    seen: new Set(),
    unreachable: [],
    lost: [],
    [Symbol.asyncDispose]: async () => {
      await carrier.close();
      await system.stop();
    },
  };
  carrier.open({
    frame: ({ name: from, id }, frame) => {
      joined.frames.push(frame);
      joined.senders.add(`${from}.${id}`);
    },
    seen: ({ id }) => joined.seen.add(id),
    unreachable: ({ id }, frame) => {
      joined.unreachable.push(id);
      joined.lost.push(frame);
    },
    notices: () => undefined,
    isUp: () => false,
  });
  return joined;
}
