import { OptionError } from "signalbox";
import { describe, expect, test } from "vitest";
import { clientOptions, loadJetStream, loadTransport, natsServers } from "../../lib/host/nats-client.js";
import { PackageMissingError } from "../../lib/process/package-missing.js";

describe("the client of NATS", () => {
  const gone = (): Promise<never> => Promise.reject(new Error("not found"));

  test("is named with its versions and its purpose where it is not installed [N1430]", async () => {
    const transport = loadTransport("a cluster over NATS", gone);
    await expect(transport).rejects.toThrow(PackageMissingError);
    await expect(transport).rejects.toThrow(
      "a cluster over NATS needs the package @nats-io/transport-node (^3.4.0): npm install @nats-io/transport-node@^3.4.0",
    );
    await expect(loadJetStream("leases over JetStream", gone)).rejects.toThrow(
      "leases over JetStream needs the packages @nats-io/transport-node and @nats-io/jetstream (^3.4.0): " +
        "npm install @nats-io/transport-node@^3.4.0 @nats-io/jetstream@^3.4.0",
    );
  });

  test("takes one address or several, and an object of options of its own", () => {
    expect(natsServers("servers", "a:1")).toEqual(["a:1"]);
    expect(natsServers("servers", ["a:1", "b:1"])).toEqual(["a:1", "b:1"]);
    expect(() => natsServers("servers", [])).toThrow("servers must be the address of a server, or several");
    expect(() => natsServers("servers", ["a:1", ""])).toThrow("servers[1]");
    expect(clientOptions("connection", { tls: {} })).toEqual({ tls: {} });
    for (const wrong of ["me", null, []])
      expect(() => clientOptions("connection", wrong)).toThrow(OptionError);
  });
});
