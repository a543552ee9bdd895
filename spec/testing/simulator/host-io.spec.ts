// I/O of the host ends when it likes: code under simulation that begins some is stopped where it calls.

import { pbkdf2, scrypt } from "node:crypto";
import dns from "node:dns";
import { lookup } from "node:dns/promises";
import { readFile } from "node:fs";
import http from "node:http";
import { connect } from "node:net";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { explore, HostIoError, type Scenario, UncontrolledAwaitError } from "signalbox/testing";
import { describe, expect, test } from "vitest";
import { causeOf, errorOf } from "../support/found.js";

const NOWHERE = "http://127.0.0.1:9/";

const uses: readonly [name: string, use: () => unknown][] = [
  ["fetch", () => fetch(NOWHERE)],
  ["crypto.pbkdf2", () => promisify(pbkdf2)("a", "b", 1, 32, "sha256")],
  ["crypto.scrypt", () => promisify(scrypt)("a", "b", 32)],
  ["crypto.subtle.digest", () => crypto.subtle.digest("SHA-256", new Uint8Array(1))],
  ["dns.lookup", () => dns.lookup("localhost", () => undefined)],
  ["dns.promises.lookup", () => lookup("localhost")],
  ["http.get", () => http.get(NOWHERE)],
  ["net.connect", () => connect(9, "127.0.0.1")],
  ["zlib.gzip", () => promisify(gzip)("a")],
];

const inHandler = (use: () => unknown): Scenario => {
  return async (sim) => {
    const system = sim.system({ name: "shop" });
    const clerk = system.spawn<string>({ handle: async () => void (await use()) }, { label: "clerk" });
    system.send(clerk, "go");
    await sim.quiet();
  };
};

describe("I/O of the host", () => {
  test.each(uses)(
    "%s in a handler fails the schedule, and the error names process and place [T9]",
    async (name, use) => {
      const cause = await causeOf(inHandler(use), { schedules: 3 });
      expect(cause).toBeInstanceOf(HostIoError);
      expect((cause as Error).message).toMatch(
        new RegExp(
          `^shop/clerk called the host's ${name.replaceAll(".", "\\.")} at .*host-io\\.spec\\.ts:\\d+:\\d+: `,
        ),
      );
      expect((cause as Error).message).toContain("made with sim.io");
      expect((cause as Error).message).toContain("`allow`");
    },
  );

  test.each(uses)("%s in the scenario's own code does too", async (name, use) => {
    const cause = await causeOf(async () => void (await use()), { schedules: 3 });
    expect((cause as Error).message).toContain(`scenario called the host's ${name} at `);
  });

  test("of files is found where it is awaited, with the remedy", async () => {
    const read = (): Promise<unknown> => promisify(readFile)(fileURLToPath(import.meta.url));
    const cause = await causeOf(inHandler(read), { schedules: 3 });
    expect(cause).toBeInstanceOf(UncontrolledAwaitError);
    expect((cause as Error).message).toMatch(
      /^shop\/clerk awaits something .* at .*host-io\.spec\.ts:\d+:\d+ /,
    );
    expect((cause as Error).message).toContain("made with sim.io");
  });

  test("is allowed to the processes in `allow`, and then it works", async () => {
    let keys = 0;
    const use = async (): Promise<void> => {
      await promisify(pbkdf2)("a", "b", 1, 32, "sha256");
      keys++;
    };
    await explore(inHandler(use), { schedules: 3, recheck: 0, allow: "shop/clerk" });
    expect(keys).toBe(3);
  });

  test("that a test has replaced by a fake is left alone", async () => {
    const real = globalThis.fetch;
    const fake = async (): Promise<Response> => new Response("fake");
    globalThis.fetch = fake as typeof fetch;
    try {
      await explore(
        inHandler(async () => expect(await (await fetch(NOWHERE)).text()).toBe("fake")),
        { schedules: 3 },
      );
      expect(globalThis.fetch).toBe(fake);
    } finally {
      globalThis.fetch = real;
    }
  });

  test("is as it was after an exploration, and after a failed one", async () => {
    const functions = (): unknown[] => [fetch, pbkdf2, dns.lookup, lookup, http.get, connect, gzip];
    const before = functions();
    await explore(() => undefined, { schedules: 2 });
    expect(functions()).toEqual(before);
    await errorOf(explore(() => void fetch(NOWHERE), { schedules: 2 }));
    expect(functions()).toEqual(before);
  });
});
