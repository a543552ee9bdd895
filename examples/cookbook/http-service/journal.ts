// The journal: one process owns a file and appends one line after the other. An accepted order is on the disk.

import { open } from "node:fs/promises";
import { defineServer, type ServerDefinition, type ServerRef } from "signalbox";

/** What the journal writes to: a file, a table, or a fake of a test. */
export interface Log {
  /** Resolves when the line is safe. */
  append(line: string): Promise<void>;
  close(): Promise<void>;
}

type Calls = { append(log: Log, entry: object): Promise<void> };
export type JournalRef = ServerRef<Calls, Record<never, never>>;

export const Journal: ServerDefinition<
  [open: () => Promise<Log>],
  Calls,
  Record<never, never>
> = defineServer({
  label: "journal",
  init: (_ctx, openLog: () => Promise<Log>) => openLog(),
  calls: { append: (log: Log, entry: object) => log.append(`${JSON.stringify(entry)}\n`) },
  trapExit: true, // so that `terminate` runs when the supervisor stops this process
  terminate: (log) => log.close(),
});

export async function openFile(path: string): Promise<Log> {
  const file = await open(path, "a");
  return {
    append: async (line) => {
      await file.appendFile(line);
      await file.datasync();
    },
    close: () => file.close(),
  };
}
