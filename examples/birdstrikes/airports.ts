// Which airport of the airports file a name of the FAA's means. Both spell names in their own way.

import { readFileSync } from "node:fs";
import { parse } from "csv-parse/sync";
import { DeadLetterError } from "signalbox/pipeline";
import type { LocatedStrike, Strike } from "./strike.js";

/** Names that have other words in the airports file. */
const RENAMED: Readonly<Record<string, string>> = {
  "ATLANTA INTL": "ATL",
  "BALTIMORE WASH INTL": "BWI",
  "DETROIT METRO WAYNE COUNTY ARPT": "DTW",
  "FORT LAUDERDALE/HOLLYWOOD INTL": "FLL",
  "GREATER PITTSBURGH": "PIT",
  "HOUSTON-HOBBY": "HOU",
  "LAGUARDIA NY": "LGA",
  "LOGAN INTL": "BOS",
  "LOUISVILLE INTL ARPT": "SDF",
  "METRO OAKLAND INTL": "OAK",
  "MINETA SAN JOSE INTL": "SJC",
  "NEWARK LIBERTY INTL ARPT": "EWR",
  "PORTLAND INTL (OR)": "PDX",
  "RONALD REAGAN WASHINGTON NATL": "DCA",
  "SAN ANTONIO INTL": "SAT",
};

/** Words that one of the two leaves out, or writes in another way. */
const NOISE: ReadonlySet<string> = new Set(["international", "intl", "airport", "arpt"]);

const keyOf = (name: string): string =>
  name
    .toLowerCase()
    .split(/[^a-z]+/)
    .filter((word) => word !== "" && !NOISE.has(word))
    .sort()
    .join(" ");

/** Airports by name. */
export class Airports {
  private readonly codes = new Set<string>();
  private readonly byKey = new Map<string, string>();

  /** @param file - CSV with the columns iata and name */
  constructor(file: string) {
    for (const { iata, name } of parse(readFileSync(file), { columns: true }) as Record<
      "iata" | "name",
      string
    >[]) {
      this.codes.add(iata);
      this.byKey.set(keyOf(name), iata);
    }
  }

  /** @throws DeadLetterError for an airport that the file does not have */
  locate(strike: Strike): LocatedStrike {
    const renamed = RENAMED[strike.airport];
    const iata = renamed ?? this.byKey.get(keyOf(strike.airport));
    if (iata === undefined || !this.codes.has(iata))
      throw new DeadLetterError(`unknown airport: ${strike.airport}`);
    return { ...strike, iata };
  }
}
