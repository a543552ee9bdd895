// Waits of tests: for what becomes so, and for what a test opens.

export { until } from "../../support/until.js";

/** Waits that a test opens. */
export function gate(): { readonly opened: Promise<void>; open(): void } {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open: () => open() };
}
