// The store that a list is about, where a program has several hosts of its kind.

import type { JSX } from "preact";
import { clipped, visible } from "../model/format.js";
import { storeMeant } from "../model/stores.js";
import { useRoute } from "../shell/router.js";
import { type Subject, useHello } from "../shell/session.js";
import { Badge } from "./figures.js";

export function StoreChoice({ subject }: { readonly subject: Subject }): JSX.Element | null {
  const { stores } = useHello();
  const { page, params, set } = useRoute();
  const own = stores[subject] ?? [];
  if (own.length < 2) return null;
  // A page about one thing says where that is: another store has another one, or none.
  if (params.id !== undefined)
    return params.store === undefined ? null : <Badge>{clipped(visible(params.store), 40)}</Badge>;
  const shown = storeMeant(subject, { page, params }, stores) ?? "";
  // A link may name one whose host has ended.
  const options = own.includes(shown) ? own : [shown, ...own];
  const choose = (event: Event): void => {
    const { value: store } = event.currentTarget as HTMLSelectElement;
    // Places in the list of another store mean nothing here.
    set({ store, cursor: undefined, queue: undefined, schedule: undefined });
  };
  return (
    <select class="field" aria-label="Store" value={shown} onChange={choose}>
      {options.map((one) => (
        <option key={one} value={one}>
          {visible(one)}
        </option>
      ))}
    </select>
  );
}
