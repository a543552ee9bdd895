// The error of an export that is not possible.

import { SignalboxError } from "../../process/errors.js";
import type { StormFinding } from "./finding.js";

/**
 * A topology cannot be exported for Storm. The message lists every part that Storm has no form for.
 *
 * @remedy Change the listed parts; `instead` of each finding says to what. Then export again.
 */
export class StormExportError extends SignalboxError {
  static override readonly name: string = "StormExportError";
  readonly code = "ERR_STORM_EXPORT";
  /** Name of the topology. */
  readonly topology: string;
  /** All findings, those that block the export first. */
  readonly findings: readonly StormFinding[];
  constructor(topology: string, findings: readonly StormFinding[]) {
    const blocking = findings.filter(({ effect }) => effect === "blocks");
    const list = blocking.map(({ place, text, instead }) => `${place}: ${text} Instead: ${instead}`);
    super(`topology ${topology} cannot be exported for Storm. ${list.join(" ")}`);
    this.topology = topology;
    this.findings = findings;
  }
}
