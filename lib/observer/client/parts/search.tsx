// A search field. What it looks for is part of the address.

import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { later } from "../shell/browser.js";
import { useRoute } from "../shell/router.js";

export interface SearchProps {
  readonly label: string;
  /** The parameter of the address. */
  readonly param?: string;
}

/** Time without a key until the search begins. */
const QUIET_MS = 200;

export function Search({ label, param = "find" }: SearchProps): JSX.Element {
  const { params, set } = useRoute();
  const field = useRef<HTMLInputElement>(null);
  const callOff = useRef((): void => undefined);
  const wanted = params[param] ?? "";
  useEffect(() => () => callOff.current(), []);
  useEffect(() => {
    // The address has changed by other means than this field.
    if (field.current !== null && document.activeElement !== field.current) field.current.value = wanted;
  }, [wanted]);
  const type = (event: Event): void => {
    const text = (event.currentTarget as HTMLInputElement).value;
    callOff.current();
    callOff.current = later(QUIET_MS, () => set({ [param]: text }));
  };
  return (
    <input
      ref={field}
      type="search"
      class="field"
      data-search
      aria-label={label}
      placeholder={`${label} ( / )`}
      defaultValue={wanted}
      onInput={type}
      autocomplete="off"
      spellcheck={false}
    />
  );
}
