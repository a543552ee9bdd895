// The address as a signal. Links carry the view: what a page shows is in its parameters, so that an address which is passed on shows the
// same, and the button of the browser leads back.

import { type ReadonlySignal, type Signal, signal } from "@preact/signals";
import { type Changes, changedRoute, formatRoute, parseRoute, type Route } from "../model/route.js";
import { storeCarried } from "../model/stores.js";
import { knownStores } from "./session.js";

const own: Signal<Route> = signal(parseRoute(""));

export const route: ReadonlySignal<Route> = own;

/** The address of a page, for a link. Of several stores, it carries the one that this page is about. */
export function link(page: string, params: Changes = {}): string {
  return formatRoute(page, { store: storeCarried(page, own.value, knownStores()), ...params });
}

/** Opens a page, as a click on its link does. */
export function go(page: string, params: Changes = {}): void {
  location.hash = link(page, params);
}

/** Changes parameters of the view. They replace the address: the button of the browser leads to the page before. */
export function setParams(changes: Changes): void {
  const next = changedRoute(own.value, changes);
  history.replaceState(null, "", formatRoute(next.page, next.params));
  own.value = next;
}

export interface RouteUse extends Route {
  set(changes: Changes): void;
}

/** The address, in a component. */
export function useRoute(): RouteUse {
  return { ...own.value, set: setParams };
}

/** Follows the address from now on. @param home - the page that is shown when the address names none */
export function beginRouter(home: string): void {
  const read = (): void => {
    own.value = parseRoute(location.hash);
    if (own.value.page === "") {
      history.replaceState(null, "", formatRoute(home));
      own.value = parseRoute(location.hash);
    }
  };
  addEventListener("hashchange", read);
  read();
}
