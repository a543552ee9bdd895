// Kept schedules: a folder with one file for each exploration, which holds the tokens of its failing schedules. They run first in
// the next exploration, before the search, and stay as regression tests once they pass.

import type { SignalboxError } from "../../process/errors.js";
import { text } from "../../process/options.js";
import { ReplayOutdatedError } from "../report/errors.js";
import { decodeToken, InvalidTokenError, scenarioHash } from "../report/token.js";
import { host } from "../simulator/host.js";

/** A kept schedule that no longer fits its scenario. */
export interface OutdatedSchedule {
  /** Its token, or a damaged line of the file. */
  readonly token: string;
  /** Why it does not fit. */
  readonly why: string;
}

/** Most schedules that are kept for one exploration. */
const MOST_KEPT = 200;
const COMMENT = "#";

/** The file of one exploration. */
export class KeptSchedules {
  readonly outdated: OutdatedSchedule[] = [];
  readonly #path: string;
  readonly #name: string;
  readonly #title: string;

  /** @param title - name and options that a token is valid for */
  constructor(folder: string, name: string, title: string) {
    const file = name.replace(/[^\p{L}\p{N}._-]+/gu, "-");
    // Two names may differ only in characters that a file's name cannot have.
    const hash = scenarioHash(name).toString(16).padStart(8, "0");
    this.#path = `${text("corpus", folder).replace(/[\\/]+$/, "")}/${file}-${hash}.txt`;
    this.#name = name;
    this.#title = title;
  }

  /** The tokens that fit the name and the options of the exploration, sorted. Notes the others as outdated. */
  tokens(): readonly string[] {
    const fitting: string[] = [];
    for (const token of linesOf(host.read(this.#path))) {
      try {
        if (decodeToken(token).scenario === scenarioHash(this.#title)) fitting.push(token);
        else this.drop(token, new ReplayOutdatedError(-1, this.#title, 0, 0));
      } catch (error) {
        if (!(error instanceof InvalidTokenError)) throw error;
        this.drop(token, error);
      }
    }
    return fitting;
  }

  /** Notes a schedule as outdated. It stays in the file until you remove it. */
  drop(token: string, error: SignalboxError): void {
    this.outdated.push({ token, why: error.message });
  }

  /** Reports the outdated schedules as one warning of the process. */
  warn(): void {
    const { length } = this.outdated;
    if (length === 0) return;
    const which = this.outdated.map(({ token, why }) => `\n  ${token}: ${why}`).join("");
    host.warn(
      `${length === 1 ? "a kept schedule" : `${length} kept schedules`} of ${this.#name} no longer fit${length === 1 ? "s" : ""}, ` +
        `and did not run; remove ${length === 1 ? "it" : "them"} from ${this.#path}:${which}`,
    );
  }

  add(token: string): void {
    host.change(this.#path, (content) => {
      const tokens = new Set([...linesOf(content), token]);
      if (tokens.size > MOST_KEPT) {
        host.warn(`${this.#path} holds ${MOST_KEPT} schedules, the most; ${token} is not kept`);
        return content;
      }
      const head = `${COMMENT} Failing schedules of ${this.#name}. They run first.\n`;
      return `${head}${[...tokens].sort().join("\n")}\n`;
    });
  }
}

/** The lines that hold tokens. */
function linesOf(content: string | undefined): readonly string[] {
  const lines = (content ?? "").split("\n").map((line) => line.trim());
  return lines.filter((line) => line !== "" && !line.startsWith(COMMENT));
}
