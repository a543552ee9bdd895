// Two hosts with one id: the second is refused, and told who holds the id and since when.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { System } from "signalbox";
import { defineFlow, FlowHostTakenError, flowHost } from "signalbox/flow";
import { memory, postgres, type StoreSource, sqlite } from "signalbox/store";
import { expect, it } from "vitest";
import { describePostgres, startPostgres } from "../../support/postgres.js";

const idle = defineFlow("idle", async () => 1);

async function twoHosts(store: StoreSource, other: StoreSource): Promise<void> {
  const before = Date.now() - 60_000;
  await using first = new System({ report: false });
  await using second = new System({ report: false });
  const open = (system: System, source: StoreSource, hostId: string) =>
    system.start(flowHost({ store: source, flows: [idle], hostId, socket: false }));
  await open(first, store, "till-1");
  const error = await open(second, other, "till-1").then(
    () => undefined,
    (reason: unknown) => reason as { cause?: unknown },
  );
  const taken = (error instanceof FlowHostTakenError ? error : error?.cause) as FlowHostTakenError;
  expect(taken).toBeInstanceOf(FlowHostTakenError);
  expect(taken).toMatchObject({ code: "ERR_FLOW_HOST_TAKEN", hostId: "till-1" });
  const [, since] =
    /^the host id till-1 is taken on \S.*: process \d+ on \S+ holds it since (\S+ \S+) UTC; give each host an id of its own/.exec(
      taken.message,
    ) ?? [];
  expect(Date.parse(`${since}Z`)).toBeGreaterThan(before);
  // Another id is free, and so is this one when its host has stopped.
  await open(second, other, "till-2");
  await first.stop();
  await using third = new System({ report: false });
  await open(third, other, "till-1");
}

it("a host id that a living host holds in memory is refused", () => {
  const store = memory();
  return twoHosts(store, store);
});

it("a host id that a living host holds on SQLite is refused", async () => {
  const folder = mkdtempSync(join(tmpdir(), "signalbox-host-"));
  try {
    await twoHosts(sqlite(join(folder, "a.db")), sqlite(join(folder, "a.db")));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

describePostgres("with a server", () => {
  it("a host id that a living host holds on PostgreSQL is refused", async () => {
    const server = await startPostgres();
    try {
      await twoHosts(postgres(server.connection), postgres(server.connection));
    } finally {
      await server.stop();
    }
  });
});
