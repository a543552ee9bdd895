// The programs of nodes.ts on the client of NATS alone: a message is a `publish`, a round trip a `request`, and a value its JSON.

import { connect, type NatsConnection } from "@nats-io/transport-node";
import { benchNats } from "./bench-nats.js";
import { compiledFar, Far } from "./far.js";
import { OPEN, type TwoNodes, timedOn, tripFigures, WARM_UP } from "./nodes.js";
import type { Figures, Program, Run } from "./program.js";
import { SIZES } from "./sizes.js";
import { askAll, sendAll, sumOf, timeAll } from "./windows.js";

const HERE: TwoNodes = { servers: benchNats, far: compiledFar("nats-far") };
const ASK_MS = 60_000;

let prefixes = 0;

async function onTwoClients(
  { servers, far }: TwoNodes,
  work: (
    connection: NatsConnection,
    prefix: string,
    both: ReturnType<typeof timedOn>,
  ) => Promise<{ counted: number; figures: Figures }>,
): Promise<Run> {
  const prefix = `bare-${process.pid}-${++prefixes}`;
  const connection = await connect({ servers: servers() });
  const other = await Far.start(far, [servers(), prefix]);
  const run = await work(connection, prefix, timedOn(other));
  const end = async (): Promise<void> => {
    await connection.close();
    await other.kill();
  };
  return { ...run, end };
}

async function ask(connection: NatsConnection, subject: string, value: unknown): Promise<number> {
  const answer = await connection.request(subject, JSON.stringify(value), { timeout: ASK_MS });
  return answer.json<number>();
}

/** One message each. */
export function bareSend(count: number, two: TwoNodes = HERE): Program {
  return {
    operations: count,
    expected: count,
    once: true,
    run: () =>
      onTwoClients(two, async (connection, prefix, both) => {
        const run = (messages: number): Promise<number> =>
          sendAll(
            messages,
            (n) => connection.publish(`${prefix}.count`, JSON.stringify({ order: n, item: "a lamp" })),
            () => ask(connection, `${prefix}.counted`, {}),
          );
        await run(Math.ceil(count * WARM_UP));
        const { result, perSecond } = await both(() => run(count));
        return { counted: result, figures: perSecond(count) };
      }),
  };
}

/** Many requests open at once. */
export function bareCalls(count: number, two: TwoNodes = HERE): Program {
  return {
    operations: count,
    expected: sumOf(count),
    once: true,
    run: () =>
      onTwoClients(two, async (connection, prefix, both) => {
        const run = (calls: number): Promise<number> =>
          askAll(calls, OPEN, (n) => ask(connection, `${prefix}.echo`, { n }));
        await run(Math.ceil(count * WARM_UP));
        const { result, perSecond } = await both(() => run(count));
        return { counted: result, figures: perSecond(count) };
      }),
  };
}

/** One request after the other. */
export function bareRoundTrip(count: number, two: TwoNodes = HERE): Program {
  return {
    operations: count,
    expected: sumOf(count),
    once: true,
    run: () =>
      onTwoClients(two, async (connection, prefix) => {
        const run = (calls: number) => timeAll(calls, (n) => ask(connection, `${prefix}.echo`, { n }));
        await run(Math.ceil(count * WARM_UP));
        const { sum, us } = await run(count);
        return { counted: sum, figures: tripFigures(us) };
      }),
  };
}

export const programs: Readonly<Record<string, Program>> = {
  "node-send": bareSend(SIZES.nodes.send),
  "node-calls": bareCalls(SIZES.nodes.calls),
  "node-round-trip": bareRoundTrip(SIZES.nodes.roundTrips),
  "node-round-trip-p99": bareRoundTrip(SIZES.nodes.roundTrips),
};
