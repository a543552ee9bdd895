// The entrances of the observer.

import type { System } from "signalbox";
import { history, observer, observerHandler } from "signalbox/observer";
import { type Lines, on } from "./lines.js";

export async function observers(system: System): Promise<Lines> {
  const handler = observerHandler(system);
  return {
    history: () => [history, {}],
    observer: () => [observer, { port: 0 }],
    observerHandler: () => [observerHandler, system, {}],
    "ObserverHandler.fetch": () => [on(handler, "fetch"), new Request("http://localhost/app.js"), {}],
  };
}
