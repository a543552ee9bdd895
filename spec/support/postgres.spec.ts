import { chmodSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "pg";
import { expect, it, vi } from "vitest";
import { describePostgres, type PostgresServer, startPostgres } from "./postgres.js";

async function asked(server: PostgresServer, sql: string): Promise<unknown[]> {
  const client = new Client(server.connection);
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

describePostgres("a PostgreSQL server for tests", () => {
  it("keeps what was committed over a restart and over SIGKILL, and leaves no process behind", async () => {
    const server = await startPostgres({ fsync: true });
    try {
      await asked(server, "create table kept (n int)");
      await asked(server, "insert into kept values (1)");
      await server.restart();
      await asked(server, "insert into kept values (2)");
      await server.kill();
      await expect(asked(server, "select 1")).rejects.toThrow();
      await server.start();
      expect(await asked(server, "select n from kept order by n")).toEqual([{ n: 1 }, { n: 2 }]);
    } finally {
      await server.stop();
    }
    expect(() => process.kill(server.pid, 0)).toThrow();
  });

  it.each([
    ["that its user cannot enter", "private", 0o700],
    ["whose path is too long for a socket", "long".repeat(20), 0o755],
  ])("starts where temporary files are in a folder %s", async (_, name, mode) => {
    const folder = mkdtempSync(join(tmpdir(), "signalbox-tmp-"));
    try {
      chmodSync(folder, mode);
      mkdirSync(join(folder, name));
      vi.stubEnv("TMPDIR", join(folder, name));
      await using server = await startPostgres();
      expect(await asked(server, "select 1 as n")).toEqual([{ n: 1 }]);
    } finally {
      vi.unstubAllEnvs();
      rmSync(folder, { recursive: true });
    }
  });
});
