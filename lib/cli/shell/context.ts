// The context of each command on a store: the terminal, the clock, the loader of modules, and the printer of results.

import { toJson } from "../../admin/json-view.js";
import type { Printer } from "./commands.js";
import { indentedJson } from "./json-text.js";
import { type Colour, type Style, styleOf } from "./style.js";
import type { Moments } from "./values.js";

/** The surroundings that a command uses. */
export interface StoreCommandHost extends Printer, Moments {
  /** The width of the terminal; undefined: there is none. */
  readonly columns: number | undefined;
  readonly colours: boolean;
  /** The variable SIGNALBOX_STORE. */
  readonly defaultStore: string | undefined;
  /** An ISO text of a moment in milliseconds since 1970. */
  iso(moment: number): string;
  /** Loads a module: by path from the working folder, or by URL. */
  load(module: string): Promise<object>;
}

/** Prints the results of a command. */
export interface Showing<Host extends StoreCommandHost, Status extends string> {
  readonly host: Host;
  readonly style: Style<Status>;
  readonly json: boolean;
  /** Prints one JSON document, or the text. */
  show(value: unknown, text: () => string): void;
}

/** @param by - the colours of the statuses */
export function showingOn<Host extends StoreCommandHost, Status extends string>(
  host: Host,
  json: boolean,
  by: Readonly<Record<Status, Colour>>,
): Showing<Host, Status> {
  return {
    host,
    json,
    style: styleOf(host.colours && !json, by),
    show: (value, text) => host.print(json ? indentedJson(toJson(value)) : text()),
  };
}
