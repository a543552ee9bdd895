// The instructions of the random programs by theme, as docs/decisions/0041-random-programs.md shows them.

import { THEMES } from "./themes.js";

export function instructionTable(): string {
  const rows = Object.entries(THEMES).map(
    ([name, { operations }]) => `| ${name} | ${Object.keys(operations).join(", ")} |`,
  );
  return ["| theme | instructions |", "|---|---|", ...rows].join("\n");
}
