// A cluster on a server that has accounts, permissions and TLS: what the guide tells its readers to set up.

import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Pid, System } from "signalbox";
import { type ClusterNode, joinCluster, nats } from "signalbox/nodes";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { describeNats, type NatsServer, startNats } from "../../support/nats.js";
import { until } from "../../support/until.js";

/** Users that may use the subjects of one cluster each. Both are of the same account. */
const USERS = `
authorization {
  users = [
    { user: shop, password: tea, permissions: { publish: "signalbox.shop.>", subscribe: "signalbox.shop.>" } }
    { user: bank, password: gold, permissions: { publish: "signalbox.bank.>", subscribe: "signalbox.bank.>" } }
  ]
}`;

const folder = mkdtempSync(join(tmpdir(), "signalbox-security-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The flags of a server with this configuration. */
function configured(text: string): readonly string[] {
  const file = join(folder, `${text.length}.conf`);
  writeFileSync(file, text);
  return ["-c", file];
}

const running: System[] = [];
afterEach(async () => {
  await Promise.all(running.splice(0).map((system) => system.stop()));
});

function enter(server: NatsServer, name: string, connection: object, cluster = "shop"): Promise<ClusterNode> {
  const system = new System({ name, report: false });
  running.push(system);
  return joinCluster(system, nats({ servers: server.address, cluster, presenceMs: 100, connection }));
}

/** Two nodes are a cluster: a message and its answer travel. */
async function talk(a: ClusterNode, b: ClusterNode): Promise<void> {
  const echo = b.system.spawn<{ readonly replyTo: never }>((ctx) =>
    ctx.receive().then(({ replyTo }) => ctx.reply(replyTo, "here" as never)),
  );
  b.system.register("echo", echo);
  await until(() => a.nodes().length === 2 && b.nodes().length === 2);
  const there = (await a.whereis("echo")) as Pid<never>;
  expect(await a.system.call(there, (replyTo) => ({ replyTo }) as never)).toBe("here");
}

describeNats("a server with users", () => {
  let server: NatsServer;
  beforeAll(async () => {
    server = await startNats(configured(USERS));
  });
  afterAll(() => server.stop());

  test("needs one permission for a cluster: that to its subjects [N1300]", async () => {
    const user = { user: "shop", pass: "tea" };
    await talk(await enter(server, "a", user), await enter(server, "b", user));
  });

  test("refuses a node without its password, by name [N1300]", async () => {
    await expect(enter(server, "a", { user: "shop", pass: "coffee" })).rejects.toMatchObject({
      code: "ERR_CLUSTER_CONNECT",
      message: expect.stringContaining("the cluster shop over NATS"),
    });
    await expect(enter(server, "a", {})).rejects.toMatchObject({ code: "ERR_CLUSTER_CONNECT" });
  });

  test("keeps a user of another cluster out, and the node says that it may not listen [N1300]", async () => {
    const shop = await enter(server, "a", { user: "shop", pass: "tea" });
    const told: string[] = [];
    const system = new System({ name: "thief", report: (text) => void told.push(text) });
    running.push(system);
    const connection = { user: "bank", pass: "gold" };
    const thief = await joinCluster(
      system,
      nats({ servers: server.address, cluster: "shop", presenceMs: 100, connection }),
    );
    await until(() => told.some((text) => text.includes("may not listen to signalbox.shop.")));
    expect(thief.nodes()).toHaveLength(1);
    expect(shop.nodes()).toHaveLength(1);
  });
});

const noOpenssl = (() => {
  try {
    execFileSync("openssl", ["version"], { stdio: "ignore" });
    return undefined;
  } catch {
    return "no openssl on this machine";
  }
})();

describe.skipIf(noOpenssl !== undefined)("over TLS", () => {
  describeNats("a server with a certificate", () => {
    let server: NatsServer;
    let ca: string;
    beforeAll(async () => {
      const [key, certificate] = [join(folder, "key.pem"), join(folder, "certificate.pem")];
      execFileSync(
        "openssl",
        [
          ...["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"],
          ...["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate],
        ],
        { stdio: "ignore" },
      );
      ca = readFileSync(certificate, "utf8");
      server = await startNats(configured(`tls { cert_file: "${certificate}", key_file: "${key}" }`));
    });
    afterAll(() => server.stop());

    test("carries a cluster whose nodes know its authority [N1300]", async () => {
      const connection = { tls: { ca } };
      await talk(await enter(server, "a", connection), await enter(server, "b", connection));
    });

    test("is refused by a node that does not know its authority [N1300]", async () => {
      const refused = enter(server, "a", { tls: {} });
      await expect(refused).rejects.toMatchObject({ code: "ERR_CLUSTER_CONNECT" });
    });
  });
});
