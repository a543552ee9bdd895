// What a page says of itself: the frame makes the navigation of it.

import type { FunctionComponent } from "preact";
import type { Subject } from "./session.js";

export interface PageSpec {
  /** Its name in the address. */
  readonly name: string;
  readonly title: string;
  /** Under which heading it is in the navigation. */
  readonly group: "System" | "Work" | "Traces";
  /** The page is there when the service offers operations on this. */
  readonly needs: Subject;
  /** The letter behind `g` that opens it. */
  readonly letter?: string | undefined;
  /** A page about one thing is opened by links, and is in no navigation. */
  readonly isHidden?: boolean;
  readonly View: FunctionComponent;
}
