// Rolling restarts under load, with the options of a user who sets none. Two instances stand behind a balancer, which knows
// nothing but readiness; clients keep their connections. No answer is lost: not by a reset, and not by a refusal after acceptance.

import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import autocannon, { type Result } from "autocannon";
import { supervisor } from "signalbox";
import { httpServer, run, type Service } from "signalbox/service";
import { Pool } from "undici";
import { afterEach, expect, it } from "vitest";
import { gate } from "../../support/gate.js";
import { until } from "../../support/until.js";

const RESTARTS = 6;
/** Answers between two restarts. */
const APART = 120;
/** Requests to a target between two looks at its readiness. */
const LOOK_EVERY = 20;
const CONNECTIONS = 16;
const ORDER = JSON.stringify({ item: "tea", note: "x".repeat(2_000) });

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

/** One instance of the service, and what it has done. */
class Instance {
  readonly service: Service<unknown>;
  readonly reports: string[] = [];
  readonly #port = gate<number>();
  /** Orders that a handler has begun to answer. */
  accepted = 0;

  constructor() {
    const report = (text: string): void => void this.reports.push(text);
    this.service = run(
      (_config, { health }) =>
        supervisor({
          children: [
            {
              id: "http",
              start: httpServer(
                { fetch: (request) => (isProbe(request) ? health.fetch(request) : this.#order(request)) },
                { port: 0, host: "127.0.0.1", onListening: ({ port }) => this.#port.open(port) },
              ),
            },
          ],
        }),
      { host: false, system: { name: "shop", report } },
    );
    closing.push(() => this.service.system.stop({ timeoutMs: 0 }));
  }

  async origin(): Promise<string> {
    await this.service.started;
    return `http://127.0.0.1:${await this.#port.promise}`;
  }

  async #order(request: Request): Promise<Response> {
    const number = ++this.accepted;
    const text = await request.text();
    // Some answers are a text, some a stream, and each third waits for the host.
    if (number % 3 === 0) await new Promise((resolve) => setImmediate(resolve));
    return number % 2 === 0 ? new Response(text) : new Response(new Blob([text]).stream());
  }
}

const isProbe = ({ url }: Request): boolean => url.endsWith("/readyz");

/** Sends each request to an instance that was ready when it was asked last. Its connections are kept. */
class Balancer {
  answered = 0;
  refused = 0;
  readonly lost: string[] = [];
  readonly #targets: Pool[] = [];
  #next = 0;

  add(origin: string): void {
    const pool = new Pool(origin, { connections: CONNECTIONS });
    closing.push(() => pool.destroy());
    this.#targets.push(pool);
  }

  /** A connection that did not come about has taken no request, so another instance gets it. All else is not tried again. */
  async send(body: string): Promise<string> {
    for (;;) {
      const target = this.#targets[this.#next++ % this.#targets.length];
      if (target === undefined) throw new Error("no instance is ready");
      if (this.#next % LOOK_EVERY === 0) void this.#look(target);
      try {
        const answer = await target.request({ path: "/orders", method: "POST", body });
        const text = await answer.body.text();
        if (answer.statusCode !== 200 || text !== body) throw new Error(`${answer.statusCode} ${text}`);
        this.answered++;
        return text;
      } catch (error) {
        if (!isRefusal(error)) throw this.#loss(error);
        this.refused++;
        this.#drop(target);
      }
    }
  }

  async #look(target: Pool): Promise<void> {
    try {
      const { statusCode, body } = await target.request({ path: "/readyz", method: "GET" });
      await body.dump();
      if (statusCode !== 200) this.#drop(target);
    } catch {
      this.#drop(target);
    }
  }

  #drop(target: Pool): void {
    const place = this.#targets.indexOf(target);
    if (place < 0) return;
    this.#targets.splice(place, 1);
    // Lets the requests end that it has sent.
    void target.close();
  }

  #loss(error: unknown): unknown {
    this.lost.push(String(error));
    return error;
  }
}

/** Refused by the host, or reset because the listener closed before it accepted the connection. */
const isRefusal = (error: unknown): boolean =>
  ["ECONNREFUSED", "ECONNRESET"].includes((error as NodeJS.ErrnoException).code ?? "") &&
  (error as NodeJS.ErrnoException).syscall === "connect";

/** A server that passes requests on to the balancer: the one address that autocannon knows. */
async function frontOf(balancer: Balancer): Promise<string> {
  const front = createServer(async (incoming: IncomingMessage, outgoing) => {
    try {
      let body = "";
      for await (const chunk of incoming) body += chunk;
      outgoing.end(await balancer.send(body));
    } catch {
      outgoing.writeHead(502).end();
    }
  });
  await new Promise<void>((resolve) => front.listen(0, "127.0.0.1", resolve));
  closing.push(() => {
    front.closeAllConnections();
    front.close();
  });
  return `http://127.0.0.1:${(front.address() as AddressInfo).port}`;
}

it("loses no answer in six rolling restarts under load, by default [A23]", { timeout: 60_000 }, async () => {
  const balancer = new Balancer();
  const instances = [new Instance(), new Instance()];
  for (const instance of instances) balancer.add(await instance.origin());
  const url = await frontOf(balancer);
  const result = gate<Result>();
  const load = autocannon(
    { url, method: "POST", body: ORDER, expectBody: ORDER, connections: CONNECTIONS, duration: 3_600 },
    (_error, all) => result.open(all),
  );
  closing.push(() => load.stop());
  for (let restart = 0; restart < RESTARTS; restart++) {
    const from = balancer.answered;
    await until(() => balancer.answered >= from + APART || balancer.lost.length > 0);
    const next = new Instance();
    instances.push(next);
    balancer.add(await next.origin());
    const { text } = await (instances[restart] as Instance).service.stop();
    expect(text).toBe("shop was stopped");
  }
  load.stop();
  const { errors, timeouts, non2xx, mismatches } = await result.promise;
  expect(balancer.lost).toEqual([]);
  expect({ errors, timeouts, non2xx, mismatches }).toEqual({
    errors: 0,
    timeouts: 0,
    non2xx: 0,
    mismatches: 0,
  });
  expect(instances.flatMap(({ reports }) => reports)).toEqual([]);
  expect(balancer.answered).toBeGreaterThan(RESTARTS * APART);
  const accepted = instances.reduce((sum, instance) => sum + instance.accepted, 0);
  expect(accepted - balancer.answered).toBeLessThanOrEqual(CONNECTIONS);
});
