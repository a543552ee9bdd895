// Leases of JetStream: what is refused, what becomes of writes without an answer, and faults of connections and servers.

import { createServer } from "node:net";
import { jetstream, jetstreamManager } from "@nats-io/jetstream";
import { connect } from "@nats-io/transport-node";
import { OptionError, System } from "signalbox";
import { type HeldLease, type KvLeases, type KvLeasesOptions, kvLeases, singleton } from "signalbox/nodes";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { Loopback } from "../../chaos/loopback.js";
import { describeNats, describeNatsLeases, type NatsServer, startNats } from "../../support/nats.js";
import { type NatsCluster, startNatsCluster } from "../../support/nats-cluster.js";
import { proving } from "../../support/proof.js";
import { seen, until } from "../../support/until.js";

const never = new AbortController().signal;
const TTL = 15_000;
const quiet = (): System => new System({ report: false });

/** Closed after each test. */
const opened: AsyncDisposable[] = [];
afterEach(async () => {
  for (const one of opened.splice(0).reverse()) await one[Symbol.asyncDispose]();
});

async function open(options: KvLeasesOptions, system = quiet()): Promise<KvLeases> {
  const leases = await kvLeases(system, options);
  opened.push(leases);
  return leases;
}

/** A proxy before a server. */
async function proxied(server: NatsServer): Promise<Loopback & { readonly servers: string }> {
  const proxy = new Loopback(0, Number(server.address.split(":")[1]));
  await proxy.open();
  opened.push({ [Symbol.asyncDispose]: async () => proxy.cut() });
  return Object.assign(proxy, { servers: `127.0.0.1:${proxy.port}` });
}

async function held(leases: KvLeases, name: string, ttlMs = TTL, holder = "a"): Promise<HeldLease> {
  const lease = await leases.acquire(name, holder, ttlMs, never);
  if (lease === undefined) throw new Error(`${name} was refused`);
  return lease;
}

/** These wait for the real time of leases. */
const onNats = proving ? describeNatsLeases : describe.skip;

describe("the options of kvLeases", () => {
  it.each([
    [{ servers: [] }, "servers must be the address"],
    [{ servers: 7 }, "servers[0]"],
    [{ bucket: "a.b" }, "bucket must be a name of letters"],
    [{ bucket: "" }, "bucket must be a name of letters"],
    [{ replicas: 0 }, "replicas must be a whole number"],
    [{ ttlMs: 999 }, "ttlMs"],
    [{ answerMs: 0 }, "answerMs"],
    [{ connection: "me" }, "connection must be an object"],
    [{ buckets: "a" }, "did you mean bucket?"],
  ])("are checked: %j [N1197]", async (wrong, says) => {
    const options = { servers: "127.0.0.1:1", ...wrong } as KvLeasesOptions;
    await expect(kvLeases(quiet(), options)).rejects.toThrow(OptionError);
    await expect(kvLeases(quiet(), options)).rejects.toThrow(says);
  });
});

describe("a place that cannot keep leases", () => {
  const servers: NatsServer[] = [];
  afterAll(async () => {
    for (const server of servers) await server.stop();
  });

  it("is named by the error when no server is there [N1198]", async () => {
    const opening = open({ servers: "127.0.0.1:1", answerMs: 500 });
    await expect(opening).rejects.toMatchObject({ code: "ERR_LEASE_BUCKET" });
    await expect(opening).rejects.toThrow("the bucket signalbox_leases of JetStream at 127.0.0.1:1");
    await expect(opening).rejects.toThrow("no server can be reached");
  });

  it("is a server that is too old: the error has its version, and the one that leases need [N1198]", async () => {
    const info = { server_id: "A", version: "2.9.10", proto: 1, max_payload: 1_048_576, headers: true };
    const old = createServer((socket) => {
      socket.on("error", () => undefined);
      socket.write(`INFO ${JSON.stringify(info)}\r\n`);
      socket.on("data", () => socket.write("PONG\r\n"));
    });
    await new Promise<void>((go) => old.listen(0, "127.0.0.1", go));
    const { port } = old.address() as { readonly port: number };
    const opening = open({ servers: `127.0.0.1:${port}` });
    await expect(opening).rejects.toThrow("the server is 2.9.10; leases need nats-server 2.11 or later");
    old.close();
  });

  describeNatsLeases("on a server", () => {
    it("is a server without JetStream [N1198]", async () => {
      const server = await startNats([]);
      servers.push(server);
      const opening = open({ servers: server.address });
      await expect(opening).rejects.toThrow("JetStream is not enabled: start nats-server with -js");
    });

    it.each([
      [{ allow_msg_ttl: false }, {}, "its allow_msg_ttl is false; leases need true"],
      [{ max_msgs_per_subject: 5 }, {}, "its max_msgs_per_subject (history) is 5; leases need 1"],
      [{ max_age: 60_000_000_000 }, {}, "its max_age is 60000000000; leases need 0"],
      [{ subjects: ["orders"] }, {}, "its subjects is orders; leases need $KV.given.>"],
      [{}, { replicas: 3 }, "its num_replicas is 1; leases need 3"],
    ])("is a bucket that is set up as %j [N1198]", async (config, options, says) => {
      const server = servers[1] ?? (await startNats());
      servers[1] = server;
      const connection = await connect({ servers: server.address });
      const { streams } = await jetstreamManager(connection);
      await streams.add({
        name: "KV_given",
        subjects: ["$KV.given.>"],
        max_msgs_per_subject: 1,
        allow_msg_ttl: true,
        ...config,
      });
      const opening = open({ servers: server.address, bucket: "given", ...options });
      await expect(opening).rejects.toThrow(says);
      await streams.delete("KV_given");
      await connection.close();
    });

    it("is a server that cannot keep as many copies as are asked for [N1198]", async () => {
      const server = servers[1] as NatsServer;
      const opening = open({ servers: server.address, bucket: "copies", replicas: 3 });
      await expect(opening).rejects.toThrow("it is not there and cannot be made");
    });
  });
});

onNats("a lease of JetStream", () => {
  let server: NatsServer;
  beforeAll(async () => {
    server = await startNats();
  });
  afterAll(() => server.stop());

  it("is renewed although the answer to a renewal was lost, and is nobody else's [N1199]", async () => {
    const proxy = await proxied(server);
    const leases = await open({ servers: proxy.servers, answerMs: 500 });
    const lease = await held(leases, "lost answers");
    for (let i = 0; i < 3; i++) {
      proxy.silence("received");
      await expect(leases.renew(lease, never)).rejects.toThrow("timeout");
      // The server has stored it: the next one expects what that one left, and not what was known.
      const beside = [leases.renew(lease, never), leases.renew(lease, never)];
      await proxy.open();
      expect(await Promise.all(beside)).toEqual([true, true]);
    }
    expect(await leases.find("lost answers", never)).toEqual({ holder: "a", token: lease.token });
  });

  it("is acquired by the next attempt when the answer to the first one was lost [N1199]", async () => {
    const proxy = await proxied(server);
    const leases = await open({ servers: proxy.servers, answerMs: 500 });
    const other = await open({ servers: server.address });
    proxy.silence("received");
    await expect(leases.acquire("lost", "a", TTL, never)).rejects.toThrow("timeout");
    await proxy.open();
    // It is there, and only whoever wrote it can tell.
    expect(await other.acquire("lost", "b", TTL, never)).toBeUndefined();
    const lease = await held(leases, "lost");
    expect(await leases.renew(lease, never)).toBe(true);
    await leases.release(lease, never);
    expect((await held(other, "lost", TTL, "b")).token).toBeGreaterThan(lease.token);
  });

  it("is not renewed by an old answer: its time counts from the write that was stored [N1199]", async () => {
    const proxy = await proxied(server);
    const leases = await open({ servers: proxy.servers, answerMs: 300 });
    const lease = await held(leases, "old answers", 2_000);
    proxy.silence("received");
    await expect(leases.renew(lease, never)).rejects.toThrow("timeout");
    await new Promise((go) => setTimeout(go, 1_200));
    await proxy.open();
    const before = await revision("old answers");
    expect(await leases.renew(lease, never)).toBe(true);
    expect(await revision("old answers")).toBeGreaterThan(before);
  });

  /** The revision of a key, read past the library. */
  async function revision(name: string): Promise<number> {
    const connection = await connect({ servers: server.address });
    const { streams } = await jetstreamManager(connection);
    const subject = `$KV.signalbox_leases.${name.replace(" ", "=20")}`;
    const message = await streams.getMessage("KV_signalbox_leases", { last_by_subj: subject });
    await connection.close();
    return message?.seq ?? 0;
  }

  it("35: is decided by writes: whoever reads an old state is refused by the next one [N1200]", async () => {
    const a = await open({ servers: server.address });
    const lease = await held(a, "stale");
    // Another writer takes the key past the library, so that what `a` knows is old.
    const connection = await connect({ servers: server.address });
    await jetstream(connection).publish("$KV.signalbox_leases.stale", JSON.stringify({ holder: "b" }), {
      ttl: "15s",
    });
    await connection.close();
    expect(await a.renew(lease, never)).toBe(false);
    await a.release(lease, never);
    expect((await a.find("stale", never))?.holder).toBe("b");
    expect(await a.acquire("stale", "a", TTL, never)).toBeUndefined();
  });

  it("has larger tokens also after its bucket was deleted and made again [N1201]", async () => {
    const a = await open({ servers: server.address, bucket: "again" });
    for (let i = 0; i < 20; i++) await a.release(await held(a, "job"), never);
    const old = await held(a, "job");
    const connection = await connect({ servers: server.address });
    await (await jetstreamManager(connection)).streams.delete("KV_again");
    await connection.close();
    await expect(a.renew(old, never)).rejects.toThrow();
    const b = await open({ servers: server.address, bucket: "again" });
    expect((await held(b, "job")).token).toBeGreaterThan(old.token);
  });

  it("survives kill -9 of its server, and is its holder's still [N1202]", async () => {
    await using own = await startNats();
    const options = { servers: own.address, answerMs: 500 };
    const [a, b] = [await open(options), await open(options)];
    const lease = await held(a, "kill");
    await own.kill();
    await expect(a.renew(lease, AbortSignal.timeout(200))).rejects.toThrow();
    await own.start();
    await until(() => a.renew(lease, never).catch(() => false));
    expect(await b.acquire("kill", "b", TTL, never)).toBeUndefined();
    expect(await b.find("kill", never)).toEqual({ holder: "a", token: lease.token });
  });

  it("27: ends a singleton before another one begins, when its server hangs or its connection is cut [N1203]", async () => {
    const proxy = await proxied(server);
    const events: string[] = [];
    const contend = async (name: string, servers: string) => {
      const system = new System({ name, report: false });
      const lease = await open({ servers }, system);
      const only = singleton(system, {
        name: "cut off",
        lease,
        ttlMs: 2_000,
        start: async (ctx, { token }) => {
          events.push(`${name} began ${token}`);
          ctx.signal.addEventListener("abort", () => events.push(`${name} ended`));
          await ctx.receive();
        },
      });
      await system.start(only);
      return system;
    };
    const a = await contend("a", proxy.servers);
    await until(() => events.length === 1);
    const b = await contend("b", server.address);
    proxy.silence("both");
    await until(() => events.length === 3);
    expect(events.map((event) => event.replace(/ \d+$/, ""))).toEqual(["a began", "a ended", "b began"]);
    await proxy.open();
    await b.stop();
    await until(() => events.length === 5);
    expect(events.slice(3).map((event) => event.replace(/ \d+$/, ""))).toEqual(["b ended", "a began"]);
    await a.stop();
  });

  it("leaves no connection when its system stops [N1204]", async () => {
    const system = quiet();
    const leases = await kvLeases(system, { servers: server.address });
    await leases.check();
    await system.stop();
    await expect(leases.check()).rejects.toThrow();
    expect(process.getActiveResourcesInfo().filter((one) => one === "TCPSocketWrap")).toEqual([]);
  });
});

describeNats("a source of leases", () => {
  it("says that this server is too old, if it is [N1198]", async () => {
    await using server = await startNats();
    const opening = kvLeases(quiet(), { servers: server.address }).then((leases) => leases.close());
    const { noLeases } = await import("../../support/nats.js");
    if (noLeases === undefined) await opening;
    else await expect(opening).rejects.toThrow("leases need nats-server 2.11 or later");
  });
});

onNats("a lease of JetStream on three servers", () => {
  let cluster: NatsCluster;
  beforeAll(async () => {
    cluster = await startNatsCluster();
  });
  afterAll(() => cluster.stop());

  it("stays with its holder when the server that leads its bucket is killed [N1202]", async () => {
    const [a, b] = [
      await open({ servers: cluster.addresses, replicas: 3, answerMs: 1_000 }),
      await open({ servers: cluster.addresses, answerMs: 1_000 }),
    ];
    const lease = await held(a, "leader");
    const connection = await connect({ servers: [...cluster.addresses] });
    const leader = await cluster.leaderOf(await jetstreamManager(connection), "KV_signalbox_leases");
    await connection.close();
    await leader?.kill();
    await until(() => a.renew(lease, never).catch(() => false));
    expect(await b.find("leader", never)).toEqual({ holder: "a", token: lease.token });
    expect(await b.acquire("leader", "b", TTL, never)).toBeUndefined();
    await leader?.start();
  });

  it("36: is seen to be in trouble by a write, when two of three servers are gone [N1205]", async () => {
    // The servers of the test before may still elect a leader.
    const opening = (): Promise<KvLeases | undefined> =>
      open({ servers: cluster.addresses, answerMs: 1_000 }).catch(() => undefined);
    const leases = await seen(opening, "a bucket that answers");
    await until(() =>
      leases.check().then(
        () => true,
        () => false,
      ),
    );
    const [, second, third] = cluster.servers;
    await second?.kill();
    await third?.kill();
    await expect(leases.check()).rejects.toThrow();
    await second?.start();
    await third?.start();
    await until(() =>
      leases.check().then(
        () => true,
        () => false,
      ),
    );
  });
});
