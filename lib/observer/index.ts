/**
 * signalbox/observer: a web page that shows a running system.
 *
 *     observer.ts          observer: the page with a server of its own, a child of a supervisor
 *     observer-handler.ts  observerHandler: the page below a path of a server that you have
 *     history.ts           history: keeps what went wrong, for those who look later
 *     server/              the requests: who may ask (guard.ts), what is asked, the files of the page
 *     feed/                the live data: each view is asked for once for all viewers, and sent as differences
 *     client/              the page's own code, built into page/
 *
 * @example
 * const Shop = supervisor({ children: [{ id: "observer", start: observer({ port: 4_000 }) }] });
 */

export {
  ObserverBusyError,
  ObserverReadOnlyError,
  ObserverRefusedError,
  ObserverRequestError,
} from "./feed/errors.js";
export { type HistoryDefinition, type HistoryOptions, history } from "./history.js";
export { type ObserverDefinition, ObserverRef, observer } from "./observer.js";
export { ObserverHandler, observerHandler } from "./observer-handler.js";
export type { ObserverAccessOptions, ObserverAddress, ObserverOptions } from "./options.js";
export type { ObserverAction } from "./server/audit.js";
