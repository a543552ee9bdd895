// The rows of the operations on the history, for the table of the operations on a system.

import { ITEMS, type OperationTable } from "../operations/table.js";
import type { HistoryOperations } from "./operations.js";

export const HISTORY_ROWS: OperationTable<HistoryOperations> = {
  incidents: {
    kind: "list",
    leave: "look",
    page: ITEMS,
    placed: [],
    options: { after: true, limit: true, kind: true, pid: true },
    behind: ({ number }) => ({ after: number }),
  },
  recent: {
    kind: "ask",
    leave: "look",
    placed: [],
    options: { limit: true, kind: true, pid: true, beforeAt: true },
  },
  treeAt: { kind: "ask", leave: "look", placed: [], options: { at: true, limit: true } },
  overview: { kind: "ask", leave: "look", placed: [] },
};
