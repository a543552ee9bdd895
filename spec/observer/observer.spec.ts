// The observer with its own server, over real sockets, in virtual time.

import { createServer } from "node:http";
import { connect, type Socket } from "node:net";
import { type Pid, System, supervisor } from "signalbox";
import { history, type ObserverAddress, type ObserverOptions, observer } from "signalbox/observer";
import { type TestClock, testClock } from "signalbox/testing";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { keptFor } from "../../lib/admin/history/kept.js";
import type { Json } from "../../lib/admin/json-view.js";
import { observerOf } from "../../lib/observer/observer.js";
import { until } from "../support/until.js";
import { EventReader } from "./support.js";

let clock: TestClock;
let system: System;
let reports: string[];
beforeEach(() => {
  clock = testClock();
  reports = [];
  system = new System({
    name: "shop",
    environment: clock.environment,
    report: (text) => void reports.push(text),
  });
});
afterEach(async () => {
  await clock.until(system.stop({ timeoutMs: 0 }));
});

const TOKEN = "a-token-of-this-test";
const labelled = (label: string): Pid => system.processes().find((pid) => pid.label === label) as Pid;

/** Starts an observer beside a process of the service, under one supervisor. */
async function started(options: Partial<ObserverOptions> = {}): Promise<{ at(): ObserverAddress }> {
  const addresses: ObserverAddress[] = [];
  const start = observer({
    port: 0,
    token: TOKEN,
    onListening: (one) => void addresses.push(one),
    ...options,
  });
  await system.start(
    supervisor({
      children: [
        { id: "clerk", start: { handle: () => undefined }, name: "clerk" },
        { id: "observer", start },
      ],
    }),
  );
  return { at: () => addresses.at(-1) as ObserverAddress };
}

function call(
  { url, token }: ObserverAddress,
  path: string,
  body: object,
  headers: object = {},
): Promise<Response> {
  return fetch(new URL(path, url), {
    method: "POST",
    body: JSON.stringify(body),
    headers: { "content-type": "application/json", authorization: `Bearer ${token}`, ...headers },
  });
}

async function opened(address: ObserverAddress, op = "system.nodes"): Promise<EventReader> {
  const response = await call(address, "/api/feed", { views: [{ key: "all", op, hz: 4 }] });
  expect(response.status).toBe(200);
  return new EventReader(response.body as ReadableStream<Uint8Array>);
}

describe("an observer", () => {
  it("is open when it has started, and says where [N1563]", async () => {
    const ref = await system.start(observer({ port: 0 }));
    const { url, host, port, token } = ref.address as ObserverAddress;
    expect(host).toBe("127.0.0.1");
    expect(url).toBe(`http://127.0.0.1:${port}/#token=${token}`);
    expect(reports).toEqual([`the observer of shop is open at ${url}`]);
    expect((await call(ref.address as ObserverAddress, "/api/hello", {})).status).toBe(200);
  });

  it("keeps a token of the user's out of reports [N1568]", async () => {
    await system.start(observer({ port: 0, token: TOKEN }));
    expect(reports).toHaveLength(1);
    expect(reports[0]).not.toContain(TOKEN);
  });

  it("takes requests for its own hosts alone [N1564]", async () => {
    const { at } = await started();
    const raw = (line: string, ...headers: string[]): Promise<string> =>
      new Promise((resolve) => {
        const socket = connect(at().port, "127.0.0.1");
        let text = "";
        socket.on("data", (data) => {
          text += String(data);
        });
        socket.on("close", () => resolve(text.split("\r\n", 1)[0] as string));
        socket.write(`${[line, ...headers, "Connection: close"].join("\r\n")}\r\n\r\n`);
      });
    const page = "GET / HTTP/1.1";
    expect(await raw(page, "Host: evil.example")).toContain("403");
    expect(await raw(page, `Host: evil.example:${at().port}`)).toContain("403");
    expect(await raw(page, "Host: evil.example", "X-Forwarded-Host: localhost")).toContain("403");
    expect(await raw(page, "Host: evil.example", "Host: localhost")).not.toContain("200");
    expect(await raw("GET http://localhost/ HTTP/1.1", "Host: evil.example")).toContain("403");
    expect(await raw("GET / HTTP/1.0")).toContain("403");
    expect(await raw(page)).toContain("400");
    expect(await raw(page, "Host: localhost")).not.toContain("403");
  });

  it("whose feed crashes goes on: live views end, new ones work, and the service does not notice [N1563]", async () => {
    const { at } = await started();
    const reader = await opened(at());
    await reader.next();
    const clerk = system.whereis("clerk");
    system.exit(labelled("feed"), "kill");
    expect(await reader.next()).toBeUndefined();
    await until(() => labelled("feed") !== undefined);
    await clock.settle();
    const again = await opened(at());
    expect((await again.next())?.type).toBe("whole");
    await again.cancel();
    expect(system.whereis("clerk")).toBe(clerk);
  });

  it("whose server crashes listens again [N1563]", async () => {
    const { at } = await started();
    const { port } = at();
    const reader = await opened(at());
    await reader.next();
    system.exit(labelled("server"), "kill");
    await reader.next().catch(() => undefined);
    await until(() => at().port !== port);
    await (await opened(at())).cancel();
  });

  it("that is ended again and again is given up by its own supervisor, and restarted by the service's [N1563]", async () => {
    const { at } = await started();
    const first = labelled("observer");
    const clerk = system.whereis("clerk");
    // Restarts of a child that crashes again wait a little.
    const becomes = (isSo: () => boolean): Promise<void> =>
      until(async () => {
        await clock.advance(50);
        return isSo();
      });
    while (labelled("observer") === first) {
      const feed = labelled("feed");
      system.exit(feed, "kill");
      await becomes(() => labelled("feed") !== undefined && labelled("feed") !== feed);
    }
    await becomes(() => labelled("server") !== undefined);
    await clock.settle();
    await (await opened(at())).cancel();
    expect(system.whereis("clerk")).toBe(clerk);
  });

  it("stops at once with open live views, and leaves nothing behind [N1563]", async () => {
    const { at } = await started();
    const readers = await Promise.all([opened(at()), opened(at()), opened(at())]);
    for (const reader of readers) await reader.next();
    const stopping = system.stop({ timeoutMs: 10_000 });
    expect(await Promise.all(readers.map((reader) => reader.next()))).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
    await clock.until(stopping);
    await expect(fetch(at().url)).rejects.toThrow();
    expect(system.processes()).toEqual([]);
  });

  it("answers 503 with a text while the page is not built, and the page after it [N1578]", async () => {
    const { at } = await started();
    const page = await fetch(at().url);
    expect([200, 503]).toContain(page.status);
    expect(page.headers.get("content-security-policy")).toContain("frame-ancestors 'none'");
    await page.arrayBuffer();
  });
});

describe("the history of a system", () => {
  it("is kept while an observer runs, and no longer [N1563]", async () => {
    const kept = keptFor(system.kernel);
    expect(kept.isOn).toBe(false);
    const ref = await system.start(observer({ port: 0 }));
    expect(kept.isOn).toBe(true);
    expect(ref.address).toBeDefined();
    system.exit(labelled("observer"), "shutdown");
    await until(() => !kept.isOn);
  });

  it("is kept while `history` runs [N1563]", async () => {
    const kept = keptFor(system.kernel);
    const pid = await system.start(history());
    expect(kept.isOn).toBe(true);
    system.exit(pid, "shutdown");
    await until(() => !kept.isOn);
  });
});

describe("ten clients that do not read", () => {
  const PIECE = "x".repeat(1_000);
  /** Two megabytes, of which all is new each time. */
  const large = (turn: number): Json => Array.from({ length: 2_000 }, (_, i) => `${turn} ${i} ${PIECE}`);

  it("get a value or two each, hold no other client and no memory, and go on with the latest [N1573]", async () => {
    let turn = 0;
    let isLarge = true;
    const sockets: Socket[] = [];
    const start = observerOf(
      {
        port: 0,
        token: TOKEN,
        createServer: (options, listener) =>
          createServer(options, listener).on("connection", (one) => sockets.push(one)),
      },
      () => ({
        name: "shop",
        systems: [],
        names: [],
        leaveOf: () => "look",
        look: async () => (isLarge ? large(++turn) : turn),
      }),
    );
    const { address } = await system.start(start);
    const { port } = address as ObserverAddress;
    const body = JSON.stringify({ views: [{ key: "all", op: "big", hz: 4 }] });
    const slow = Array.from({ length: 10 }, () => {
      const socket = connect(port, "127.0.0.1").pause();
      socket.write(
        `POST /api/feed HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAuthorization: Bearer ${TOKEN}\r\n` +
          `Content-Length: ${body.length}\r\n\r\n${body}`,
      );
      return socket;
    });
    await until(() => sockets.length === 10 && sockets.every(({ bytesWritten }) => bytesWritten > 0));
    const fast = await opened(address as ObserverAddress, "big");
    await fast.next();
    for (let i = 0; i < 12; i++) {
      const [event] = await Promise.all([fast.next(), clock.advance(250)]);
      expect(event?.type).toBe("change");
    }
    const whole = JSON.stringify(large(1)).length;
    // At most what Node's buffer may hold, and the one value that filled it.
    for (const socket of sockets.slice(0, 10)) {
      expect(socket.writableLength).toBeLessThan(1.2 * whole);
      expect(socket.bytesWritten).toBeLessThan(6 * whole);
    }
    // One of them reads at last.
    const [late] = slow as [Socket];
    let text = "";
    late.on("data", (data) => {
      text = (text + String(data)).slice(-whole);
    });
    late.resume();
    await until(() => text.includes(`${turn} 1999 `));
    // The others are disconnected after a minute, with what they have not taken.
    isLarge = false;
    const [, ...stalled] = sockets.slice(0, 10);
    await Promise.all([until(() => stalled.every(({ destroyed }) => destroyed)), clock.advance(61_000)]);
    for (const socket of slow) socket.destroy();
    await fast.cancel();
    expect(reports.filter((text) => !text.includes("is open at"))).toEqual([]);
  }, 60_000);
});
