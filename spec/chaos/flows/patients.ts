// Who was in hospital, as far as the lives of poison-child.ts printed.

import { HURT } from "../poison/deeds.js";

/** The ids of flows, each once. */
export function patientsIn(stdout: string): readonly string[] {
  const lines = stdout.split("\n").filter((line) => line.startsWith(HURT));
  return [...new Set(lines.flatMap((line) => JSON.parse(line.slice(HURT.length)) as string[]))];
}
