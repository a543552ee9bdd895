// One of a few values, as part of the address.

import type { JSX } from "preact";
import { useRoute } from "../shell/router.js";

export interface ChoiceProps {
  readonly label: string;
  /** The parameter of the address. */
  readonly param: string;
  /** Values and their texts. The first is the one that an address without the parameter means. */
  readonly options: readonly (readonly [value: string, text: string])[];
}

export function Choice({ label, param, options }: ChoiceProps): JSX.Element {
  const { params, set } = useRoute();
  const first = options[0]?.[0];
  const change = (event: Event): void => {
    const { value } = event.currentTarget as HTMLSelectElement;
    set({ [param]: value === first ? undefined : value });
  };
  return (
    <select class="field" aria-label={label} value={params[param] ?? first} onChange={change}>
      {options.map(([value, text]) => (
        <option key={value} value={value}>
          {text}
        </option>
      ))}
    </select>
  );
}
