// The end of a transaction that failed.

import type { Connection } from "./connection.js";

/** Rolls back what is open. A connection on which that fails is of no use. */
export async function rolledBack(connection: Connection): Promise<void> {
  if (!connection.isUsable) return;
  try {
    await connection.send([{ text: "rollback" }]);
  } catch {
    connection.destroy();
  }
}
